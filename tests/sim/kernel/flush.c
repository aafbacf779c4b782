// SPDX-License-Identifier: BSD-2-Clause
/*
 * Flushes of a disk with a write cache: one is under way at a time, and those who
 * come meanwhile share the next one.
 */
#include <linux/kernel.h>

#include "blk.h"

/* Whoever waits now is covered by a flush that begins now. */
static void begin_flush(struct request_queue *q)
{
	bool begins;

	spin_lock_bh(&q->lock);
	begins = !q->is_flushing && !list_empty(&q->flushes);
	if (begins) {
		q->is_flushing = true;
		list_splice_init(&q->flushes, &q->flushing);
	}
	spin_unlock_bh(&q->lock);
	if (!begins)
		return;
	blk_init_request(q->flush_rq, REQ_OP_FLUSH | REQ_PREFLUSH);
	blk_insert(q->flush_rq, false);
	blk_run(q->flush_rq->hctx, true);
}

void blk_flush_first(struct request *rq)
{
	struct request_queue *q = rq->q;

	spin_lock_bh(&q->lock);
	list_add_tail(&rq->queuelist, &q->flushes);
	spin_unlock_bh(&q->lock);
	begin_flush(q);
}

/* What has bytes goes on with them. */
static void go_on(struct request *rq, blk_status_t status)
{
	if (status || !rq->len) {
		blk_mq_end_request(rq, status);
		return;
	}
	rq->cmd_flags &= ~REQ_PREFLUSH;
	blk_insert(rq, false);
	blk_run(rq->hctx, true);
}

void blk_flush_ended(struct request_queue *q, blk_status_t status)
{
	struct request *rq;
	LIST_HEAD(done);

	blk_enter(q);
	spin_lock_bh(&q->lock);
	list_splice_init(&q->flushing, &done);
	q->is_flushing = false;
	spin_unlock_bh(&q->lock);
	begin_flush(q);
	while (!list_empty(&done)) {
		rq = list_first_entry(&done, struct request, queuelist);
		list_del_init(&rq->queuelist);
		go_on(rq, status);
	}
	blk_leave(q);
}
