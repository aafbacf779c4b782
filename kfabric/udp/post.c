// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The udp provider: posting and cancelling: queues, kicks the engine.
 *
 * Context: any but hardirq; no sleep, no allocation.
 * Locking: kudp_ep.post.lock.
 */

#include "udp.h"

static int kudp_ready(struct kfi_post_ep *post, u64 dir)
{
	return to_kudp_ep(&post->ep)->bound ? 0 : -FI_EOPBADSTATE;
}

static int kudp_queue(struct kfi_post_ep *post, struct kfi_op *base)
{
	struct kudp_ep *ep = to_kudp_ep(&post->ep);
	struct kudp_op *op = to_kudp_op(base);

	lockdep_assert_held(&post->lock);
	if (base->type == KFI_OP_SEND) {
		/* A datagram has no word beside its bytes, and a socket one family. */
		if (base->flags & FI_REMOTE_CQ_DATA)
			return -EOPNOTSUPP;
		if (!kfi_av_name(post->ep.av, base->addr, &op->to) ||
		    op->to.sin6_family != ep->name.sin6_family)
			return -EINVAL;
		op->deadline = kfi_post_deadline(post);
		list_add_tail(&base->node, &ep->sends);
	} else {
		list_add_tail(&base->node, &ep->receives);
	}
	if (!(base->flags & FI_MORE))
		kudp_kick(ep);
	return 0;
}

static void kudp_post_kick(struct kfi_post_ep *post)
{
	kudp_kick(to_kudp_ep(&post->ep));
}

static bool kudp_cancel_of(struct kudp_ep *ep, struct list_head *list,
			   const struct kfi_op *base)
{
	struct kfi_op *op;

	list_for_each_entry(op, list, node) {
		if (op != base)
			continue;
		list_move_tail(&op->node, &ep->canceled);
		kudp_kick(ep);
		return true;
	}
	return false;
}

/* A context that is over may be named: only what is on a list is looked into. */
static int kudp_cancel(struct kfi_post_ep *post, const struct kfi_op *base)
{
	struct kudp_ep *ep = to_kudp_ep(&post->ep);

	lockdep_assert_held(&post->lock);
	if (kudp_cancel_of(ep, &ep->receives, base) ||
	    kudp_cancel_of(ep, &ep->sends, base))
		return 0;
	return -ENOENT;
}

const struct kfi_post_ops kudp_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.ready = kudp_ready,
	.queue = kudp_queue,
	.kick = kudp_post_kick,
	.cancel = kudp_cancel,
};
