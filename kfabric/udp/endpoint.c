// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The udp provider: endpoints: opening, posting and cancelling, which queue and kick
 * the engine.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: kfi_post_ep.lock.
 */
#include <linux/in6.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "udp.h"

/* ---- posting ------------------------------------------------------------ */

static int kudp_ready(struct kfi_post_ep *post, u64 dir)
{
	return to_kudp_ep(post)->base.bound ? 0 : -FI_EOPBADSTATE;
}

static int kudp_queue(struct kfi_post_ep *post, struct kfi_op *base)
{
	struct kudp_ep *ep = to_kudp_ep(post);
	struct kudp_op *op = container_of(base, struct kudp_op, base);

	lockdep_assert_held(&post->lock);
	if (base->type == KFI_OP_SEND) {
		/* A datagram has no word beside its bytes, and a socket one family. */
		if (base->flags & FI_REMOTE_CQ_DATA)
			return -EOPNOTSUPP;
		if (!kfi_av_name(post->ep.av, base->addr, &op->to) ||
		    op->to.sin6_family != ep->base.name.sin6_family)
			return -EINVAL;
		op->deadline = kfi_post_deadline(post);
		list_add_tail(&base->node, &ep->sends);
	} else {
		list_add_tail(&base->node, &ep->receives);
	}
	if (!(base->flags & FI_MORE))
		kudp_kick(post);
	return 0;
}

/* A context that is over may be named: only what is on a list is looked into. */
static int kudp_cancel(struct kfi_post_ep *post, const struct kfi_op *base)
{
	struct kudp_ep *ep = to_kudp_ep(post);
	struct list_head *const lists[] = { &ep->receives, &ep->sends };
	struct kfi_op *op;
	int i;

	lockdep_assert_held(&post->lock);
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_entry(op, lists[i], node)
			if (op == base) {
				list_move_tail(&op->node, &ep->canceled);
				kudp_kick(post);
				return 0;
			}
	return -ENOENT;
}

static const struct kfi_post_ops kudp_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.ready = kudp_ready,
	.queue = kudp_queue,
	.kick = kudp_kick,
	.cancel = kudp_cancel,
};

/* ---- opening ------------------------------------------------------------ */

/* In any context, with the socket's locks: something has come, or there is room. */
static int kudp_woken(wait_queue_entry_t *wait, unsigned int mode, int sync,
		      void *key)
{
	struct kudp_ep *ep = container_of(wait, struct kudp_ep, base.wait);
	struct kfi_post_ep *post = &ep->base.post;
	__poll_t what = key_to_poll(key);
	unsigned long irq;

	spin_lock_irqsave(&post->lock, irq);
	/* Has the engine a use for it? */
	if (!what || !list_empty(&ep->busy) ||
	    ((what & EPOLLIN) && !list_empty(&ep->receives)) ||
	    ((what & EPOLLOUT) && !list_empty(&ep->sends)))
		kudp_kick(post);
	spin_unlock_irqrestore(&post->lock, irq);
	return 0;
}

static int kudp_open(struct kfi_socket_ep *base, struct net *net,
		     const struct fi_info *info)
{
	/* To bind to: the address of the info, else any of the family it speaks of. */
	if (!info->src_addr)
		base->name.sin6_family = info->addr_format == FI_SOCKADDR_IN6
						 ? AF_INET6
						 : AF_INET;
	else if (!kfi_name_set(&base->name, info->src_addr))
		return -EADDRNOTAVAIL;
	return kudp_socket_open(net, base->name.sin6_family, &base->sock);
}

static const struct kfi_socket_ep_ops kudp_ep_ops = {
	.open = kudp_open,
	.end_all = kudp_end_all,
	.op_bytes = sizeof(struct kudp_op),
};

int kudp_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **fid, void *context)
{
	struct kudp_ep *ep;

	/* What is no unconnected one has nothing to be connected by. */
	if (info->handle || info->ep_attr->type != FI_EP_DGRAM)
		return -EINVAL;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return -ENOMEM;
	kfi_post_init(&ep->base.post, info, &kudp_post_ops);
	kfi_post_limit(&ep->base.post, KUDP_QUEUE_SIZE, KUDP_IOV_LIMIT,
		       KUDP_MAX_MSG);
	ep->base.ops = &kudp_ep_ops;
	INIT_DELAYED_WORK(&ep->base.engine, kudp_engine);
	init_waitqueue_func_entry(&ep->base.wait, kudp_woken);
	INIT_LIST_HEAD(&ep->sends);
	INIT_LIST_HEAD(&ep->receives);
	INIT_LIST_HEAD(&ep->canceled);
	INIT_LIST_HEAD(&ep->busy);
	ep->last_from = FI_ADDR_UNSPEC;
	return kfi_socket_ep_open(&ep->base, domain, info, fid, context);
}
