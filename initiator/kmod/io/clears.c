// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: discards and write-zeroes of more than a piece give their tags back.
 *
 * A clear of a thin disk goes on in steps, each of which may wait for the brick:
 * with its request it would keep a tag for as long, and a hundred of them, one
 * discard of a large disk, would keep everybody else from the brick. So queue_rq()
 * takes the bios out of such a request, and ends it. A work sends them again, a
 * piece at a time, as requests of their own; a bio is over with its last piece.
 *
 * Pieces begin and end where a bio's whole blocks do: only those are freed.
 *
 * A clone of another driver's request (dm's) has bios whose end is told to that
 * request, which is over with the clone: it keeps them, and its tag.
 *
 * Context: kfbk_clear_put_off() in queue_rq(); the rest is the clear work.
 * Locking: the list under dev->lock. Lifetime: a bio that waits does not keep the
 * queue: the disk's end flushes the work, which ends them.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/sched/mm.h>

#include "requests.h"

/* Blocks of a piece that are freed together. */
#define FREED_BLOCKS 32

/* Bytes of a bio's next piece; of a request that is none longer it is put off. */
static u32 kfbk_clear_piece(const struct kfbk_device *dev, blk_opf_t opf,
			    sector_t sector, u32 len)
{
	u32 in_block = (u32)(sector << SECTOR_SHIFT) & (KFB_BLOCK_BYTES - 1);
	u32 most = KFB_BLOCK_BYTES - in_block;

	if (!in_block && kfbk_op_frees(dev, opf) && len >= KFB_BLOCK_BYTES)
		most = min_t(u32, FREED_BLOCKS << KFB_BLOCK_SHIFT,
			     round_down(len, (u32)KFB_BLOCK_BYTES));
	return min(len, most);
}

bool kfbk_clear_put_off(struct kfbk_device *dev, struct request *rq)
{
	if (rq->end_io)
		return false;
	/* A small one has two steps at most. */
	if (blk_rq_bytes(rq) <= KFB_BLOCK_BYTES ||
	    kfbk_clear_piece(dev, rq->cmd_flags, blk_rq_pos(rq),
			     blk_rq_bytes(rq)) == blk_rq_bytes(rq))
		return false;
	kfbk_lock(dev);
	blk_steal_bios(&dev->clears, rq);
	kfbk_unlock(dev);
	queue_work(kfbk_clear_wq, &dev->clear_work);
	kfbk_rq_end(rq, BLK_STS_OK);
	return true;
}

/* Send a bio again in pieces, and wait for each. */
static int kfbk_clear_bio(struct kfbk_device *dev, const struct bio *bio)
{
	blk_opf_t opf = (bio->bi_opf & ~REQ_NOWAIT) | REQ_NOMERGE;
	sector_t sector = bio->bi_iter.bi_sector;
	u32 left = bio->bi_iter.bi_size;
	struct bio piece;
	int ret = 0;
	u32 len;

	while (left && !ret) {
		len = kfbk_clear_piece(dev, opf, sector, left);
		bio_init(&piece, dev->disk->part0, NULL, 0, opf);
		piece.bi_iter.bi_sector = sector;
		piece.bi_iter.bi_size = len;
		ret = submit_bio_wait(&piece);
		bio_uninit(&piece);
		sector += len >> SECTOR_SHIFT;
		left -= len;
	}
	return ret;
}

static void kfbk_clear_work_fn(struct work_struct *work)
{
	struct kfbk_device *dev =
		container_of(work, struct kfbk_device, clear_work);
	unsigned int noio = memalloc_noio_save();
	struct bio *bio;

	for (;;) {
		kfbk_lock(dev);
		bio = bio_list_pop(&dev->clears);
		kfbk_unlock(dev);
		if (!bio)
			break;
		bio->bi_status = errno_to_blk_status(kfbk_clear_bio(dev, bio));
		bio_endio(bio);
	}
	memalloc_noio_restore(noio);
}

void kfbk_clears_begin(struct kfbk_device *dev)
{
	bio_list_init(&dev->clears);
	INIT_WORK(&dev->clear_work, kfbk_clear_work_fn);
}
