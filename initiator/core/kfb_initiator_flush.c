// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flushes over all queues, and what a loss does to writes.
 *
 * message: a FLUSH request with the dirty ranges, sent after the writes on the
 * same queue. readback: a small read behind the last bytes written, on the same
 * queue. commit: there is nothing to flush, because a write is durable when it
 * completes. docs/durability.md says which platform needs which.
 *
 * A flush joins an op on every queue that has written, and is over when all of
 * them are. Ops of a connection that died prove nothing: whoever waits for one
 * begins again when the session is LIVE.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_err.h"
#include "kfb_initiator_priv.h"
#include "session/kfb_refusal.h"

/* Between tries of a FLUSH that the brick refuses for now. */
#define KFB_FLUSH_AGAIN_MS 100

/* There is nothing to post. */
#define KFB_FLUSH_IS_OVER 1

/* ---- how writes become durable ------------------------------------------ */

int kfb_initiator_choose_flush(struct kfb_initiator *i)
{
	const struct kfb_info *info = &i->client.info;
	__u32 mode = info->flush_mode;

	if (mode != KFB_FLUSH_NONE && mode != KFB_FLUSH_MESSAGE &&
	    (mode != KFB_FLUSH_READBACK ||
	     (i->ops->can_read_back && !i->ops->can_read_back(i)))) {
		i->ops->say(i, KFB_SAY_WHY,
			    "the brick makes writes durable in a way that is "
			    "not known here",
			    NULL, 0);
		return -EPROTONOSUPPORT;
	}
	/* Where each write can be made durable as it comes, no flush is needed. */
	if (mode == KFB_FLUSH_MESSAGE && info->flush_modes & KFB_FLUSH_COMMIT &&
	    i->ops->can_commit && i->ops->can_commit(i))
		mode = KFB_FLUSH_COMMIT;
	/*
	 * What the brick's CPU has placed, a brick that was killed among them, a read does
	 * not flush, whatever device it goes to now.
	 */
	if (i->has_promised && i->flush_mode == KFB_FLUSH_MESSAGE &&
	    mode == KFB_FLUSH_READBACK && kfb_initiator_is_dirty(i))
		mode = info->flush_modes & KFB_FLUSH_MESSAGE ? KFB_FLUSH_MESSAGE
							     : KFB_FLUSH_NONE;
	if (i->has_promised && mode != i->flush_mode &&
	    !(kfb_flush_mode_has_cache(mode) &&
	      kfb_flush_mode_has_cache(i->flush_mode))) {
		i->ops->say(i, KFB_SAY_WHY,
			    "the brick's medium is another one than before",
			    NULL, 0);
		return -ESTALE;
	}
	i->flush_mode = mode;
	return 0;
}

/* ---- ops ------------------------------------------------------------------ */

/*
 * Where a readback reads: the last bytes written, or, when these have been
 * unmapped meanwhile (then they are durable), others that are to be flushed. A
 * queue that only takes over what another has written has no last bytes.
 * KFB_FLUSH_IS_OVER: nothing is mapped, and all is durable that is not known to be lost.
 */
static int kfb_initiator_choose_place(struct kfb_initiator *i,
				      const struct kfb_flush_op *op,
				      struct kfb_initiator_place *place,
				      __u32 *len)
{
	struct kfb_flush_range at = op->tail;
	__u32 n;
	int rc;

	*len = (__u32)at.len;
	if (at.len && !i->ops->locate(i, &at, place))
		return 0;
	*len = 1;
	at.len = 1;
	for (n = 0; n < op->dirty.n + op->fua.n; n++) {
		at.va = n < op->dirty.n ? op->dirty.ranges[n].va
					: op->fua.ranges[n - op->dirty.n].va;
		if (!i->ops->locate(i, &at, place))
			return 0;
	}
	rc = i->ops->locate_any ? i->ops->locate_any(i, &at.va) : -ENOENT;
	if (rc == -ENODATA)
		return KFB_FLUSH_IS_OVER;
	return rc || i->ops->locate(i, &at, place) ? -ENXIO : 0;
}

/* Return: 0, KFB_FLUSH_IS_OVER, or a negative errno. */
static int kfb_initiator_post_readback(struct kfb_initiator_queue *q,
				       const struct kfb_flush_op *op)
{
	struct kfb_initiator *i = q->initiator;
	__u32 at = (__u32)(op - q->flush.ops);
	struct kfb_initiator_place from;
	__u32 len;
	int rc;

	rc = kfb_initiator_choose_place(i, op, &from, &len);
	return rc ? rc : i->ops->read_back(q, at, op->id, &from, len);
}

