// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: posting. Checks, queues, kicks the engine.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: loop_ep.lock.
 */
#include <linux/string.h>

#include "loop.h"

static struct loop_op *op_of(struct fi_context *context)
{
	return kfi_op_priv(context);
}

/* Copy what FI_INJECT promises to have copied when the post returns. */
static void copy_inject(struct loop_op *op)
{
	struct fi_buf own = fi_buf_linear(op->inject, op->buf.len);
	struct kfi_buf_iter src, dst;

	kfi_buf_start(&src, &op->buf);
	kfi_buf_start(&dst, &own);
	kfi_buf_copy(&dst, &src, op->buf.len);
	op->buf = own;
}

static void fill_op(struct loop_op *op, struct kfi_comp *comp,
		    enum loop_op_type type, const struct fi_buf *buf, u64 flags,
		    u64 data)
{
	op->comp = comp;
	op->type = type;
	op->flags = flags;
	op->data = data;
	op->waits = false;
	op->buf = *buf;
	op->rma_count = 0;
	if (flags & FI_INJECT)
		copy_inject(op);
}

static void fill_rma(struct loop_op *op, const struct fi_rma_iov *rma,
		     size_t count)
{
	op->rma_count = count;
	memcpy(op->rma, rma, count * sizeof(*rma));
}

/* May sends and RMA be posted? If not, what to say. */
static ssize_t tx_room_locked(struct loop_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (!ep->up || ep->broken)
		return -ENOTCONN;
	if (ep->tx_free)
		return 0;
	/* What was posted with FI_MORE must run, to make room. */
	loop_kick(ep);
	return kfi_ep_again(&ep->ep, FI_TRANSMIT);
}

static void queue_tx_locked(struct loop_ep *ep, struct loop_op *op)
{
	lockdep_assert_held(&ep->lock);
	ep->tx_free--;
	kfi_trace_post(&ep->ep, op->comp);
	list_add_tail(&op->node, &ep->tx);
	if (!(op->flags & FI_MORE))
		loop_kick(ep);
}

static ssize_t queue_tx(struct loop_ep *ep, struct loop_op *op)
{
	unsigned long irq;
	ssize_t ret;

	spin_lock_irqsave(&ep->lock, irq);
	ret = tx_room_locked(ep);
	if (!ret)
		queue_tx_locked(ep, op);
	spin_unlock_irqrestore(&ep->lock, irq);
	return ret;
}

static ssize_t loop_sendmsg(struct fid_ep *fid, const struct fi_msg *msg,
			    u64 flags)
{
	struct loop_ep *ep = to_loop_ep(fid);
	struct fi_context *ctx = msg->context;
	int ret = kfi_check_tx(fid, ctx, &msg->buf, flags, &ep->tx_attr,
			       ep->max_msg_size);

	if (ret)
		return ret;
	kfi_comp_set(&ctx->comp, ctx, flags, FI_SEND | FI_MSG, msg->buf.len);
	fill_op(op_of(ctx), &ctx->comp, LOOP_SEND, &msg->buf, flags, msg->data);
	return queue_tx(ep, op_of(ctx));
}

static ssize_t loop_recvmsg(struct fid_ep *fid, const struct fi_msg *msg,
			    u64 flags)
{
	struct loop_ep *ep = to_loop_ep(fid);
	struct fi_context *ctx = msg->context;
	unsigned long irq;
	ssize_t ret = 0;

	if (!ctx)
		return -EINVAL;
	if (flags & ~(FI_COMPLETION | FI_MORE))
		return -FI_EBADFLAGS;
	if (fi_ep_state(fid) == KFI_EP_IDLE)
		return -FI_EOPBADSTATE;
	ret = kfi_buf_check(&msg->buf, ep->rx_attr.iov_limit, ep->max_msg_size);
	if (ret)
		return ret;
	kfi_comp_set(&ctx->comp, ctx, flags, FI_RECV | FI_MSG, 0);
	fill_op(op_of(ctx), &ctx->comp, LOOP_RECV, &msg->buf, flags, 0);
	spin_lock_irqsave(&ep->lock, irq);
	if (ep->broken) {
		ret = -ENOTCONN;
	} else if (!ep->rx_free) {
		ret = kfi_ep_again(fid, FI_RECV);
	} else {
		ep->rx_free--;
		kfi_trace_post(fid, &ctx->comp);
		list_add_tail(&op_of(ctx)->node, &ep->rx);
		if (ep->sender_waits && ep->peer) {
			ep->sender_waits = false;
			loop_kick(ep->peer);
		}
	}
	spin_unlock_irqrestore(&ep->lock, irq);
	return ret;
}

