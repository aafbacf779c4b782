// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: the bytes of retained copies; which there are, and when they are
 * written again, is the core's: kfb_initiator_retain.h.
 *
 * queue_rq() copies the bytes of a write before it posts it; all the memory was
 * there since the disk was attached. A write that has to wait is put back; it
 * comes again when there may be room.
 *
 * While copies are written again queue_rq() is stopped.
 *
 * Locking: retain.lock is the copies' lock of the core.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kfb_initiator_retain.h"
#include "requests.h"
#include "../device/trace.h"

#define PAGES_PER_MB (SZ_1M >> KFB_RETAIN_PAGE_SHIFT)

int kfbk_retain_open(struct kfbk_device *dev)
{
	struct kfbk_retain *t = &dev->retain;
	u32 n_pages, n_copies;

	spin_lock_init(&t->lock);
	/*
	 * What is volatile cannot be saved, and what is read, or durable when
	 * it completes, cannot be lost.
	 */
	if (!kfb_disk_retains(kfbk_options_use(&dev->options)) ||
	    !kfb_flush_mode_has_cache(dev->core.flush_mode))
		return 0;
	/* What the brick has said of itself decides, unless the owner has. */
	if (dev->options.retain_mb != KFBK_RETAIN_AUTO)
		t->mb = dev->options.retain_mb;
	else if (!(dev->core.client.info.flags & KFB_INFO_ACK_IS_PLACED))
		t->mb = KFBK_RETAIN_MB;
	if (!t->mb)
		return 0;
	n_pages = t->mb * PAGES_PER_MB;
	/* Each has a page at least, but for zeroes. */
	n_copies = roundup_pow_of_two(n_pages);
	t->bytes = vmalloc((size_t)t->mb * SZ_1M);
	t->copies = kvcalloc(n_copies, sizeof(*t->copies), GFP_KERNEL);
	t->newest = kvcalloc(n_copies, sizeof(*t->newest), GFP_KERNEL);
	t->ctx = kvcalloc(KFB_INITIATOR_REPLAYS, dev->ctx_bytes, GFP_KERNEL);
	if (!t->bytes || !t->copies || !t->newest || !t->ctx)
		return -ENOMEM;
	kfbk_lock(dev);
	kfb_initiator_retain_open(&dev->core, t->copies, t->newest, n_copies,
				  n_pages);
	kfbk_unlock(dev);
	return 0;
}

void kfbk_retain_close(struct kfbk_device *dev)
{
	vfree(dev->retain.bytes);
	kvfree(dev->retain.copies);
	kvfree(dev->retain.newest);
	kvfree(dev->retain.ctx);
}

static u8 *kfbk_retain_bytes(const struct kfbk_device *dev, u32 page)
{
	return dev->retain.bytes + ((size_t)page << KFB_RETAIN_PAGE_SHIFT);
}

/* ---- a write ---------------------------------------------------------- */

static void kfbk_retain_copy_bytes(u8 *to, struct request *rq)
{
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter)
	{
		memcpy_from_bvec(to, &bv);
		to += bv.bv_len;
	}
}

/* Begin a flush, which makes room. */
static void kfbk_retain_make_room(struct kfbk_device *dev)
{
	kfbk_lock(dev);
	kfb_initiator_retain_pump(&dev->core);
	kfbk_unlock(dev);
}

blk_status_t kfbk_retain_write(struct kfbk_device *dev, struct request *rq)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	bool is_zero = req_op(rq) != REQ_OP_WRITE;
	u32 page;
	int ret;

	spin_lock_bh(&dev->retain.lock);
	ret = kfb_initiator_copy(&dev->core, krq->va, krq->len, is_zero,
				 &krq->copy, &page);
	spin_unlock_bh(&dev->retain.lock);
	switch (ret) {
	case 0:
		if (!is_zero)
			kfbk_retain_copy_bytes(kfbk_retain_bytes(dev, page),
					       rq);
		return BLK_STS_OK;
	case -EBUSY:
		return BLK_STS_RESOURCE;
	case -EAGAIN:
		kfbk_retain_make_room(dev);
		/* The brick cannot make anything durable: say so. */
		return READ_ONCE(dev->core.retain.error) ? BLK_STS_IOERR
							 : BLK_STS_RESOURCE;
	default:
		return BLK_STS_IOERR;
	}
}

void kfbk_retain_may_fit(struct kfb_initiator *i)
{
	struct gendisk *disk = READ_ONCE(kfbk_of(i)->disk);

	if (disk)
		blk_mq_run_hw_queues(disk->queue, true);
}

