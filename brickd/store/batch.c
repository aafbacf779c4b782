// SPDX-License-Identifier: BSD-2-Clause
/*
 * Planning a batch in DRAM and publishing it once it is durable.
 *
 * Every check and every allocation of memory comes before the first byte is
 * written, so that an operation that fails has changed nothing.
 *
 * Locking: takes the store's lock in slices, so that readers wait for at most
 * one slice; only the store thread changes the index.
 */
#include <errno.h>
#include <stdlib.h>

#include "brickd/store/batch.h"
#include "brickd/store/move.h"
#include "brickd/store/supply.h"

#define RUNS_CHUNK 64U

static int add_run(struct brick_batch *b, const struct brick_batch_run *run)
{
	if (b->n_runs == b->cap_runs) {
		uint64_t cap = b->cap_runs ? 2 * b->cap_runs : RUNS_CHUNK;
		struct brick_batch_run *more =
			realloc(b->runs, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		b->runs = more;
		b->cap_runs = cap;
	}
	b->runs[b->n_runs++] = *run;
	return 0;
}

/* Take up to n slots out of a map: in one run if there is one, else pieces. */
static int take_slots(struct brick_batch *b, struct brick_store_op *op,
		      struct brick_slot_map *map, uint64_t n,
		      struct brick_batch_run run, uint64_t *key)
{
	uint64_t tier = run.slots.slot;
	bool whole = true;
	int ret;

	while (n) {
		if (!brick_slot_map_take(map, n, whole, &run.slots)) {
			whole = false;
			continue;
		}
		run.op = op;
		run.key = *key;
		run.slots.slot |= tier;
		ret = add_run(b, &run);
		if (ret) {
			brick_slot_map_give(map, brick_run_in_tier(run.slots));
			return ret;
		}
		*key += run.slots.n;
		n -= run.slots.n;
	}
	return 0;
}

static void unindex_blocks(struct brick_store *s, struct brick_batch *b,
			   uint64_t key, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		brick_index_del(&s->index, key + i);
		brick_store_give_way(s, &b->n_steps);
	}
}

/* Enter the new blocks, unseen. All of them or none. */
static int index_pending(struct brick_store *s, const struct brick_store_op *op,
			 struct brick_batch *b, uint64_t first)
{
	uint64_t start = brick_key(op->va), r, i;

	for (r = first; r < b->n_runs; r++) {
		const struct brick_batch_run *run = &b->runs[r];

		for (i = 0; i < run->slots.n; i++) {
			if (brick_index_put(&s->index, run->key + i,
					    (run->slots.slot + i) |
						    BRICK_INDEX_PENDING)) {
				unindex_blocks(s, b, start,
					       run->key + i - start);
				return -ENOMEM;
			}
			brick_store_give_way(s, &b->n_steps);
		}
	}
	return 0;
}

/*
 * Clean slots first, then dirty ones, then those of the slow tier. Clean ones
 * that are kept for others are the last ones of memory.
 */
static int take_all(struct brick_store *s, struct brick_batch *b,
		    struct brick_store_op *op)
{
	const struct brick_batch_run clean = { .zero_first = false };
	const struct brick_batch_run dirty = { .zero_first = true };
	const struct brick_batch_run slow = { .slots.slot = BRICK_SLOT_SLOW };
	uint64_t key = brick_key(op->va);
	uint64_t n_slow = brick_supply_from_slow(s, op->n_blocks);
	uint64_t n_fast = op->n_blocks - n_slow;
	uint64_t n_clean = brick_supply_clean(&s->slots, op->n_kept, n_fast);
	int ret;

	if (n_fast - n_clean > s->slots.dirty.n_set)
		n_clean = n_fast - s->slots.dirty.n_set;
	ret = take_slots(b, op, &s->slots.clean, n_clean, clean, &key);
	if (!ret)
		ret = take_slots(b, op, &s->slots.dirty, n_fast - n_clean,
				 dirty, &key);
	if (!ret)
		ret = take_slots(b, op, &s->slow_slots.clean, n_slow, slow,
				 &key);
	return ret;
}

/* What the batch may give an owner; a BIRTH of its own blocks counts, too. */
static uint64_t planned_for(const struct brick_batch *b, uint32_t owner)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < b->n_ops; i++) {
		const struct brick_store_op *op = b->ops[i];

		if ((op->kind == BRICK_STORE_ALLOC ||
		     op->kind == BRICK_STORE_BIRTH) &&
		    op->owner == owner)
			n += op->n_blocks;
	}
	return n;
}

static int plan_alloc(struct brick_store *s, struct brick_batch *b,
		      struct brick_store_op *op)
{
	uint64_t key = brick_key(op->va), at = key, slot;
	uint64_t first = b->n_runs;
	int ret;

