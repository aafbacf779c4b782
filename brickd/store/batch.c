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

#define RUNS_CHUNK 64U
#define SLICE_KEYS 4096U /* index changes under one hold of the lock */

static void unlock_for_readers(struct brick_store *s, uint64_t i)
{
	if (i % SLICE_KEYS == SLICE_KEYS - 1) {
		pthread_mutex_unlock(&s->lock);
		pthread_mutex_lock(&s->lock);
	}
}

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
		      struct brick_slot_map *map, uint64_t n, bool zero_first,
		      uint64_t *key)
{
	struct brick_batch_run run = { .op = op, .zero_first = zero_first };
	bool whole = true;
	int ret;

	while (n) {
		if (!brick_slot_map_take(map, n, whole, &run.slots)) {
			whole = false;
			continue;
		}
		run.key = *key;
		ret = add_run(b, &run);
		if (ret) {
			brick_slot_map_give(map, run.slots);
			return ret;
		}
		*key += run.slots.n;
		n -= run.slots.n;
	}
	return 0;
}

static void undo_take(struct brick_store *s, struct brick_batch *b,
		      uint64_t first)
{
	while (b->n_runs > first) {
		struct brick_batch_run *run = &b->runs[--b->n_runs];

		brick_slot_map_give(run->zero_first ? &s->slots.dirty
						    : &s->slots.clean,
				    run->slots);
	}
}

static void unindex(struct brick_store *s, uint64_t key, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		brick_index_del(&s->index, key + i);
		unlock_for_readers(s, i);
	}
}

/* Enter the new blocks, unseen. All of them or none. */
static int index_pending(struct brick_store *s, const struct brick_store_op *op,
			 const struct brick_batch *b, uint64_t first)
{
	uint64_t start = brick_key(op->va), r, i;

	for (r = first; r < b->n_runs; r++) {
		const struct brick_batch_run *run = &b->runs[r];

		for (i = 0; i < run->slots.n; i++) {
			if (brick_index_put(&s->index, run->key + i,
					    (run->slots.slot + i) |
						    BRICK_INDEX_PENDING)) {
				unindex(s, start, run->key + i - start);
				return -ENOMEM;
			}
			unlock_for_readers(s, i);
		}
	}
	return 0;
}

/* Enough free slots, waiting for the cleaner to give back what it holds. */
static int wait_for_slots(struct brick_store *s, uint64_t n)
{
	for (;;) {
		uint64_t have = s->slots.clean.n_set + s->slots.dirty.n_set;

		if (n <= have)
			return 0;
		if (n > have + s->slots.n_cleaning)
			return -ENOSPC;
		pthread_cond_wait(&s->cleaned, &s->lock);
		if (brick_store_has_failed(s))
			return -EIO;
	}
}

static int plan_alloc(struct brick_store *s, struct brick_batch *b,
		      struct brick_store_op *op)
{
	uint64_t key = brick_key(op->va), at = key, slot, n_clean;
	uint64_t first = b->n_runs;
	int ret;

	if (brick_index_next(&s->index, &at, &slot) && at - key < op->n_blocks)
		return -EEXIST;
	ret = wait_for_slots(s, op->n_blocks);
	if (ret == -ENOSPC && b->has_free)
		return -EAGAIN;
	if (ret)
		return ret;
	n_clean = s->slots.clean.n_set;
	if (n_clean > op->n_blocks)
		n_clean = op->n_blocks;
	ret = take_slots(b, op, &s->slots.clean, n_clean, false, &key);
	if (!ret)
		ret = take_slots(b, op, &s->slots.dirty, op->n_blocks - n_clean,
				 true, &key);
	if (!ret)
		ret = index_pending(s, op, b, first);
	if (ret)
		undo_take(s, b, first);
	return ret;
}

static void undo_collect(struct brick_batch *b, uint64_t first)
{
	while (b->n_runs > first)
		free(b->runs[--b->n_runs].quarantine);
}

