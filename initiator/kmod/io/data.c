// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: requests of blk-mq become operations, and their completions end
 * requests.
 *
 * A request never crosses a block (chunk_sectors), so a write or read is one
 * operation on the block's queue, from the pages of its bios. Everything it
 * needs lies behind the request: the memory of two operations and a
 * scatterlist. Nothing here sleeps or allocates.
 *
 *   READ, WRITE    one RDMA read, write
 *   WRITE + FUA    readback: a write and, chained behind it, a readback;
 *                  message: a write, then a flush of its queue
 *   FLUSH          flush.c
 *   DISCARD        whole blocks go to blocks/, parts of blocks are left
 *   WRITE_ZEROES   whole blocks that may be unmapped go there, too; the
 *                  rest is written, from one zero page many times over
 *
 * Of the last two, those that are long come in pieces: clears.c. They go on in
 * steps: after each the request is queued again, until
 * kfbk_rq.done says that it is complete. A request that needs a block that is
 * not mapped waits for blocks/blocks.c; with a cache of mappings each pins its block
 * until its operation is over.
 *
 * When a connection dies its requests come back with an error and are queued
 * again; they go out on the next connection, when the old one is closed. One
 * that was at fault itself, and not only in flight, is given up the third time.
 *
 * Context: kfbk_queue_rq() in process context, inside RCU but for sending inline;
 *	completions: upcall, with bottom halves off.
 */
#include <linux/scatterlist.h>

#include <compat.h>

#include "requests.h"
#include "../device/trace.h"

size_t kfbk_rq_bytes(const struct kfbk_device *dev)
{
	return sizeof(struct kfbk_rq) + 2 * dev->ctx_bytes +
	       dev->max_segments * sizeof(struct scatterlist);
}

static int kfbk_rq_init(struct blk_mq_tag_set *set, struct request *rq,
			unsigned int hctx, unsigned int node)
{
	struct kfbk_device *dev = set->driver_data;
	struct kfbk_rq *krq = kfbk_rq_of(rq);

	INIT_LIST_HEAD(&krq->node);
	krq->flush.rq = rq;
	kfbk_rq_ctx(dev, krq, 0)->kind = KFBK_CTX_DATA;
	kfbk_rq_ctx(dev, krq, 0)->rq = krq;
	kfbk_rq_ctx(dev, krq, 1)->kind = KFBK_CTX_FUA;
	kfbk_rq_ctx(dev, krq, 1)->rq = krq;
	return 0;
}

/* ---- the end of a request --------------------------------------------- */

static void kfbk_rq_complete(struct request *rq)
{
	blk_mq_end_request(rq, kfbk_rq_of(rq)->status);
}

/* ---- completions ------------------------------------------------------ */

static void kfbk_data_fail(struct kfbk_device *dev, const struct kfbk_ctx *ctx,
			   const struct fi_cq_err_entry *entry)
{
	struct kfbk_rq *krq = ctx->rq;
	struct request *rq = blk_mq_rq_from_pdu(krq);
	bool is_chained = krq->chained && ctx->kind == KFBK_CTX_DATA;

	if (kfb_is_at_fault(-entry->err)) {
		krq->strikes++;
	} else if (!is_chained) {
		/* Once for each connection. */
		kfbk_lock(dev);
		krq->strikes += kfb_initiator_is_at_fault(
			&dev->core, -entry->err, krq->va, krq->len);
		kfbk_unlock(dev);
	}
	/* A readback is, or will be, behind the write, and tells the end. */
	if (is_chained)
		return;
	kfbk_rq_interrupted(krq);
	if (krq->strikes >= KFB_STRIKES_MAX)
		kfbk_rq_end(rq, BLK_STS_MEDIUM);
	else
		kfbk_rq_again(rq);
}

/*
 * The request ends with a flush of one queue, or of all. A write that is flushed is
 * among what nobody was told of already: no fate of its queue may be told before it
 * waits, and none is, as queues are closed when what they brought has been taken in.
 */
