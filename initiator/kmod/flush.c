// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: flushes: the bookkeeping is the core's, here are its two kinds of
 * op.
 *
 * message: a FLUSH request with the dirty ranges, sent after the writes on the
 * same queue. readback: a small read behind the last bytes written, on the same
 * queue. docs/durability.md says which platform needs which.
 *
 * commit: there is nothing to flush, because a write is durable when it
 * completes; the disk says that it has no cache.
 *
 * A flush joins an op on every queue that has written, and is over when all of
 * them are. Ops of a connection that died prove nothing: whoever waits for one
 * begins again when the session is usable.
 *
 * Locking: everything under dev->lock, each queue's bookkeeping under its own
 * lock besides, because writes complete without the device's.
 */
#include "kfbrick.h"
#include "kfb_err.h"
#include "trace.h"

/* Where each write can be made durable as it comes, no flush is needed. */
static u32 best_mode(const struct kfbk_device *dev)
{
	const struct kfb_info *info = &dev->client.info;
	const struct fid_ep *ep = dev->queues[0].ep;

	if (info->flush_mode == KFB_FLUSH_MESSAGE &&
	    info->flush_modes & KFB_FLUSH_COMMIT && ep &&
	    ep->comp_levels & FI_COMMIT_COMPLETE)
		return KFB_FLUSH_COMMIT;
	return info->flush_mode;
}

/* A disk cannot take back what it has said of its cache. */
static bool is_like(u32 mode, u32 other)
{
	return mode == other ||
	       (kfbk_mode_has_cache(mode) && kfbk_mode_has_cache(other));
}

int kfbk_flush_choose_mode(struct kfbk_device *dev)
{
	u32 mode = best_mode(dev);

	lockdep_assert_held(&dev->lock);
	switch (mode) {
	case KFB_FLUSH_NONE:
	case KFB_FLUSH_MESSAGE:
	case KFB_FLUSH_COMMIT:
		break;
	case KFB_FLUSH_READBACK:
		if (dev->queues[0].ep &&
		    (fi_flush_modes(dev->queues[0].ep) & FI_FLUSH_READBACK))
			break;
		fallthrough;
	default:
		kfbk_say(dev,
			 "writes are made durable in a way that is not known "
			 "here (mode 0x%x)",
			 mode);
		return -EPROTONOSUPPORT;
	}
	if (dev->disk && !is_like(dev->flush_mode, mode)) {
		kfbk_say(dev, "the brick's medium is another one than before");
		return -ESTALE;
	}
	WRITE_ONCE(dev->flush_mode, mode);
	return 0;
}

/* ---- ops -------------------------------------------------------------- */

static int post_message(struct kfbk_queue *q, const struct kfb_flush_op *op)
{
	struct kfbk_device *dev = q->dev;
	struct kfb_message message;
	struct kfb_request req;
	u64 now_ms = kfbk_now_ms();
	int ret;

	kfb_flush_request(op, &req);
	ret = kfb_engine_start(&dev->client.queues[q->index].engine, &req,
			       now_ms, dev->options.timeout_ms, q, &message);
	if (ret)
		return ret;
	q->flush_ids[message.slot] = op->id;
	kfbk_send(q, &message);
	kfbk_wake_at(dev, now_ms + dev->options.timeout_ms);
	atomic_long_inc(&q->n_ops[KFBK_OP_MESSAGE]);
	return 0;
}

static bool is_live(const struct kfbk_device *dev, u64 va)
{
	u8 state =
		dev->blocks[(va - dev->options.base) >> KFB_BLOCK_SHIFT].state;

	return state == KFBK_MAPPED || state == KFBK_QUIET;
}

/*
 * Where a readback reads: the last bytes written, or, when that block has been
 * unmapped meanwhile (then they are durable), others that are to be flushed.
 */
static int choose_tail(struct kfbk_device *dev, const struct kfb_flush_op *op,
		       struct kfb_flush_range *tail)
{
	u64 block;
	u32 i;

	*tail = op->tail;
	/* A queue that only takes over what another has written has none. */
	if (tail->len && is_live(dev, tail->va))
		return 0;
	tail->len = 1;
	for (i = 0; i < op->dirty.n; i++) {
		tail->va = op->dirty.ranges[i].va;
		if (is_live(dev, tail->va))
			return 0;
	}
	tail->va = dev->options.base;
	if (!kfbk_cache_any(dev, &block))
		return -EIO;
	tail->va = kfbk_block_va(dev, block);
	return is_live(dev, tail->va) ? 0 : -EIO;
}

