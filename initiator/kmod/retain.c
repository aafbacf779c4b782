// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: copies of writes that may not be durable. The bookkeeping, and why
 * an old copy never reverts newer bytes, are the core's: kfb_retain.h.
 *
 * queue_rq() copies the bytes of a write before it posts it; all the memory was
 * there since the disk was attached. A write that finds no room, or another one
 * to the same bytes under way, is put back; it comes again when there may be.
 * When half of the room is used a flush of the device begins in the
 * background: nobody waits for it but those who find no room.
 *
 * replay.c writes the copies again.
 *
 * Locking: retain.lock, inside of all others and held over nothing that posts,
 * guards the bookkeeping. The bytes of a copy are its write's until that is
 * over. retain.flush is under dev->lock.
 */
#include <linux/log2.h>
#include <linux/vmalloc.h>

#include "kfbrick.h"

#define PAGES_PER_MB (SZ_1M >> KFB_RETAIN_PAGE_SHIFT)

/* What the brick has said of itself decides, unless the owner has. */
static u32 wanted_mb(const struct kfbk_device *dev)
{
	const struct kfb_info *info = &dev->core.client.info;

	/*
	 * What is volatile cannot be saved, and what is read, or durable when
	 * it completes, cannot be lost.
	 */
	if (dev->options.ro || !kfb_flush_mode_has_cache(dev->core.flush_mode))
		return 0;
	if (dev->options.retain_mb != KFBK_RETAIN_AUTO)
		return dev->options.retain_mb;
	return info->flags & KFB_INFO_ACK_IS_PLACED ? 0 : KFBK_RETAIN_MB;
}

int kfbk_retain_open(struct kfbk_device *dev)
{
	struct kfbk_retain *t = &dev->retain;
	u32 n_pages, n_copies;

	spin_lock_init(&t->lock);
	t->flush.core.only = KFB_INITIATOR_ALL_QUEUES;
	t->mb = wanted_mb(dev);
	dev->core.retains = t->mb;
	if (!t->mb)
		return 0;
	n_pages = t->mb * PAGES_PER_MB;
	/* Each has a page at least, but for zeroes. */
	n_copies = roundup_pow_of_two(n_pages);
	t->bytes = vmalloc((size_t)t->mb * SZ_1M);
	t->copies = kvcalloc(n_copies, sizeof(*t->copies), GFP_KERNEL);
	t->newest = kvcalloc(n_copies, sizeof(*t->newest), GFP_KERNEL);
	if (!t->bytes || !t->copies || !t->newest)
		return -ENOMEM;
	kfb_retain_init(&t->book, t->copies, t->newest, n_copies, n_pages);
	return kfbk_replay_open(dev);
}

void kfbk_retain_close(struct kfbk_device *dev)
{
	kfbk_replay_close(dev);
	vfree(dev->retain.bytes);
	kvfree(dev->retain.copies);
	kvfree(dev->retain.newest);
}

/* ---- a write ---------------------------------------------------------- */

static void copy_bytes(struct kfbk_device *dev, struct request *rq, u32 page)
{
	u8 *to = kfbk_retain_bytes(dev, page);
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter)
	{
		memcpy_from_bvec(to, &bv);
		to += bv.bv_len;
	}
}

/* Somebody found no room: a flush makes some. */
static void make_room(struct kfbk_device *dev)
{
	kfbk_lock(dev);
	kfbk_retain_pump(dev);
	kfbk_unlock(dev);
}

static blk_status_t refused(struct kfbk_device *dev, int error)
{
	struct kfbk_retain *t = &dev->retain;

	switch (error) {
	case -EBUSY:
		break;
	case -EAGAIN:
		atomic_long_inc(&t->n_waits);
		make_room(dev);
		/* The brick cannot make anything durable: say so. */
		if (READ_ONCE(t->error))
			return BLK_STS_IOERR;
		break;
	default:
		return BLK_STS_IOERR;
	}
	WRITE_ONCE(t->is_waited_for, true);
	return BLK_STS_RESOURCE;
}

blk_status_t kfbk_retain_write(struct kfbk_device *dev, struct request *rq)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	bool is_zero = req_op(rq) != REQ_OP_WRITE;
	struct kfbk_retain *t = &dev->retain;
	u32 page = 0;
	int ret;

	spin_lock_bh(&t->lock);
	ret = kfb_retain_add(&t->book, krq->va, krq->len, is_zero, &krq->copy);
	if (!ret)
		page = kfb_retain_page(&t->book, krq->copy);
	spin_unlock_bh(&t->lock);
	if (ret)
		return refused(dev, ret);
	if (!is_zero)
		copy_bytes(dev, rq, page);
	return BLK_STS_OK;
}