void kfbk_retain_over(struct kfbk_device *dev, struct kfbk_rq *krq, bool done)
{
	enum kfb_copy_end end = KFB_COPY_END_VOID;
	u32 bits;

	/* With a readback behind it that is over, too. */
	if (done)
		end = krq->chained ? KFB_COPY_END_DURABLE : KFB_COPY_END_DONE;
	spin_lock_bh(&dev->retain.lock);
	bits = kfb_initiator_copy_over(&dev->core, krq->copy, end);
	spin_unlock_bh(&dev->retain.lock);
	/* One with FUA keeps it until its flush is over. */
	if (!done || !krq->fua || krq->chained)
		krq->copy = KFB_RETAIN_NONE;
	if (bits & KFB_COPY_IDLE)
		kfbk_kick(dev);
	if (bits & KFB_COPY_FILLS)
		kfbk_retain_make_room(dev);
	if (bits & KFB_COPY_WANTED)
		kfbk_retain_may_fit(&dev->core);
}

void kfbk_rq_interrupted(struct kfbk_rq *krq)
{
	WRITE_ONCE(krq->posted, false);
	krq->torn = krq->is_write;
	if (krq->copy != KFB_RETAIN_NONE)
		kfbk_retain_over(krq->queue->dev, krq, false);
	/* A discard may wait for it alone. */
	kfbk_blocks_quieter(krq->queue->dev);
}

void kfbk_retain_drop(struct kfbk_device *dev, u64 first, u64 n)
{
	kfb_initiator_retain_drop(&dev->core, kfbk_block_va(dev, first),
				  n << KFB_BLOCK_SHIFT);
}

/* ---- once more -------------------------------------------------------- */

/*
 * As much of a copy as goes now: PINGs are behind what is in flight. 0: none, before
 * something is over, which may be a request.
 */
static u32 kfbk_retain_room(struct kfbk_queue *q, u32 len)
{
	len = kfbk_op_bytes(q->dev, len);
	spin_lock_bh(&q->lock);
	len = kfb_window_piece(&q->core.window, len);
	q->is_full |= !len;
	spin_unlock_bh(&q->lock);
	return len;
}

static void kfbk_retain_posted(struct kfbk_queue *q, u32 slot, u32 len)
{
	struct kfbk_copy_op *op = &q->dev->retain.ops[slot];

	op->len = len;
	spin_lock_bh(&q->lock);
	kfb_window_posted(&q->core.window, len, kfbk_now_ms(), &op->mark);
	spin_unlock_bh(&q->lock);
	atomic_long_inc(&q->n_ops[KFBK_OP_WRITE]);
}

void kfbk_retain_written(struct kfbk_queue *q, u32 slot)
{
	const struct kfbk_copy_op *op = &q->dev->retain.ops[slot];

	lockdep_assert_held(&q->dev->lock);
	spin_lock_bh(&q->lock);
	kfb_initiator_moved(&q->core, op->len, &op->mark, kfbk_now_ms());
	spin_unlock_bh(&q->lock);
}

int kfbk_retain_write_copy(struct kfb_initiator_queue *core, u32 slot,
			   const struct kfb_retain_piece *piece, u32 page,
			   const struct kfb_initiator_place *to)
{
	struct kfbk_queue *q = kfbk_queue_of(core);
	struct kfbk_device *dev = q->dev;
	struct kfbk_ctx *ctx = kfbk_ctx_at(dev, dev->retain.ctx, slot);
	struct fi_rma_iov rma = { .addr = to->raddr, .key = to->key };
	struct fi_msg_rma msg = { .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .addr = FI_ADDR_UNSPEC,
				  .context = &ctx->fi };
	u32 len = kfbk_retain_room(q, piece->len);
	ssize_t ret;
	u8 *bytes;

	if (!len)
		return -EAGAIN;
	/* As many of the bytes go as one operation takes. */
	if (piece->is_zero) {
		msg.buf = kfbk_zero_buf(dev, &len);
	} else {
		bytes = kfbk_retain_bytes(dev, page) + piece->offset;
		len = min_t(u32, len,
			    dev->max_segments * PAGE_SIZE -
				    offset_in_page(bytes));
		msg.buf = fi_buf_linear(bytes, len);
	}
	rma.len = len;
	ctx->kind = KFBK_CTX_REPLAY;
	ctx->index = slot;
	if (!kfbk_rate_take_copy(dev, len))
		return -EAGAIN;
	ret = q->ep ? fi_writemsg(q->ep, &msg, FI_COMPLETION) : -ENOTCONN;
	trace_kfbrick_replay(q, piece->va, len, ret);
	if (!ret) {
		kfbk_retain_posted(q, slot, len);
		return len;
	}
	kfbk_rate_give(dev, len);
	/* The copy can go better only over another connection. */
	if (ret != -EAGAIN && ret != -ENOTCONN)
		kfbk_queue_failed(q, ret);
	return ret;
}