static int post_readback(struct kfbk_queue *q, const struct kfb_flush_op *op)
{
	struct kfbk_device *dev = q->dev;
	struct kfb_flush_range tail;
	int wrong = choose_tail(dev, op, &tail);
	u64 at = tail.va - dev->options.base;
	const struct kfbk_block *b = &dev->blocks[at >> KFB_BLOCK_SHIFT];
	struct kfbk_ctx *ctx =
		kfbk_ctx_at(dev, q->readback_ctx, op - q->flush.posted);
	struct fi_rma_iov rma = { .addr = b->raddr +
					  (at & (KFB_BLOCK_BYTES - 1)),
				  .len = tail.len,
				  .key = b->key };
	struct fi_msg_flush msg = { .mode = FI_FLUSH_READBACK,
				    .rma_iov = &rma,
				    .rma_iov_count = 1,
				    .addr = FI_ADDR_UNSPEC,
				    .context = &ctx->fi };
	ssize_t ret;

	if (wrong)
		return wrong;
	if (!q->ep)
		return -ENOTCONN;
	ctx->id = op->id;
	ret = fi_flush(q->ep, &msg, FI_COMPLETION);
	if (!ret)
		atomic_long_inc(&q->n_ops[KFBK_OP_READBACK]);
	return ret;
}

static struct kfb_flush_op *take_op(struct kfbk_queue *q)
{
	struct kfb_flush_op *op;

	spin_lock(&q->lock);
	op = kfb_flush_post(&q->flush);
	spin_unlock(&q->lock);
	return op;
}

static void put_back(struct kfbk_queue *q, struct kfb_flush_op *op)
{
	spin_lock(&q->lock);
	kfb_flush_unpost(&q->flush, op);
	spin_unlock(&q->lock);
}

static void pump_queue(struct kfbk_queue *q)
{
	struct kfb_flush_op *op;
	u64 id;
	int ret;

	while ((op = take_op(q)) != NULL) {
		id = op->id;
		ret = q->dev->flush_mode == KFB_FLUSH_READBACK
			      ? post_readback(q, op)
			      : post_message(q, op);
		trace_kfbrick_flush_op(q, op, ret);
		/* No room, or no connection: it is tried again when there is. */
		if (ret == -EAGAIN || ret == -ENOTCONN || ret == -ENODEV) {
			put_back(q, op);
			break;
		}
		if (ret)
			kfbk_flush_done(q, id, ret);
	}
}

/* ---- those who wait --------------------------------------------------- */

static bool is_of_fua(const struct kfbk_flush *flush)
{
	return flush->rq && kfbk_rq_of(flush->rq)->fua;
}

/*
 * The driver's own flushes, and those of writes with FUA, end by their own error:
 * it is told again to whoever asks to flush everything.
 */
static int tell(struct kfbk_device *dev, const struct kfbk_flush *flush,
		int error)
{
	if (!flush->rq || is_of_fua(flush))
		return error;
	return kfb_flush_tell(&dev->untold_error, error);
}

static void finish(struct kfbk_device *dev, struct kfbk_flush *flush, int error)
{
	/* Nothing is durable while anything is lost that nobody knows of. */
	if (kfb_losses_error(&dev->losses))
		error = -EIO;
	list_del_init(&flush->node);
	flush->error = error;
	kfbk_retain_flushed(dev, flush);
	error = tell(dev, flush, error);
	if (flush == &dev->retain.flush)
		return;
	if (flush->rq)
		kfbk_rq_end_locked(flush->rq,
				   error ? BLK_STS_IOERR : BLK_STS_OK);
	else
		complete(&flush->finished);
}

/*
 * Join an op on each queue that has written; true: there is none. What the
 * ticket has heard before it began again stays its error.
 */
static bool join(struct kfbk_device *dev, struct kfbk_flush *flush)
{
	struct kfb_flush_ticket *ticket = &flush->ticket;
	u32 i;

	ticket->waiting = 0;
	for (i = 0; i < dev->options.queues; i++) {
		struct kfbk_queue *q = &dev->queues[i];

		if (flush->only >= 0 && flush->only != i)
			continue;
		spin_lock(&q->lock);
		ticket->op[i] = kfb_flush_join(&q->flush);
		spin_unlock(&q->lock);
		if (ticket->op[i])
			ticket->waiting |= BIT(i);
	}
	return !ticket->waiting;
}

static void begin(struct kfbk_device *dev, struct kfbk_flush *flush)
{
	flush->waits = false;
	/* In this order: what has completed by now is what the ops cover. */
	flush->mark = kfbk_retain_mark(dev);
	if (join(dev, flush))
		finish(dev, flush, flush->ticket.error);
}

static void restart(struct kfbk_device *dev)
{
	struct kfbk_flush *flush, *next;

	list_for_each_entry_safe(flush, next, &dev->flushing, node) {
		if (flush->waits)
			begin(dev, flush);
	}
}

