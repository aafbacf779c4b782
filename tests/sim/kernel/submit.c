// SPDX-License-Identifier: BSD-2-Clause
/* Bios become requests: split by the disk's limits, merged where they follow. */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "blk.h"

/* Requests that are collected until all bios of a call are there. */
struct plug {
	struct request_queue *q;
	struct list_head list;
};

static bool has_data(const struct bio *bio)
{
	enum req_op op = bio->bi_opf & REQ_OP_MASK;

	return op == REQ_OP_READ || op == REQ_OP_WRITE;
}

/* ---- splitting ----------------------------------------------------------------- */

/* Bytes from where it begins that are segments of one request. */
static u32 segments_bytes(const struct bio *bio, const struct queue_limits *l)
{
	struct bvec_iter iter;
	struct bio_vec bv;
	u32 len = 0, n = 0;

	bio_for_each_segment_at(bv, bio, iter)
	{
		if (n++ == l->max_segments)
			break;
		len += min(bv.bv_len, l->max_segment_size);
		if (bv.bv_len > l->max_segment_size)
			break;
	}
	return ALIGN_DOWN(len, l->logical_block_size);
}

static u32 most_bytes(const struct bio *bio, const struct queue_limits *l)
{
	u64 chunk = (u64)l->chunk_sectors << SECTOR_SHIFT;
	u64 at = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	u64 most;

	switch (bio->bi_opf & REQ_OP_MASK) {
	case REQ_OP_DISCARD:
		return l->max_hw_discard_sectors << SECTOR_SHIFT;
	case REQ_OP_WRITE_ZEROES:
		return l->max_write_zeroes_sectors << SECTOR_SHIFT;
	default:
		most = chunk - at % chunk;
		most = min(most, (u64)l->max_hw_sectors << SECTOR_SHIFT);
		return (u32)min(most, (u64)segments_bytes(bio, l));
	}
}

/* ---- merging -------------------------------------------------------------------- */

static bool follows(const struct request *rq, const struct bio *bio,
		    const struct queue_limits *l)
{
	u64 chunk = (u64)l->chunk_sectors << SECTOR_SHIFT;
	u64 at = rq->sector << SECTOR_SHIFT;
	u64 len = (u64)rq->len + bio->bi_iter.bi_size;

	return has_data(bio) && rq->bio && has_data(rq->bio) &&
	       rq->cmd_flags == bio->bi_opf &&
	       !(bio->bi_opf & (REQ_FUA | REQ_PREFLUSH)) &&
	       rq->sector + (rq->len >> SECTOR_SHIFT) ==
		       bio->bi_iter.bi_sector &&
	       at / chunk == (at + len - 1) / chunk &&
	       len <= (u64)l->max_hw_sectors << SECTOR_SHIFT &&
	       blk_rq_nr_phys_segments((struct request *)(uintptr_t)rq) +
			       bio_pieces(bio) <=
		       l->max_segments;
}

static bool merge(struct plug *plug, struct bio *bio)
{
	struct request *rq;

	if (list_empty(&plug->list))
		return false;
	rq = list_entry(plug->list.prev, struct request, queuelist);
	if (!follows(rq, bio, &plug->q->limits))
		return false;
	rq->biotail->bi_next = bio;
	rq->biotail = bio;
	rq->len += bio->bi_iter.bi_size;
	return true;
}

/* ---- sending --------------------------------------------------------------------- */

static void unplug(struct plug *plug)
{
	struct request *rq;

	while (!list_empty(&plug->list)) {
		rq = list_first_entry(&plug->list, struct request, queuelist);
		list_del_init(&rq->queuelist);
		blk_insert(rq, false);
	}
	blk_mq_run_hw_queues(plug->q, km_chance(300));
}

static void make_request(struct plug *plug, struct bio *bio)
{
	struct request_queue *q = plug->q;
	struct request *rq = blk_take_request(q);

	if (!rq) {
		/* Those that are held back would keep their tags. */
		unplug(plug);
		wait_event(q->wait, (rq = blk_take_request(q)));
	}
	blk_init_request(rq, bio->bi_opf);
	rq->bio = bio;
	rq->biotail = bio;
	rq->sector = bio->bi_iter.bi_sector;
	rq->len = bio->bi_iter.bi_size;
	if (bio->bi_opf & REQ_PREFLUSH)
		blk_flush_first(rq);
	else
		list_add_tail(&rq->queuelist, &plug->list);
}

static void fail(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
}

static void send_parts(struct plug *plug, struct bio *bio)
{
	const struct queue_limits *l = &plug->q->limits;
	u32 most;

	while (bio->bi_iter.bi_size > (most = most_bytes(bio, l))) {
		struct bio *part = most ? bio_split_front(bio, most) : NULL;

		if (!part) {
			fail(bio, BLK_STS_NOTSUPP);
			return;
		}
		if (!merge(plug, part))
			make_request(plug, part);
	}
	if (!merge(plug, bio))
		make_request(plug, bio);
}

/* Return: true: it goes on to the driver. */
static bool check(struct gendisk *disk, struct bio *bio)
{
	bool has_cache = disk->queue->limits.features & BLK_FEAT_WRITE_CACHE;
	u64 end =
		bio->bi_iter.bi_sector + (bio->bi_iter.bi_size >> SECTOR_SHIFT);

	if (disk->queue->is_dying || end > disk->capacity ||
	    (disk->is_ro && op_is_write(bio->bi_opf) && bio->bi_iter.bi_size)) {
		fail(bio, BLK_STS_IOERR);
		return false;
	}
	if (!has_cache)
		bio->bi_opf &= ~(REQ_PREFLUSH | REQ_FUA);
	if (bio->bi_iter.bi_size || bio->bi_opf & REQ_PREFLUSH)
		return true;
	bio_endio(bio);
	return false;
}

void submit_bios(struct bio **bios, u32 n)
{
	struct gendisk *disk = bios[0]->disk;
	struct plug plug = { .q = disk->queue };

	INIT_LIST_HEAD(&plug.list);
	blk_enter(plug.q);
	for (u32 i = 0; i < n; i++) {
		bios[i]->n_left = 1;
		blk_enter(plug.q);
		if (check(disk, bios[i]))
			send_parts(&plug, bios[i]);
	}
	unplug(&plug);
	blk_leave(plug.q);
}
