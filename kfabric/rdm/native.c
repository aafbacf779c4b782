// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: reads and writes that the device below does, by grants of the
 * peer; the peer's engine does not know of them.
 *
 * What a grant does not allow goes to the peer as a request, which tells what is wrong
 * with it: so the device below, which ends the connection for it, is never asked.
 *
 * Context: the engine, in any context.
 */
#include <linux/sizes.h>

#include "rdm.h"

#define KFIR_NATIVE_BYTES SZ_64K /* of one operation of the inner provider */

/*
 * The grant by which the device below may do a part. To tell that a write is in the
 * peer's memory the device may read it back, for which it must be allowed to read.
 */
static struct rdmw_grant *kfir_grant_of(struct kfir_conn *conn,
					const struct kfir_op *op,
					const struct rdmw_range *range)
{
	u8 access =
		op->base.type == KFI_OP_READ ? RDMW_MAY_READ : RDMW_MAY_WRITE;
	struct rdmw_grant *grant = rdmw_grants_find(&conn->held, range, access);

	if (grant && (op->base.flags & FI_DELIVERY_COMPLETE) &&
	    !(grant->access & RDMW_MAY_READ))
		return NULL;
	return grant;
}

/* Nothing of it was handed over: can the device below do all of it? */
bool kfir_is_native(struct kfir_conn *conn, const struct kfir_op *op)
{
	u64 level =
		op->base.flags & FI_COMPLETION_LEVELS ?: FI_TRANSMIT_COMPLETE;
	const struct fi_rma_iov *r = op->base.rma;
	u32 i;

	if (!conn->nr_held || !kfir_is_rma(op) || !op->base.buf.len ||
	    (op->base.flags & FI_REMOTE_CQ_DATA))
		return false;
	/* What a completion of a write is to mean, the device may not know. */
	if (op->base.type == KFI_OP_WRITE &&
	    (level & ~conn->inner->comp_levels))
		return false;
	for (i = 0; i < op->base.rma_count; i++, r++) {
		const struct rdmw_range range = { .addr = r->addr,
						  .len = r->len,
						  .key = r->key };

		if (r->len && !kfir_grant_of(conn, op, &range))
			return false;
	}
	return true;
}

/* The rest of the range that the next byte is in. */
static struct rdmw_range kfir_next_range(const struct kfir_op *op)
{
	const struct fi_rma_iov *r = op->base.rma;
	size_t at = op->moved;

	for (; at >= r->len; r++)
		at -= r->len;
	return (struct rdmw_range){ .addr = r->addr + at,
				    .len = r->len - at,
				    .key = r->key };
}

/* As much of the operation's memory as one operation below may name; never 0. */
static struct fi_buf kfir_native_buf(struct kfir_slot *slot,
				     const struct kfir_op *op, size_t len)
{
	const struct fi_domain_attr *dom =
		kfir_domain_of(slot->conn->ep)->info->domain_attr;
	const struct fi_buf *buf = &op->base.buf;
	/* iWARP reads into one place. */
	bool is_one = op->base.type == KFI_OP_READ && !dom->cq_data_size;
	u32 count = 0;

	if (buf->type == FI_BUF_LINEAR && len <= KFIR_DATA_BYTES && !is_one)
		return fi_buf_linear(buf->ptr + buf->offset + op->moved, len);
	len = kfir_gather(slot, &count, is_one ? 1 : kfir_gather_max(slot), buf,
			  op->moved, len);
	return fi_buf_bvec(slot->vec, count, 0, len);
}

/* 0: a part is on its way; -ENOENT: the grant was taken back in the middle. */
int kfir_send_native(struct kfir_conn *conn, struct kfir_op *op)
{
	struct rdmw_range range = kfir_next_range(op);
	u64 level = op->base.flags & FI_COMPLETION_LEVELS;
	struct fi_msg_rma msg = { .rma_iov_count = 1, .addr = FI_ADDR_UNSPEC };
	struct fi_rma_iov remote;
	struct rdmw_grant *grant;
	struct kfir_slot *slot;
	int ret;

	/* What the peer's engine has to do yet was posted before. */
	if (conn->nr_asked)
		return -FI_EAGAIN;
	grant = kfir_grant_of(conn, op, &range);
	if (!grant)
		return -ENOENT;
	slot = kfir_slot_get(conn);
	if (!slot)
		return -FI_EAGAIN;
	msg.buf = kfir_native_buf(slot, op,
				  min_t(size_t, range.len, KFIR_NATIVE_BYTES));
	remote = (struct fi_rma_iov){ .addr = grant->addr + range.addr,
				      .len = msg.buf.len,
				      .key = grant->native_key };
	msg.rma_iov = &remote;
	msg.context = &slot->inner;
	if (op->base.type == KFI_OP_READ)
		ret = fi_readmsg(conn->inner, &msg, 0);
	else
		ret = fi_writemsg(conn->inner, &msg, level);
	ret = kfir_slot_sent(slot, ret);
	if (ret)
		return ret;
	slot->op = op;
	slot->lent = true;
	slot->grant = grant;
	grant->users++;
	conn->nr_native++;
	op->conn = conn;
	op->moved += msg.buf.len;
	op->pieces++;
	op->flying++;
	op->whole = op->moved == op->base.buf.len;
	return 0;
}

/* ---- grants of the peer ------------------------------------------------------ */

/* A piece that is about them. */
void kfir_take_grant(struct kfir_conn *conn, const struct kfir_slot *slot)
{
	const struct rdmw_piece *piece = &slot->piece;
	enum rdmw_violation bad = RDMW_OK;

	switch (piece->kind) {
	case RDMW_GRANT:
		bad = rdmw_grants_add(&conn->held, piece, kfir_slot_data(slot));
		conn->nr_held += !bad;
		break;
	case RDMW_REVOKE:
		bad = rdmw_grants_revoke(&conn->held, piece->word);
		conn->nr_held -= !bad;
		kfir_touch(conn);
		break;
	default:
		kfir_grant_returned(conn, piece->word);
	}
	if (bad)
		kfir_conn_violated(conn, bad);
}
