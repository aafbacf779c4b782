// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writing operation headers, and reading them with every field held against
 * every other.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "tcpw_hdr.h"

#define VERSION	    3
#define AT_OP	    1
#define AT_FLAGS    2
#define AT_OP_DATA  4
#define AT_N_SEGS   5
#define AT_HDR_SIZE 6
#define AT_TOTAL    8
#define SEG_BYTES   24
#define CQ_BYTES    8

#define OP_DATA_NONE 0
#define OP_DATA_ACK  2

/* The rules say what each operation is on the wire and may have. */
struct rule {
	__u8 wire_op;
	__u8 op_data;
	__u16 flags;
	_Bool segs;
	_Bool payload;
};

static const struct rule tcpw_hdr_rules[] = {
	[TCPW_MSG] = { 0, OP_DATA_NONE, TCPW_F_CQ_DATA | TCPW_F_DELIVERY, 0,
		       1 },
	[TCPW_ACK] = { 0, OP_DATA_ACK, 0, 0, 0 },
	[TCPW_READ_REQUEST] = { 2, OP_DATA_NONE, 0, 1, 0 },
	[TCPW_READ_RESPONSE] = { 3, OP_DATA_NONE, 0, 0, 1 },
	[TCPW_WRITE] = { 4, OP_DATA_NONE, TCPW_F_CQ_DATA | TCPW_F_ACKED, 1, 1 },
};

#define N_RULES \
	((unsigned int)(sizeof(tcpw_hdr_rules) / sizeof(tcpw_hdr_rules[0])))

static enum tcpw_violation tcpw_hdr_find_op(const __u8 *bytes, enum tcpw_op *op)
{
	enum tcpw_violation why = TCPW_HDR_OP;
	unsigned int i;

	for (i = 0; i < N_RULES; i++) {
		if (tcpw_hdr_rules[i].wire_op != bytes[AT_OP])
			continue;
		why = TCPW_HDR_OP_DATA;
		if (tcpw_hdr_rules[i].op_data != bytes[AT_OP_DATA])
			continue;
		*op = (enum tcpw_op)i;
		return TCPW_OK;
	}
	return why;
}

static __u32 tcpw_hdr_size(enum tcpw_op op, __u16 flags, __u8 n_segs)
{
	return (__u32)(TCPW_HDR_MIN + (flags & TCPW_F_CQ_DATA ? CQ_BYTES : 0) +
		       (tcpw_hdr_rules[op].segs ? n_segs * SEG_BYTES : 0));
}

enum tcpw_violation tcpw_hdr_begin(const __u8 *bytes, enum tcpw_order order,
				   __u32 *header_bytes)
{
	__u16 flags = (__u16)tcpw_get(bytes + AT_FLAGS, 2, order);
	__u64 total = tcpw_get(bytes + AT_TOTAL, 8, order);
	enum tcpw_violation why;
	enum tcpw_op op;
	__u32 size;

	if (bytes[0] != VERSION)
		return TCPW_HDR_VERSION;
	why = tcpw_hdr_find_op(bytes, &op);
	if (why)
		return why;
	if (flags & ~tcpw_hdr_rules[op].flags)
		return TCPW_HDR_FLAGS;
	if (bytes[AT_N_SEGS] > TCPW_SEGS_MAX ||
	    (tcpw_hdr_rules[op].segs && !bytes[AT_N_SEGS]))
		return TCPW_HDR_SEGMENTS;
	size = tcpw_hdr_size(op, flags, bytes[AT_N_SEGS]);
	if (bytes[AT_HDR_SIZE] != size)
		return TCPW_HDR_BYTES;
	if (total < size || (!tcpw_hdr_rules[op].payload && total != size))
		return TCPW_HDR_TOTAL;
	*header_bytes = size;
	return TCPW_OK;
}

/* Sums and ends that fit 64 bits, and, of a write, exactly the payload. */
static enum tcpw_violation tcpw_hdr_check_segs(struct tcpw_hdr *hdr)
{
	unsigned int i;

