// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: posting and cancelling: queues, kicks the engine.
 *
 * Context: posting: any but hardirq; no sleep, no allocation. submit_inline():
 *	process.
 * Locking: krds_ep.post.lock.
 */

#include "rds.h"

static int krds_ready(struct kfi_post_ep *post, u64 dir)
{
	return to_krds_ep(&post->ep)->bound ? 0 : -FI_EOPBADSTATE;
}

static int krds_queue(struct kfi_post_ep *post, struct kfi_op *base)
{
	struct krds_ep *ep = to_krds_ep(&post->ep);
	struct krds_op *op = to_krds_op(base);
	bool news = true;

	lockdep_assert_held(&post->lock);
	if (base->type == KFI_OP_SEND) {
		/* RDS has no word beside the bytes, and no way between families. */
		if (base->flags & FI_REMOTE_CQ_DATA)
			return -EOPNOTSUPP;
		if (!kfi_av_name(post->ep.av, base->addr, &op->to) ||
		    op->to.sin6_family != ep->name.sin6_family)
			return -EINVAL;
		op->deadline = kfi_post_deadline(post);
		op->why = 0;
		list_add_tail(&base->node, &ep->posted);
		kfi_send_add(&op->send, base, &ep->sends);
	} else {
		op->canceled = false;
		list_add_tail(&base->node, &ep->receives);
		/* May something be there for it? What comes later wakes the engine. */
		news = ep->running || ep->wakes != READ_ONCE(ep->seen) ||
		       !list_empty(&ep->stash);
	}
	if (news && !(base->flags & FI_MORE))
		krds_kick(ep);
	return 0;
}

static void krds_post_kick(struct kfi_post_ep *post)
{
	krds_kick(to_krds_ep(&post->ep));
}

/* Whoever runs it looks at what was posted, where its upcalls are wanted. */
static void krds_submit_inline(struct kfi_post_ep *post)
{
	struct krds_ep *ep = to_krds_ep(&post->ep);
	unsigned long irq;

	if (!ep->in_work) {
		if (krds_own(ep))
			krds_run(ep);
		return;
	}
	spin_lock_irqsave(&post->lock, irq);
	krds_kick(ep);
	spin_unlock_irqrestore(&post->lock, irq);
}

/* A context that is over may be named: only what is on a list is looked into. */
static int krds_cancel(struct kfi_post_ep *post, const struct kfi_op *base)
{
	struct krds_ep *ep = to_krds_ep(&post->ep);
	struct kfi_op *rx;

	lockdep_assert_held(&post->lock);
	list_for_each_entry(rx, &ep->receives, node) {
		if (rx != base)
			continue;
		list_move_tail(&rx->node, &ep->canceled);
		krds_kick(ep);
		return 0;
	}
	/* With its message, if there is one for it: the engine knows. */
	list_for_each_entry(rx, &ep->filling, node)
		if (rx == base)
			to_krds_op(rx)->canceled = true;
	if (kfi_send_cancel(&ep->sends, base))
		return -ENOENT;
	ep->cancel = true;
	krds_kick(ep);
	return 0;
}

const struct kfi_post_ops krds_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.ready = krds_ready,
	.queue = krds_queue,
	.kick = krds_post_kick,
	.submit_inline = krds_submit_inline,
	.cancel = krds_cancel,
};