/* A request is large, and kernels clear their stack: a readback has none. */
static __attribute__((__noinline__)) int
kfb_initiator_post_message(struct kfb_initiator_queue *q,
			   const struct kfb_flush_op *op)
{
	struct kfb_request req;
	__u16 slot;
	int rc;

	kfb_flush_request(op, &req);
	rc = kfb_initiator_start(q, &req, q, &slot);
	if (!rc)
		q->flush_ids[slot] = op->id;
	return rc;
}

/* ---- those who wait ------------------------------------------------------- */

static void kfb_initiator_flush_finish(struct kfb_initiator *i,
				       struct kfb_initiator_flush *flush,
				       int error)
{
	/* Nothing is durable while anything is lost that nobody knows of. */
	if (kfb_losses_error(&i->losses))
		error = kfb_losses_error(&i->losses);
	kfb_ring_del(&flush->node);
	flush->error = error;
	kfb_initiator_retain_flushed(i, flush);
	if (flush->is_told)
		error = kfb_flush_tell(&i->untold_error, error);
	if (flush != &i->retain.flush)
		i->ops->flush_done(i, flush, error);
}

/*
 * Join an op on each queue that has written; false: there is none. What the
 * ticket has heard before it began again stays its error.
 */
static _Bool kfb_initiator_flush_join(struct kfb_initiator *i,
				      struct kfb_initiator_flush *flush)
{
	_Bool any = 0;
	__u32 n;

	kfb_flush_ticket_again(&flush->ticket);
	for (n = 0; n < i->client.config.n_queues; n++) {
		struct kfb_initiator_queue *q = i->queues[n];

		if (flush->only >= 0 && (__u32)flush->only != n)
			continue;
		kfb_initiator_lock(q);
		any |= kfb_flush_ticket_join(&flush->ticket, n, &q->flush);
		kfb_initiator_unlock(q);
	}
	return any;
}

/* Begin what is due; true when something was. */
static _Bool kfb_initiator_begin_flushes(struct kfb_initiator *i)
{
	struct kfb_initiator_flush *flush, *after;
	_Bool any = i->are_due;

	if (!any)
		return 0;
	i->are_due = 0;
	kfb_ring_for_each(flush, after, &i->flushes, node) {
		if (!flush->is_due)
			continue;
		flush->is_due = 0;
		/* In this order: what has completed by now is covered. */
		flush->mark = kfb_initiator_retain_mark(i);
		if (!kfb_initiator_flush_join(i, flush))
			kfb_initiator_flush_finish(i, flush,
						   flush->ticket.error);
	}
	return any;
}

/* An op is over. One of a connection that is gone proves nothing: -ENOENT. */
static int kfb_initiator_op_over(struct kfb_initiator_queue *q, __u64 id,
				 int error)
{
	int rc;

	kfb_initiator_lock(q);
	rc = kfb_flush_done(&q->flush, id, error);
	kfb_initiator_unlock(q);
	return rc;
}

/* An op is over: who waited for it as the last one is told. */
static void kfb_initiator_op_done(struct kfb_initiator_queue *q, __u64 id,
				  int error)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_initiator_flush *flush, *after;

	if (kfb_initiator_op_over(q, id, error))
		return;
	kfb_ring_for_each(flush, after, &i->flushes, node) {
		if (!flush->is_due &&
		    kfb_flush_ticket_done(&flush->ticket, q->index, id, error))
			kfb_initiator_flush_finish(i, flush,
						   flush->ticket.error);
	}
}

/* A brick leaves a FLUSH without an answer, or what has the credits that one needs. */
static void kfb_initiator_flush_unanswered(struct kfb_initiator_queue *q,
					   __u64 id, int error)
{
	if (q->initiator->gives_flushes_up)
		kfb_initiator_flushed(q, id, error);
	else
		/* Nothing is wrong with what was written. */
		kfb_initiator_lost(q, error,
				   "the brick does not answer to FLUSH", NULL);
}

/* The session has no room for a FLUSH: the brick leaves requests unanswered. */
static void kfb_initiator_flush_waits(struct kfb_initiator_queue *q)
{
	struct kfb_initiator *i = q->initiator;

	if (q->flush_until_ms)
		return;
	q->flush_until_ms = i->ops->now_ms(i) + i->timeout_ms;
	if (i->ops->wake_at)
		i->ops->wake_at(i, q->flush_until_ms);
}