/* Those who were put back come again. */
static void wake(struct kfbk_device *dev)
{
	struct gendisk *disk = READ_ONCE(dev->disk);

	if (!READ_ONCE(dev->retain.is_waited_for))
		return;
	WRITE_ONCE(dev->retain.is_waited_for, false);
	if (disk)
		blk_mq_run_hw_queues(disk->queue, true);
}

void kfbk_retain_over(struct kfbk_device *dev, struct kfbk_rq *krq, bool done)
{
	struct kfbk_retain *t = &dev->retain;
	bool is_filling, is_idle;

	spin_lock_bh(&t->lock);
	if (done)
		kfb_retain_done(&t->book, krq->copy);
	else
		kfb_retain_void(&t->book, krq->copy);
	/* The readback behind it is over, too. */
	if (done && krq->chained)
		kfb_retain_durable(&t->book, krq->copy);
	is_filling = kfb_retain_is_filling(&t->book);
	is_idle = !t->book.n_flight;
	spin_unlock_bh(&t->lock);
	/* One with FUA keeps it until its flush is over. */
	if (!done || !krq->fua || krq->chained)
		krq->copy = KFB_RETAIN_NONE;
	/* Copies that are to be written wait for what is under way. */
	if (is_idle && READ_ONCE(dev->core.replay_due))
		kfbk_kick(dev);
	if (done && is_filling && !READ_ONCE(t->is_flushing))
		make_room(dev);
	wake(dev);
}

/* ---- flushes ---------------------------------------------------------- */

void kfbk_retain_pump(struct kfbk_device *dev)
{
	struct kfbk_retain *t = &dev->retain;
	bool is_filling;

	lockdep_assert_held(&dev->lock);
	if (t->is_flushing || !t->mb)
		return;
	spin_lock_bh(&t->lock);
	is_filling = kfb_retain_is_filling(&t->book);
	spin_unlock_bh(&t->lock);
	if (!is_filling)
		return;
	WRITE_ONCE(t->is_flushing, true);
	atomic_long_inc(&t->n_flushes);
	kfbk_flush_start(dev, &t->flush);
}

u64 kfbk_retain_mark(struct kfb_initiator *i)
{
	struct kfbk_retain *t = &kfbk_of(i)->retain;
	u64 mark;

	if (!t->mb)
		return 0;
	spin_lock_bh(&t->lock);
	mark = kfb_retain_mark(&t->book);
	spin_unlock_bh(&t->lock);
	return mark;
}

void kfbk_retain_flushed(struct kfbk_device *dev,
			 const struct kfbk_flush *flush)
{
	struct kfbk_retain *t = &dev->retain;

	lockdep_assert_held(&dev->lock);
	if (!t->mb)
		return;
	if (flush->core.only < 0)
		WRITE_ONCE(t->error, flush->core.error);
	if (!flush->core.error) {
		spin_lock_bh(&t->lock);
		if (flush->rq)
			kfb_retain_durable(&t->book,
					   kfbk_rq_of(flush->rq)->copy);
		if (flush->core.only < 0)
			kfb_retain_flushed(&t->book, flush->core.mark);
		spin_unlock_bh(&t->lock);
	}
	if (flush == &t->flush)
		WRITE_ONCE(t->is_flushing, false);
	wake(dev);
}

bool kfbk_retain_has(struct kfbk_device *dev, u64 block)
{
	struct kfbk_retain *t = &dev->retain;
	bool has;

	if (!t->mb)
		return false;
	spin_lock_bh(&t->lock);
	has = kfb_retain_has(&t->book, kfbk_block_va(dev, block),
			     KFB_BLOCK_BYTES);
	spin_unlock_bh(&t->lock);
	return has;
}

void kfbk_retain_drop(struct kfbk_device *dev, u64 first, u64 n)
{
	struct kfbk_retain *t = &dev->retain;

	if (!t->mb)
		return;
	spin_lock_bh(&t->lock);
	kfb_retain_drop(&t->book, kfbk_block_va(dev, first),
			n << KFB_BLOCK_SHIFT);
	spin_unlock_bh(&t->lock);
}