static void kfbk_data_flush(struct kfbk_device *dev, struct kfbk_rq *krq,
			    int only)
{
	kfbk_lock(dev);
	krq->flush.core.only = only;
	kfbk_flush_start(dev, &krq->flush);
	kfbk_unlock(dev);
}

void kfbk_data_done(struct kfbk_queue *q, struct kfbk_ctx *ctx,
		    const struct fi_cq_err_entry *entry)
{
	struct kfbk_device *dev = q->dev;
	struct kfbk_rq *krq = ctx->rq;
	struct request *rq = blk_mq_rq_from_pdu(krq);
	bool was_full;

	if (entry->err) {
		kfbk_data_fail(dev, ctx, entry);
		return;
	}
	spin_lock(&q->lock);
	if (krq->is_write && !krq->chained &&
	    dev->core.flush_mode != KFB_FLUSH_COMMIT) {
		if (krq->fua)
			kfb_flush_wrote_fua(&q->core.flush, krq->va, krq->len);
		else
			kfb_flush_wrote(&q->core.flush, krq->va, krq->len);
	}
	kfb_initiator_moved(&q->core, krq->len, &krq->mark, kfbk_now_ms());
	was_full = q->is_full;
	q->is_full = false;
	spin_unlock(&q->lock);
	if (unlikely(was_full)) {
		blk_mq_run_hw_queues(rq->q, true);
		/* A copy waits for the same room, and queue_rq() for the copy. */
		if (READ_ONCE(dev->is_quiesced))
			kfbk_kick(dev);
	}
	/* A flush that begins now knows of the write. */
	if (krq->copy != KFB_RETAIN_NONE)
		kfbk_retain_over(dev, krq, true);
	/* Who finds it over finds it noted: a discard flushes it, then. */
	smp_store_release(&krq->posted, false);
	kfbk_blocks_quieter(dev);
	kfbk_cache_put(dev, krq);
	if (krq->is_write && !krq->chained && krq->fua) {
		/* The write is placed; a flush makes it last. */
		kfbk_data_flush(dev, krq, krq->queue->core.index);
		return;
	}
	if (unlikely(krq->is_write && kfbk_is_lossy(dev)))
		kfbk_rq_end(rq, BLK_STS_OFFLINE);
	else
		kfbk_rq_step(rq, krq->len);
}

/* ---- posting ---------------------------------------------------------- */

/* A request's pages: a bio's own array, or for several bios a list. */
static struct fi_buf kfbk_data_rq_buf(struct kfbk_device *dev,
				      struct request *rq)
{
	struct bio *bio = rq->bio;
	struct scatterlist *sg;

	if (bio == rq->biotail)
		return fi_buf_bvec(__bvec_iter_bvec(bio->bi_io_vec,
						    bio->bi_iter),
				   blk_rq_nr_phys_segments(rq),
				   bio->bi_iter.bi_bvec_done, blk_rq_bytes(rq));
	/* Behind the memory of the two operations. */
	sg = (struct scatterlist *)kfbk_rq_ctx(dev, kfbk_rq_of(rq), 2);
	sg_init_table(sg, blk_rq_nr_phys_segments(rq));
	return fi_buf_sg(sg, kfi_rq_map_sg(rq, sg), blk_rq_bytes(rq));
}

static struct kfb_block *kfbk_data_block_of(const struct kfbk_device *dev,
					    u64 va)
{
	return &dev->blocks[(va - dev->options.base) >> KFB_BLOCK_SHIFT];
}

/* True: the request's block is MAPPED, and stays so while it is used. */
static bool kfbk_data_has_block(struct kfbk_device *dev, struct kfbk_rq *krq)
{
	return !dev->cache.cap || kfbk_cache_get(dev, krq);
}

