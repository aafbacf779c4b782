// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: posting and cancelling: queues, kicks the engine.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: kfir_ep.post.lock.
 */
#include <linux/jiffies.h>

#include "rdm.h"

static int kfir_ready(struct kfi_post_ep *post, u64 dir)
{
	struct kfir_ep *ep = to_kfir_ep(&post->ep);

	if (READ_ONCE(ep->pep->fid.dead))
		return -ENODEV;
	return ep->listening ? 0 : -FI_EOPBADSTATE;
}

static int kfir_queue(struct kfi_post_ep *post, struct kfi_op *base)
{
	struct kfir_ep *ep = to_kfir_ep(&post->ep);
	struct kfir_op *op = to_kfir_op(base);

	lockdep_assert_held(&post->lock);
	if (base->type == KFI_OP_SEND &&
	    !kfi_av_name(post->ep.av, base->addr, &op->to))
		return -EINVAL;
	op->moved = 0;
	op->pieces = 0;
	op->flying = 0;
	op->begun = false;
	op->canceled = false;
	op->whole = false;
	if (base->type == KFI_OP_RECV) {
		op->seq = ep->rx_seq++;
		list_add_tail(&base->node, &ep->receives);
	} else {
		op->deadline =
			jiffies +
			msecs_to_jiffies(READ_ONCE(post->ep.op_timeout_ms));
		list_add_tail(&base->node, &ep->posted);
		list_add_tail(&op->all, &ep->sends);
	}
	if (!(base->flags & FI_MORE))
		kfir_kick(ep);
	return 0;
}

static void kfir_post_kick(struct kfi_post_ep *post)
{
	kfir_kick(to_kfir_ep(&post->ep));
}

/* A context that is over may be named: only what is on a list is looked into. */
static int kfir_cancel(struct kfi_post_ep *post, const struct kfi_op *base)
{
	struct kfir_ep *ep = to_kfir_ep(&post->ep);
	struct kfi_op *rx;
	struct kfir_op *op;

	lockdep_assert_held(&post->lock);
	list_for_each_entry(rx, &ep->receives, node) {
		if (rx != base)
			continue;
		list_move_tail(&rx->node, &ep->canceled);
		kfir_kick(ep);
		return 0;
	}
	list_for_each_entry(op, &ep->sends, all) {
		if (&op->base != base)
			continue;
		if (op->begun)
			break;
		op->canceled = true;
		ep->cancel = true;
		kfir_kick(ep);
		return 0;
	}
	return -ENOENT;
}

const struct kfi_post_ops kfir_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.ready = kfir_ready,
	.queue = kfir_queue,
	.kick = kfir_post_kick,
	.cancel = kfir_cancel,
};
