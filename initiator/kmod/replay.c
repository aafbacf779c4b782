// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: retained copies are written once more.
 *
 * When completed writes are suspect or gone, what copies say of them is written
 * again before any other request goes: queue_rq() is stopped, and no flush
 * begins. Which bytes of which copies, and why that reverts nothing, is the
 * core's: kfb_retain.h. What is written so is dirty like any other write; the
 * flush that somebody waits for covers it.
 *
 * Requests that other queues still have under way are waited for first: they
 * complete, or time out and end their connection. The last one kicks the session
 * work, and that begins here again.
 *
 * To find what no newer copy has may take long. After so many steps the locks
 * are given up, and the session work goes on.
 *
 * A loss meanwhile begins all of it anew. Blocks that have changed hands are
 * never written: the restore work has compared births before a session is
 * usable, and has failed the device.
 *
 *   due --usable, no write under way--> running --all written--> (not due)
 *    ^                                     |
 *    '------------- a failure -------------'  and nothing in flight any more
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

/*
 * What is next, as much of it as one operation takes. -ENOENT: there is none;
 * -EINPROGRESS: not known yet.
 */
static int kfbk_replay_next(struct kfbk_device *dev,
			    struct kfb_retain_piece *piece, struct fi_buf *buf)
{
	struct kfbk_retain *t = &dev->retain;
	u8 *bytes = NULL;
	int ret;

	spin_lock(&t->lock);
	ret = kfb_retain_next(&t->book, &dev->replay.at, KFBK_REPLAY_STEPS,
			      piece);
	if (ret > 0 && !piece->is_zero)
		bytes = kfbk_retain_bytes(dev, kfb_retain_page(&t->book,
							       piece->id)) +
			piece->offset;
	spin_unlock(&t->lock);
	if (ret <= 0)
		return ret ? -EINPROGRESS : -ENOENT;
	if (!bytes) {
		*buf = kfbk_zero_buf(dev, &piece->len);
		return 0;
	}
	piece->len =
		min_t(u32, piece->len,
		      dev->max_segments * PAGE_SIZE - offset_in_page(bytes));
	*buf = fi_buf_linear(bytes, piece->len);
	return 0;
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

/* One operation, or why there is none, as kfbk_replay_next() says. */
static int post_next(struct kfbk_device *dev, u32 slot)
{
	struct kfbk_replay *p = &dev->replay;
	struct kfbk_replay_part *part = &p->parts[slot];
	struct kfbk_ctx *ctx = kfbk_ctx_at(dev, p->ctx, slot);
	struct kfb_retain_piece piece;
	struct kfbk_queue *q;
	struct fi_buf buf;
	ssize_t ret;

	ret = kfbk_replay_next(dev, &piece, &buf);
	if (ret)
		return ret;
	part->va = piece.va;
	part->len = piece.len;
	q = &dev->queues[kfb_queue_of(part->va,
				      max(dev->core.client.n_used, 1U))];
	ctx->kind = KFBK_CTX_REPLAY;
	ctx->index = slot;
	ret = post(dev, q, part, &buf, ctx);
	trace_kfbrick_replay(q, part->va, part->len, ret);
	if (ret) {
		/* Only over another connection can it go better. */
		if (ret != -EAGAIN && ret != -ENXIO && ret != -ENOTCONN)
			kfbk_queue_failed(q, ret);
		return ret;
	}
	atomic_long_inc(&q->n_ops[KFBK_OP_WRITE]);
	atomic_long_inc(&dev->retain.n_replayed);
	__set_bit(slot, &p->in_flight);
	kfb_retain_took(&p->at, piece.len);
	return 0;
}

/* They cannot be written again: what they are copies of is lost. */
static void give_up(struct kfbk_device *dev)
{
	const struct kfb_dirty all = { .all = 1 };

	dev->replay.runs = false;
	kfb_initiator_lose(&dev->core, &all, KFB_LOSS_SUSPECT);
}

static void finish(struct kfbk_device *dev)
{
	dev->core.replay_due = false;
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
	/* Once something is lost, nothing goes behind what is made whole. */
	p->runs &= dev->core.replay_due;
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
	case -EINPROGRESS: /* kfbk_replay_begin() does */
		kfbk_kick(dev);
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
	int ret;

	lockdep_assert_held(&dev->lock);
	if (p->runs && !p->has_failed) {
		kfbk_replay_pump(dev);
		return;
	}
	if (p->in_flight)
		return;
	spin_lock(&dev->retain.lock);
	ret = kfb_retain_rewind(&dev->retain.book);
	spin_unlock(&dev->retain.lock);
	/* kfbk_retain_over() has it begin when no write is under way. */
	if (ret)
		return;
	p->runs = true;
	p->has_failed = false;
	p->at = (struct kfb_retain_cursor){};
	atomic_long_inc(&dev->retain.n_replays);
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
		kfb_flush_wrote(&q->core.flush, part->va, part->len);
		spin_unlock(&q->lock);
	}
	if (p->strikes >= KFBK_STRIKES_MAX && dev->core.replay_due)
		give_up(dev);
	kfbk_replay_pump(dev);
	if (p->has_failed && !p->in_flight)
		kfbk_kick(dev);
	kfbk_unlock(dev);
}