static struct fi_rma_iov kfbk_data_remote_of(const struct kfbk_device *dev,
					     const struct kfbk_rq *krq)
{
	const struct kfb_block *b = kfbk_data_block_of(dev, krq->va);

	return (struct fi_rma_iov){ .addr = b->raddr +
					    (krq->va & (KFB_BLOCK_BYTES - 1)),
				    .len = krq->len,
				    .key = b->key };
}

static ssize_t kfbk_data_post_flush(struct kfbk_queue *q, struct fid_ep *ep,
				    struct kfbk_rq *krq, u64 more)
{
	struct fi_rma_iov rma = kfbk_data_remote_of(q->dev, krq);
	struct fi_msg_flush msg = {
		.mode = FI_FLUSH_READBACK,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &kfbk_rq_ctx(q->dev, krq, 1)->fi,
	};
	ssize_t ret = fi_flush(ep, &msg, FI_COMPLETION | more);

	if (!ret)
		atomic_long_inc(&q->n_ops[KFBK_OP_READBACK]);
	return ret;
}

/* There was no room behind a write: the readback goes when there is. */
static void kfbk_data_put_off_readback(struct kfbk_queue *q,
				       struct kfbk_rq *krq)
{
	kfbk_lock(q->dev);
	list_add_tail(&krq->node, &q->fua);
	kfbk_data_pump(q);
	kfbk_unlock(q->dev);
}

void kfbk_data_pump(struct kfbk_queue *q)
{
	struct kfbk_rq *krq, *next;

	lockdep_assert_held(&q->dev->lock);
	list_for_each_entry_safe(krq, next, &q->fua, node) {
		if (!q->ep)
			return;
		list_del_init(&krq->node);
		if (kfbk_data_post_flush(q, q->ep, krq, 0)) {
			list_add(&krq->node, &q->fua);
			return;
		}
	}
}

static ssize_t kfbk_data_post_op(struct kfbk_queue *q, struct fid_ep *ep,
				 struct kfbk_rq *krq, const struct fi_buf *buf,
				 u64 more)
{
	struct fi_rma_iov rma = kfbk_data_remote_of(q->dev, krq);
	struct fi_msg_rma msg = {
		.buf = *buf,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &kfbk_rq_ctx(q->dev, krq, 0)->fi,
	};

	if (!krq->is_write)
		return fi_readmsg(ep, &msg, FI_COMPLETION | more);
	/* Quiet: the readback behind it tells of both. */
	if (q->dev->core.flush_mode == KFB_FLUSH_COMMIT)
		more |= FI_COMMIT_COMPLETE;
	return fi_writemsg(ep, &msg,
			   krq->chained ? FI_MORE : FI_COMPLETION | more);
}

/*
 * May a request be in flight, by what the brick allows and by what the link moves
 * soon? Else it comes again, also when something is over.
 */
static bool kfbk_data_enter(struct kfbk_queue *q, struct kfbk_rq *krq,
			    u64 now_ms)
{
	bool may;

	if (unlikely(!kfbk_rate_take(q->dev, krq->len, now_ms)))
		return false;
	spin_lock_bh(&q->lock);
	may = kfb_window_is_open(&q->core.window);
	if (may)
		kfb_window_posted(&q->core.window, krq->len, now_ms,
				  &krq->mark);
	else
		q->is_full = true;
	spin_unlock_bh(&q->lock);
	if (unlikely(!may))
		kfbk_rate_give(q->dev, krq->len);
	return may;
}

/* It is not in flight after all. */
static void kfbk_data_leave(struct kfbk_queue *q, const struct kfbk_rq *krq)
{
	spin_lock_bh(&q->lock);
	kfb_window_unposted(&q->core.window, krq->len);
	spin_unlock_bh(&q->lock);
	kfbk_rate_give(q->dev, krq->len);
}

