// SPDX-License-Identifier: BSD-2-Clause
/* Bios: their pieces, their parts, their end. */
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "blk.h"

struct bio_vec bio_piece(const struct bio *bio, struct bvec_iter iter)
{
	const struct bio_vec *bv = &bio->bi_io_vec[iter.bi_idx];
	u32 offset = bv->bv_offset + iter.bi_bvec_done;
	u32 len = min(bv->bv_len - iter.bi_bvec_done, iter.bi_size);

	return (struct bio_vec){
		.bv_page = bv->bv_page + (offset >> PAGE_SHIFT),
		.bv_offset = offset & ~PAGE_MASK,
		.bv_len = len,
	};
}

void bio_advance_piece(const struct bio *bio, struct bvec_iter *iter, u32 len)
{
	iter->bi_sector += len >> SECTOR_SHIFT;
	iter->bi_size -= len;
	if (!bio->bi_io_vec)
		return;
	len += iter->bi_bvec_done;
	while (len && len >= bio->bi_io_vec[iter->bi_idx].bv_len)
		len -= bio->bi_io_vec[iter->bi_idx++].bv_len;
	iter->bi_bvec_done = len;
}

void zero_fill_bio(struct bio *bio)
{
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment_at(bv, bio, iter)
		memset(bvec_address(&bv), 0, bv.bv_len);
}

u32 bio_pieces(const struct bio *bio)
{
	struct bvec_iter iter;
	struct bio_vec bv;
	u32 n = 0;

	bio_for_each_segment_at(bv, bio, iter) n++;
	return n;
}

/* All parts of a bio share its pieces, as in Linux. */
struct bio *bio_split_front(struct bio *bio, u32 len)
{
	struct bio *part = km_zalloc(sizeof(*part));

	if (!part)
		return NULL;
	*part = *bio;
	part->bi_next = NULL;
	part->bi_iter.bi_size = len;
	part->parent = bio;
	part->n_left = 1;
	bio->n_left++;
	bio_advance_piece(bio, &bio->bi_iter, len);
	return part;
}

void blk_leave(struct request_queue *q)
{
	if (!--q->n_entered)
		wake_up(&q->wait);
}

void bio_endio(struct bio *bio)
{
	struct bio *parent = bio->parent;

	if (--bio->n_left)
		return;
	if (!parent) {
		blk_leave(bio->disk->queue);
		bio->bi_end_io(bio);
		return;
	}
	if (bio->bi_status)
		parent->bi_status = bio->bi_status;
	kfree(bio);
	bio_endio(parent);
}

void bio_init(struct bio *bio, struct block_device *bdev, struct bio_vec *table,
	      unsigned short max_vecs, blk_opf_t opf)
{
	memset(bio, 0, sizeof(*bio));
	bio->disk = bdev->bd_disk;
	bio->bi_io_vec = table;
	bio->bi_opf = opf;
}

static void bio_wake(struct bio *bio)
{
	complete(bio->bi_private);
}

int submit_bio_wait(struct bio *bio)
{
	struct completion done;

	init_completion(&done);
	/* cppcheck-suppress autoVariables ; it is over when this returns */
	bio->bi_private = &done;
	bio->bi_end_io = bio_wake;
	submit_bios(&bio, 1);
	wait_for_completion(&done);
	return blk_status_to_errno(bio->bi_status);
}

blk_status_t errno_to_blk_status(int error)
{
	switch (error) {
	case 0:
		return BLK_STS_OK;
	case -EOPNOTSUPP:
		return BLK_STS_NOTSUPP;
	case -ENOSPC:
		return BLK_STS_NOSPC;
	case -ENODATA:
		return BLK_STS_MEDIUM;
	case -ENODEV:
		return BLK_STS_OFFLINE;
	default:
		return BLK_STS_IOERR;
	}
}

int blk_status_to_errno(blk_status_t status)
{
	switch (status) {
	case BLK_STS_OK:
		return 0;
	case BLK_STS_NOTSUPP:
		return -EOPNOTSUPP;
	case BLK_STS_NOSPC:
		return -ENOSPC;
	case BLK_STS_MEDIUM:
		return -ENODATA;
	case BLK_STS_OFFLINE:
		return -ENODEV;
	default:
		return -EIO;
	}
}
