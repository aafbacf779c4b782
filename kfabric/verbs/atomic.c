// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: atomic operations: the two that InfiniBand has, on 8 bytes:
 * fetch-and-add, which a read is as well, of 0, and compare-and-swap.
 *
 * Both answer with what was there before, so that a completion says that it is done,
 * whichever level is asked for, and each takes a place among the READs under way. The
 * operands travel in the work request. The answer comes in the byte order of the host.
 */
#include "verbs.h"

#define ELEMENT_BYTES sizeof(u64)

int kfiv_query_atomic(struct fid_domain *domain, unsigned int datatype,
		      unsigned int op, struct fi_atomic_attr *attr, u64 flags)
{
	bool is_there = flags == FI_COMPARE_ATOMIC
				? op == FI_CSWAP
				: op == FI_SUM || (op == FI_ATOMIC_READ &&
						   flags == FI_FETCH_ATOMIC);

	if (!to_kfiv_domain(domain)->atomic || !is_there ||
	    kfabric_datatype_size(datatype) != ELEMENT_BYTES)
		return -EOPNOTSUPP;
	*attr = (struct fi_atomic_attr){ .count = 1, .size = ELEMENT_BYTES };
	return 0;
}

/* Without a result the answer goes where nobody looks. */
static ssize_t kfiv_post_atomic(struct fid_ep *fep,
				const struct fi_msg_atomic *msg,
				const struct fi_buf *compare,
				const struct fi_buf *result, u64 flags,
				u64 kind)
{
	const struct fi_buf none = { .len = ELEMENT_BYTES };
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	struct kfiv_post post = {
		.context = msg->context,
		.buf = result ?: &none,
		.flags = msg->context ? flags & ~FI_INJECT : flags,
		.comp_flags = FI_ATOMIC | (result ? FI_READ : FI_WRITE),
		.opcode = compare ? IB_WR_ATOMIC_CMP_AND_SWP
				  : IB_WR_ATOMIC_FETCH_AND_ADD,
		.dir = DMA_FROM_DEVICE,
		.max_sge = 1,
		.scratch = !result,
	};
	int ret = kfi_check_atomic(fep, msg, compare, result, flags, kind,
				   &ep->tx_attr);

	if (ret)
		return ret;
	ret = kfiv_set_remote(&post, msg->rma_iov->addr, ELEMENT_BYTES,
			      msg->rma_iov->key);
	if (ret)
		return ret;
	kfi_buf_get(compare ? &post.swap : &post.compare_add, &msg->buf, 0,
		    msg->buf.len);
	if (compare)
		kfi_buf_get(&post.compare_add, compare, 0, compare->len);
	return kfiv_tx_post(ep, &post);
}

const struct fi_ops_atomic kfiv_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.post = kfiv_post_atomic,
};
