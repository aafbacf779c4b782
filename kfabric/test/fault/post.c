// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: posting. Sends and RMA are queued and left to the
 * engine; receives go straight to the inner endpoint.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: fault_ep.post.lock.
 */
#include <linux/jiffies.h>

#include "fault.h"

/* A key as if its registration were gone: same index, other generation. */
#define STALE_KEY_BITS 0xff

static int fault_ready(struct kfi_post_ep *post, u64 dir)
{
	struct fault_ep *ep = to_fault_ep(&post->ep);

	return dir == FI_TRANSMIT && ep->end != FAULT_END_NONE ? -ENOTCONN : 0;
}

/* Under the lock, so that receives keep the order of posting. */
static int fault_queue_rx_locked(struct fault_ep *ep, struct fault_op *op)
{
	struct fi_msg msg = { .buf = op->base.buf,
			      .addr = FI_ADDR_UNSPEC,
			      .context = &op->inner };
	u64 flags = op->base.flags;
	ssize_t ret;

	lockdep_assert_held(&ep->post.lock);
	op->state = FAULT_ISSUED;
	list_add_tail(&op->base.node, &ep->rx);
	ret = fi_recvmsg(ep->inner, &msg, flags);
	if (ret == -FI_EAGAIN) {
		/* Room that came before we said so would go unnoticed. */
		kfi_ep_again(&ep->post.ep, FI_RECV);
		ret = fi_recvmsg(ep->inner, &msg, flags);
	}
	if (ret)
		list_del(&op->base.node);
	return ret;
}

static void fault_plan_op(struct fault_op *op)
{
	struct kfi_op *base = &op->base;

	op->cuts = fault_hit(cut_nth);
	op->stalls = base->type == KFI_OP_WRITE && fault_hit(stall_nth);
	if (op->stalls)
		fault_count(stalled);
	if (fault_hit(power_off_nth))
		fault_power_off();
	if ((base->type == KFI_OP_READ || base->type == KFI_OP_WRITE) &&
	    fault_hit(stale_key_nth)) {
		fault_count(stale_keys);
		base->rma[0].key ^= STALE_KEY_BITS;
	}
}

static void fault_queue_tx_locked(struct fault_ep *ep, struct fault_op *op)
{
	u32 limit_ms = READ_ONCE(ep->post.ep.op_timeout_ms);

	lockdep_assert_held(&ep->post.lock);
	fault_plan_op(op);
	op->deadline = jiffies + msecs_to_jiffies(limit_ms);
	list_add_tail(&op->base.node, &ep->queue);
	fault_kick(ep);
}

static int fault_queue(struct kfi_post_ep *post, struct kfi_op *base)
{
	struct fault_ep *ep = to_fault_ep(&post->ep);
	struct fault_op *op = to_fault_op(base);

	op->state = FAULT_QUEUED;
	op->late = false;
	op->twice = false;
	op->cuts = false;
	op->held = 0;
	if (base->type == KFI_OP_RECV)
		return fault_queue_rx_locked(ep, op);
	fault_queue_tx_locked(ep, op);
	return 0;
}

const struct kfi_post_ops fault_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.ready = fault_ready,
	.queue = fault_queue,
};
