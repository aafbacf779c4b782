// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: the engine of an endpoint: takes what posts have queued, calls
 * RDS, looks at deadlines, and completes.
 *
 * Context: workqueue; at the end of the endpoint's life its close. Memory is
 *	allocated as in the path of reclaim.
 * Locking and lifetime: see rds.h.
 */
#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rds.h"

/* Under ep->post.lock. */
void krds_kick(struct krds_ep *ep)
{
	lockdep_assert_held(&ep->post.lock);
	if (!ep->closed)
		mod_delayed_work(krds_wq, &ep->engine, 0);
}

/* The operation memory is gone when this returns. */
void krds_finish(struct krds_ep *ep, struct krds_op *op, int err,
		 int prov_errno)
{
	struct fi_cq_err_entry *entry = &op->base.comp->entry;

	if (op->base.type == KFI_OP_SEND)
		err = kfi_send_end(&ep->post, &op->send, err);
	entry->err = err;
	entry->prov_errno = prov_errno;
	kfi_post_done(&ep->post, &op->base);
}

static void krds_splice(struct krds_ep *ep, struct list_head *from,
			struct list_head *to)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	list_splice_tail_init(from, to);
	spin_unlock_irqrestore(&ep->post.lock, irq);
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
void krds_end_all(struct krds_ep *ep)
{
	struct krds_host *host;
	struct hlist_node *next;
	int i;

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

/* Run again at a time, unless it is kicked before. */
static void krds_run_later(struct krds_ep *ep, bool more)
{
	unsigned long irq;

	if (!more && list_empty(&ep->busy))
		return;
	spin_lock_irqsave(&ep->post.lock, irq);
	if (!ep->closed)
		queue_delayed_work(krds_wq, &ep->engine,
				   more ? 0 : msecs_to_jiffies(KRDS_TICK_MS));
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

void krds_engine(struct work_struct *work)
{
	struct krds_ep *ep = container_of(work, struct krds_ep, engine.work);
	unsigned int noio = memalloc_noio_save();
	bool more;

	krds_end_list(ep, &ep->canceled);
	krds_take_posts(ep);
	krds_send_all(ep);
	more = krds_receive_all(ep);
	krds_run_later(ep, more);
	memalloc_noio_restore(noio);
}
