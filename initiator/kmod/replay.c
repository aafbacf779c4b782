// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: retained copies are written once more.
 *
 * When completed writes are suspect or gone, all copies are written again, in
 * the order of their writes, before any other request goes: queue_rq() is
 * stopped, and no flush begins. What is written so is dirty like any other
 * write; the flush that somebody waits for covers it.
 *
 * A loss meanwhile begins all of it anew. Blocks that have changed hands are
 * never written: the restore work has compared births before a session is
 * usable, and has failed the device.
 *
 *   due --usable--> running --all written--> (not due)
 *    ^                 |
 *    '--- a failure ---'  and nothing in flight any more
 *
 * Context: the session work, upcalls. Locking: everything under dev->lock.
 */
#include <linux/slab.h>

#include "kfbrick.h"
#include "trace.h"

int kfbk_replay_open(struct kfbk_device *dev)
{
	dev->replay.ctx = kvcalloc(KFBK_REPLAYS, dev->ctx_bytes, GFP_KERNEL);
	if (!dev->replay.ctx)
		return -ENOMEM;
	dev->replay.parts =
		kcalloc(KFBK_REPLAYS, sizeof(*dev->replay.parts), GFP_KERNEL);
	return dev->replay.parts ? 0 : -ENOMEM;
}

void kfbk_replay_close(struct kfbk_device *dev)
{
	kvfree(dev->replay.ctx);
	kfree(dev->replay.parts);
}

/* The copy that is next, and how far it has been written. */
static bool next_part(struct kfbk_device *dev, struct kfbk_replay_part *part,
		      u32 *page, bool *is_zero)
{
	struct kfbk_retain *t = &dev->retain;
	struct kfbk_replay *p = &dev->replay;
	const struct kfb_copy *copy;

	spin_lock(&t->lock);
	copy = kfb_retain_next(&t->book, &p->copy);
	if (copy) {
		part->va = copy->va + p->offset;
		part->len = copy->len - p->offset;
		*page = kfb_retain_page(&t->book, p->copy) +
			(p->offset >> KFB_RETAIN_PAGE_SHIFT);
		*is_zero = copy->is_zero;
	}
	spin_unlock(&t->lock);
	return copy;
}

static void step(struct kfbk_replay *p, u32 len, bool is_last)
{
	p->offset += len;
	if (!is_last)
		return;
	p->offset = 0;
	p->copy++;
}

static ssize_t post(struct kfbk_device *dev, struct kfbk_queue *q,
		    const struct kfbk_replay_part *part,
		    const struct fi_buf *buf, struct kfbk_ctx *ctx)
{
	u64 at = part->va - dev->options.base;
	const struct kfbk_block *b = &dev->blocks[at >> KFB_BLOCK_SHIFT];
	struct fi_rma_iov rma = { .addr = b->raddr +
					  (at & (KFB_BLOCK_BYTES - 1)),
				  .len = part->len,
				  .key = b->key };
	struct fi_msg_rma msg = { .buf = *buf,
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .addr = FI_ADDR_UNSPEC,
				  .context = &ctx->fi };

	/* A copy is of a block that was mapped, and its mapping is restored. */
	if (b->state != KFBK_MAPPED && b->state != KFBK_QUIET)
		return -ENXIO;
	if (!q->ep)
		return -ENOTCONN;
	return fi_writemsg(q->ep, &msg, FI_COMPLETION);
}

