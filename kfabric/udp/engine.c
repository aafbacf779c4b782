// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The udp provider: the engine of an endpoint: gives the socket what was posted, puts
 * what came into receives, looks at deadlines, and completes.
 *
 * Context: workqueue; at the end of the endpoint's life its close. Memory is allocated
 *	as in the path of reclaim.
 * Locking and lifetime: see udp.h.
 */
#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/skbuff.h>

#include "udp.h"

void kudp_kick(struct kfi_post_ep *post)
{
	struct kfi_socket_ep *ep = &to_kudp_ep(post)->base;

	lockdep_assert_held(&post->lock);
	if (!ep->closed && !queue_delayed_work(kudp_wq, &ep->engine, 0))
		mod_delayed_work(kudp_wq, &ep->engine, 0);
}

/* The operation memory is gone when this returns. */
static void kudp_finish(struct kudp_ep *ep, struct kudp_op *op, int err,
			int prov_errno)
{
	kfi_op_end(&ep->base.post, &op->base, NULL, err, prov_errno);
}

static void kudp_end_list(struct kudp_ep *ep, struct list_head *list)
{
	struct kudp_op *op, *next;
	unsigned long irq;
	LIST_HEAD(ops);

	spin_lock_irqsave(&ep->base.post.lock, irq);
	list_splice_tail_init(list, &ops);
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
	list_for_each_entry_safe(op, next, &ops, base.node)
		kudp_finish(ep, op, ECANCELED, 0);
}

/* Every operation ends, and what came without a receive is dropped. */
void kudp_end_all(struct kfi_socket_ep *base)
{
	struct kudp_ep *ep = to_kudp_ep(&base->post);

	kudp_end_list(ep, &ep->canceled);
	kudp_end_list(ep, &ep->sends);
	kudp_end_list(ep, &ep->receives);
	consume_skb(ep->early);
	ep->early = NULL;
}

/* The first of a list, which fi_cancel() does not find from here on; or NULL. */
static struct kudp_op *kudp_take(struct kudp_ep *ep, struct list_head *list)
{
	struct kudp_op *op;
	unsigned long irq;

	spin_lock_irqsave(&ep->base.post.lock, irq);
	op = list_first_entry_or_null(list, struct kudp_op, base.node);
	if (op)
		list_move_tail(&op->base.node, &ep->busy);
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
	return op;
}

/* ---- sending ------------------------------------------------------------- */

/* Has it gone, or will never? */
static bool kudp_send(struct kudp_ep *ep, struct kudp_op *op)
{
	int ret = kfi_socket_send(&ep->base, &op->to, &op->base.buf);
	unsigned long irq;

	switch (ret) {
	case 0:
		kudp_finish(ep, op, 0, 0);
		return true;
	case -EAGAIN:
	case -ENOBUFS:
	case -ENOMEM:
		/* The socket had no room for it: it is the next one. */
		spin_lock_irqsave(&ep->base.post.lock, irq);
		list_move(&op->base.node, &ep->sends);
		spin_unlock_irqrestore(&ep->base.post.lock, irq);
		return false;
	default:
		kudp_finish(ep, op,
			    ret == -EMSGSIZE ? EMSGSIZE : FI_EHOSTUNREACH, ret);
		return true;
	}
}

/* True: there is more to be sent now. */
static bool kudp_send_all(struct kudp_ep *ep)
{
	struct kudp_op *op, *next;
	unsigned long irq;
	LIST_HEAD(late);
	int n;

	for (n = 0; n < KUDP_BATCH; n++) {
		op = kudp_take(ep, &ep->sends);
		if (!op)
			return false;
		if (!kudp_send(ep, op))
			break;
	}
	if (n == KUDP_BATCH)
		return true;
	/* Those that have waited for room for too long, which need not be the first. */
	spin_lock_irqsave(&ep->base.post.lock, irq);
	list_for_each_entry_safe(op, next, &ep->sends, base.node)
		if (time_after(jiffies, op->deadline))
			list_move_tail(&op->base.node, &late);
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
	list_for_each_entry_safe(op, next, &late, base.node)
		kudp_finish(ep, op, FI_ENOBUFS, 0);
	return false;
}

/* ---- receiving ------------------------------------------------------------ */

/* True: there may be more. A datagram without a receive stays in the socket. */
static bool kudp_receive_all(struct kudp_ep *ep)
{
	struct fi_cq_err_entry *entry;
	struct sockaddr_in6 from;
	struct sk_buff *skb;
	struct kudp_op *op;
	int n;

	for (n = 0; n < KUDP_BATCH && !list_empty(&ep->receives); n++) {
		skb = ep->early ?: kudp_socket_receive(ep);
		ep->early = NULL;
		if (!skb)
			return false;
		op = kudp_take(ep, &ep->receives);
		if (!op) {
			ep->early = skb;
			return false;
		}
		entry = &op->base.comp->entry;
		entry->len = kudp_datagram_read(ep, skb, &op->base.buf);
		entry->olen = skb->len - entry->len;
		kudp_datagram_from(skb, &from);
		entry->src_addr = kfi_av_find_again(ep->base.post.ep.av, &from,
						    ep->last_from);
		ep->last_from = entry->src_addr;
		kudp_finish(ep, op, entry->olen ? FI_ETRUNC : 0, 0);
		consume_skb(skb);
	}
	return n == KUDP_BATCH;
}

/* ---- the engine ------------------------------------------------------------ */

void kudp_engine(struct work_struct *work)
{
	struct kudp_ep *ep =
		container_of(work, struct kudp_ep, base.engine.work);
	unsigned int noio = memalloc_noio_save();
	bool more;

	kudp_end_list(ep, &ep->canceled);
	more = kudp_send_all(ep);
	more |= kudp_receive_all(ep);
	spin_lock_irq(&ep->base.post.lock);
	if (more)
		kudp_kick(&ep->base.post);
	else if (!ep->base.closed && !list_empty(&ep->sends))
		queue_delayed_work(kudp_wq, &ep->base.engine,
				   msecs_to_jiffies(KUDP_TICK_MS));
	spin_unlock_irq(&ep->base.post.lock);
	memalloc_noio_restore(noio);
}
