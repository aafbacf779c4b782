/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: requests of blk-mq on their way, what makes them durable, and copies.
 */
#ifndef KFBRICK_REQUESTS_H
#define KFBRICK_REQUESTS_H

#include "../device/device.h"

/* A discard, or write-zeroes, whose whole blocks are given back? Context: any. */
static inline bool kfbk_op_frees(const struct kfbk_device *dev, blk_opf_t opf)
{
	return dev->options.thin &&
	       ((opf & REQ_OP_MASK) == REQ_OP_DISCARD ||
		((opf & REQ_OP_MASK) == REQ_OP_WRITE_ZEROES &&
		 !(opf & REQ_NOUNMAP)));
}

/*
 * As many bytes as a message has at any of the brick's addresses, in whole pieces of the
 * medium's. Context: any.
 */
static inline u32 kfbk_op_bytes(const struct kfbk_device *dev, u32 len)
{
	return min_t(size_t, len,
		     round_down(dev->max_op_bytes,
				(size_t)KFBK_PHYSICAL_BYTES));
}

/* zeroes.c */
/* Zeroes; fewer than @len when that is too much for one operation. */
struct fi_buf kfbk_zero_buf(const struct kfbk_device *dev, u32 *len);
int kfbk_zeroes_init(void);
void kfbk_zeroes_exit(void);

/* clears.c */
void kfbk_clears_begin(struct kfbk_device *dev);
/*
 * A discard or write-zeroes that is more than a piece of work: true: it has ended,
 * and what it was to do is done by and by. Context: queue_rq(), it was started.
 */
bool kfbk_clear_put_off(struct kfbk_device *dev, struct request *rq);

/* rate.c */
void kfbk_rate_init(struct kfbk_rate *rate);
/* A part of the port; dev->lock is held. */
void kfbk_rate_set(struct kfb_initiator *i, const struct kfb_rate *rate);
/* May an operation of @len bytes begin? Then it has its share. Context: any. */
bool kfbk_rate_take(struct kfbk_device *dev, u32 len, u64 now_ms);
/* The same of a copy; when not, the session work comes again. dev->lock is held. */
bool kfbk_rate_take_copy(struct kfbk_device *dev, u32 len);
/* When copies that wait may go on; KFB_TIME_NEVER: none does. dev->lock is held. */
u64 kfbk_rate_next_ms(struct kfbk_device *dev);
/* It has not begun after all. */
void kfbk_rate_give(struct kfbk_device *dev, u32 len);

/* retain.c */

/* When the brick has said what it is. Context: process. */
int kfbk_retain_open(struct kfbk_device *dev);
void kfbk_retain_close(struct kfbk_device *dev);

/**
 * kfbk_retain_write - copy a write that is about to be posted
 * @dev: the device, with retention
 * @rq: the request; va and len are those of its step
 *
 * Context: queue_rq().
 * Return: BLK_STS_OK, kfbk_retain_over() follows; BLK_STS_RESOURCE, it comes
 * again; BLK_STS_IOERR.
 */
blk_status_t kfbk_retain_write(struct kfbk_device *dev, struct request *rq);
/* A copy's write is over: @done, and dev->lock is not held; or not done. */
void kfbk_retain_over(struct kfbk_device *dev, struct kfbk_rq *krq, bool done);
/* Blocks whose copies are of no use. Context: any. */
void kfbk_retain_drop(struct kfbk_device *dev, u64 first, u64 n);
/* Parts of the port. */
void kfbk_retain_may_fit(struct kfb_initiator *i);
int kfbk_retain_write_copy(struct kfb_initiator_queue *core, u32 slot,
			   const struct kfb_retain_piece *piece, u32 page,
			   const struct kfb_initiator_place *to);
/* One of them is over, and went well; kfb_initiator_replayed() follows. */
void kfbk_retain_written(struct kfbk_queue *q, u32 slot);
/*
 * Nobody knows what has become of the operation of @krq: what it was to write may
 * lie there in part, and its copy stands for nothing. Context: any.
 */
void kfbk_rq_interrupted(struct kfbk_rq *krq);

/* flush.c */

/* Context: dev->lock is held. @core.only, @rq and @finished are filled in. */
void kfbk_flush_start(struct kfbk_device *dev, struct kfbk_flush *flush);

/* Parts of the port; dev->lock is held. */
bool kfbk_flush_can_commit(struct kfb_initiator *i);
bool kfbk_flush_can_read_back(struct kfb_initiator *i);
int kfbk_flush_locate(struct kfb_initiator *i, const struct kfb_flush_range *at,
		      struct kfb_initiator_place *place);
int kfbk_flush_locate_any(struct kfb_initiator *i, u64 *va);
int kfbk_flush_read_back(struct kfb_initiator_queue *core, u32 place, u64 id,
			 const struct kfb_initiator_place *from, u32 len);
void kfbk_flush_posted(struct kfb_initiator_queue *core,
		       const struct kfb_flush_op *op, int error);
void kfbk_flush_done(struct kfb_initiator *i, struct kfb_initiator_flush *core,
		     int error);
void kfbk_flush_take_back(struct kfb_initiator *i,
			  struct kfb_initiator_flush *core);
void kfbk_flush_writes_lost(struct kfb_initiator *i,
			    const struct kfb_dirty *writes);

/**
 * kfbk_flush_sync - make durable everything that was written
 * @dev: the device
 * @since: gets what kfbk_flush_holds() wants to know; or NULL
 *
 * Context: process.
 * Return: 0, or why not.
 */
int kfbk_flush_sync(struct kfbk_device *dev, u64 *since);

/* No flush has been @since. */
#define KFBK_FLUSH_NEVER (~(u64)0)

/*
 * Is what was flushed @since, and not written to, still as durable? When a
 * connection has ended since, copies may have been written again. Context:
 * dev->lock is held, by kfbk_lock_settled().
 */
static inline bool kfbk_flush_holds(const struct kfbk_device *dev, u64 since)
{
	return since == dev->core.n_closed;
}

/* data.c */
extern const struct blk_mq_ops kfbk_mq_ops;
size_t kfbk_rq_bytes(const struct kfbk_device *dev);
void kfbk_data_done(struct kfbk_queue *q, struct kfbk_ctx *ctx,
		    const struct fi_cq_err_entry *entry);
/* Post readbacks that had no room. Context: dev->lock is held. */
void kfbk_data_pump(struct kfbk_queue *q);

#endif /* KFBRICK_REQUESTS_H */