void kfbk_flush_pump(struct kfbk_device *dev)
{
	u64 now_ms = kfbk_now_ms();
	u32 i;

	lockdep_assert_held(&dev->lock);
	/* What is to be written again is not durable yet. */
	if (kfb_client_state(&dev->client) != KFB_CLIENT_LIVE ||
	    dev->replay.due)
		return;
	restart(dev);
	for (i = 0; i < dev->client.n_used; i++) {
		if (kfb_client_usable(&dev->client, i, now_ms))
			pump_queue(&dev->queues[i]);
	}
}

void kfbk_flush_start(struct kfbk_device *dev, struct kfbk_flush *flush)
{
	lockdep_assert_held(&dev->lock);
	flush->waits = true;
	kfb_flush_ticket_init(&flush->ticket);
	list_add_tail(&flush->node, &dev->flushing);
	if (dev->is_over || kfb_losses_error(&dev->losses))
		finish(dev, flush, -EIO);
	else if (dev->flush_mode == KFB_FLUSH_NONE)
		finish(dev, flush, 0);
	else
		kfbk_flush_pump(dev);
}

void kfbk_flush_done(struct kfbk_queue *q, u64 id, int error)
{
	struct kfbk_device *dev = q->dev;
	struct kfbk_flush *flush, *next;
	int ret;

	lockdep_assert_held(&dev->lock);
	spin_lock(&q->lock);
	ret = kfb_flush_done(&q->flush, id, error);
	spin_unlock(&q->lock);
	/* One of a connection that is gone proves nothing. */
	if (ret)
		return;
	list_for_each_entry_safe(flush, next, &dev->flushing, node) {
		if (!flush->waits &&
		    kfb_flush_ticket_done(&flush->ticket, q->index, id, error))
			finish(dev, flush, flush->ticket.error);
	}
	/* There is a place for an op that waits. */
	if (!list_empty(&dev->flushing))
		kfbk_flush_pump(dev);
}

/* What was written since the last good flush is in doubt. */
static void medium_failed(struct kfbk_device *dev)
{
	dev->untold_error = -EIO;
	kfbk_say(dev, "the brick's medium has failed: what was written since "
		      "the last good flush may be lost");
	pr_err_ratelimited("kfbrick%d: %s\n", dev->instance, dev->why);
}

/*
 * The answer is to the op that was asked for, and to no other: when that one went
 * with its connection, the request was sent again on the next, but whoever
 * waited has joined another op, which covers more.
 */
void kfbk_flush_answered(struct kfbk_queue *q,
			 const struct kfb_outcome *outcome)
{
	/* Whoever asked, and however long ago. */
	if (outcome->status == KFB_ST_IO)
		medium_failed(q->dev);
	switch (outcome->kind) {
	case KFB_OUTCOME_TIMEOUT:
		/* Nothing is wrong with what was written: try anew. */
		kfbk_queue_failed(q, -ETIMEDOUT);
		break;
	case KFB_OUTCOME_LATE:
		break;
	default:
		kfbk_flush_done(q, q->flush_ids[outcome->slot], outcome->error);
	}
}

/* ---- losses ----------------------------------------------------------- */

void kfbk_flush_anew(struct kfbk_device *dev)
{
	struct kfbk_flush *flush;

	list_for_each_entry(flush, &dev->flushing, node)
		flush->waits = true;
}

void kfbk_flush_fail_all(struct kfbk_device *dev, int error)
{
	struct kfbk_flush *flush, *next;

	list_for_each_entry_safe(flush, next, &dev->flushing, node)
		finish(dev, flush, error);
}

/* Not those of writes with FUA: each hears of it when it is whole. */
static void fail_plain(struct kfbk_device *dev)
{
	struct kfbk_flush *flush, *next;

	list_for_each_entry_safe(flush, next, &dev->flushing, node) {
		if (!is_of_fua(flush))
			finish(dev, flush, -EIO);
	}
}

void kfbk_flush_lost(struct kfbk_queue *q)
{
	lockdep_assert_held(&q->dev->lock);
	q->dev->n_closed++;
	spin_lock(&q->lock);
	kfb_flush_lost(&q->flush);
	spin_unlock(&q->lock);
	kfbk_flush_anew(q->dev);
}

/* What writes with FUA wrote is no longer @q's to flush, but @heir's; -1: any's. */
static void hand_over(struct kfbk_queue *q, int heir)
{
	struct kfbk_flush *flush;

	list_for_each_entry(flush, &q->dev->flushing, node) {
		if (flush->only == q->index)
			flush->only = heir;
	}
}

/* In the log, for whoever has to find out what it means to the data. */
static void log_lost(const struct kfbk_device *dev,
		     const struct kfb_dirty *writes)
{
	u32 i;

	if (writes->all)
		kfbk_err(dev, "lost: any write since the last flush\n");
	for (i = 0; i < writes->n; i++)
		kfbk_err(dev, "lost: %llu bytes at %llu\n",
			 writes->ranges[i].len,
			 writes->ranges[i].va - dev->options.base);
}

