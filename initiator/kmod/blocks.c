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
#include <linux/delay.h>
#include <linux/sched/mm.h>

#include "kfbrick.h"
#include "trace.h"

/* A block that could not be had for reasons that pass: tries, and between. */
#define TRIES_MAX 20
#define PAUSE_MS  50

void kfbk_blocks_wait(struct kfbk_device *dev, struct request *rq)
{
	kfbk_lock(dev);
	list_add_tail(&kfbk_rq_of(rq)->node, &dev->waiting);
	kfbk_unlock(dev);
	queue_work(kfbk_map_wq, &dev->map_work);
}

static struct request *next_request(struct kfbk_device *dev)
{
	struct kfbk_rq *krq;

	kfbk_lock(dev);
	krq = list_first_entry_or_null(&dev->waiting, struct kfbk_rq, node);
	if (krq)
		list_del_init(&krq->node);
	kfbk_unlock(dev);
	return krq ? blk_mq_rq_from_pdu(krq) : NULL;
}

blk_status_t kfbk_status_of(int error)
{
	switch (error) {
	case 0:
		return BLK_STS_OK;
	case -ENOSPC:
	case -EDQUOT:
		return BLK_STS_NOSPC;
	case -EOPNOTSUPP:
		return BLK_STS_NOTSUPP;
	default:
		return BLK_STS_IOERR;
	}
}

static int call_range(struct kfbk_device *dev, u16 op, u64 block, u64 n)
{
	struct kfbk_call call = {
		.req = { .op = op,
			 .u.range = { .va = kfbk_block_va(dev, block),
				      .n_blocks = n } },
	};

	return kfbk_call(dev, &call);
}

/* A try may go better after the way back to the brick. */
static bool may_pass(struct kfbk_device *dev, int error, int tries)
{
	if (READ_ONCE(dev->is_over) || tries >= TRIES_MAX)
		return false;
	if (error != -ECONNRESET && error != -ETIMEDOUT && error != -EAGAIN)
		return false;
	msleep(PAUSE_MS);
	return true;
}

/* Also right when the answer to an earlier try was lost. */
static int allocate(struct kfbk_device *dev, u64 block)
{
	int tries = 0;
	int ret;

	do {
		ret = call_range(dev, KFB_OP_ALLOC, block, 1);
	} while (ret && may_pass(dev, ret, tries++));
	return ret == -EEXIST ? 0 : ret;
}

int kfbk_map_again(struct kfbk_device *dev, u64 first, u64 n)
{
	int tries = 0;
	int ret;

	do {
		ret = kfbk_map_run(dev, first, n, false);
	} while (ret && may_pass(dev, ret, tries++));
	return ret;
}

int kfbk_free_run(struct kfbk_device *dev, u64 first, u64 n)
{
	int tries = 0;
	int ret;

	do {
		ret = call_range(dev, KFB_OP_FREE, first, n);
	} while (ret && may_pass(dev, ret, tries++));
	return ret == -ENOENT ? 0 : ret;
}

static void set_block_state(struct kfbk_device *dev, u64 block, u8 state)
{
	kfbk_lock(dev);
	smp_store_release(&dev->blocks[block].state, state);
	kfbk_unlock(dev);
}

/* A block's first write. */
static int fill(struct kfbk_device *dev, u64 block)
{
	int ret;

	set_block_state(dev, block, KFBK_FILLING);
	ret = allocate(dev, block);
	if (!ret) {
		ret = kfbk_map_again(dev, block, 1);
		if (ret)
			kfbk_free_run(dev, block, 1);
	}
	trace_kfbrick_block(dev, block, 1, ret);
	if (ret)
		set_block_state(dev, block, KFBK_ABSENT);
	return ret;
}

/* Whole blocks that are to be freed, from where the request is. */
static int discard(struct kfbk_device *dev, struct request *rq)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);
	u64 from = (blk_rq_pos(rq) << SECTOR_SHIFT) + krq->done;
	u64 to = ((blk_rq_pos(rq) << SECTOR_SHIFT) + blk_rq_bytes(rq));
	u64 first = from >> KFB_BLOCK_SHIFT;
	u64 n = (to >> KFB_BLOCK_SHIFT) - first;
	int ret;

	ret = kfbk_free_blocks(dev, first, n);
	trace_kfbrick_block(dev, first, -n, ret);
	if (!ret)
		kfbk_rq_step(rq, n << KFB_BLOCK_SHIFT);
	return ret;
}

static bool frees(const struct kfbk_rq *krq, const struct request *rq)
{
	u64 from = (blk_rq_pos(rq) << SECTOR_SHIFT) + krq->done;

	if (req_op(rq) == REQ_OP_WRITE_ZEROES && rq->cmd_flags & REQ_NOUNMAP)
		return false;
	return (req_op(rq) == REQ_OP_DISCARD ||
		req_op(rq) == REQ_OP_WRITE_ZEROES) &&
	       !(from & (KFB_BLOCK_BYTES - 1)) &&
	       blk_rq_bytes(rq) - krq->done >= KFB_BLOCK_BYTES;
}

/* 0: the request is on its way. */
static int serve(struct kfbk_device *dev, struct request *rq)
{
	const struct kfbk_rq *krq = kfbk_rq_of(rq);
	u64 block = (krq->va - dev->options.base) >> KFB_BLOCK_SHIFT;
	int ret;

	if (READ_ONCE(dev->is_over))
		return -EIO;
	if (frees(krq, rq))
		return discard(dev, rq);
	if (req_op(rq) == REQ_OP_WRITE &&
	    dev->blocks[block].state == KFBK_ABSENT) {
		ret = fill(dev, block);
		if (ret)
			return ret;
	}
	kfbk_rq_again(rq);
	return 0;
}

void kfbk_map_work(struct work_struct *work)
{
	struct kfbk_device *dev =
		container_of(work, struct kfbk_device, map_work);
	unsigned int noio = memalloc_noio_save();
	struct request *rq;
	int ret;

	kfbk_resize_run(dev);
	while ((rq = next_request(dev)) != NULL) {
		ret = serve(dev, rq);
		if (ret)
			kfbk_rq_end(rq, kfbk_status_of(ret));
	}
	memalloc_noio_restore(noio);
}
