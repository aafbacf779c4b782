// SPDX-License-Identifier: BSD-2-Clause
/*
 * The load, with a slow tier: blocks change the tier.
 *
 * As in brickd one thread copies and another commits, so that other blocks
 * change in between, and in the same batch.
 */
#include <errno.h>
#include <string.h>

#include "brickd/store/store_impl.h"
#include "crash_load.h"

#define ABANDON_ONE_IN 8U
#define EMPTY_ONE_IN   8U /* moves of blocks that hold nothing */

/* Take a block that lies in the other tier and that no one else has. */
static bool take(struct crash_load *l, unsigned int key, bool to_slow)
{
	struct brick_run run;

	if (!l->now.blocks[key].there || !l->after.blocks[key].there ||
	    l->in_batch[key] || l->written[key] || l->moving[key])
		return false;
	/* Zeros have nothing to lose. */
	if (!l->now.blocks[key].latest && crash_roll(l, EMPTY_ONE_IN))
		return false;
	/* First: to look it up may be another thread's turn. */
	l->moving[key] = true;
	if (!brick_store_lookup(l->s, model_va(key), 1, &run) &&
	    run.slow != to_slow)
		return true;
	l->moving[key] = false;
	return false;
}

static void choose(struct crash_load *l)
{
	unsigned int max = brick_move_max(l->s), first, i;
	bool to_slow = crash_roll(l, 2);
	unsigned int want;

	if (max > CRASH_MOVES_MAX)
		max = CRASH_MOVES_MAX;
	want = 1 + crash_roll(l, max);
	first = crash_roll(l, MODEL_KEYS);
	for (i = 0; i < MODEL_KEYS && l->n_moves < want; i++) {
		unsigned int key = (first + i) % MODEL_KEYS;

		if (take(l, key, to_slow))
			l->moves[l->n_moves++] =
				(struct brick_move){ .va = model_va(key),
						     .to_slow = to_slow };
	}
}

static void let_go(struct crash_load *l)
{
	brick_move_end(l->s, l->moves, l->n_moves);
	memset(l->moving, 0, sizeof(l->moving));
	l->moves_copied = false;
	l->n_moves = 0;
}

void crash_step_move(struct crash_load *l)
{
	bool any = false;
	unsigned int i;

	if (l->n_moves)
		return;
	choose(l);
	if (!l->n_moves)
		return;
	crash_medium_mark(l->cm);
	brick_move_begin(l->s, l->moves, l->n_moves);
	brick_move_copy(l->s, l->moves, l->n_moves);
	for (i = 0; i < l->n_moves; i++) {
		any |= !l->moves[i].error;
		if (l->moves[i].error && l->moves[i].error != -ENOSPC)
			crash_blame(l, "a block could not be moved");
	}
	crash_on_point(l->cm, l);
	if (any && crash_roll(l, ABANDON_ONE_IN))
		l->moves_copied = true;
	else
		let_go(l);
}

unsigned int crash_moves_plan(struct crash_load *l, struct brick_store_op *ops,
			      unsigned int n)
{
	unsigned int i;

	for (i = 0; l->moves_copied && i < l->n_moves; i++) {
		if (l->moves[i].error)
			continue;
		ops[n] = (struct brick_store_op){
			.kind = BRICK_STORE_MOVE,
			.va = l->moves[i].va,
			.n_blocks = 1,
			.move = &l->moves[i],
		};
		if (n++)
			ops[n - 2].next = &ops[n - 1];
	}
	return n;
}

void crash_moves_acknowledge(struct crash_load *l)
{
	struct model_block *b;
	unsigned int i;

	for (i = 0; l->moves_copied && i < l->n_moves; i++) {
		if (!l->moves[i].is_done)
			continue;
		/* The copy is of what the client wrote last, and durable. */
		b = &l->after.blocks[model_key(l->moves[i].va)];
		b->stable = b->latest;
	}
}

void crash_moves_end(struct crash_load *l)
{
	if (l->moves_copied)
		let_go(l);
}
