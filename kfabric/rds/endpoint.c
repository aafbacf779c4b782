// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: endpoints: opening, posting and cancelling, which queue and kick
 * the engine.
 *
 * Context: posting: any but hardirq; no sleep, no allocation. submit_inline():
 *	process.
 * Locking: kfi_post_ep.lock.
 */
#include <linux/slab.h>

#include "rds.h"

/* ---- posting ------------------------------------------------------------ */

static int krds_ready(struct kfi_post_ep *post, u64 dir)
{
	return to_krds_ep(post)->base.bound ? 0 : -FI_EOPBADSTATE;
}

static int krds_queue(struct kfi_post_ep *post, struct kfi_op *base)
{
	struct krds_ep *ep = to_krds_ep(post);
	struct krds_op *op = to_krds_op(base);
	bool news = true;

	lockdep_assert_held(&post->lock);
	if (base->type == KFI_OP_SEND) {
		/* RDS has no word beside the bytes, and no way between families. */
		if (base->flags & FI_REMOTE_CQ_DATA)
			return -EOPNOTSUPP;
		if (!kfi_av_name(post->ep.av, base->addr, &op->to) ||
		    op->to.sin6_family != ep->base.name.sin6_family)
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
		krds_kick(post);
	return 0;
}

/* Whoever runs it looks at what was posted, where its upcalls are wanted. */
static void krds_submit_inline(struct kfi_post_ep *post)
{
	struct krds_ep *ep = to_krds_ep(post);
	unsigned long irq;

	if (!kfi_ep_wants_work(&post->ep)) {
		if (krds_own(ep))
			krds_run(ep);
		return;
	}
	spin_lock_irqsave(&post->lock, irq);
	krds_kick(post);
	spin_unlock_irqrestore(&post->lock, irq);
}

/* A context that is over may be named: only what is on a list is looked into. */
static int krds_cancel(struct kfi_post_ep *post, const struct kfi_op *base)
{
	struct krds_ep *ep = to_krds_ep(post);
	struct kfi_op *rx;

	lockdep_assert_held(&post->lock);
	list_for_each_entry(rx, &ep->receives, node) {
		if (rx != base)
			continue;
		list_move_tail(&rx->node, &ep->canceled);
		krds_kick(post);
		return 0;
	}
	/* With its message, if there is one for it: the engine knows. */
	list_for_each_entry(rx, &ep->filling, node)
		if (rx == base)
			to_krds_op(rx)->canceled = true;
	if (kfi_send_cancel(&ep->sends, base))
		return -ENOENT;
	ep->cancel = true;
	krds_kick(post);
	return 0;
}

static const struct kfi_post_ops krds_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.ready = krds_ready,
	.queue = krds_queue,
	.kick = krds_kick,
	.submit_inline = krds_submit_inline,
	.cancel = krds_cancel,
};

/* ---- opening ------------------------------------------------------------ */

static int krds_open(struct kfi_socket_ep *base, struct net *net,
		     const struct fi_info *info)
{
	/* RDS binds to one address: there is no wildcard, and none of its choice. */
	if (!info->src_addr || !kfi_name_set(&base->name, info->src_addr) ||
	    kfi_name_is_any(&base->name))
		return -EADDRNOTAVAIL;
	return krds_socket_open(net, &base->sock);
}

static const struct kfi_socket_ep_ops krds_ep_ops = {
	.open = krds_open,
	.end_all = krds_end_all,
	.op_bytes = sizeof(struct krds_op),
};

int krds_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **fid, void *context)
{
	struct krds_ep *ep;
	int ret;

	/* What is no unconnected one has nothing to be connected by. */
	if (info->handle || info->ep_attr->type != FI_EP_RDM)
		return -EINVAL;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return -ENOMEM;
	kfi_post_init(&ep->base.post, info, &krds_post_ops);
	kfi_post_limit(&ep->base.post, KRDS_QUEUE_SIZE, KRDS_IOV_LIMIT,
		       KRDS_MAX_MSG);
	ep->base.ops = &krds_ep_ops;
	INIT_DELAYED_WORK(&ep->base.engine, krds_engine);
	init_waitqueue_func_entry(&ep->base.wait, krds_woken);
	INIT_LIST_HEAD(&ep->posted);
	INIT_LIST_HEAD(&ep->sends);
	INIT_LIST_HEAD(&ep->receives);
	INIT_LIST_HEAD(&ep->canceled);
	INIT_LIST_HEAD(&ep->filling);
	INIT_LIST_HEAD(&ep->busy);
	INIT_LIST_HEAD(&ep->stash);
	hash_init(ep->hosts);
	ep->last_from = FI_ADDR_UNSPEC;
	ep->next_tick = jiffies;
	ret = kfi_socket_ep_open(&ep->base, domain, info, fid, context);
	if (!ret)
		(*fid)->is_inline = true;
	return ret;
}