/* One operation. -ENOENT: there is no more to write. */
static int post_next(struct kfbk_device *dev, u32 slot)
{
	struct kfbk_replay *p = &dev->replay;
	struct kfbk_replay_part *part = &p->parts[slot];
	struct kfbk_ctx *ctx = kfbk_ctx_at(dev, p->ctx, slot);
	struct kfbk_queue *q;
	struct fi_buf buf;
	bool is_zero;
	u8 *bytes;
	u32 all, page;
	ssize_t ret;

	if (!next_part(dev, part, &page, &is_zero))
		return -ENOENT;
	all = part->len;
	if (is_zero) {
		buf = kfbk_zero_buf(dev, &part->len);
	} else {
		bytes = kfbk_retain_bytes(dev, page);
		part->len = min_t(u32, all,
				  dev->max_segments * PAGE_SIZE -
					  offset_in_page(bytes));
		buf = fi_buf_linear(bytes, part->len);
	}
	q = &dev->queues[kfb_queue_of(part->va, max(dev->client.n_used, 1U))];
	ctx->kind = KFBK_CTX_REPLAY;
	ctx->index = slot;
	ret = post(dev, q, part, &buf, ctx);
	trace_kfbrick_replay(q, part->va, part->len, ret);
	if (ret)
		return ret;
	atomic_long_inc(&q->n_ops[KFBK_OP_WRITE]);
	atomic_long_inc(&dev->retain.n_replayed);
	__set_bit(slot, &p->in_flight);
	step(p, part->len, part->len == all);
	return 0;
}

/* They cannot be written again: what they are copies of is lost. */
static void give_up(struct kfbk_device *dev)
{
	const struct kfb_dirty all = { .all = 1 };

	dev->replay.due = false;
	dev->replay.runs = false;
	kfbk_lost_writes(dev, &all, KFB_LOSS_SUSPECT);
}

static void finish(struct kfbk_device *dev)
{
	dev->replay.due = false;
	dev->replay.runs = false;
	dev->replay.strikes = 0;
	kfbk_kick(dev);
}

void kfbk_replay_pump(struct kfbk_device *dev)
{
	struct kfbk_replay *p = &dev->replay;
	u32 slot;
	int ret = 0;

	lockdep_assert_held(&dev->lock);
	while (p->runs && !p->has_failed && !ret) {
		slot = find_first_zero_bit(&p->in_flight, KFBK_REPLAYS);
		if (slot >= KFBK_REPLAYS)
			return;
		ret = post_next(dev, slot);
	}
	switch (ret) {
	case 0:
	case -EAGAIN: /* has_space() pumps again */
		break;
	case -ENOENT:
		if (!p->in_flight)
			finish(dev);
		break;
	case -ENXIO:
		give_up(dev);
		break;
	default:
		p->has_failed = true;
		if (!p->in_flight)
			kfbk_kick(dev);
	}
}

void kfbk_replay_begin(struct kfbk_device *dev)
{
	struct kfbk_replay *p = &dev->replay;

	lockdep_assert_held(&dev->lock);
	if (p->in_flight || (p->runs && !p->has_failed))
		return;
	p->runs = true;
	p->has_failed = false;
	p->copy = 0;
	p->offset = 0;
	atomic_long_inc(&dev->retain.n_replays);
	spin_lock(&dev->retain.lock);
	kfb_retain_rewind(&dev->retain.book);
	spin_unlock(&dev->retain.lock);
	kfbk_replay_pump(dev);
}

void kfbk_replay_lost(struct kfbk_device *dev)
{
	lockdep_assert_held(&dev->lock);
	dev->replay.has_failed = true;
}

void kfbk_replay_done(struct kfbk_queue *q, u32 slot, int error,
		      bool is_at_fault)
{
	struct kfbk_device *dev = q->dev;
	struct kfbk_replay *p = &dev->replay;
	const struct kfbk_replay_part *part = &p->parts[slot];

	kfbk_lock(dev);
	__clear_bit(slot, &p->in_flight);
	if (error) {
		p->has_failed = true;
		p->strikes += is_at_fault;
	} else {
		spin_lock(&q->lock);
		kfb_flush_wrote(&q->flush, part->va, part->len);
		spin_unlock(&q->lock);
	}
	if (p->strikes >= KFBK_STRIKES_MAX && p->due)
		give_up(dev);
	kfbk_replay_pump(dev);
	if (p->has_failed && !p->in_flight)
		kfbk_kick(dev);
	kfbk_unlock(dev);
}
