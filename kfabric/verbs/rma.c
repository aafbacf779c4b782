// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: remote memory, and flushing by reading back.
 *
 * A read on the same queue pair cannot pass the writes before it, neither on
 * the wire nor in the peer's NIC and on its buses: when its bytes are here the
 * writes have left them.
 *
 * There is no native flush: kernels that know IB_WR_FLUSH (6.2 and later) can
 * send one for user space only. A kernel's work request (struct ib_rdma_wr) has
 * no place for the length, the placement and the selectivity of a flush, and
 * rxe, the one driver that has the operation, takes the opcode of a kernel's
 * request and none of its fields. See docs/kfabric.md.
 */
#include "verbs.h"

/* Keys are 32 bits on the wire; a longer one can only be wrong. */
int kfiv_set_remote(struct kfiv_post *post, u64 addr, size_t len, u64 key)
{
	if (key > U32_MAX || addr > U64_MAX - len)
		return -EINVAL;
	post->remote_addr = addr;
	post->rkey = key;
	return 0;
}

/* A read or a write, of which the opcode and the direction are set. */
static ssize_t kfiv_post_rma(struct kfiv_ep *ep, struct kfiv_post *post,
			     const struct fi_msg_rma *msg, u64 flags)
{
	int ret;

	ret = kfi_check_rma(&ep->ep, msg, flags, &ep->tx_attr,
			    ep->max_msg_size);
	ret = ret ?: kfiv_check_data(ep, flags);
	if (ret)
		return ret;
	ret = kfiv_set_remote(post, msg->rma_iov->addr, msg->buf.len,
			      msg->rma_iov->key);
	if (ret)
		return ret;
	post->context = msg->context;
	post->buf = &msg->buf;
	post->flags = flags;
	return kfiv_tx_post(ep, post);
}

static ssize_t kfiv_post_writemsg(struct fid_ep *fep,
				  const struct fi_msg_rma *msg, u64 flags)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	struct kfiv_post post = {
		.comp_flags = FI_WRITE | FI_RMA,
		.opcode = flags & FI_REMOTE_CQ_DATA ? IB_WR_RDMA_WRITE_WITH_IMM
						    : IB_WR_RDMA_WRITE,
		.dir = DMA_TO_DEVICE,
		.max_sge = ep->tx_attr.iov_limit,
		.data = msg->data,
	};

	return kfiv_post_rma(ep, &post, msg, flags);
}

#define READ_FLAGS (FI_COMPLETION | FI_MORE | FI_FENCE)

static ssize_t kfiv_post_readmsg(struct fid_ep *fep,
				 const struct fi_msg_rma *msg, u64 flags)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	struct kfiv_post post = {
		.comp_flags = FI_READ | FI_RMA,
		.opcode = IB_WR_RDMA_READ,
		.dir = DMA_FROM_DEVICE,
		.max_sge = ep->tx_attr.iov_limit,
	};

	if (flags & ~READ_FLAGS)
		return -FI_EBADFLAGS;
	return kfiv_post_rma(ep, &post, msg, flags);
}

static ssize_t kfiv_post_inject_write(struct fid_ep *fep, const void *bytes,
				      size_t len, fi_addr_t dest_addr, u64 addr,
				      u64 key)
{
	struct kfiv_post post = { .comp_flags = FI_WRITE | FI_RMA,
				  .opcode = IB_WR_RDMA_WRITE };
	int ret;

	ret = kfiv_set_remote(&post, addr, len, key);
	return ret ?: kfiv_tx_inject(to_kfiv_ep(fep), &post, bytes, len);
}

/* The last bytes of the last range: ordering holds for all before it. */
static ssize_t kfiv_post_flush(struct fid_ep *fep,
			       const struct fi_msg_flush *msg, u64 flags)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	struct kfiv_post post = { .context = msg->context,
				  .flags = flags,
				  .comp_flags = FI_FLUSH | FI_RMA,
				  .opcode = IB_WR_RDMA_READ,
				  .scratch = true };
	const struct fi_rma_iov *last;
	struct fi_buf buf = {};
	int ret;

	ret = kfi_check_flush(fep, msg, flags, &ep->tx_attr);
	if (ret)
		return ret;
	last = &msg->rma_iov[msg->rma_iov_count - 1];
	if (kfiv_set_remote(&post, last->addr, last->len, last->key))
		return -EINVAL;
	buf.len = min_t(size_t, last->len, KFIV_SCRATCH_BYTES);
	post.buf = &buf;
	post.remote_addr += last->len - buf.len;
	return kfiv_tx_post(ep, &post);
}

/*
 * The READ behind an operation that is told when it is delivered. It has the bytes at
 * the end of what is written; behind a message, of whose memory nothing is known
 * here, it has none, and says that the peer's NIC has done with what was before.
 */
void kfiv_fill_back(struct kfiv_ep *ep, struct kfiv_op *op,
		    const struct kfiv_post *post)
{
	const struct ib_rdma_wr *wr = &op->wr.rdma;
	bool writes = post->comp_flags & FI_WRITE;
	u32 len =
		writes ? min_t(size_t, post->buf->len, KFIV_SCRATCH_BYTES) : 0;

	op->back_cqe.done = kfiv_back_done;
	op->back_sge =
		(struct ib_sge){ .addr = ep->scratch_dma,
				 .length = len,
				 .lkey = ep->domain->pd->local_dma_lkey };
	op->back = (struct ib_rdma_wr){
		.wr = { .wr_cqe = &op->back_cqe,
			.sg_list = &op->back_sge,
			.num_sge = len ? 1 : 0,
			.opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = wr->remote_addr + post->buf->len - len,
		.rkey = wr->rkey,
	};
	if (!writes)
		op->back.remote_addr = 0;
}

const struct fi_ops_rma kfiv_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.readmsg = kfiv_post_readmsg,
	.writemsg = kfiv_post_writemsg,
	.inject_write = kfiv_post_inject_write,
	.flush = kfiv_post_flush,
};
