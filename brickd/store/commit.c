// SPDX-License-Identifier: BSD-2-Clause
/*
 * Carrying out batches: what is written in which order.
 *
 * Batch c+1: payloads and ALLOC_B/DIRTY_B(c+1) in both copies, fence 1; both
 * commit words = c+1, fence 2. It is acknowledged then, never before. After
 * that the states are sealed to ALLOC/DIRTY; the seals are stored and flushed
 * before this function returns and so are durable at the next batch's fence 1
 * at the latest, before the commit word can move to c+2. That is why a record
 * never carries a tx other than c or c+1.
 *
 * A birth change rewrites the payload of a record that is in use. Its order is
 * BIRTH_B(c+1) in the mirror, a fence, the new payload in the mirror, fence 1,
 * commit, fence 2, the new payload in copy 0, a third fence, acknowledgement:
 * at each moment one copy is whole, and the other says that it may not be.
 *
 * A single free touches no commit word. Both copies get DIRTY, one fence. If
 * power fails before the fence, copy 0 alone decides: it is one atomic word,
 * and recovery brings the mirror in line with it. After the fence both say
 * DIRTY, so the loss of either changes nothing.
 *
 * Context: the store thread. No lock is held over a fence.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/store/batch.h"
#include "brickd/store/format/commit_word.h"
#include "brickd/store/move.h"

static void put_words(struct brick_store *s, unsigned int copies,
		      struct brick_slot_run slots, struct brick_word w)
{
	uint64_t i;

	for (i = 0; i < slots.n; i++)
		brick_record_put_word(s->m, &s->sb, copies, slots.slot + i, w);
	brick_record_flush(s->m, &s->sb, copies, slots.slot, slots.n);
}

/* Differs from any birth this address had within the last 2^28 batches. */
static uint32_t birth_of(uint32_t tx)
{
	return tx + 1;
}

static void write_alloc(struct brick_store *s, uint32_t tx,
			const struct brick_batch_run *run)
{
	struct brick_word w = { .state = BRICK_ALLOC_B, .tx = tx };
	struct brick_payload p = { .birth = birth_of(tx),
				   .owner = run->op->owner };
	uint64_t i, off = brick_super_data(&s->sb, run->slots.slot);
	size_t len = run->slots.n << KFB_BLOCK_SHIFT;

	if (run->zero_first) {
		s->m->ops->zero(s->m, off, len);
		s->m->ops->flush(s->m, off, len);
	}
	for (i = 0; i < run->slots.n; i++) {
		uint64_t slot = run->slots.slot + i;

		p.id = brick_va(run->key + i);
		brick_record_put_payload(s->m, &s->sb, BRICK_COPY_BOTH, slot,
					 &p);
		brick_record_put_word(s->m, &s->sb, BRICK_COPY_BOTH, slot, w);
	}
	brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, run->slots.slot,
			   run->slots.n);
}

/* The new place holds the block, and the old one none, or the other way. */
static void write_move(struct brick_store *s, uint32_t tx,
		       const struct brick_batch_run *run)
{
	struct brick_word alloc = { .state = BRICK_ALLOC_B, .tx = tx };
	struct brick_word dirty = { .state = BRICK_DIRTY_B, .tx = tx };
	const struct brick_move *move = run->op->move;
	struct brick_slot_run src = { .slot = move->src, .n = 1 };
	struct brick_payload p = move->payload;

	p.move++;
	brick_record_put_payload(s->m, &s->sb, BRICK_COPY_BOTH, move->dst, &p);
	put_words(s, BRICK_COPY_BOTH, run->slots, alloc);
	put_words(s, BRICK_COPY_BOTH, src, dirty);
}

/*
 * A new payload for each slot of a run, in one copy, flushed. The count of owners
 * goes with copy 0, which is what readers see.
 */
static void write_birth(struct brick_store *s, uint32_t tx, unsigned int copies,
			const struct brick_batch_run *run)
{
	struct brick_payload p;
	uint64_t i;

	for (i = 0; i < run->slots.n; i++) {
		(void)brick_record_get_payload(s->m, &s->sb, 0,
					       run->slots.slot + i, &p);
		if (copies & BRICK_COPY(0)) {
			brick_owners_sub(&s->owners, p.owner, 1);
			brick_owners_add(&s->owners, run->op->owner, 1);
		}
		p.birth = birth_of(tx);
		p.owner = run->op->owner;
		brick_record_put_payload(s->m, &s->sb, copies,
					 run->slots.slot + i, &p);
	}
	brick_record_flush(s->m, &s->sb, copies, run->slots.slot, run->slots.n);
}

/* From here on the mirrors of these blocks say nothing until commit. */
static int announce_births(struct brick_store *s, uint32_t tx,
			   const struct brick_batch *b)
{
	struct brick_word w = { .state = BRICK_BIRTH_B, .tx = tx };
	uint64_t r;

	if (!b->has_birth)
		return 0;
	for (r = 0; r < b->n_runs; r++)
		if (b->runs[r].op->kind == BRICK_STORE_BIRTH)
			put_words(s, BRICK_COPY(1), b->runs[r].slots, w);
	return brick_store_fence(s);
}