	if (brick_index_next(&s->index, &at, &slot) && at - key < op->n_blocks)
		return -EEXIST;
	/* A batch with either may leave the owner fewer blocks than it has. */
	if (brick_supply_is_over_quota(s, op, planned_for(b, op->owner)))
		return b->has_free || b->has_birth ? -EAGAIN : -EDQUOT;
	ret = brick_supply_wait(s, op->n_blocks);
	if (ret == -ENOSPC && b->has_free)
		return -EAGAIN;
	if (ret)
		return ret;
	ret = take_all(s, b, op);
	if (!ret)
		ret = index_pending(s, op, b, first);
	while (ret && b->n_runs > first) {
		struct brick_batch_run *run = &b->runs[--b->n_runs];
		struct brick_slots *slots = brick_slots_of(s, run->slots.slot);

		brick_slot_map_give(run->zero_first ? &slots->dirty
						    : &slots->clean,
				    brick_run_in_tier(run->slots));
	}
	return ret;
}

/* The copy is made; the block must be where it was copied from. */
static int plan_move(struct brick_store *s, struct brick_batch *b,
		     struct brick_store_op *op)
{
	struct brick_batch_run run = {
		.op = op,
		.key = brick_key(op->va),
		.slots = { .slot = op->move->dst, .n = 1 },
	};
	uint64_t slot;

	if (!brick_index_get(&s->index, run.key, &slot) ||
	    (slot & BRICK_INDEX_PENDING) ||
	    (slot & BRICK_INDEX_SLOT) != op->move->src || op->n_blocks != 1)
		return -ENOENT;
	return add_run(b, &run);
}

/* The runs that an existing range lies in. */
static int collect_runs(struct brick_store *s, struct brick_batch *b,
			struct brick_store_op *op)
{
	uint64_t key = brick_key(op->va), i, slot;
	struct brick_batch_run run = { .op = op };
	int ret = 0;

	for (i = 0; i < op->n_blocks && !ret; i++) {
		if (!brick_index_get(&s->index, key + i, &slot))
			return -ENOENT;
		slot &= BRICK_INDEX_SLOT;
		if (run.slots.n && slot == run.slots.slot + run.slots.n) {
			run.slots.n++;
		} else {
			if (run.slots.n)
				ret = add_run(b, &run);
			run.key = key + i;
			run.slots.slot = slot;
			run.slots.n = 1;
		}
		brick_store_give_way(s, &b->n_steps);
	}
	return ret ? ret : add_run(b, &run);
}

/* Is any block of a run kept for somebody else than who wants to free it? */
static bool is_kept(struct brick_store *s, struct brick_batch *b,
		    const struct brick_batch_run *run)
{
	struct brick_payload p;
	uint64_t i;

	for (i = 0; i < run->slots.n; i++) {
		uint64_t slot = run->slots.slot + i;

		if (brick_record_find_payload(s->m, &s->sb, slot, &p) &&
		    p.owner && p.owner != run->op->owner)
			return true;
		brick_store_give_way(s, &b->n_steps);
	}
	return false;
}

static int plan_existing(struct brick_store *s, struct brick_batch *b,
			 struct brick_store_op *op)
{
	uint64_t first = b->n_runs, r;
	int ret;

	ret = collect_runs(s, b, op);
	for (r = first; !ret && op->is_kept && r < b->n_runs; r++)
		if (is_kept(s, b, &b->runs[r]))
			ret = -EBUSY;
	for (r = first; !ret && op->kind == BRICK_STORE_FREE &&
			op->quarantine && r < b->n_runs;
	     r++) {
		b->runs[r].quarantine = brick_slot_quarantine_new(
			op->quarantine, brick_run_in_tier(b->runs[r].slots));
		if (!b->runs[r].quarantine)
			ret = -ENOMEM;
	}
	while (ret && b->n_runs > first)
		free(b->runs[--b->n_runs].quarantine);
	return ret;
}

static bool overlaps_batch(const struct brick_batch *b,
			   const struct brick_store_op *op)
{
	uint64_t key = brick_key(op->va), end = key + op->n_blocks;
	unsigned int i;

	for (i = 0; i < b->n_ops; i++) {
		uint64_t other = brick_key(b->ops[i]->va);

		if (key < other + b->ops[i]->n_blocks && other < end)
			return true;
	}
	return false;
}

int brick_batch_add(struct brick_store *s, struct brick_batch *b,
		    struct brick_store_op *op)
{
	int ret = 0;

