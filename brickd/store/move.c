// SPDX-License-Identifier: BSD-2-Clause
/*
 * Moving a block from one tier to the other.
 *
 * The slot it goes to is durably DIRTY before the first byte is copied: one
 * that still said CLEAN after a crash would be given out as zeros with a
 * client's data in it. The copy is durable before the batch that makes it the
 * block can be: on the slow tier by its sync(), on the medium by a fence.
 *
 * Locking: slots that a move has taken are in no map; the lock is held for the
 * index and the maps only.
 */
#include <errno.h>
#include <stdlib.h>

#include "brickd/store/move.h"
#include "brickd/store/store_impl.h"

unsigned int brick_move_max(const struct brick_store *s)
{
	return (unsigned int)s->spare;
}

/* Dirty slots first: the others are worth more, and take a fence. */
static bool take_slot(struct brick_store *s, struct brick_move *move,
		      bool *is_clean)
{
	struct brick_slots *slots = move->to_slow ? &s->slow_slots : &s->slots;
	struct brick_slot_run run;

	*is_clean = false;
	if (!brick_slot_map_take(&slots->dirty, 1, true, &run)) {
		if (!brick_slot_map_take(&slots->clean, 1, true, &run))
			return false;
		*is_clean = true;
	}
	move->dst = run.slot | (move->to_slow ? BRICK_SLOT_SLOW : 0);
	move->is_begun = true;
	s->n_moving++;
	return true;
}

static int begin_one(struct brick_store *s, struct brick_move *move,
		     bool *is_clean)
{
	/* The end of another one may be in doubt, and its slot free only here. */
	if (brick_store_has_failed(s))
		return -EIO;
	if (!brick_index_get(&s->index, brick_key(move->va), &move->src) ||
	    (move->src & BRICK_INDEX_PENDING))
		return -ENOENT;
	/* Nobody reads bad blocks: it would be the end of this process. */
	move->is_unread =
		move->src & BRICK_INDEX_LOST && !brick_slot_is_slow(move->src);
	move->src &= BRICK_INDEX_SLOT;
	if (move->is_unread)
		return -EIO;
	if (brick_slot_is_slow(move->src) == move->to_slow)
		return -EALREADY;
	if (move->to_slow && brick_store_slow_has_failed(s))
		return -EIO;
	if (!brick_record_find_payload(s->m, &s->sb, move->src, &move->payload))
		return -EIO;
	return take_slot(s, move, is_clean) ? 0 : -ENOSPC;
}

static void fail_all(struct brick_move *moves, unsigned int n, int error)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!moves[i].error)
			moves[i].error = error;
}

void brick_move_begin(struct brick_store *s, struct brick_move *moves,
		      unsigned int n)
{
	struct brick_word dirty = { .state = BRICK_DIRTY };
	bool is_clean, any_clean = false;
	unsigned int i;

	for (i = 0; i < n; i++) {
		is_clean = false;
		brick_store_lock(s);
		moves[i].error = begin_one(s, &moves[i], &is_clean);
		brick_store_count(s);
		brick_store_unlock(s);
		if (is_clean) {
			brick_record_put_word(s->m, &s->sb, BRICK_COPY_BOTH,
					      moves[i].dst, dirty);
			brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH,
					   moves[i].dst, 1);
		}
		any_clean |= is_clean;
	}
	if (any_clean && brick_store_fence(s))
		fail_all(moves, n, -EIO);
}

static int copy_down(struct brick_store *s, struct brick_move *move)
{
	uint64_t off = brick_super_data(&s->sb, move->src);
	int ret;

	ret = s->slow->ops->write(s->slow, brick_slow_data(move->dst),
				  s->m->base + off, KFB_BLOCK_BYTES);
	/* A line that the kernel cannot read is no fault of the slot. */
	move->is_unread = ret == -EFAULT;
	if (ret && !move->is_unread) {
		/* It is in no map and not counted as moving: nobody gets it. */
		brick_store_lock(s);
		s->slow_slots.n_bad++;
		s->n_moving--;
		brick_store_count(s);
		brick_store_unlock(s);
		move->is_begun = false;
	}
	return ret ? -EIO : 0;
}

/* Through memory: the medium is written by its ops only. */
static int copy_up(struct brick_store *s, struct brick_move *move, void *buf)
{
	uint64_t off = brick_super_data(&s->sb, move->dst);
	uint64_t key = brick_key(move->va), slot;
	int ret;

	if (!buf)
		return -ENOMEM;
	ret = s->slow->ops->read(s->slow, brick_slow_data(move->src), buf,
				 KFB_BLOCK_BYTES);
	/* That it could not be read, or could, is shown by brick_store_list(). */
	brick_store_lock(s);
	if (brick_index_get(&s->index, key, &slot))
		(void)brick_index_put(&s->index, key,
				      ret ? slot | BRICK_INDEX_LOST
					  : slot & ~BRICK_INDEX_LOST);
	brick_store_unlock(s);
	if (ret)
		return -EIO;
	s->m->ops->copy(s->m, off, buf, KFB_BLOCK_BYTES);
	s->m->ops->flush(s->m, off, KFB_BLOCK_BYTES);
	return 0;
}

void brick_move_copy(struct brick_store *s, struct brick_move *moves,
		     unsigned int n)
{
	void *buf = aligned_alloc(BRICK_FMT_PAGE, KFB_BLOCK_BYTES);
	bool down = false, up = false;
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct brick_move *move = &moves[i];

		if (move->error)
			continue;
		move->error = move->to_slow ? copy_down(s, move)
					    : copy_up(s, move, buf);
		down |= move->to_slow;
		up |= !move->to_slow;
	}
	free(buf);
	if ((down && brick_store_sync_slow(s)) || (up && brick_store_fence(s)))
		fail_all(moves, n, -EIO);
}

void brick_move_end(struct brick_store *s, struct brick_move *moves,
		    unsigned int n)
{
	unsigned int i;

	brick_store_lock(s);
	for (i = 0; i < n; i++) {
		struct brick_slot_run run = {
			.slot = brick_slot_number(moves[i].dst), .n = 1
		};

		if (!moves[i].is_begun || moves[i].is_done)
			continue;
		brick_slot_map_give(&brick_slots_of(s, moves[i].dst)->dirty,
				    run);
		moves[i].is_begun = false;
		s->n_moving--;
	}
	brick_store_count(s);
	brick_store_unlock(s);
}