static _Bool kfb_initiator_post_ops(struct kfb_initiator_queue *q)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_flush_op *op;
	_Bool any = 0;
	__u64 id;
	int rc;

	while ((op = kfb_flush_post(&q->flush))) {
		id = op->id;
		rc = i->flush_mode == KFB_FLUSH_READBACK
			     ? kfb_initiator_post_readback(q, op)
			     : kfb_initiator_post_message(q, op);
		if (i->ops->flush_posted)
			i->ops->flush_posted(q, op, rc);
		/* No room, or no connection: it is tried when there is. */
		if (rc == -EAGAIN || rc == -ENOTCONN || rc == -ENODEV) {
			kfb_flush_unpost(&q->flush, op);
			/* A readback has room when others are over, in their time. */
			if (rc == -EAGAIN &&
			    i->flush_mode != KFB_FLUSH_READBACK)
				kfb_initiator_flush_waits(q);
			break;
		}
		q->flush_until_ms = 0;
		if (rc)
			kfb_initiator_op_done(q, id, rc < 0 ? rc : 0);
		any = 1;
	}
	return any;
}

_Bool kfb_initiator_pump_flushes(struct kfb_initiator *i)
{
	_Bool any;
	__u32 n;

	/* What is to be written again is not durable yet. */
	if (kfb_client_state(&i->client) != KFB_CLIENT_LIVE || i->replay_due)
		return 0;
	if (i->flush_again_ms)
		return 0;
	any = kfb_initiator_begin_flushes(i);
	for (n = 0; n < i->client.n_used; n++) {
		struct kfb_initiator_queue *q = i->queues[n];

		if (q->flush.next &&
		    kfb_client_usable(&i->client, n, i->ops->now_ms(i)))
			any |= kfb_initiator_post_ops(q);
	}
	return any;
}

void kfb_initiator_flushes_due(struct kfb_initiator *i)
{
	__u64 now_ms = i->ops->now_ms(i);
	struct kfb_flush_op *op;
	__u32 n;

	if (i->flush_again_ms && now_ms >= i->flush_again_ms) {
		i->flush_again_ms = 0;
		kfb_initiator_pump_flushes(i);
	}
	for (n = 0; n < i->client.config.n_queues; n++) {
		struct kfb_initiator_queue *q = i->queues[n];

		if (!q->flush_until_ms || now_ms < q->flush_until_ms)
			continue;
		/* Where it cannot be sent at all it has its time anew. */
		q->flush_until_ms = 0;
		if (i->replay_due || !kfb_client_usable(&i->client, n, now_ms))
			continue;
		/* There may be room that nobody has come to use. */
		kfb_initiator_post_ops(q);
		if (!q->flush_until_ms)
			continue;
		q->flush_until_ms = 0;
		op = kfb_flush_post(&q->flush);
		if (op)
			kfb_initiator_flush_unanswered(q, op->id, -ETIMEDOUT);
	}
}

void kfb_initiator_flush(struct kfb_initiator *i,
			 struct kfb_initiator_flush *flush)
{
	kfb_flush_ticket_init(&flush->ticket);
	flush->is_due = 1;
	i->are_due = 1;
	kfb_ring_add_last(&i->flushes, &flush->node);
	if (i->is_over)
		kfb_initiator_flush_finish(i, flush, i->over_error);
	else if (kfb_losses_error(&i->losses))
		kfb_initiator_flush_finish(i, flush, -EIO);
	else if (i->flush_mode == KFB_FLUSH_NONE)
		kfb_initiator_flush_finish(i, flush, i->volatile_error);
	else
		kfb_initiator_pump_flushes(i);
}

void kfb_initiator_flushed(struct kfb_initiator_queue *q, __u64 id, int error)
{
	kfb_initiator_op_done(q, id, error);
	/* There is a place for an op that waits. */
	if (q->flush.next || q->initiator->are_due)
		kfb_initiator_pump_flushes(q->initiator);
}

/*
 * The brick refuses a FLUSH. Where that passes those who wait for it begin again, for as
 * long as they would wait for an answer; false: they are told.
 */