/* What a refused post means for the request. */
static blk_status_t kfbk_data_status_of(struct kfbk_queue *q, ssize_t error)
{
	switch (error) {
	case -FI_EAGAIN:
		/*
		 * has_space() runs the queues again. Not BLK_STS_DEV_RESOURCE:
		 * that run may come before the request is back in its place,
		 * and what is in flight may belong to other hardware queues.
		 */
		return BLK_STS_RESOURCE;
	case -ENOTCONN:
	case -ENODEV:
		kfbk_queue_failed(q, error);
		return BLK_STS_RESOURCE;
	default:
		kfbk_err_limited(q->dev, "cannot post: error %zd\n", error);
		return BLK_STS_IOERR;
	}
}

/* A write or read of krq->len bytes at krq->va, which are mapped. */
static blk_status_t kfbk_data_submit(struct kfbk_device *dev,
				     struct request *rq,
				     const struct fi_buf *buf,
				     unsigned long *open)
{
	u64 more = open ? FI_MORE : 0, now_ms = kfbk_now_ms();
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	struct kfbk_queue *q;
	struct fid_ep *ep;
	bool chained, is_write;
	blk_status_t status;
	ssize_t ret;
	u32 len;

	q = &dev->queues[kfb_queue_of(krq->va, READ_ONCE(dev->n_used))];
	ep = READ_ONCE(q->ep);
	if (unlikely(!READ_ONCE(q->usable) || !ep ||
		     kfbk_lease_is_over(dev, now_ms))) {
		kfbk_kick(dev);
		return BLK_STS_RESOURCE;
	}
	if (unlikely(!kfbk_data_enter(q, krq, now_ms)))
		return BLK_STS_RESOURCE;
	if (krq->is_write && dev->retain.mb) {
		status = kfbk_retain_write(dev, rq);
		if (status) {
			kfbk_data_leave(q, krq);
			return status;
		}
	}
	krq->queue = q;
	chained = krq->fua && dev->core.flush_mode == KFB_FLUSH_READBACK;
	krq->chained = chained;
	is_write = krq->is_write;
	len = krq->len;
	krq->moved = 0;
	WRITE_ONCE(krq->posted, true);
	ret = kfbk_data_post_op(q, ep, krq, buf, more);
	trace_kfbrick_post(q, rq, ret);
	if (unlikely(ret)) {
		WRITE_ONCE(krq->posted, false);
		kfbk_data_leave(q, krq);
		kfbk_blocks_quieter(dev);
		if (krq->copy != KFB_RETAIN_NONE)
			kfbk_retain_over(dev, krq, false);
		return kfbk_data_status_of(q, ret);
	}
	/*
	 * It may be over by now and another's, unless its readback is still to
	 * come.
	 */
	atomic_long_inc(&q->n_ops[is_write ? KFBK_OP_WRITE : KFBK_OP_READ]);
	atomic_long_add(
		len,
		&q->n_ops[is_write ? KFBK_OP_WRITTEN : KFBK_OP_READ_BYTES]);
	if (chained && unlikely(kfbk_data_post_flush(q, ep, krq, more)))
		kfbk_data_put_off_readback(q, krq);
	if (open)
		set_bit(q->core.index, open);
	return BLK_STS_OK;
}

/* ---- requests --------------------------------------------------------- */

/* The request's block is not MAPPED: the map work sees to it. */
static void kfbk_data_await_block(struct kfbk_device *dev, struct request *rq)
{
	kfbk_cache_put(dev, kfbk_rq_of(rq));
	kfbk_lock(dev);
	list_add_tail(&kfbk_rq_of(rq)->node, &dev->waiting);
	/* Afterwards the request may be over, and the disk detached. */
	queue_work(kfbk_map_wq, &dev->map_work);
	kfbk_unlock(dev);
}

