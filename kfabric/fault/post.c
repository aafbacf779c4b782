// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: posting. Sends and RMA are checked, queued, and left to
 * the engine; receives go straight to the inner endpoint.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: fault_ep.lock.
 */
#include <linux/jiffies.h>
#include <linux/string.h>

#include "fault.h"

/* A key as if its registration were gone: same index, other generation. */
#define STALE_KEY_BITS 0xff

static struct fault_op *op_of(struct fi_context *context)
{
	return kfi_op_priv(context);
}

/* Copy what FI_INJECT promises to have copied when the post returns. */
static void copy_inject(struct fault_op *op)
{
	struct fi_buf own = fi_buf_linear(op->inject, op->buf.len);
	struct kfi_buf_iter src, dst;

	kfi_buf_start(&src, &op->buf);
	kfi_buf_start(&dst, &own);
	kfi_buf_copy(&dst, &src, op->buf.len);
	op->buf = own;
}

static void fill_op(struct fault_op *op, struct kfi_comp *comp,
		    enum fault_op_type type, const struct fi_buf *buf,
		    u64 flags, u64 data)
{
	op->comp = comp;
	op->type = type;
	op->state = FAULT_QUEUED;
	op->flags = flags;
	op->data = data;
	op->late = false;
	op->twice = false;
	op->cuts = false;
	op->held = 0;
	op->buf = *buf;
	op->rma_count = 0;
	if (flags & FI_INJECT)
		copy_inject(op);
}

static void fill_rma(struct fault_op *op, const struct fi_rma_iov *rma,
		     size_t count)
{
	op->rma_count = count;
	memcpy(op->rma, rma, count * sizeof(*rma));
}

static ssize_t tx_room_locked(struct fault_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (!ep->up || ep->broken || ep->end != FAULT_END_NONE)
		return -ENOTCONN;
	return ep->tx_free ? 0 : kfi_ep_again(&ep->ep, FI_TRANSMIT);
}

static void plan_op(struct fault_op *op)
{
	op->cuts = fault_hit(cut_nth);
	if ((op->type == FAULT_READ || op->type == FAULT_WRITE) &&
	    fault_hit(stale_key_nth)) {
		fault_count(stale_keys);
		op->rma[0].key ^= STALE_KEY_BITS;
	}
}

static void queue_tx_locked(struct fault_ep *ep, struct fault_op *op)
{
	lockdep_assert_held(&ep->lock);
	plan_op(op);
	ep->tx_free--;
	op->deadline =
		jiffies + msecs_to_jiffies(READ_ONCE(ep->ep.op_timeout_ms));
	kfi_trace_post(&ep->ep, op->comp);
	list_add_tail(&op->node, &ep->queue);
	fault_kick(ep);
}

static ssize_t queue_tx(struct fault_ep *ep, struct fault_op *op)
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

static ssize_t fault_sendmsg(struct fid_ep *fid, const struct fi_msg *msg,
			     u64 flags)
{
	struct fault_ep *ep = to_fault_ep(fid);
	struct fi_context *ctx = msg->context;
	int ret = kfi_check_tx(fid, ctx, &msg->buf, flags, &ep->tx_attr,
			       ep->max_msg_size);

	if (ret)
		return ret;
	kfi_comp_set(&ctx->comp, ctx, flags, FI_SEND | FI_MSG, msg->buf.len);
	fill_op(op_of(ctx), &ctx->comp, FAULT_SEND, &msg->buf, flags,
		msg->data);
	return queue_tx(ep, op_of(ctx));
}

/* Under the lock, so that receives keep the order of posting. */
static ssize_t post_recv_locked(struct fault_ep *ep, struct fault_op *op,
				const struct fi_msg *msg, u64 flags)
{
	struct fi_msg own = *msg;
	ssize_t ret;

	lockdep_assert_held(&ep->lock);
	if (ep->broken)
		return -ENOTCONN;
	if (!ep->rx_free)
		return kfi_ep_again(&ep->ep, FI_RECV);
	own.context = &op->inner;
	op->state = FAULT_ISSUED;
	list_add_tail(&op->node, &ep->rx);
	ret = fi_recvmsg(ep->inner, &own, flags);
	if (ret == -FI_EAGAIN) {
		/* Room that came before we said so would go unnoticed. */
		kfi_ep_again(&ep->ep, FI_RECV);
		ret = fi_recvmsg(ep->inner, &own, flags);
	}
	if (ret) {
		list_del(&op->node);
		return ret;
	}
	ep->rx_free--;
	kfi_trace_post(&ep->ep, op->comp);
	return 0;
}

