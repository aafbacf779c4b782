// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: posting: queues, wakes the sender.
 *
 * Context: posting: any but hardirq; no sleep, no allocation. submit_inline()
 *	sends, and may sleep.
 * Locking: ktcp_ep.post.lock.
 */

#include "tcp.h"

static void ktcp_post_kick(struct kfi_post_ep *post)
{
	ktcp_send_kick(to_ktcp_ep(&post->ep));
}

static int ktcp_queue(struct kfi_post_ep *post, struct kfi_op *op)
{
	struct ktcp_ep *ep = to_ktcp_ep(&post->ep);
	struct ktcp_op *t = to_ktcp_op(op);

	if (op->type == KFI_OP_RECV) {
		list_add_tail(&op->node, &ep->rx);
		if (READ_ONCE(ep->r.waits))
			ktcp_receive_kick(ep);
		return 0;
	}
	if (op->type == KFI_OP_FLUSH)
		kfi_post_make_readback(op);
	t->handed = false;
	t->answered = false;
	t->deadline = kfi_post_deadline(post);
	list_add_tail(&op->node, &ep->tx);
	ktcp_watch_locked(ep);
	if (!(op->flags & FI_MORE))
		ktcp_send_kick(ep);
	return 0;
}

static void ktcp_submit_inline(struct kfi_post_ep *post)
{
	struct ktcp_ep *ep = to_ktcp_ep(&post->ep);
	unsigned long irq;

	if (ktcp_send_inline(ep))
		return;
	spin_lock_irqsave(&post->lock, irq);
	ktcp_send_kick(ep);
	spin_unlock_irqrestore(&post->lock, irq);
}

static void ktcp_rx_ready(struct kfi_post_ep *post)
{
	ktcp_receive_kick(to_ktcp_ep(&post->ep));
}

const struct kfi_post_ops ktcp_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.queue = ktcp_queue,
	.kick = ktcp_post_kick,
	.submit_inline = ktcp_submit_inline,
	.rx_ready = ktcp_rx_ready,
};
