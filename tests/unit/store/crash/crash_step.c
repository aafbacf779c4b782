// SPDX-License-Identifier: BSD-2-Clause
/* The load: what the threads of a brick do to a store. */
#include <string.h>

#include "brickd/store/store_impl.h"
#include "crash_load.h"
#include "crash_sched.h"

#define OPS_MAX	   3U
#define BLOCKS_MAX 3U
#define OWNERS	   3U /* that allocate */

unsigned int crash_roll(struct crash_load *l, unsigned int n)
{
	return (unsigned int)(crash_random(&l->seed) % n);
}

/* An operation that will succeed as far as addresses go. */
static void random_op(struct crash_load *l, struct brick_store_op *op)
{
	unsigned int key = crash_roll(l, MODEL_KEYS), n = 0;
	unsigned int want = 1 + crash_roll(l, BLOCKS_MAX);
	bool there = l->after.blocks[key].there;

	memset(op, 0, sizeof(*op));
	op->va = model_va(key);
	while (n < want && key + n < MODEL_KEYS &&
	       l->after.blocks[key + n].there == there &&
	       model_va(key + n) == op->va + brick_va(n))
		n++;
	op->n_blocks = n;
	op->kind = BRICK_STORE_ALLOC;
	op->owner = key % (OWNERS + 1); /* 0: nobody */
	if (there)
		op->kind =
			crash_roll(l, 3) ? BRICK_STORE_FREE : BRICK_STORE_BIRTH;
	if (op->kind == BRICK_STORE_BIRTH)
		op->owner = ++l->next_owner;
	if (op->kind == BRICK_STORE_FREE && !crash_roll(l, 4))
		op->quarantine = ++l->token;
}

static bool is_free(const struct crash_load *l, const struct brick_store_op *op)
{
	unsigned int first = model_key(op->va), key;

	for (key = first; key < first + op->n_blocks; key++)
		if (l->in_batch[key] || l->written[key] || l->moving[key])
			return false;
	return true;
}

/* Operations on different blocks, for which there is room. */
static unsigned int plan(struct crash_load *l, struct brick_store_op *ops)
{
	unsigned int n = 1 + crash_roll(l, OPS_MAX), n_ops = 0, i, k;
	struct brick_store_stats stats;
	uint64_t free_slots;

	brick_store_stats(l->s, &stats);
	free_slots = stats.slots_clean + stats.slots_dirty -
		     l->s->slots.n_quarantined + stats.slow_clean +
		     stats.slow_dirty - l->s->slow_slots.n_quarantined;
	free_slots -=
		free_slots < stats.slow_spare ? free_slots : stats.slow_spare;
	for (i = 0; i < n; i++) {
		struct brick_store_op *op = &ops[n_ops];

		random_op(l, op);
		if (!is_free(l, op) || (op->kind == BRICK_STORE_ALLOC &&
					op->n_blocks > free_slots))
			continue;
		if (op->kind == BRICK_STORE_ALLOC)
			free_slots -= op->n_blocks;
		for (k = 0; k < op->n_blocks; k++)
			l->in_batch[model_key(op->va) + k] = true;
		model_apply(&l->after, op);
		if (n_ops++)
			ops[n_ops - 2].next = op;
	}
	return n_ops;
}

/* As brickd does; what is not zeroed here is zeroed in the batch. */
static void prepare_some(struct crash_load *l, struct brick_store_op *ops)
{
	unsigned int n = crash_roll(l, OPS_MAX);
	struct brick_zeroing left = { .fast = n, .slow = n };

	for (struct brick_store_op *op = ops; op; op = op->next)
		(void)brick_store_prepare(l->s, op, &left);
}