static ssize_t fault_recvmsg(struct fid_ep *fid, const struct fi_msg *msg,
			     u64 flags)
{
	struct fault_ep *ep = to_fault_ep(fid);
	struct fi_context *ctx = msg->context;
	unsigned long irq;
	ssize_t ret;

	if (!ctx)
		return -EINVAL;
	if (fi_ep_state(fid) == KFI_EP_IDLE)
		return -FI_EOPBADSTATE;
	kfi_comp_set(&ctx->comp, ctx, flags, FI_RECV | FI_MSG, 0);
	fill_op(op_of(ctx), &ctx->comp, FAULT_RECV, &msg->buf, 0, 0);
	spin_lock_irqsave(&ep->lock, irq);
	ret = post_recv_locked(ep, op_of(ctx), msg, flags);
	spin_unlock_irqrestore(&ep->lock, irq);
	return ret;
}

static ssize_t post_rma(struct fid_ep *fid, const struct fi_msg_rma *msg,
			u64 flags, enum fault_op_type type, u64 comp_flags)
{
	struct fault_ep *ep = to_fault_ep(fid);
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

static ssize_t fault_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			     u64 flags)
{
	if (flags & ~(FI_COMPLETION | FI_MORE | FI_FENCE))
		return -FI_EBADFLAGS;
	return post_rma(fid, msg, flags, FAULT_READ, FI_READ);
}

static ssize_t fault_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			      u64 flags)
{
	return post_rma(fid, msg, flags, FAULT_WRITE, FI_WRITE);
}

static ssize_t fault_flush(struct fid_ep *fid, const struct fi_msg_flush *msg,
			   u64 flags)
{
	struct fault_ep *ep = to_fault_ep(fid);
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
	fill_op(op_of(ctx), &ctx->comp, FAULT_FLUSH, &none, flags, 0);
	fill_rma(op_of(ctx), msg->rma_iov, msg->rma_iov_count);
	op_of(ctx)->flush_mode = msg->mode;
	return queue_tx(ep, op_of(ctx));
}

/* An operation in the endpoint's own memory, of which it has enough. */
static ssize_t post_inject(struct fault_ep *ep, const void *buf, size_t len,
			   enum fault_op_type type, u64 comp_flags,
			   const struct fi_rma_iov *rma)
{
	struct fi_buf own = fi_buf_linear(buf, len);
	struct fault_slot *slot;
	unsigned long irq;
	ssize_t ret;

	if (len > ep->tx_attr.inject_size)
		return -EMSGSIZE;
	spin_lock_irqsave(&ep->lock, irq);
	ret = tx_room_locked(ep);
	if (ret)
		goto unlock;
	slot = list_first_entry(&ep->slots, struct fault_slot, op.node);
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

static ssize_t fault_inject(struct fid_ep *fid, const void *buf, size_t len,
			    fi_addr_t dest_addr)
{
	return post_inject(to_fault_ep(fid), buf, len, FAULT_SEND,
			   FI_SEND | FI_MSG, NULL);
}

static ssize_t fault_inject_write(struct fid_ep *fid, const void *buf,
				  size_t len, fi_addr_t dest_addr, u64 addr,
				  u64 key)
{
	struct fi_rma_iov rma = { .addr = addr, .len = len, .key = key };

	return post_inject(to_fault_ep(fid), buf, len, FAULT_WRITE,
			   FI_WRITE | FI_RMA, &rma);
}

const struct fi_ops_msg fault_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.sendmsg = fault_sendmsg,
	.recvmsg = fault_recvmsg,
	.inject = fault_inject,
};

const struct fi_ops_rma fault_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.readmsg = fault_readmsg,
	.writemsg = fault_writemsg,
	.inject_write = fault_inject_write,
	.flush = fault_flush,
};
