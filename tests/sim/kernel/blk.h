/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the block layer share. */
#ifndef SIM_BLK_H
#define SIM_BLK_H

#include <linux/blkdev.h>

/* queue.c: for requests that are to go to the driver, now or soon. */
void blk_insert(struct request *rq, bool at_head);
void blk_run(struct blk_mq_hw_ctx *hctx, bool async);

/* bio.c: the queue stays until whoever has entered it leaves. */
static inline void blk_enter(struct request_queue *q)
{
	q->n_entered++;
}
void blk_leave(struct request_queue *q);

/* queue.c: those who run it have stopped. */
void blk_await_runs(struct request_queue *q);

/* tags.c: a request that nobody has, or NULL; all of them, one by one. */
struct request *blk_take_request(struct request_queue *q);
void blk_put_request(struct request *rq);
struct request *blk_request_at(const struct blk_mq_tag_set *set, u32 i);
void blk_init_request(struct request *rq, blk_opf_t flags);

/* flush.c: a request with REQ_PREFLUSH; and the end of the flush. */
void blk_flush_first(struct request *rq);
void blk_flush_ended(struct request_queue *q, blk_status_t status);

#endif
