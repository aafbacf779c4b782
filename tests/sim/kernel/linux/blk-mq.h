/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The multi-queue block layer: requests with tags, hardware queues, and what a driver
 * may do with them.
 */
#ifndef SIM_LINUX_BLK_MQ_H
#define SIM_LINUX_BLK_MQ_H

#include <linux/bio.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct blk_mq_hw_ctx;
struct request_queue;

#define RQF_DONTPREP (1U << 7)

enum sim_rq_state {
	SIM_RQ_IDLE,
	SIM_RQ_STARTED,
	SIM_RQ_COMPLETE,
};

/*
 * struct request - one; the driver's part is behind it
 * @q: of its disk
 * @hctx: the hardware queue that it goes down
 * @queuelist: in a list of the block layer's
 * @deadline_ns: when its time is over
 * @is_taken: it has a tag
 * @end_io: of a clone, whose bios are another driver's to end: told of its end
 */
struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *hctx;
	struct list_head queuelist;
	struct bio *bio;
	struct bio *biotail;
	blk_opf_t cmd_flags;
	unsigned int rq_flags;
	int tag;
	sector_t sector;
	u32 len;
	enum sim_rq_state state;
	u64 deadline_ns;
	bool is_taken;
	void (*end_io)(struct request *rq, blk_status_t status);
} __attribute__((aligned(64)));

struct req_iterator {
	struct bvec_iter iter;
	struct bio *bio;
};

#define req_op(rq)		 ((enum req_op)((rq)->cmd_flags & REQ_OP_MASK))
#define __rq_for_each_bio(b, rq) for ((b) = (rq)->bio; (b); (b) = (b)->bi_next)
#define rq_for_each_segment(bv, rq, at) \
	__rq_for_each_bio((at).bio, rq) \
		bio_for_each_segment_at(bv, (at).bio, (at).iter)

struct blk_mq_queue_data {
	struct request *rq;
	bool last;
};

/*
 * struct blk_mq_hw_ctx - a hardware queue
 * @driver_data: the driver's
 * @dispatch: what waits to go down it
 * @run: goes on with it
 * @again: the same, later
 */
struct blk_mq_hw_ctx {
	struct request_queue *queue;
	void *driver_data;
	spinlock_t lock;
	struct list_head dispatch;
	struct work_struct run;
	struct delayed_work again;
};

struct blk_mq_tag_set;

enum blk_eh_timer_return {
	BLK_EH_DONE,
	BLK_EH_RESET_TIMER,
};

struct blk_mq_ops {
	blk_status_t (*queue_rq)(struct blk_mq_hw_ctx *hctx,
				 const struct blk_mq_queue_data *bd);
	void (*commit_rqs)(struct blk_mq_hw_ctx *hctx);
	void (*complete)(struct request *rq);
	int (*init_request)(struct blk_mq_tag_set *set, struct request *rq,
			    unsigned int hctx, unsigned int node);
	enum blk_eh_timer_return (*timeout)(struct request *rq);
	void (*cleanup_rq)(struct request *rq);
};

#define BLK_MQ_F_SHOULD_MERGE	     (1U << 0)
#define BLK_MQ_F_TAG_HCTX_SHARED     (1U << 3)
#define BLK_MQ_F_BLOCKING	     (1U << 5)
#define BLK_MQ_F_NO_SCHED_BY_DEFAULT (1U << 6)
#define NUMA_NO_NODE		     (-1)

/*
 * struct blk_mq_tag_set - requests of a disk; what the driver fills in, then
 * @requests: of queue_depth tags, and one more for flushes
 * @stride: from one to the next
 */
struct blk_mq_tag_set {
	const struct blk_mq_ops *ops;
	unsigned int nr_hw_queues;
	unsigned int queue_depth;
	unsigned int cmd_size;
	int numa_node;
	unsigned int flags;
	void *driver_data;
	u8 *requests;
	size_t stride;
};

static inline void *blk_mq_rq_to_pdu(struct request *rq)
{
	return rq + 1;
}

static inline struct request *blk_mq_rq_from_pdu(void *pdu)
{
	return (struct request *)pdu - 1;
}

static inline sector_t blk_rq_pos(const struct request *rq)
{
	return rq->sector;
}

static inline u32 blk_rq_bytes(const struct request *rq)
{
	return rq->len;
}

unsigned short blk_rq_nr_phys_segments(struct request *rq);
int blk_rq_map_sg(struct request_queue *q, struct request *rq,
		  struct scatterlist *sg);

int blk_mq_alloc_tag_set(struct blk_mq_tag_set *set);
void blk_mq_free_tag_set(struct blk_mq_tag_set *set);
void blk_mq_tagset_busy_iter(struct blk_mq_tag_set *set,
			     bool (*fn)(struct request *rq, void *arg),
			     void *arg);

/* It has none afterwards, and no bytes. */
void blk_steal_bios(struct bio_list *list, struct request *rq);
void blk_mq_start_request(struct request *rq);
void blk_mq_complete_request(struct request *rq);
void blk_mq_end_request(struct request *rq, blk_status_t status);
void blk_mq_requeue_request(struct request *rq, bool kick);
void blk_mq_kick_requeue_list(struct request_queue *q);
void blk_mq_run_hw_queues(struct request_queue *q, bool async);
void blk_mq_quiesce_queue(struct request_queue *q);
void blk_mq_unquiesce_queue(struct request_queue *q);

#include <linux/blkdev.h>

#endif