static blk_status_t kfbk_data_move(struct kfbk_device *dev, struct request *rq,
				   unsigned long *open)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	struct fi_buf buf;
	struct bio *bio;

	krq->va = dev->options.base + (blk_rq_pos(rq) << SECTOR_SHIFT);
	krq->len = blk_rq_bytes(rq);
	/* Pairs with the release that makes a block MAPPED. */
	switch (smp_load_acquire(&kfbk_data_block_of(dev, krq->va)->state)) {
	case KFB_BLOCK_MAPPED:
		if (!kfbk_data_has_block(dev, krq))
			break;
		buf = kfbk_data_rq_buf(dev, rq);
		return kfbk_data_submit(dev, rq, &buf, open);
	case KFB_BLOCK_ABSENT:
	case KFB_BLOCK_FILLING:
		if (krq->is_write)
			break;
		__rq_for_each_bio(bio, rq) zero_fill_bio(bio);
		kfbk_rq_end(rq, BLK_STS_OK);
		return BLK_STS_OK;
	default:
		break;
	}
	kfbk_data_await_block(dev, rq);
	return BLK_STS_OK;
}

/* A discard, or write-zeroes, goes on to the next step that takes time. */
static blk_status_t kfbk_data_clear(struct kfbk_device *dev, struct request *rq)
{
	bool is_discard = req_op(rq) == REQ_OP_DISCARD;
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	struct fi_buf buf;
	u32 len, in_block;
	u64 from;
	u8 state;

	for (;;) {
		/* A step is at most one block. */
		from = (blk_rq_pos(rq) << SECTOR_SHIFT) + krq->done;
		in_block = KFB_BLOCK_BYTES - (from & (KFB_BLOCK_BYTES - 1));
		krq->va = dev->options.base + from;
		len = min_t(u32, blk_rq_bytes(rq) - krq->done, in_block);
		state = smp_load_acquire(
			&kfbk_data_block_of(dev, krq->va)->state);
		/* What is skipped reads as zeros, or is not ours to free. */
		if (state != KFB_BLOCK_ABSENT &&
		    !(is_discard && len < KFB_BLOCK_BYTES))
			break;
		krq->done += len;
		if (krq->done == blk_rq_bytes(rq)) {
			kfbk_rq_end(rq, BLK_STS_OK);
			return BLK_STS_OK;
		}
	}
	if (state != KFB_BLOCK_MAPPED ||
	    (len == KFB_BLOCK_BYTES && kfbk_op_frees(dev, rq->cmd_flags)) ||
	    !kfbk_data_has_block(dev, krq)) {
		kfbk_data_await_block(dev, rq);
		return BLK_STS_OK;
	}
	krq->is_write = true;
	buf = kfbk_zero_buf(dev, &len);
	krq->len = len;
	return kfbk_data_submit(dev, rq, &buf, NULL);
}

/* A request comes for the first time; one that comes back keeps all this. */
static void kfbk_data_prepare(const struct kfbk_device *dev, struct request *rq)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);

	krq->done = 0;
	krq->strikes = 0;
	krq->posted = false;
	krq->chained = false;
	krq->torn = false;
	krq->copy = KFB_RETAIN_NONE;
	krq->block = KFB_MAPCACHE_NONE;
	krq->is_write = op_is_write(req_op(rq));
	krq->fua = req_op(rq) == REQ_OP_WRITE && rq->cmd_flags & REQ_FUA &&
		   kfb_flush_mode_has_cache(dev->core.flush_mode);
	rq->rq_flags |= RQF_DONTPREP;
}

/*
 * Ring the doorbells of those queues that posts of this hardware queue have
 * left open: the last request of a batch may have gone down another one.
 */
static void kfbk_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	struct kfbk_device *dev = hctx->queue->queuedata;
	unsigned long *open = (unsigned long *)&hctx->driver_data;
	struct fid_ep *ep;
	u32 i;

	for (i = 0; READ_ONCE(*open) && i < dev->options.queues; i++) {
		if (!test_and_clear_bit(i, open))
			continue;
		ep = READ_ONCE(dev->queues[i].ep);
		if (!ep)
			continue;
		if (dev->is_inline)
			fi_submit_inline(ep);
		else
			fi_submit(ep);
	}
}

