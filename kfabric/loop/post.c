// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: posting: queues, kicks the engine.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: loop_ep.post.lock.
 */
#include "loop.h"

static void loop_post_kick(struct kfi_post_ep *post)
{
	loop_kick(to_loop_ep(&post->ep));
}

static int loop_queue(struct kfi_post_ep *post, struct kfi_op *op)
{
	struct loop_ep *ep = to_loop_ep(&post->ep);

	lockdep_assert_held(&ep->post.lock);
	if (op->type != KFI_OP_RECV) {
		list_add_tail(&op->node, &ep->tx);
		if (!(op->flags & FI_MORE))
			loop_kick(ep);
		return 0;
	}
	list_add_tail(&op->node, &ep->rx);
	if (ep->sender_waits && ep->peer) {
		ep->sender_waits = false;
		loop_kick(ep->peer);
	}
	return 0;
}

/* It is the sender that fills receives. */
static void loop_rx_ready(struct kfi_post_ep *post)
{
	struct loop_ep *ep = to_loop_ep(&post->ep);

	lockdep_assert_held(&ep->post.lock);
	if (ep->peer)
		loop_kick(ep->peer);
}

const struct kfi_post_ops loop_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.queue = loop_queue,
	.kick = loop_post_kick,
	.rx_ready = loop_rx_ready,
};
