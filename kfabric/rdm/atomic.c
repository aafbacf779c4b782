// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: atomic operations: requests of one piece, which the engine of the
 * peer executes when they come, and of which it keeps the result for the answer.
 *
 * Each is executed once or not at all: a request that was handed over to a connection
 * is never sent again, by none of another, so that one whose answer does not come ends
 * with its connection and an error that leaves open whether it was executed.
 *
 * Context: the engine, in any context.
 */
#include <linux/string.h>

#include "rdm.h"

/* The wire's numbers are the interface's, which so must not change. */
#define KFIR_SAME(ours, wire) static_assert((int)(ours) == (int)(wire))

KFIR_SAME(FI_INT32, 0);
KFIR_SAME(FI_UINT32, 1);
KFIR_SAME(FI_INT64, RDMW_TYPE_WIDE);
KFIR_SAME(FI_UINT64, 3);
KFIR_SAME(FI_DATATYPE_LAST, RDMW_TYPES);
KFIR_SAME(FI_MIN, 0);
KFIR_SAME(FI_MAX, 1);
KFIR_SAME(FI_SUM, 2);
KFIR_SAME(FI_PROD, 3);
KFIR_SAME(FI_LOR, 4);
KFIR_SAME(FI_LAND, 5);
KFIR_SAME(FI_BOR, 6);
KFIR_SAME(FI_BAND, 7);
KFIR_SAME(FI_LXOR, 8);
KFIR_SAME(FI_BXOR, 9);
KFIR_SAME(FI_ATOMIC_READ, RDMW_OP_READ);
KFIR_SAME(FI_ATOMIC_WRITE, 11);
KFIR_SAME(FI_CSWAP, RDMW_OP_COMPARES);
KFIR_SAME(FI_CSWAP_NE, 13);
KFIR_SAME(FI_CSWAP_LE, 14);
KFIR_SAME(FI_CSWAP_LT, 15);
KFIR_SAME(FI_CSWAP_GE, 16);
KFIR_SAME(FI_CSWAP_GT, 17);
KFIR_SAME(FI_MSWAP, 18);
KFIR_SAME(FI_ATOMIC_OP_LAST, RDMW_OPS);
KFIR_SAME(KFI_ATOMIC_BYTES, RDMW_ELEMENTS_MAX);

/* Request and result are one piece, whatever pieces the peer takes. */
static_assert(RDMW_ATOMIC_MAX <= RDMW_PIECE_MIN - RDMW_HEADER_BYTES);
static_assert(RDMW_ATOMIC_MAX <= KFIR_PIECE_BYTES - RDMW_HEADER_BYTES);

/* ---- ours ------------------------------------------------------------------- */

/* All but operands. */
static struct rdmw_atomic kfir_atomic_of(const struct kfir_op *op)
{
	const struct kfi_atomic a = kfi_post_atomic(&op->base);

	return (struct rdmw_atomic){
		.type = a.datatype,
		.op = a.op,
		.count = a.count,
		.has_result = op->base.type == KFI_OP_FETCH_ATOMIC,
		.addr = op->base.range.addr,
		.key = op->base.range.key,
	};
}

/* Of the request. */
u32 kfir_atomic_bytes(const struct kfir_op *op)
{
	const struct rdmw_atomic atomic = kfir_atomic_of(op);

	return rdmw_atomic_bytes(&atomic);
}

void kfir_atomic_pack(const struct kfir_op *op, u8 *to)
{
	struct rdmw_atomic atomic = kfir_atomic_of(op);

	memcpy(atomic.operand, op->base.inject, op->base.range.len);
	memcpy(atomic.compare, op->base.compare, op->base.range.len);
	rdmw_atomic_pack(&atomic, to);
}

/* The bytes of an answer, as many as are due. */
void kfir_atomic_result(const struct kfir_op *op, const u8 *bytes)
{
	u64 result[KFI_ATOMIC_BYTES / sizeof(u64)];
	const size_t len = op->base.buf.len;

	rdmw_elements_parse(op->base.datatype, bytes, len, result);
	kfi_buf_put(&op->base.buf, 0, result, len);
}

/* ---- the peer's --------------------------------------------------------------- */

/* Does it, if the peer may have it done: now, and never again. */
enum rdmw_violation kfir_atomic_do(struct kfir_domain *d,
				   const struct rdmw_piece *piece,
				   const u8 *bytes, struct kfir_request *req)
{
	u64 result[KFI_ATOMIC_BYTES / sizeof(u64)];
	struct rdmw_atomic wire;
	enum rdmw_violation bad = rdmw_atomic_parse(piece, bytes, &wire);
	struct rdmw_range range;
	struct kfi_atomic a;

	if (bad)
		return bad;
	range = (struct rdmw_range){ .addr = wire.addr,
				     .len = rdmw_elements_bytes(&wire),
				     .key = wire.key };
	a = (struct kfi_atomic){ .datatype = wire.type,
				 .op = wire.op,
				 .count = wire.count,
				 .operand = wire.operand,
				 .compare = wire.compare };
	req->status = kfir_mr_change(d, &range, &a, result);
	if (req->status != RDMW_DONE || !wire.has_result)
		return RDMW_OK;
	req->len = range.len;
	rdmw_elements_pack(wire.type, result, range.len, req->result);
	return RDMW_OK;
}