	if (op->va % KFB_BLOCK_BYTES || !op->n_blocks ||
	    op->n_blocks > KFB_BLOCKS_MAX - brick_key(op->va))
		return -EINVAL;
	if (b->n_ops == BRICK_BATCH_OPS || overlaps_batch(b, op))
		return -EAGAIN;
	brick_store_lock(s);
	if (op->kind == BRICK_STORE_ALLOC || op->kind == BRICK_STORE_BIRTH)
		ret = brick_owners_reserve(&s->owners, op->owner);
	if (!ret && op->kind == BRICK_STORE_ALLOC)
		ret = plan_alloc(s, b, op);
	else if (!ret && op->kind == BRICK_STORE_MOVE)
		ret = plan_move(s, b, op);
	else if (!ret)
		ret = plan_existing(s, b, op);
	if (ret != -EAGAIN)
		brick_supply_release(s, op);
	brick_store_count(s);
	brick_store_unlock(s);
	if (ret)
		return ret;
	b->ops[b->n_ops++] = op;
	b->has_birth |= op->kind == BRICK_STORE_BIRTH;
	b->has_free |= op->kind == BRICK_STORE_FREE;
	return 0;
}

static void publish_alloc(struct brick_store *s, struct brick_batch *b,
			  const struct brick_batch_run *run)
{
	bool is_slow = brick_slot_is_slow(run->slots.slot);
	uint64_t i;

	for (i = 0; i < run->slots.n; i++) {
		/* Replacing an entry takes no memory. */
		(void)brick_index_put(&s->index, run->key + i,
				      run->slots.slot + i);
		if (!is_slow)
			brick_lru_touch(&s->at_rest, run->slots.slot + i);
		brick_store_give_way(s, &b->n_steps);
	}
	brick_owners_add(&s->owners, run->op->owner, run->slots.n);
	s->n_alloc += run->slots.n;
	if (is_slow)
		s->n_alloc_slow += run->slots.n;
}

static void publish_free(struct brick_store *s, struct brick_batch *b,
			 const struct brick_batch_run *run)
{
	struct brick_slots *slots = brick_slots_of(s, run->slots.slot);
	bool is_slow = slots == &s->slow_slots;
	struct brick_payload p;
	uint64_t i;

	unindex_blocks(s, b, run->key, run->slots.n);
	/* The payload of a slot stays until an ALLOC or a move takes the slot. */
	for (i = 0; i < run->slots.n; i++) {
		uint64_t slot = run->slots.slot + i;

		if (brick_record_find_payload(s->m, &s->sb, slot, &p))
			brick_owners_sub(&s->owners, p.owner, 1);
		if (!is_slow && s->slow)
			brick_lru_del(&s->at_rest, slot);
		brick_store_give_way(s, &b->n_steps);
	}
	if (run->quarantine)
		brick_slots_quarantine(slots, run->quarantine);
	else
		brick_slots_give_dirty(slots, brick_run_in_tier(run->slots));
	s->n_alloc -= run->slots.n;
	if (is_slow)
		s->n_alloc_slow -= run->slots.n;
}

/* The target becomes the block, the source a free slot. */
static void publish_move(struct brick_store *s,
			 const struct brick_batch_run *run)
{
	struct brick_move *move = run->op->move;
	struct brick_slot_run src = { brick_slot_number(move->src), 1 };

	(void)brick_index_put(&s->index, run->key, move->dst);
	brick_slots_give_dirty(brick_slots_of(s, move->src), src);
	if (brick_slot_is_slow(move->dst)) {
		brick_lru_del(&s->at_rest, move->src);
		s->n_alloc_slow++;
	} else {
		brick_lru_touch(&s->at_rest, move->dst);
		s->n_alloc_slow--;
	}
	move->is_done = true;
	s->n_moving--;
}

void brick_batch_publish(struct brick_store *s, struct brick_batch *b)
{
	uint64_t r;
	unsigned int i;

	brick_store_lock(s);
	for (r = 0; r < b->n_runs; r++) {
		const struct brick_batch_run *run = &b->runs[r];

		if (run->op->kind == BRICK_STORE_ALLOC)
			publish_alloc(s, b, run);
		else if (run->op->kind == BRICK_STORE_FREE)
			publish_free(s, b, run);
		else if (run->op->kind == BRICK_STORE_MOVE)
			publish_move(s, run);
	}
	/* Where a block lies is nothing that changes. */
	for (i = 0; i < b->n_ops; i++)
		s->change_counter += b->ops[i]->kind != BRICK_STORE_MOVE;
	brick_store_count(s);
	brick_store_unlock(s);
}

void brick_batch_abandon(struct brick_store *s, struct brick_batch *b)
{
	uint64_t r;

	brick_store_lock(s);
	for (r = 0; r < b->n_runs; r++) {
		const struct brick_batch_run *run = &b->runs[r];

		free(run->quarantine);
		if (run->op->kind == BRICK_STORE_ALLOC)
			unindex_blocks(s, b, run->key, run->slots.n);
	}
	brick_store_count(s);
	brick_store_unlock(s);
}