static blk_status_t kfbk_data_start(struct kfbk_device *dev, struct request *rq,
				    unsigned long *open)
{
	if (!(rq->rq_flags & RQF_DONTPREP))
		kfbk_data_prepare(dev, rq);
	/* Not IOERR: whoever may expect that it passes tries again and again. */
	if (unlikely(READ_ONCE(dev->core.is_over)))
		return BLK_STS_OFFLINE;
	/*
	 * What was written is lost: nothing may look as if it were not. One that
	 * was under way is made whole first, and fails then.
	 */
	if (unlikely(kfbk_is_lossy(dev) && op_is_write(req_op(rq)) &&
		     !kfbk_rq_of(rq)->torn))
		return BLK_STS_OFFLINE;
	blk_mq_start_request(rq);
	switch (req_op(rq)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		return kfbk_data_move(dev, rq, open);
	case REQ_OP_FLUSH:
		kfbk_data_flush(dev, kfbk_rq_of(rq), KFB_INITIATOR_ALL_QUEUES);
		return BLK_STS_OK;
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		if (kfbk_clear_put_off(dev, rq))
			return BLK_STS_OK;
		return kfbk_data_clear(dev, rq);
	default:
		return BLK_STS_NOTSUPP;
	}
}

static blk_status_t kfbk_queue_rq(struct blk_mq_hw_ctx *hctx,
				  const struct blk_mq_queue_data *bd)
{
	struct kfbk_device *dev = hctx->queue->queuedata;
	unsigned long *open = (unsigned long *)&hctx->driver_data;
	bool last = bd->last;
	blk_status_t status;

	/* A queue that may sleep is no reader of RCU, and kfbk_data_start() has to be. */
	rcu_read_lock();
	/* The request may be over, and another's, when this returns. */
	status = kfbk_data_start(dev, bd->rq,
				 last && !dev->is_inline ? NULL : open);
	/* This request ends here; one that comes again keeps its block. */
	if (unlikely(status && status != BLK_STS_RESOURCE))
		kfbk_cache_put(dev, kfbk_rq_of(bd->rq));
	rcu_read_unlock();
	if (last && READ_ONCE(*open))
		kfbk_commit_rqs(hctx);
	return status;
}

/*
 * A request that was put off does not come again, as a clone of the device mapper's:
 * it is made anew.
 */
static void kfbk_rq_cleanup(struct request *rq)
{
	if (rq->rq_flags & RQF_DONTPREP)
		kfbk_cache_put(rq->q->queuedata, kfbk_rq_of(rq));
}

/*
 * Have bytes moved since this request's time was last over? A slow link is no dead
 * one. Context: inside RCU, @ep is the queue's.
 */
static bool kfbk_data_has_moved(struct kfbk_queue *q, struct fid_ep *ep,
				struct kfbk_rq *krq)
{
	u64 before = krq->moved;

	spin_lock_bh(&q->lock);
	krq->moved = q->core.heard_ms;
	spin_unlock_bh(&q->lock);
	krq->moved += kfbk_moved_bytes(ep);
	return krq->moved != before;
}

/*
 * The operation may still be under way in the NIC: its memory is not ours, so
 * the request cannot end here. The connection does, and with it the operation.
 *
 * Whoever closes that connection waits for RCU before there is another one, which
 * is not to blame.
 */
static enum blk_eh_timer_return kfbk_rq_timed_out(struct request *rq)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	struct fid_ep *ep;

	rcu_read_lock();
	if (READ_ONCE(krq->posted)) {
		ep = READ_ONCE(krq->queue->ep);
		if (ep && !kfbk_data_has_moved(krq->queue, ep, krq))
			kfbk_queue_failed(krq->queue, -ETIMEDOUT);
	}
	rcu_read_unlock();
	return BLK_EH_RESET_TIMER;
}

const struct blk_mq_ops kfbk_mq_ops = {
	.queue_rq = kfbk_queue_rq,
	.commit_rqs = kfbk_commit_rqs,
	.complete = kfbk_rq_complete,
	.init_request = kfbk_rq_init,
	.timeout = kfbk_rq_timed_out,
	.cleanup_rq = kfbk_rq_cleanup,
};