void kfbk_lost_writes(struct kfbk_device *dev, const struct kfb_dirty *writes,
		      u32 why)
{
	lockdep_assert_held(&dev->lock);
	kfb_losses_add(&dev->losses, writes, why);
	if (!kfb_losses_error(&dev->losses))
		return;
	log_lost(dev, writes);
	WRITE_ONCE(dev->is_lossy, true);
	dev->replay.due = false;
	kfbk_say(dev, "writes that were completed and not flushed are lost: %s",
		 why & KFB_LOSS_BIRTH ? "their blocks have changed hands"
		 : why & KFB_LOSS_EPOCH
			 ? "the brick lost its power or memory"
			 : "nothing proves that they were placed");
	kfbk_move(dev, KFB_DISK_LOST);
	fail_plain(dev);
}

static void take(struct kfbk_queue *q, struct kfb_dirty *out)
{
	spin_lock(&q->lock);
	kfb_flush_take(&q->flush, out);
	spin_unlock(&q->lock);
}

/*
 * Writes with FUA that wait for their flush: nobody was told that they are
 * complete, so they are no loss. They are sent again.
 */
static noinline_for_stack void send_again(struct kfbk_queue *q,
					  struct kfb_dirty *writes)
{
	struct kfbk_flush *flush, *next;
	struct kfb_dirty again = {};

	list_for_each_entry_safe(flush, next, &q->dev->flushing, node) {
		struct kfbk_rq *krq;

		if (!is_of_fua(flush) ||
		    (flush->only >= 0 && flush->only != q->index))
			continue;
		krq = kfbk_rq_of(flush->rq);
		kfb_dirty_cut(writes, krq->va, krq->len, &again);
		list_del_init(&flush->node);
		kfbk_rq_interrupted(krq);
		kfbk_rq_again(flush->rq);
	}
}

void kfbk_flush_fate(struct kfbk_queue *q, enum kfb_fate fate)
{
	struct kfbk_device *dev = q->dev;
	struct kfbk_queue *first = &dev->queues[0];
	struct kfb_dirty writes = {};

	kfbk_flush_anew(dev);
	switch (fate) {
	case KFB_FATE_PLACED:
	case KFB_FATE_FLUSH:
		break;
	case KFB_FATE_SUSPECT:
	case KFB_FATE_GONE:
		take(q, &writes);
		/* There is a copy of each. */
		if (dev->retain.mb && !dev->is_lossy) {
			dev->replay.due |= !kfb_dirty_is_empty(&writes);
			hand_over(q, -1);
			return;
		}
		send_again(q, &writes);
		kfbk_lost_writes(dev, &writes,
				 fate == KFB_FATE_GONE ? KFB_LOSS_EPOCH
						       : KFB_LOSS_SUSPECT);
		return;
	}
	/* In a new session the blocks of a queue may be another's. */
	if (q->index && dev->session_id != dev->client.session_id) {
		take(q, &writes);
		spin_lock(&first->lock);
		kfb_flush_put(&first->flush, &writes);
		spin_unlock(&first->lock);
		hand_over(q, first->index);
	}
	/* Nobody waits for it, but the sooner the better. */
	if (fate == KFB_FATE_FLUSH && dev->flush_mode != KFB_FLUSH_NONE) {
		spin_lock(&first->lock);
		kfb_flush_join(&first->flush);
		spin_unlock(&first->lock);
	}
}

static bool is_dirty(struct kfbk_queue *q)
{
	bool dirty;

	spin_lock(&q->lock);
	dirty = kfb_flush_is_dirty(&q->flush);
	spin_unlock(&q->lock);
	return dirty;
}

bool kfbk_flush_is_needed(struct kfbk_device *dev)
{
	bool dirty = false;
	u32 i;

	kfbk_lock(dev);
	for (i = 0; i < dev->options.queues; i++)
		dirty |= is_dirty(&dev->queues[i]);
	dirty &= dev->flush_mode != KFB_FLUSH_NONE;
	dirty |= dev->is_lossy || dev->replay.due;
	kfbk_unlock(dev);
	return dirty;
}

int kfbk_flush_sync(struct kfbk_device *dev, u64 *since)
{
	struct kfbk_flush flush = { .only = -1 };

	init_completion(&flush.finished);
	kfbk_lock(dev);
	if (since)
		*since = dev->n_closed;
	kfbk_flush_start(dev, &flush);
	kfbk_unlock(dev);
	wait_for_completion(&flush.finished);
	return flush.error;
}

bool kfbk_flush_holds(const struct kfbk_device *dev, u64 since)
{
	lockdep_assert_held(&dev->lock);
	return since == dev->n_closed;
}
