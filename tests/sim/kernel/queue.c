// SPDX-License-Identifier: BSD-2-Clause
/* Requests on their way to the driver, and their end. */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>

#include "blk.h"

/* ---- to the driver ---------------------------------------------------------- */

void blk_insert(struct request *rq, bool at_head)
{
	struct blk_mq_hw_ctx *hctx = rq->hctx;

	spin_lock_bh(&hctx->lock);
	if (at_head)
		list_add(&rq->queuelist, &hctx->dispatch);
	else
		list_add_tail(&rq->queuelist, &hctx->dispatch);
	spin_unlock_bh(&hctx->lock);
}

/* The driver has no room: the rest waits, and somebody goes on with it. */
static void put_back(struct blk_mq_hw_ctx *hctx, struct list_head *list)
{
	spin_lock_bh(&hctx->lock);
	list_splice_init(list, &hctx->dispatch);
	spin_unlock_bh(&hctx->lock);
	mod_delayed_work(system_unbound_wq, &hctx->again, 1);
}

/* Whoever has made a clone makes another one, when it had no room as it came. */
static void make_anew(struct request *rq)
{
	rq->q->set->ops->cleanup_rq(rq);
	rq->rq_flags = 0;
}

/* False: the driver has no room. */
static bool dispatch(struct blk_mq_hw_ctx *hctx, struct list_head *list)
{
	const struct blk_mq_ops *ops = hctx->queue->set->ops;
	struct blk_mq_queue_data bd;
	bool is_open = false, is_new;
	blk_status_t status = BLK_STS_OK;

	while (!list_empty(list) && status != BLK_STS_RESOURCE) {
		bd.rq = list_first_entry(list, struct request, queuelist);
		list_del_init(&bd.rq->queuelist);
		bd.last = list_empty(list);
		is_new = !(bd.rq->rq_flags & RQF_DONTPREP);
		status = ops->queue_rq(hctx, &bd);
		if (status == BLK_STS_RESOURCE) {
			bd.rq->state = SIM_RQ_IDLE;
			if (bd.rq->end_io && is_new)
				make_anew(bd.rq);
			list_add(&bd.rq->queuelist, list);
		} else if (status) {
			blk_mq_end_request(bd.rq, status);
		}
		is_open = status ? is_open : !bd.last;
	}
	if (is_open)
		ops->commit_rqs(hctx);
	return status != BLK_STS_RESOURCE;
}

static bool may_sleep(const struct request_queue *q)
{
	return q->set->flags & BLK_MQ_F_BLOCKING;
}

/* Return: for end_run(). */
static int begin_run(struct request_queue *q)
{
	if (may_sleep(q)) {
		might_sleep();
		return srcu_read_lock(&q->runners);
	}
	rcu_read_lock();
	return 0;
}

static void end_run(struct request_queue *q, int phase)
{
	if (may_sleep(q))
		srcu_read_unlock(&q->runners, phase);
	else
		rcu_read_unlock();
}

static void run(struct blk_mq_hw_ctx *hctx)
{
	struct request_queue *q = hctx->queue;
	int phase = begin_run(q);
	bool goes_on = true;
	LIST_HEAD(list);

	while (goes_on && !q->n_quiesced) {
		spin_lock_bh(&hctx->lock);
		list_splice_init(&hctx->dispatch, &list);
		spin_unlock_bh(&hctx->lock);
		goes_on = !list_empty(&list) && dispatch(hctx, &list);
	}
	if (!list_empty(&list))
		put_back(hctx, &list);
	end_run(q, phase);
}

/* What waits keeps the queue there: nobody comes between the look and the work. */
void blk_run(struct blk_mq_hw_ctx *hctx, bool async)
{
	if (async)
		km_make_pending(&hctx->run);
	else
		run(hctx);
}

void blk_mq_run_hw_queues(struct request_queue *q, bool async)
{
	for (u32 i = 0; i < q->set->nr_hw_queues; i++)
		if (!list_empty(&q->hctxs[i].dispatch))
			blk_run(&q->hctxs[i], async);
}

void blk_await_runs(struct request_queue *q)
{
	if (may_sleep(q))
		synchronize_srcu(&q->runners);
	else
		synchronize_rcu();
}

void blk_mq_quiesce_queue(struct request_queue *q)
{
	q->n_quiesced++;
	blk_await_runs(q);
}

void blk_mq_unquiesce_queue(struct request_queue *q)
{
	if (!q->n_quiesced)
		km_broken("a queue goes on that was not stopped");
	q->n_quiesced--;
	blk_mq_run_hw_queues(q, true);
}

/* ---- what they are of ---------------------------------------------------------- */

unsigned short blk_rq_nr_phys_segments(struct request *rq)
{
	struct bio *bio;
	u32 n = 0;

	__rq_for_each_bio(bio, rq) n += bio_pieces(bio);
	return (unsigned short)n;
}

/* Pieces that lie together become one. */
int blk_rq_map_sg(struct request_queue *q, struct request *rq,
		  struct scatterlist *sg)
{
	struct req_iterator at;
	struct bio_vec bv;
	int n = 0;

	rq_for_each_segment(bv, rq, at)
	{
		u8 *from = bvec_address(&bv);

		if (n &&
		    (u8 *)page_address(sg[n - 1].page) + sg[n - 1].offset +
				    sg[n - 1].length ==
			    from &&
		    sg[n - 1].length + bv.bv_len <=
			    q->limits.max_segment_size) {
			sg[n - 1].length += bv.bv_len;
			continue;
		}
		sg[n].page = bv.bv_page;
		sg[n].offset = bv.bv_offset;
		sg[n].length = bv.bv_len;
		sg[n++].is_last = false;
	}
	sg[n - 1].is_last = true;
	return n;
}

void blk_steal_bios(struct bio_list *list, struct request *rq)
{
	if (rq->end_io)
		km_broken("a request loses its bios that are not its own");
	if (rq->bio) {
		if (list->tail)
			list->tail->bi_next = rq->bio;
		else
			list->head = rq->bio;
		list->tail = rq->biotail;
	}
	rq->bio = NULL;
	rq->biotail = NULL;
	rq->len = 0;
}

/* ---- from it -------------------------------------------------------------------- */

void blk_mq_complete_request(struct request *rq)
{
	if (!rq->is_taken || rq->state != SIM_RQ_STARTED)
		km_broken("a request completes that is not under way");
	rq->state = SIM_RQ_COMPLETE;
	rq->q->set->ops->complete(rq);
}

void blk_mq_end_request(struct request *rq, blk_status_t status)
{
	struct request_queue *q = rq->q;
	struct bio *bio = rq->bio, *next;

	rq->state = SIM_RQ_IDLE;
	if (rq == q->flush_rq) {
		blk_put_request(rq);
		blk_flush_ended(q, status);
		return;
	}
	for (; bio; bio = next) {
		next = bio->bi_next;
		bio->bi_next = NULL;
		if (status)
			bio->bi_status = status;
		bio_endio(bio);
	}
	blk_put_request(rq);
}