static _Bool kfb_initiator_flush_again(struct kfb_initiator_queue *q, __u64 id,
				       int error)
{
	const char *why = kfb_refusal_why(KFB_OP_FLUSH, error);
	struct kfb_initiator_flush *flush, *after;
	struct kfb_initiator *i = q->initiator;
	__u64 now_ms = i->ops->now_ms(i);
	_Bool any = 0;

	if (i->gives_flushes_up ||
	    !kfb_refusal_may_pass(KFB_OP_FLUSH, error, KFB_PATIENCE_DISK) ||
	    (q->refused_until_ms && now_ms >= q->refused_until_ms)) {
		if (q->refused_until_ms)
			i->ops->say(i, KFB_SAY_LOG, "a flush has failed", why,
				    error);
		q->refused_until_ms = 0;
		return 0;
	}
	if (kfb_initiator_op_over(q, id, error))
		return 1;
	if (!q->refused_until_ms) {
		q->refused_until_ms = now_ms + i->timeout_ms;
		i->ops->say(i, KFB_SAY_LOG, "the brick cannot flush for now",
			    why, error);
	}
	kfb_ring_for_each(flush, after, &i->flushes, node) {
		if (!kfb_flush_ticket_waits(&flush->ticket, q->index, id))
			continue;
		flush->is_due = 1;
		any = 1;
	}
	/* Those who come later have a time of their own. */
	if (!any)
		q->refused_until_ms = 0;
	i->are_due = 1;
	i->flush_again_ms = now_ms + KFB_FLUSH_AGAIN_MS;
	if (i->ops->wake_at)
		i->ops->wake_at(i, i->flush_again_ms);
	return 1;
}

/* They wait for no op, and may have waited for this one: the next is no answer to it. */
static void kfb_initiator_tell_those_due(struct kfb_initiator *i)
{
	struct kfb_initiator_flush *flush, *after;

	kfb_ring_for_each(flush, after, &i->flushes, node) {
		if (flush->is_due && !flush->ticket.error)
			flush->ticket.error = -EIO;
	}
}

/*
 * The answer is to the op that was asked for, and to no other: when that one went
 * with its connection, the request was sent again on the next, but whoever
 * waited has joined another op, which covers more.
 */
void kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
				  const struct kfb_outcome *outcome)
{
	struct kfb_initiator *i = q->initiator;
	__u64 id = q->flush_ids[outcome->slot];

	/* Whoever asked, and however long ago. */
	if (outcome->status == KFB_ST_IO) {
		i->untold_error = -EIO;
		kfb_initiator_tell_those_due(i);
		i->ops->say(i, KFB_SAY_LOG,
			    "the brick's medium has failed: what was written "
			    "since the last good flush may be lost",
			    NULL, 0);
	}
	switch (outcome->kind) {
	case KFB_OUTCOME_REPLY:
		if (outcome->error &&
		    kfb_initiator_flush_again(q, id, outcome->error))
			break;
		q->refused_until_ms = 0;
		kfb_initiator_flushed(q, id, outcome->error);
		break;
	case KFB_OUTCOME_TIMEOUT:
		kfb_initiator_flush_unanswered(q, id, outcome->error);
		break;
	default:
		break;
	}
}

/* ---- losses --------------------------------------------------------------- */

void kfb_initiator_flushes_anew(struct kfb_initiator *i)
{
	struct kfb_initiator_flush *flush, *after;

	kfb_ring_for_each(flush, after, &i->flushes, node)
		flush->is_due = 1;
	i->are_due = 1;
}

void kfb_initiator_end_flushes(struct kfb_initiator *i)
{
	struct kfb_initiator_flush *flush, *after;

	kfb_ring_for_each(flush, after, &i->flushes, node)
		kfb_initiator_flush_finish(i, flush, i->over_error);
}

void kfb_initiator_flush_lost(struct kfb_initiator_queue *q)
{
	q->initiator->n_closed++;
	q->initiator->flush_again_ms = 0;
	q->refused_until_ms = 0;
	q->flush_until_ms = 0;
	q->initiator->retain.has_failed = 1;
	kfb_initiator_lock(q);
	kfb_flush_lost(&q->flush);
	kfb_initiator_unlock(q);
	kfb_initiator_flushes_anew(q->initiator);
}

