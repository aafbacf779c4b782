// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: the engine of an endpoint: takes what posts have queued, calls
 * RDS, looks at deadlines, and completes.
 *
 * Context: workqueue, or who submits in process context; at the end of the
 *	endpoint's life its close. Memory is allocated as in the path of reclaim.
 * Locking and lifetime: see rds.h.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rds.h"

void krds_kick(struct kfi_post_ep *post)
{
	struct krds_ep *ep = to_krds_ep(post);

	lockdep_assert_held(&post->lock);
	if (ep->running)
		ep->again = true;
	else if (!ep->base.closed &&
		 !queue_delayed_work(krds_wq, &ep->base.engine, 0))
		mod_delayed_work(krds_wq, &ep->base.engine, 0);
}

/* The operation memory is gone when this returns. */
void krds_finish(struct krds_ep *ep, struct krds_op *op, int err,
		 int prov_errno)
{
	kfi_op_end(&ep->base.post, &op->base,
		   op->base.type == KFI_OP_SEND ? &op->send : NULL, err,
		   prov_errno);
}

/* What comes to an empty one meanwhile has the engine run again. */
static void krds_splice(struct krds_ep *ep, struct list_head *from,
			struct list_head *to)
{
	unsigned long irq;

	if (list_empty(from))
		return;
	spin_lock_irqsave(&ep->base.post.lock, irq);
	list_splice_tail_init(from, to);
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
}

static void krds_end_list(struct krds_ep *ep, struct list_head *list)
{
	struct krds_op *op, *next;
	LIST_HEAD(ops);

	krds_splice(ep, list, &ops);
	list_for_each_entry_safe(op, next, &ops, base.node)
		krds_finish(ep, op, ECANCELED, 0);
}

static void krds_take_posts(struct krds_ep *ep)
{
	struct krds_op *op, *next;
	struct krds_host *host;
	LIST_HEAD(posted);

	krds_splice(ep, &ep->posted, &posted);
	list_for_each_entry_safe(op, next, &posted, base.node) {
		host = krds_host_get(ep, &op->to);
		if (!host) {
			krds_finish(ep, op, FI_ENOMEM, 0);
			continue;
		}
		krds_host_busy(ep, host);
		list_move_tail(&op->base.node, &host->sends);
	}
}

/* Every operation ends, every host is forgotten. */
void krds_end_all(struct kfi_socket_ep *base)
{
	struct krds_ep *ep = to_krds_ep(&base->post);
	struct krds_host *host;
	struct hlist_node *next;
	int i;

	spin_lock_irq(&base->post.lock);
	while (ep->running || ep->handed_off) {
		spin_unlock_irq(&base->post.lock);
		schedule_timeout_uninterruptible(1);
		spin_lock_irq(&base->post.lock);
	}
	/* From here on this is the engine: nobody else is, or will be. */
	ep->running = true;
	spin_unlock_irq(&base->post.lock);
	krds_end_list(ep, &ep->canceled);
	hash_for_each_safe(ep->hosts, i, next, host, hash)
	{
		krds_end_list(ep, &host->handed);
		krds_end_list(ep, &host->sends);
		kfree(host);
	}
	krds_end_list(ep, &ep->posted);
	krds_end_list(ep, &ep->receives);
	krds_drop_stash(ep);
}

/* False: it runs, and will do so once more. */
bool krds_own(struct krds_ep *ep)
{
	unsigned long irq;
	bool yes;

	spin_lock_irqsave(&ep->base.post.lock, irq);
	yes = !ep->running;
	ep->running = true;
	ep->again = !yes;
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
	return yes;
}

/* False: it is to go on. Else it runs again at a time, unless it is kicked before. */
static bool krds_disown(struct krds_ep *ep, bool more, bool enough)
{
	unsigned long irq;
	bool over;

	spin_lock_irqsave(&ep->base.post.lock, irq);
	more = more || ep->again || krds_has_news(ep);
	over = !more || enough || ep->base.closed;
	ep->again = false;
	if (over) {
		ep->running = false;
		if (more)
			krds_kick(&ep->base.post);
		else if (!ep->base.closed && !list_empty(&ep->busy))
			queue_delayed_work(krds_wq, &ep->base.engine,
					   msecs_to_jiffies(KRDS_TICK_MS));
	}
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
	return over;
}

static void krds_run_one(struct krds_ep *ep)
{
	int runs = 0;
	bool more;

	do {
		if (!list_empty(&ep->canceled))
			krds_end_list(ep, &ep->canceled);
		if (!list_empty(&ep->posted))
			krds_take_posts(ep);
		if (!list_empty(&ep->busy))
			krds_send_all(ep);
		more = krds_receive_all(ep);
	} while (!krds_disown(ep, more, ++runs == KRDS_RUNS));
}

/* Who calls this has it: krds_own(). */
void krds_run(struct krds_ep *ep)
{
	unsigned int noio = memalloc_noio_save();
	struct krds_runner r;
	struct krds_ep *other;
	int n = 0;

	krds_runner_begin(&r);
	krds_run_one(ep);
	/* Those that were handed off to this one; when they are many, the work has the rest. */
	while ((other = krds_handoff_next(&r))) {
		if (n++ < KRDS_OTHERS && krds_own(other))
			krds_run_one(other);
		krds_handoff_done(other);
		cond_resched();
	}
	krds_runner_end(&r);
	memalloc_noio_restore(noio);
}

void krds_engine(struct work_struct *work)
{
	struct krds_ep *ep =
		container_of(work, struct krds_ep, base.engine.work);

	if (krds_own(ep))
		krds_run(ep);
}
