// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: flushes, as far as they touch the fabric and requests of blk-mq; what
 * decides is the core's (kfb_initiator.h).
 *
 * Where each write is durable when it completes the disk says that it has no
 * cache, and nobody asks for a flush.
 *
 * Locking: everything under dev->lock.
 */
#include "requests.h"
#include "../device/trace.h"

static struct kfbk_flush *kfbk_flush_of(struct kfb_initiator_flush *core)
{
	return container_of(core, struct kfbk_flush, core);
}

/* ---- what the core asks for ---------------------------------------------- */

/* How the session is reached, of which a queue is READY: its route is open. */
static const struct fi_info *kfbk_flush_info(const struct kfb_initiator *i)
{
	return kfbk_of(i)->routes[i->client.address].info;
}

/* Of the provider: a connection may be gone when its session begins. */
bool kfbk_flush_can_commit(struct kfb_initiator *i)
{
	return kfbk_flush_info(i)->tx_attr->comp_levels & FI_COMMIT_COMPLETE;
}

bool kfbk_flush_can_read_back(struct kfb_initiator *i)
{
	return kfbk_flush_info(i)->ep_attr->flush_modes & FI_FLUSH_READBACK;
}

int kfbk_flush_locate(struct kfb_initiator *i, const struct kfb_flush_range *at,
		      struct kfb_initiator_place *place)
{
	const struct kfbk_device *dev = kfbk_of(i);
	u64 offset = at->va - dev->options.base;
	const struct kfb_block *b = &dev->blocks[offset >> KFB_BLOCK_SHIFT];

	if (!kfb_block_is_readable(b))
		return -ENXIO;
	place->raddr = b->raddr + (offset & (KFB_BLOCK_BYTES - 1));
	place->key = b->key;
	return 0;
}

int kfbk_flush_locate_any(struct kfb_initiator *i, u64 *va)
{
	struct kfbk_device *dev = kfbk_of(i);
	u64 block;

	if (!kfbk_cache_any(dev, &block))
		return -ENOENT;
	*va = kfbk_block_va(dev, block);
	return 0;
}

int kfbk_flush_read_back(struct kfb_initiator_queue *core, u32 place, u64 id,
			 const struct kfb_initiator_place *from, u32 len)
{
	struct kfbk_queue *q = kfbk_queue_of(core);
	struct kfbk_ctx *ctx = kfbk_ctx_at(q->dev, q->readback_ctx, place);
	struct fi_rma_iov rma = { .addr = from->raddr,
				  .len = len,
				  .key = from->key };
	struct fi_msg_flush msg = { .mode = FI_FLUSH_READBACK,
				    .rma_iov = &rma,
				    .rma_iov_count = 1,
				    .addr = FI_ADDR_UNSPEC,
				    .context = &ctx->fi };

	if (!q->ep)
		return -ENOTCONN;
	ctx->id = id;
	return fi_flush(q->ep, &msg, FI_COMPLETION);
}

void kfbk_flush_posted(struct kfb_initiator_queue *core,
		       const struct kfb_flush_op *op, int error)
{
	struct kfbk_queue *q = kfbk_queue_of(core);
	bool is_read = q->dev->core.flush_mode == KFB_FLUSH_READBACK;

	trace_kfbrick_flush_op(q, op, error);
	if (!error)
		atomic_long_inc(
			&q->n_ops[is_read ? KFBK_OP_READBACK : KFBK_OP_MESSAGE]);
}

void kfbk_flush_done(struct kfb_initiator *i, struct kfb_initiator_flush *core,
		     int error)
{
	struct kfbk_flush *flush = kfbk_flush_of(core);

	if (flush->rq)
		kfbk_rq_end_locked(flush->rq,
				   error ? BLK_STS_IOERR : BLK_STS_OK);
	else
		complete(&flush->finished);
}

void kfbk_flush_take_back(struct kfb_initiator *i,
			  struct kfb_initiator_flush *core)
{
	struct request *rq = kfbk_flush_of(core)->rq;

	kfbk_rq_interrupted(kfbk_rq_of(rq));
	kfbk_rq_again(rq);
}

/* In the log, for whoever has to find out what it means to the data. */
void kfbk_flush_writes_lost(struct kfb_initiator *i,
			    const struct kfb_dirty *writes)
{
	struct kfbk_device *dev = kfbk_of(i);
	u32 n;

	if (writes->all)
		kfbk_err(dev, "lost: any write since the last flush\n");
	for (n = 0; n < writes->n; n++)
		kfbk_err(dev, "lost: %llu bytes at %llu\n",
			 writes->ranges[n].len,
			 writes->ranges[n].va - dev->options.base);
	kfbk_move(dev, KFB_DISK_LOST);
}

/* ---- those who wait -------------------------------------------------------- */

/*
 * The driver's own flushes, and those of writes with FUA, end by their own error:
 * it is told again to whoever asks to flush everything.
 */
void kfbk_flush_start(struct kfbk_device *dev, struct kfbk_flush *flush)
{
	lockdep_assert_held(&dev->lock);
	flush->core.is_of_write = flush->rq && kfbk_rq_of(flush->rq)->fua;
	flush->core.is_told = flush->rq && !flush->core.is_of_write;
	flush->core.copy = flush->core.is_of_write ? kfbk_rq_of(flush->rq)->copy
						   : KFB_RETAIN_NONE;
	kfb_initiator_flush(&dev->core, &flush->core);
}

int kfbk_flush_sync(struct kfbk_device *dev, u64 *since)
{
	struct kfbk_flush flush = { .core.only = KFB_INITIATOR_ALL_QUEUES };

	init_completion(&flush.finished);
	kfbk_lock(dev);
	if (since)
		*since = dev->core.n_closed;
	kfbk_flush_start(dev, &flush);
	kfbk_unlock(dev);
	wait_for_completion(&flush.finished);
	return flush.core.error;
}