void kfb_initiator_lose(struct kfb_initiator *i, const struct kfb_dirty *writes,
			__u32 why)
{
	struct kfb_initiator_flush *flush, *after;

	kfb_losses_add(&i->losses, writes, why);
	if (!kfb_losses_error(&i->losses))
		return;
	i->ops->say(i, KFB_SAY_WHY,
		    "writes that were completed and not flushed are lost",
		    kfb_losses_text(why), 0);
	if (i->ops->writes_lost) {
		/* Nothing is written any more: copies are of no use. */
		i->retains = 0;
		i->replay_due = 0;
		i->ops->writes_lost(i, writes);
	}
	/* Who waits for one write hears of it when that is whole. */
	kfb_ring_for_each(flush, after, &i->flushes, node) {
		if (!flush->is_of_write || !i->ops->take_back)
			kfb_initiator_flush_finish(i, flush, -EIO);
	}
}

/* What single writes of a queue wrote is no longer its to flush, but @failover's. */
static void kfb_initiator_hand_over(struct kfb_initiator_queue *q, int failover)
{
	struct kfb_initiator_flush *flush, *after;

	kfb_ring_for_each(flush, after, &q->initiator->flushes, node) {
		if (flush->only == (int)q->index)
			flush->only = failover;
	}
}

/*
 * Writes that wait for their flush: nobody was told that they are complete, so
 * they are no loss. They are sent again.
 */
static void kfb_initiator_send_again(struct kfb_initiator_queue *q)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_initiator_flush *flush, *after;

	kfb_ring_for_each(flush, after, &i->flushes, node) {
		if (!flush->is_of_write ||
		    (flush->only >= 0 && flush->only != (int)q->index))
			continue;
		kfb_ring_del(&flush->node);
		i->ops->take_back(i, flush);
	}
}

static void kfb_initiator_take_writes(struct kfb_initiator_queue *q,
				      struct kfb_dirty *told,
				      struct kfb_dirty *fua)
{
	kfb_dirty_clear(told);
	kfb_dirty_clear(fua);
	kfb_initiator_lock(q);
	kfb_flush_take(&q->flush, told, fua);
	kfb_initiator_unlock(q);
}

/* What a queue wrote may not be there any more. */
static void kfb_initiator_writes_doubted(struct kfb_initiator_queue *q,
					 __u32 why)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_dirty told;
	struct kfb_dirty fua;

	kfb_initiator_take_writes(q, &told, &fua);
	/* There is a copy of each. */
	if (i->retains) {
		i->replay_due |=
			!kfb_dirty_is_empty(&told) || !kfb_dirty_is_empty(&fua);
		kfb_initiator_hand_over(q, KFB_INITIATOR_ALL_QUEUES);
		return;
	}
	if (i->ops->take_back)
		kfb_initiator_send_again(q);
	else
		kfb_dirty_merge(&told, &fua);
	kfb_initiator_lose(i, &told, why);
}

/* In a new session the blocks of a queue may be another's. */
static void kfb_initiator_fail_over(struct kfb_initiator_queue *q,
				    struct kfb_initiator_queue *first)
{
	struct kfb_dirty told;
	struct kfb_dirty fua;

	kfb_initiator_take_writes(q, &told, &fua);
	kfb_initiator_lock(first);
	kfb_flush_put(&first->flush, &told, &fua);
	kfb_initiator_unlock(first);
	kfb_initiator_hand_over(q, (int)first->index);
}

void kfb_initiator_validate(struct kfb_initiator_queue *q, enum kfb_fate fate)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_initiator_queue *first = i->queues[0];

	kfb_initiator_flushes_anew(i);
	if (fate == KFB_FATE_SUSPECT || fate == KFB_FATE_GONE) {
		kfb_initiator_writes_doubted(q, fate == KFB_FATE_GONE
							? KFB_LOSS_EPOCH
							: KFB_LOSS_SUSPECT);
		return;
	}
	if (q->index && i->session_id != i->client.session_id)
		kfb_initiator_fail_over(q, first);
	/* Nobody waits for it, but the sooner the better. */
	if (fate == KFB_FATE_FLUSH && i->flush_mode != KFB_FLUSH_NONE) {
		kfb_initiator_lock(first);
		kfb_flush_join(&first->flush);
		kfb_initiator_unlock(first);
	}
}

_Bool kfb_initiator_is_dirty(struct kfb_initiator *i)
{
	_Bool dirty = 0;
	__u32 n;

	for (n = 0; n < i->client.config.n_queues; n++) {
		struct kfb_initiator_queue *q = i->queues[n];

		kfb_initiator_lock(q);
		dirty |= kfb_flush_is_dirty(&q->flush);
		kfb_initiator_unlock(q);
	}
	dirty &= i->flush_mode != KFB_FLUSH_NONE;
	return dirty || kfb_losses_error(&i->losses) || i->replay_due;
}
