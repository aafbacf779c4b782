// SPDX-License-Identifier: BSD-2-Clause
/* Requests of a disk, their tags and their time. */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "blk.h"

#define TIME_NS	       (30 * UINT64_C(1000000000))
#define EXPIRE_JIFFIES (5UL * HZ)
/* Disks below a request-based target of the device mapper. */
#define CLONES_PERMILLE 150

struct request *blk_request_at(const struct blk_mq_tag_set *set, u32 i)
{
	return (struct request *)(set->requests + i * set->stride);
}

/* The last one is for flushes. */
int blk_mq_alloc_tag_set(struct blk_mq_tag_set *set)
{
	u32 i;
	int ret = 0;

	set->stride = ALIGN(sizeof(struct request) + set->cmd_size,
			    sizeof(struct request));
	set->requests = km_zalloc((set->queue_depth + 1) * (set->stride));
	if (!set->requests)
		return -ENOMEM;
	for (i = 0; !ret && i <= set->queue_depth; i++) {
		blk_request_at(set, i)->tag = (int)i;
		ret = set->ops->init_request(set, blk_request_at(set, i), 0, 0);
	}
	return ret;
}

void blk_mq_free_tag_set(struct blk_mq_tag_set *set)
{
	for (u32 i = 0; i <= set->queue_depth; i++)
		if (blk_request_at(set, i)->is_taken)
			km_broken("a tag is freed that is in use");
	kfree(set->requests);
	set->requests = NULL;
}

/* The bios of the request above it have ended one by one. */
static void clone_ended(struct request *rq, blk_status_t status)
{
}

void blk_init_request(struct request *rq, blk_opf_t flags)
{
	struct request_queue *q = rq->q;

	rq->hctx = &q->hctxs[km_below(q->set->nr_hw_queues)];
	rq->cmd_flags = flags;
	rq->rq_flags = 0;
	rq->bio = NULL;
	rq->biotail = NULL;
	rq->sector = 0;
	rq->len = 0;
	rq->state = SIM_RQ_IDLE;
	rq->is_taken = true;
	rq->end_io = q->has_clones ? clone_ended : NULL;
}

struct request *blk_take_request(struct request_queue *q)
{
	for (u32 i = 0; i < q->set->queue_depth; i++) {
		struct request *rq = blk_request_at(q->set, i);

		if (rq->is_taken)
			continue;
		rq->q = q;
		rq->is_taken = true;
		return rq;
	}
	return NULL;
}

void blk_put_request(struct request *rq)
{
	rq->is_taken = false;
	wake_up(&rq->q->wait);
}

void blk_mq_tagset_busy_iter(struct blk_mq_tag_set *set,
			     bool (*fn)(struct request *rq, void *arg),
			     void *arg)
{
	for (u32 i = 0; i <= set->queue_depth; i++) {
		struct request *rq = blk_request_at(set, i);

		km_may_yield();
		if (rq->is_taken && rq->state == SIM_RQ_STARTED && !fn(rq, arg))
			return;
	}
}

/* ---- time ----------------------------------------------------------------- */

void blk_mq_start_request(struct request *rq)
{
	if (rq->state == SIM_RQ_STARTED)
		km_broken("a request is started twice");
	rq->state = SIM_RQ_STARTED;
	rq->deadline_ns = km_now_ns() + TIME_NS;
	if (!rq->q->expire.is_armed)
		mod_delayed_work(system_unbound_wq, &rq->q->expire,
				 EXPIRE_JIFFIES);
}

static bool expire_request(struct request *rq, void *arg)
{
	bool *is_any = arg;

	*is_any = true;
	if (rq->deadline_ns > km_now_ns())
		return true;
	if (rq->q->set->ops->timeout(rq) == BLK_EH_RESET_TIMER)
		rq->deadline_ns = km_now_ns() + TIME_NS;
	else
		km_broken("a request's time is over, and it is not heard of");
	return true;
}

static void expire_requests(struct work_struct *work)
{
	struct request_queue *q =
		container_of(work, struct request_queue, expire.work);
	bool is_any = false;

	blk_mq_tagset_busy_iter(q->set, expire_request, &is_any);
	if (is_any)
		mod_delayed_work(system_unbound_wq, &q->expire, EXPIRE_JIFFIES);
}