	hdr->rma_bytes = 0;
	for (i = 0; i < hdr->n_segs; i++) {
		const struct tcpw_seg *seg = &hdr->segs[i];

		if (seg->bytes > ~(__u64)0 - seg->addr)
			return TCPW_HDR_WRAP;
		if (seg->bytes > ~(__u64)0 - hdr->rma_bytes)
			return TCPW_HDR_SUM;
		hdr->rma_bytes += seg->bytes;
	}
	if (hdr->op == TCPW_WRITE && hdr->rma_bytes != hdr->payload_bytes)
		return TCPW_HDR_SUM;
	return TCPW_OK;
}

enum tcpw_violation tcpw_hdr_decode(const __u8 *bytes, enum tcpw_order order,
				    struct tcpw_hdr *out)
{
	struct tcpw_hdr hdr;
	enum tcpw_violation why;
	unsigned int i;
	const __u8 *at = bytes + TCPW_HDR_MIN;
	__u32 size;

	memset(&hdr, 0, sizeof(hdr));
	why = tcpw_hdr_begin(bytes, order, &size);
	if (why)
		return why;
	tcpw_hdr_find_op(bytes, &hdr.op);
	hdr.header_bytes = (__u8)size;
	hdr.flags = (__u16)tcpw_get(bytes + AT_FLAGS, 2, order);
	hdr.payload_bytes = tcpw_get(bytes + AT_TOTAL, 8, order) - size;
	if (hdr.flags & TCPW_F_CQ_DATA) {
		hdr.cq_data = tcpw_get(at, 8, order);
		at += CQ_BYTES;
	}
	hdr.n_segs = tcpw_hdr_rules[hdr.op].segs ? bytes[AT_N_SEGS] : 0;
	for (i = 0; i < hdr.n_segs; i++, at += SEG_BYTES) {
		hdr.segs[i].addr = tcpw_get(at, 8, order);
		hdr.segs[i].bytes = tcpw_get(at + 8, 8, order);
		hdr.segs[i].key = tcpw_get(at + 16, 8, order);
	}
	why = tcpw_hdr_check_segs(&hdr);
	if (!why)
		*out = hdr;
	return why;
}

int tcpw_hdr_encode(const struct tcpw_hdr *hdr, enum tcpw_order order,
		    __u8 *out)
{
	__u8 *at = out + TCPW_HDR_MIN;
	struct tcpw_hdr copy = *hdr;
	const struct rule *rule;
	unsigned int i;
	__u32 size;

	if ((unsigned int)hdr->op >= N_RULES)
		return -EINVAL;
	rule = &tcpw_hdr_rules[hdr->op];
	size = tcpw_hdr_size(hdr->op, hdr->flags, hdr->n_segs);
	if (hdr->flags & ~rule->flags || hdr->n_segs > TCPW_SEGS_MAX ||
	    rule->segs != !!hdr->n_segs)
		return -EINVAL;
	if (hdr->payload_bytes > ~(__u64)0 - size ||
	    (!rule->payload && hdr->payload_bytes))
		return -EINVAL;
	if (tcpw_hdr_check_segs(&copy))
		return -EINVAL;
	memset(out, 0, TCPW_HDR_MIN);
	out[0] = VERSION;
	out[AT_OP] = rule->wire_op;
	tcpw_put(out + AT_FLAGS, 2, order, hdr->flags);
	out[AT_OP_DATA] = rule->op_data;
	out[AT_N_SEGS] = hdr->n_segs;
	out[AT_HDR_SIZE] = (__u8)size;
	tcpw_put(out + AT_TOTAL, 8, order, size + hdr->payload_bytes);
	if (hdr->flags & TCPW_F_CQ_DATA) {
		tcpw_put(at, 8, order, hdr->cq_data);
		at += CQ_BYTES;
	}
	for (i = 0; i < hdr->n_segs; i++, at += SEG_BYTES) {
		tcpw_put(at, 8, order, hdr->segs[i].addr);
		tcpw_put(at + 8, 8, order, hdr->segs[i].bytes);
		tcpw_put(at + 16, 8, order, hdr->segs[i].key);
	}
	return (int)size;
}
