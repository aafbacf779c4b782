// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: being woken by RDS, and who runs the engine then.
 *
 * RDS puts what one endpoint of this host sends to another into that one's socket
 * before the sender's call returns. Whoever runs the sender's engine then runs the
 * receiver's as well, when it has done with its own: no thread needs to be woken for
 * a message. The receiver is handed off to it when RDS tells, in its context, that
 * something has come; a work is queued behind that, which runs the receiver if whoever
 * it was handed off to is late (it may wait for memory), or has many messages to send
 * meanwhile.
 *
 * Context: krds_woken(): any, under RDS's locks. All else: the engine.
 * Locking: krds_ep.post.lock, and under it that of a bucket of runners. The list of
 *	a runner is its task's alone.
 * Lifetime: a runner is on its task's stack. An endpoint is not closed while one
 *	has it: krds_end_all().
 */
#include <linux/hash.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "rds.h"

#define KRDS_TASK_BITS 5
#define KRDS_AHEAD     16 /* messages that come, until the work is to help */

struct krds_bucket {
	spinlock_t lock; /* irq-safe */
	struct hlist_head runners;
};

static struct krds_bucket krds_buckets[1 << KRDS_TASK_BITS];

void krds_runners_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(krds_buckets); i++) {
		spin_lock_init(&krds_buckets[i].lock);
		INIT_HLIST_HEAD(&krds_buckets[i].runners);
	}
}

static struct krds_bucket *krds_bucket_of(const struct task_struct *task)
{
	return &krds_buckets[hash_ptr(task, KRDS_TASK_BITS)];
}

/* What is sent in this context from here on may wake endpoints of this host. */
void krds_runner_begin(struct krds_runner *r)
{
	struct krds_bucket *b = krds_bucket_of(current);
	unsigned long irq;

	r->task = current;
	INIT_LIST_HEAD(&r->woken);
	spin_lock_irqsave(&b->lock, irq);
	hlist_add_head(&r->hash, &b->runners);
	spin_unlock_irqrestore(&b->lock, irq);
}

void krds_runner_end(struct krds_runner *r)
{
	struct krds_bucket *b = krds_bucket_of(current);
	unsigned long irq;

	spin_lock_irqsave(&b->lock, irq);
	hlist_del(&r->hash);
	spin_unlock_irqrestore(&b->lock, irq);
}

/* Who runs an engine in this very context; NULL: nobody. */
static struct krds_runner *krds_runner_here(void)
{
	struct krds_bucket *b = krds_bucket_of(current);
	struct krds_runner *r;

	if (!in_task())
		return NULL;
	spin_lock(&b->lock);
	hlist_for_each_entry(r, &b->runners,
			     hash) if (r->task == current) break;
	spin_unlock(&b->lock);
	return r;
}

/*
 * Whoever it was handed off to may be late: for each message, as the work may have
 * done with those before.
 */
static void krds_back_up(struct krds_ep *ep)
{
	if (!queue_delayed_work(krds_wq, &ep->base.engine, 1) &&
	    !list_empty(&ep->busy))
		/* What is pending may be the look at deadlines. */
		mod_delayed_work(krds_wq, &ep->base.engine, 1);
}

/* False: a thread must be woken for it. */
static bool krds_hand_off(struct krds_ep *ep)
{
	struct krds_runner *r;

	lockdep_assert_held(&ep->base.post.lock);
	if (ep->handed_off) {
		krds_back_up(ep);
		return ep->wakes - ep->seen <= KRDS_AHEAD;
	}
	/* Its upcalls are wanted in a workqueue. */
	if (kfi_ep_wants_work(&ep->base.post.ep))
		return false;
	r = krds_runner_here();
	if (!r)
		return false;
	ep->handed_off = true;
	list_add_tail(&ep->woken, &r->woken);
	krds_back_up(ep);
	return true;
}

/* In any context, with RDS's locks: something has come, or there is room. */
int krds_woken(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct krds_ep *ep = container_of(wait, struct krds_ep, base.wait);
	unsigned long irq;

	spin_lock_irqsave(&ep->base.post.lock, irq);
	WRITE_ONCE(ep->wakes, ep->wakes + 1);
	/* The engine looks for it when it has done, and who posts a receive does. */
	if (!ep->running && !ep->base.closed && krds_is_wanted(ep) &&
	    !krds_hand_off(ep))
		krds_kick(&ep->base.post);
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
	return 0;
}

/* The next one to run; NULL: there is none. It is kept until krds_handoff_done(). */
struct krds_ep *krds_handoff_next(struct krds_runner *r)
{
	struct krds_ep *ep =
		list_first_entry_or_null(&r->woken, struct krds_ep, woken);

	if (ep)
		list_del(&ep->woken);
	return ep;
}

/* It may be gone when this returns. */
void krds_handoff_done(struct krds_ep *ep)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->base.post.lock, irq);
	ep->handed_off = false;
	/* What has come since was left to the handoff, or to who runs it now. */
	if (!ep->running && krds_has_news(ep))
		krds_kick(&ep->base.post);
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
}