/* ---- queues ---------------------------------------------------------------- */

static void bring_back(struct work_struct *work)
{
	struct request_queue *q =
		container_of(work, struct request_queue, requeue.work);
	struct request *rq;
	LIST_HEAD(list);

	spin_lock_bh(&q->lock);
	list_splice_init(&q->requeued, &list);
	spin_unlock_bh(&q->lock);
	while (!list_empty(&list)) {
		rq = list_first_entry(&list, struct request, queuelist);
		list_del_init(&rq->queuelist);
		blk_insert(rq, !(rq->rq_flags & RQF_DONTPREP));
	}
	blk_mq_run_hw_queues(q, false);
}

void blk_mq_kick_requeue_list(struct request_queue *q)
{
	if (q->is_drained)
		km_broken("a queue is kicked whose disk has gone");
	mod_delayed_work(system_unbound_wq, &q->requeue, 0);
}

void blk_mq_requeue_request(struct request *rq, bool kick)
{
	struct request_queue *q = rq->q;

	if (!rq->is_taken || rq->state == SIM_RQ_COMPLETE)
		km_broken("a request comes back that is over");
	blk_enter(q);
	rq->state = SIM_RQ_IDLE;
	spin_lock_bh(&q->lock);
	list_add_tail(&rq->queuelist, &q->requeued);
	spin_unlock_bh(&q->lock);
	if (kick)
		blk_mq_kick_requeue_list(q);
	blk_leave(q);
}

static void run_now(struct work_struct *work)
{
	blk_run(container_of(work, struct blk_mq_hw_ctx, run), false);
}

static void run_again(struct work_struct *work)
{
	blk_run(container_of(work, struct blk_mq_hw_ctx, again.work), false);
}

struct request_queue *km_queue_new(struct blk_mq_tag_set *set,
				   const struct queue_limits *limits)
{
	struct request_queue *q = km_zalloc(sizeof(*q));
	u32 i;

	if (!q)
		return NULL;
	q->hctxs = km_zalloc((set->nr_hw_queues) * (sizeof(*q->hctxs)));
	if (!q->hctxs) {
		kfree(q);
		return NULL;
	}
	q->set = set;
	q->limits = *limits;
	q->has_clones = km_chance(CLONES_PERMILLE);
	INIT_LIST_HEAD(&q->requeued);
	INIT_LIST_HEAD(&q->flushes);
	INIT_LIST_HEAD(&q->flushing);
	INIT_DELAYED_WORK(&q->requeue, bring_back);
	INIT_DELAYED_WORK(&q->expire, expire_requests);
	for (i = 0; i < set->nr_hw_queues; i++) {
		q->hctxs[i].queue = q;
		INIT_LIST_HEAD(&q->hctxs[i].dispatch);
		INIT_WORK(&q->hctxs[i].run, run_now);
		INIT_DELAYED_WORK(&q->hctxs[i].again, run_again);
	}
	q->flush_rq = blk_request_at(set, set->queue_depth);
	q->flush_rq->q = q;
	return q;
}

static bool is_idle(const struct request_queue *q)
{
	if (q->n_entered)
		return false;
	for (u32 i = 0; i <= q->set->queue_depth; i++)
		if (blk_request_at(q->set, i)->is_taken)
			return false;
	return true;
}

/* Nothing more comes in, and all that has is over. */
void km_queue_drain(struct request_queue *q)
{
	q->is_dying = true;
	wait_event(q->wait, is_idle(q));
	q->is_drained = true;
	blk_await_runs(q);
	/* In the order in which one has another run. */
	cancel_delayed_work_sync(&q->expire);
	cancel_delayed_work_sync(&q->requeue);
	for (u32 i = 0; i < q->set->nr_hw_queues; i++) {
		cancel_delayed_work_sync(&q->hctxs[i].again);
		cancel_work_sync(&q->hctxs[i].run);
	}
}

void km_queue_free(struct request_queue *q)
{
	kfree(q->hctxs);
	kfree(q);
}