/* The runs that an existing range lies in. */
static int collect(struct brick_store *s, struct brick_batch *b,
		   struct brick_store_op *op)
{
	uint64_t key = brick_key(op->va), i, slot;
	struct brick_batch_run run = { .op = op };
	int ret = 0;

	for (i = 0; i < op->n_blocks && !ret; i++) {
		if (!brick_index_get(&s->index, key + i, &slot))
			return -ENOENT;
		if (run.slots.n && slot == run.slots.slot + run.slots.n) {
			run.slots.n++;
		} else {
			if (run.slots.n)
				ret = add_run(b, &run);
			run.key = key + i;
			run.slots.slot = slot;
			run.slots.n = 1;
		}
		unlock_for_readers(s, i);
	}
	return ret ? ret : add_run(b, &run);
}

static int plan_existing(struct brick_store *s, struct brick_batch *b,
			 struct brick_store_op *op)
{
	uint64_t first = b->n_runs, r;
	int ret;

	ret = collect(s, b, op);
	for (r = first; !ret && op->kind == BRICK_STORE_FREE &&
			op->quarantine && r < b->n_runs;
	     r++) {
		b->runs[r].quarantine =
			brick_quarantine_new(op->quarantine, b->runs[r].slots);
		if (!b->runs[r].quarantine)
			ret = -ENOMEM;
	}
	if (ret)
		undo_collect(b, first);
	return ret;
}

static bool overlaps(const struct brick_batch *b,
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
	int ret;

	if (op->va % KFB_BLOCK_BYTES || !op->n_blocks ||
	    op->n_blocks > KFB_BLOCKS_MAX - brick_key(op->va))
		return -EINVAL;
	if (b->n_ops == BRICK_BATCH_OPS || overlaps(b, op))
		return -EAGAIN;
	pthread_mutex_lock(&s->lock);
	if (op->kind == BRICK_STORE_ALLOC)
		ret = plan_alloc(s, b, op);
	else
		ret = plan_existing(s, b, op);
	pthread_mutex_unlock(&s->lock);
	if (ret)
		return ret;
	b->ops[b->n_ops++] = op;
	b->has_birth |= op->kind == BRICK_STORE_BIRTH;
	b->has_free |= op->kind == BRICK_STORE_FREE;
	return 0;
}

static void publish_run(struct brick_store *s,
			const struct brick_batch_run *run)
{
	uint64_t i;

	if (run->op->kind == BRICK_STORE_ALLOC) {
		for (i = 0; i < run->slots.n; i++) {
			/* Replacing an entry takes no memory. */
			(void)brick_index_put(&s->index, run->key + i,
					      run->slots.slot + i);
			unlock_for_readers(s, i);
		}
		s->n_alloc += run->slots.n;
	} else if (run->op->kind == BRICK_STORE_FREE) {
		unindex(s, run->key, run->slots.n);
		if (run->quarantine)
			brick_slots_quarantine(&s->slots, run->quarantine);
		else
			brick_slot_map_give(&s->slots.dirty, run->slots);
		s->n_alloc -= run->slots.n;
	}
}

void brick_batch_publish(struct brick_store *s, struct brick_batch *b)
{
	uint64_t r;

	pthread_mutex_lock(&s->lock);
	for (r = 0; r < b->n_runs; r++)
		publish_run(s, &b->runs[r]);
	s->change_counter += b->n_ops;
	pthread_mutex_unlock(&s->lock);
}

void brick_batch_drop(struct brick_store *s, struct brick_batch *b)
{
	uint64_t r;

	pthread_mutex_lock(&s->lock);
	for (r = 0; r < b->n_runs; r++) {
		const struct brick_batch_run *run = &b->runs[r];

		free(run->quarantine);
		if (run->op->kind == BRICK_STORE_ALLOC)
			unindex(s, run->key, run->slots.n);
	}
	pthread_mutex_unlock(&s->lock);
}