static void write_records(struct brick_store *s, uint32_t tx,
			  const struct brick_batch *b)
{
	struct brick_word dirty = { .state = BRICK_DIRTY_B, .tx = tx };
	uint64_t r;

	for (r = 0; r < b->n_runs; r++) {
		const struct brick_batch_run *run = &b->runs[r];

		switch (run->op->kind) {
		case BRICK_STORE_ALLOC:
			write_alloc(s, tx, run);
			break;
		case BRICK_STORE_FREE:
			put_words(s, BRICK_COPY_BOTH, run->slots, dirty);
			break;
		case BRICK_STORE_BIRTH:
			write_birth(s, tx, BRICK_COPY(1), run);
			break;
		case BRICK_STORE_MOVE:
			write_move(s, tx, run);
			break;
		}
	}
}

/* Readers look at copy 0: of each block they see the old birth or the new one. */
static int finish_births(struct brick_store *s, uint32_t tx,
			 const struct brick_batch *b)
{
	uint64_t r;

	if (!b->has_birth)
		return 0;
	for (r = 0; r < b->n_runs; r++) {
		struct brick_batch_run part = b->runs[r];
		uint64_t left = part.slots.n;

		if (part.op->kind != BRICK_STORE_BIRTH)
			continue;
		for (; left; left -= part.slots.n) {
			part.slots.n = left;
			if (part.slots.n > BRICK_STORE_SLICE)
				part.slots.n = BRICK_STORE_SLICE;
			brick_store_lock(s);
			write_birth(s, tx, BRICK_COPY(0), &part);
			brick_store_unlock(s);
			part.slots.slot += part.slots.n;
		}
	}
	return brick_store_fence(s);
}

static void seal_run(struct brick_store *s, uint32_t tx,
		     struct brick_slot_run slots, enum brick_state state)
{
	struct brick_word w = { .state = state }, is;
	unsigned int copy, copies;
	uint64_t i, slot;

	for (i = 0; i < slots.n; i++) {
		slot = slots.slot + i;
		copies = 0;
		/* Those that still say batch tx; no others are touched. */
		for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
			is = brick_record_peek(s->m, &s->sb, copy, slot);
			if (brick_state_is_batch(is.state) && is.tx == tx)
				copies |= BRICK_COPY(copy);
		}
		brick_record_put_word(s->m, &s->sb, copies, slot, w);
	}
	brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, slots.slot, slots.n);
}

static void seal_batch(struct brick_store *s, uint32_t tx,
		       const struct brick_batch *b)
{
	uint64_t r;

	for (r = 0; r < b->n_runs; r++) {
		const struct brick_batch_run *run = &b->runs[r];
		const struct brick_move *move = run->op->move;

		seal_run(s, tx, run->slots,
			 run->op->kind == BRICK_STORE_FREE ? BRICK_DIRTY
							   : BRICK_ALLOC);
		if (run->op->kind == BRICK_STORE_MOVE)
			seal_run(s, tx, (struct brick_slot_run){ move->src, 1 },
				 BRICK_DIRTY);
	}
}

static int commit_batch(struct brick_store *s, const struct brick_batch *b)
{
	uint32_t tx = BRICK_TX_NEXT(s->tx);
	int ret;

	ret = announce_births(s, tx, b);
	if (ret)
		return ret;
	write_records(s, tx, b);
	ret = brick_store_fence(s);
	if (ret)
		return ret;
	brick_commit_write(s->m, &s->sb, tx);
	ret = brick_store_fence(s);
	if (ret)
		return ret;
	s->tx = tx;
	ret = finish_births(s, tx, b);
	if (ret)
		return ret;
	seal_batch(s, tx, b);
	return 0;
}

/* Make a planned batch durable and give its operations their result. */
static void execute_batch(struct brick_store *s, struct brick_batch *b)
{
	struct brick_word dirty = { .state = BRICK_DIRTY };
	unsigned int i;
	int ret;

	if (!b->n_ops)
		return;
	if (b->n_ops == 1 && b->ops[0]->kind == BRICK_STORE_FREE &&
	    b->ops[0]->n_blocks == 1) {
		put_words(s, BRICK_COPY_BOTH, b->runs[0].slots, dirty);
		ret = brick_store_fence(s);
	} else {
		ret = commit_batch(s, b);
	}
	if (ret)
		brick_batch_abandon(s, b);
	else
		brick_batch_publish(s, b);
	for (i = 0; i < b->n_ops; i++)
		b->ops[i]->error = ret;
	b->n_ops = 0;
	b->n_runs = 0;
	b->has_birth = false;
	b->has_free = false;
}

void brick_store_commit(struct brick_store *s, struct brick_store_op *ops)
{
	struct brick_batch b = { .n_ops = 0 };
	struct brick_store_op *op = ops;

	while (op) {
		op->error = brick_store_has_failed(s)
				    ? -EIO
				    : brick_batch_add(s, &b, op);
		if (op->error == -EAGAIN)
			execute_batch(s, &b);
		else
			op = op->next;
	}
	execute_batch(s, &b);
	free(b.runs);
}
