// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Retained copies are written once more; kfb_initiator_retain.h says when.
 *
 * To find what no newer copy has may take long. After so many steps the locks
 * are given up, and the next run goes on.
 *
 * A loss meanwhile begins all of it anew. Blocks that have changed hands are
 * never written: who makes mappings again has compared births before.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_initiator_priv.h"
#include "kfb_initiator_retain.h"

/* Steps of kfb_retain_next() under the locks at one time. */
#define KFB_REPLAY_STEPS 1024

/* Pages may go again when no write of a copy is under way. */
static void kfb_initiator_replay_is_read(struct kfb_initiator *i)
{
	kfb_initiator_lock_copies(i);
	kfb_retain_hold(&i->retain.book, i->retain.in_flight);
	kfb_initiator_unlock_copies(i);
}

/*
 * Post the next write of a copy. -ENOENT: there is none; -EINPROGRESS: it is not
 * known yet which; -ENXIO: it has no place any more; others: ops->write_copy's.
 */
static int kfb_initiator_replay_post(struct kfb_initiator *i, __u32 slot)
{
	struct kfb_initiator_retain *t = &i->retain;
	__u32 n_used = i->client.n_used ? i->client.n_used : 1;
	struct kfb_initiator_place to;
	struct kfb_retain_piece piece;
	struct kfb_flush_range range;
	__u32 page = 0;
	int rc;

	kfb_initiator_lock_copies(i);
	rc = kfb_retain_next(&t->book, &t->at, KFB_REPLAY_STEPS, &piece);
	if (rc > 0) {
		if (!piece.is_zero)
			page = kfb_retain_page(&t->book, piece.id);
		kfb_retain_hold(&t->book, 1);
	}
	kfb_initiator_unlock_copies(i);
	if (rc <= 0)
		return rc ? -EINPROGRESS : -ENOENT;
	range.va = piece.va;
	range.len = piece.len;
	/* A copy is of a block that was mapped, and its mapping is restored. */
	rc = -ENXIO;
	if (!i->ops->locate(i, &range, &to))
		rc = i->ops->write_copy(
			i->queues[kfb_queue_of(piece.va, n_used)], slot, &piece,
			page, &to);
	if (rc < 0) {
		kfb_initiator_replay_is_read(i);
		return rc;
	}
	t->parts[slot].va = piece.va;
	t->parts[slot].len = (__u32)rc;
	t->in_flight |= (__u32)1 << slot;
	t->n_replayed++;
	kfb_retain_took(&t->at, (__u32)rc);
	return 0;
}

/* Copies that cannot be written again: what they are copies of is lost. */
static void kfb_initiator_replay_give_up(struct kfb_initiator *i)
{
	struct kfb_initiator_retain *t = &i->retain;
	struct kfb_dirty all;

	kfb_dirty_clear(&all);
	all.all = 1;
	i->replay_due = 0;
	t->runs = 0;
	t->strikes = 0;
	/* Whoever accepts the loss must not find them written after another one. */
	kfb_initiator_lock_copies(i);
	kfb_retain_flushed(&t->book, kfb_retain_mark(&t->book));
	kfb_initiator_unlock_copies(i);
	kfb_initiator_lose(i, &all, KFB_LOSS_SUSPECT);
}

/* A write of a copy has failed: all begin anew, unless that was tried enough. */
static void kfb_initiator_replay_failed(struct kfb_initiator *i,
					_Bool is_at_fault)
{
	struct kfb_initiator_retain *t = &i->retain;

	t->has_failed = 1;
	/* What is left of copies that were given up is nobody's fault. */
	t->strikes += t->runs && is_at_fault;
	if (t->strikes >= KFB_STRIKES_MAX && i->replay_due)
		kfb_initiator_replay_give_up(i);
	if (!t->in_flight)
		i->ops->kick(i);
}

void kfb_initiator_replay_pump(struct kfb_initiator *i)
{
	struct kfb_initiator_retain *t = &i->retain;
	__u32 slot;
	int rc = 0;

	/* Once all is lost, nothing goes behind what is made whole. */
	t->runs &= i->replay_due;
	if (!t->runs || t->has_failed)
		return;
	/* kfb_initiator_replay() goes on when handles are good again. */
	if (!kfb_initiator_is_usable(i))
		return;
	while (!rc) {
		slot = 0;
		while (slot < KFB_INITIATOR_REPLAYS &&
		       t->in_flight & (__u32)1 << slot)
			slot++;
		if (slot == KFB_INITIATOR_REPLAYS)
			return;
		rc = kfb_initiator_replay_post(i, slot);
	}
	switch (rc) {
	case 0:
	case -EAGAIN: /* again when there is room */
		break;
	case -EINPROGRESS: /* kfb_initiator_replay() does */
		i->ops->kick(i);
		break;
	case -ENOENT:
		if (t->in_flight)
			break;
		i->replay_due = 0;
		t->runs = 0;
		t->strikes = 0;
		i->ops->kick(i);
		break;
	case -ENXIO:
		kfb_initiator_replay_give_up(i);
		i->ops->kick(i);
		break;
	default:
		kfb_initiator_replay_failed(i, kfb_is_at_fault(rc));
	}
}

void kfb_initiator_replay(struct kfb_initiator *i)
{
	struct kfb_initiator_retain *t = &i->retain;
	int rc;

	if (!i->replay_due)
		return;
	if (t->runs && !t->has_failed) {
		kfb_initiator_replay_pump(i);
		return;
	}
	if (t->in_flight)
		return;
	kfb_initiator_lock_copies(i);
	rc = kfb_retain_rewind(&t->book);
	kfb_initiator_unlock_copies(i);
	/* The last write under way has it begin: KFB_COPY_IDLE. */
	if (rc)
		return;
	t->runs = 1;
	t->has_failed = 0;
	memset(&t->at, 0, sizeof(t->at));
	t->n_replays++;
	kfb_initiator_replay_pump(i);
}

void kfb_initiator_replayed(struct kfb_initiator_queue *q, __u32 slot,
			    int error)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_initiator_retain *t = &i->retain;
	_Bool is_at_fault;

	t->in_flight &= ~((__u32)1 << slot);
	kfb_initiator_replay_is_read(i);
	if (error) {
		/* Copies of a lost block that end together have one cause. */
		is_at_fault =
			t->has_failed
				? kfb_is_at_fault(error)
				: kfb_initiator_is_at_fault(i, error,
							    t->parts[slot].va,
							    t->parts[slot].len);
		kfb_initiator_replay_failed(i, is_at_fault);
		return;
	}
	kfb_initiator_lock(q);
	q->heard_ms = i->ops->now_ms(i);
	kfb_flush_wrote(&q->flush, t->parts[slot].va, t->parts[slot].len);
	kfb_initiator_unlock(q);
	if (t->has_failed && !t->in_flight)
		i->ops->kick(i);
	else
		kfb_initiator_replay_pump(i);
}