/* One batch; it counts once it is acknowledged. */
void crash_step_commit(struct crash_load *l)
{
	struct brick_store_op ops[OPS_MAX + CRASH_MOVES_MAX];
	unsigned int n_ops = crash_moves_plan(l, ops, plan(l, ops)), i;
	const char *wrong;

	if (!n_ops)
		return;
	l->in_flight = true;
	crash_medium_mark(l->cm);
	prepare_some(l, ops);
	brick_store_commit(l->s, ops);
	l->in_flight = false;
	for (i = 0; i < n_ops; i++)
		if (ops[i].error)
			crash_blame(l, "an operation failed");
	crash_sched_freeze(true);
	wrong = model_check_owners(l->s);
	crash_sched_freeze(false);
	if (wrong)
		crash_blame(l, wrong);
	crash_moves_acknowledge(l);
	crash_on_point(l->cm, l);
	crash_moves_end(l);
	model_learn(&l->after, l->s);
	l->now = l->after;
	l->quarantined = l->token;
	memset(l->in_batch, 0, sizeof(l->in_batch));
}

void crash_step_clean(struct crash_load *l)
{
	int n;

	crash_medium_mark(l->cm);
	if (l->cm->slow && crash_roll(l, 2))
		n = brick_store_clean_slow(l->s, 1 + crash_roll(l, 3));
	else
		n = brick_store_clean_one(l->s, 1 + crash_roll(l, 3));
	if (n < 0)
		crash_blame(l, "cleaning failed");
	if (n > 0)
		crash_on_point(l->cm, l);
}

/* What a client did to a block that no batch changes. */
static void set_data(struct crash_load *l, unsigned int key, uint64_t stable,
		     uint64_t latest)
{
	l->now.blocks[key].stable = stable;
	l->now.blocks[key].latest = latest;
	l->after.blocks[key].stable = stable;
	l->after.blocks[key].latest = latest;
}

static void flush_data(struct crash_load *l, unsigned int key, uint64_t data)
{
	brick_store_flush(l->s, model_va(key), KFB_BLOCK_BYTES);
	crash_medium_mark(l->cm);
	l->cm->n_drains = 100; /* the client's fence: never left out */
	if (brick_store_drain(l->s))
		crash_blame(l, "a drain failed");
	set_data(l, key, data, data);
	crash_on_point(l->cm, l);
}

/* A client writes to one of its blocks, and flushes or does not. */
void crash_step_write(struct crash_load *l)
{
	unsigned int key = crash_roll(l, MODEL_KEYS), sample;
	const struct model_block *b = &l->after.blocks[key];
	struct brick_media *m = &l->cm->m;
	struct brick_run run;
	uint64_t data;

	if (!b->there || b->latest != b->stable || l->in_batch[key] ||
	    l->moving[key])
		return;
	l->written[key] = true;
	if (!brick_store_lookup(l->s, model_va(key), 1, &run) && !run.slow) {
		data = ++l->next_data;
		set_data(l, key, b->stable, data);
		for (sample = 0; sample < CRASH_SAMPLES; sample++)
			m->ops->st64(m,
				     crash_sample_off(l->cm, run.slot, sample),
				     data);
		if (crash_roll(l, 3))
			flush_data(l, key, data);
	}
	l->written[key] = false;
}

/* A block is as it was or as it will be, at every moment. */
void crash_step_read(struct crash_load *l)
{
	unsigned int key = crash_roll(l, MODEL_KEYS);
	struct model_block was = l->now.blocks[key];
	struct model_block will = l->after.blocks[key];
	struct brick_run run, *found = NULL;

	if (!brick_store_lookup(l->s, model_va(key), 1, &run))
		found = &run;
	/* A batch may have begun or ended meanwhile. */
	if (!model_allows(&was, found) && !model_allows(&will, found) &&
	    !model_allows(&l->now.blocks[key], found) &&
	    !model_allows(&l->after.blocks[key], found))
		crash_blame(l, "a reader sees what never was");
}

void crash_step_release(struct crash_load *l)
{
	if (l->released < l->quarantined)
		brick_store_release(l->s, ++l->released);
}