static ssize_t post_rma(struct fid_ep *fid, const struct fi_msg_rma *msg,
			u64 flags, enum loop_op_type type, u64 comp_flags)
{
	struct loop_ep *ep = to_loop_ep(fid);
	struct fi_context *ctx = msg->context;
	int ret =
		kfi_check_rma(fid, msg, flags, &ep->tx_attr, ep->max_msg_size);

	if (ret)
		return ret;
	kfi_comp_set(&ctx->comp, ctx, flags, comp_flags | FI_RMA, msg->buf.len);
	fill_op(op_of(ctx), &ctx->comp, type, &msg->buf, flags, msg->data);
	fill_rma(op_of(ctx), msg->rma_iov, msg->rma_iov_count);
	return queue_tx(ep, op_of(ctx));
}

static ssize_t loop_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			    u64 flags)
{
	if (flags & ~(FI_COMPLETION | FI_MORE | FI_FENCE))
		return -FI_EBADFLAGS;
	return post_rma(fid, msg, flags, LOOP_READ, FI_READ);
}

static ssize_t loop_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			     u64 flags)
{
	return post_rma(fid, msg, flags, LOOP_WRITE, FI_WRITE);
}

static ssize_t loop_flush(struct fid_ep *fid, const struct fi_msg_flush *msg,
			  u64 flags)
{
	struct loop_ep *ep = to_loop_ep(fid);
	struct fi_context *ctx = msg->context;
	const struct fi_buf none = {};

	if (!ctx || !msg->rma_iov || !msg->rma_iov_count)
		return -EINVAL;
	if (flags & ~(FI_COMPLETION | FI_MORE))
		return -FI_EBADFLAGS;
	if (hweight32(msg->mode) != 1 || (msg->mode & ~fid->flush_modes))
		return -EOPNOTSUPP;
	if (msg->rma_iov_count > ep->tx_attr.rma_iov_limit)
		return -E2BIG;
	kfi_comp_set(&ctx->comp, ctx, flags, FI_FLUSH | FI_RMA, 0);
	fill_op(op_of(ctx), &ctx->comp, LOOP_FLUSH, &none, flags, 0);
	fill_rma(op_of(ctx), msg->rma_iov, msg->rma_iov_count);
	op_of(ctx)->flush_mode = msg->mode;
	return queue_tx(ep, op_of(ctx));
}

/* An operation in the endpoint's own memory, of which it has enough. */
static ssize_t post_inject(struct loop_ep *ep, const void *buf, size_t len,
			   enum loop_op_type type, u64 comp_flags,
			   const struct fi_rma_iov *rma)
{
	struct fi_buf own = fi_buf_linear(buf, len);
	struct loop_slot *slot;
	unsigned long irq;
	ssize_t ret;

	if (len > LOOP_INJECT_SIZE)
		return -EMSGSIZE;
	spin_lock_irqsave(&ep->lock, irq);
	ret = tx_room_locked(ep);
	if (ret)
		goto unlock;
	slot = list_first_entry(&ep->slots, struct loop_slot, op.node);
	list_del(&slot->op.node);
	kfi_comp_set(&slot->comp, NULL, FI_INJECT, comp_flags, len);
	fill_op(&slot->op, &slot->comp, type, &own, FI_INJECT, 0);
	if (rma)
		fill_rma(&slot->op, rma, 1);
	queue_tx_locked(ep, &slot->op);
unlock:
	spin_unlock_irqrestore(&ep->lock, irq);
	return ret;
}

static ssize_t loop_inject(struct fid_ep *fid, const void *buf, size_t len,
			   fi_addr_t dest_addr)
{
	return post_inject(to_loop_ep(fid), buf, len, LOOP_SEND,
			   FI_SEND | FI_MSG, NULL);
}

static ssize_t loop_inject_write(struct fid_ep *fid, const void *buf,
				 size_t len, fi_addr_t dest_addr, u64 addr,
				 u64 key)
{
	struct fi_rma_iov rma = { .addr = addr, .len = len, .key = key };

	return post_inject(to_loop_ep(fid), buf, len, LOOP_WRITE,
			   FI_WRITE | FI_RMA, &rma);
}

const struct fi_ops_msg loop_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.sendmsg = loop_sendmsg,
	.recvmsg = loop_recvmsg,
	.inject = loop_inject,
};

const struct fi_ops_rma loop_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.readmsg = loop_readmsg,
	.writemsg = loop_writemsg,
	.inject_write = loop_inject_write,
	.flush = loop_flush,
};
