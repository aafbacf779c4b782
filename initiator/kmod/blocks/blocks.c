// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: requests for blocks that are not mapped, and the work that maps and
 * frees blocks while the disk is in use.
 *
 * One work does one request after the other, and waits for the brick's answers
 * as it goes. So it alone changes what is mapped, and when it looks at a
 * request nothing is half done.
 *
 * Context: process, memalloc_noio: a page cache that is written back waits for
 * this.
 */
#include <linux/sched/mm.h>

#include "../device/calls.h"
#include "mappings.h"
#include "../io/requests.h"
#include "../device/trace.h"

static blk_status_t kfbk_status_of(int error)
{
	switch (error) {
	case 0:
		return BLK_STS_OK;
	case -ENOSPC:
	case -EDQUOT:
		return BLK_STS_NOSPC;
	case -EOPNOTSUPP:
		return BLK_STS_NOTSUPP;
	case -ENODEV:
		return BLK_STS_OFFLINE;
	default:
		return BLK_STS_IOERR;
	}
}

/*
 * A block's first write is there: allocate and map it. What has been allocated and
 * cannot be mapped stays: until that is known another client may have found it,
 * and written to it.
 */
static int kfbk_fill_block(struct kfbk_device *dev, u64 block)
{
	int ret = kfbk_cache_reserve(dev, block, KFB_BLOCK_FILL);
	int tries = 0;

	if (ret)
		return ret;
	do {
		ret = kfbk_call_range(dev, KFB_OP_ALLOC, block, 1);
	} while (ret && kfbk_range_may_pass(dev, KFB_OP_ALLOC, ret,
					    KFB_PATIENCE_DISK, tries++));
	/* It may be there because the answer to an earlier try was lost. */
	if (!ret || ret == -EEXIST) {
		ret = dev->cache.cap ? kfbk_cache_map(dev, block)
				     : kfbk_map_again(dev, block, 1,
						      KFB_PATIENCE_DISK);
	}
	trace_kfbrick_block(dev, block, 1, ret);
	if (ret) {
		kfbk_lock(dev);
		/* Nothing of ours is there, so nothing can change hands. */
		dev->blocks[block].has_birth = false;
		kfbk_block_move(dev, block, KFB_BLOCK_FAILED);
		kfbk_unlock(dev);
	}
	return ret;
}

/* Free the whole blocks of a request, from where it is. */
static int kfbk_discard_blocks(struct kfbk_device *dev, struct request *rq)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	u64 from = (blk_rq_pos(rq) << SECTOR_SHIFT) + krq->done;
	u64 to = ((blk_rq_pos(rq) << SECTOR_SHIFT) + blk_rq_bytes(rq));
	u64 first = from >> KFB_BLOCK_SHIFT;
	u64 n = (to >> KFB_BLOCK_SHIFT) - first;
	int ret;

	/* The rest comes again. */
	ret = kfbk_free_blocks(dev, first, &n);
	trace_kfbrick_block(dev, first, -n, ret);
	if (!ret)
		kfbk_rq_step(rq, n << KFB_BLOCK_SHIFT);
	return ret;
}

static bool kfbk_rq_frees(const struct kfbk_device *dev,
			  const struct request *rq)
{
	const struct kfbk_rq *krq = kfbk_rq_of((struct request *)rq);
	u64 from = (blk_rq_pos(rq) << SECTOR_SHIFT) + krq->done;

	return kfbk_op_frees(dev, rq->cmd_flags) &&
	       !(from & (KFB_BLOCK_BYTES - 1)) &&
	       blk_rq_bytes(rq) - krq->done >= KFB_BLOCK_BYTES;
}

/*
 * Who waited for a block gets it; all others that do go on, before it may have to go
 * for another.
 */
static void kfbk_pin_block(struct kfbk_device *dev, struct kfbk_rq *first)
{
	u64 block = kfbk_rq_block(dev, first);
	struct kfbk_rq *krq, *next;
	LIST_HEAD(ready);

	kfbk_lock(dev);
	kfbk_cache_pin(dev, first);
	list_for_each_entry_safe(krq, next, &dev->waiting, node) {
		if (kfbk_rq_block(dev, krq) == block &&
		    !kfbk_rq_frees(dev, blk_mq_rq_from_pdu(krq)) &&
		    kfbk_cache_pin(dev, krq))
			list_move_tail(&krq->node, &ready);
	}
	kfbk_unlock(dev);
	list_for_each_entry_safe(krq, next, &ready, node) {
		list_del_init(&krq->node);
		kfbk_rq_again(blk_mq_rq_from_pdu(krq));
	}
}

/* Return 0 when the request is on its way. */
static int kfbk_serve_waiting(struct kfbk_device *dev, struct request *rq)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	u64 block = kfbk_rq_block(dev, krq);
	u8 state = dev->blocks[block].state;
	int ret = 0;

	if (READ_ONCE(dev->core.is_over))
		return -ENODEV;
	if (kfbk_rq_frees(dev, rq))
		return kfbk_discard_blocks(dev, rq);
	if (state == KFB_BLOCK_UNMAPPED)
		ret = kfbk_cache_load(dev, block);
	else if (state == KFB_BLOCK_ABSENT && req_op(rq) == REQ_OP_WRITE)
		ret = kfbk_fill_block(dev, block);
	if (ret)
		return ret;
	if (dev->cache.cap)
		kfbk_pin_block(dev, krq);
	kfbk_rq_again(rq);
	return 0;
}

void kfbk_map_work(struct work_struct *work)
{
	struct kfbk_device *dev =
		container_of(work, struct kfbk_device, map_work);
	unsigned int noio = memalloc_noio_save();
	struct kfbk_rq *krq;
	struct request *rq;
	int ret;

	for (;;) {
		kfbk_resize_run(dev);
		kfbk_cache_recall(dev);
		kfbk_lock(dev);
		krq = list_first_entry_or_null(&dev->waiting, struct kfbk_rq,
					       node);
		if (krq)
			list_del_init(&krq->node);
		kfbk_unlock(dev);
		if (!krq && !kfbk_cache_ahead(dev))
			break;
		if (!krq)
			continue;
		rq = blk_mq_rq_from_pdu(krq);
		ret = kfbk_serve_waiting(dev, rq);
		/* Whatever it was that failed: it is over for good. */
		if (ret && READ_ONCE(dev->core.is_over))
			ret = -ENODEV;
		if (ret)
			kfbk_rq_end(rq, kfbk_status_of(ret));
	}
	memalloc_noio_restore(noio);
}
