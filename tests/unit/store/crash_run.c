// SPDX-License-Identifier: BSD-2-Clause
/* The load, and the check of each crash state it can leave. */
#include <stdlib.h>
#include <string.h>

#include "brickd/store/store_impl.h"
#include "crash_model.h"
#include "crash_run.h"

#define LEVELS	    3U /* the load, recovery, recovery of recovery */
#define OPS_MAX	    3U
#define BLOCKS_MAX  3U
#define AGAIN_EVERY 4U /* states on which recovery runs twice */

struct load {
	struct crash_run *run;
	struct crash_medium *cm;
	struct brick_store *s;
	struct model now; /* acknowledged */
	struct model after; /* if the batch under way counts */
	bool in_flight; /* both are right */
	uint64_t seed;
	uint64_t n_opened;
	bool nested;
	uint32_t next_owner;
	uint64_t next_data;
	uint64_t token; /* the last quarantine */
	uint64_t released;
};

static void blame(struct load *l, const char *wrong)
{
	if (!l->run->violation)
		l->run->violation = wrong;
}

static struct brick_store *open_store(struct load *l, struct crash_medium *cm)
{
	struct brick_store_open o = { .instance_id = ++l->n_opened };
	struct brick_store *s;
	char err[256];

	/* Each follows a reboot: no process holds the store. */
	memcpy(o.boot_id, &l->n_opened, sizeof(l->n_opened));
	return brick_store_open(&cm->m, &o, &s, err, sizeof(err)) ? NULL : s;
}

static void check_contents(struct load *l, struct brick_store *s,
			   struct crash_medium *cm)
{
	const struct brick_store_recovery *r = brick_store_recovery(s);
	const char *wrong = model_check_slots(s, cm);

	if (r->records_repaired || r->records_bad || r->commit_repaired ||
	    r->super_repaired)
		blame(l, "power loss looks like damage");
	if (wrong)
		blame(l, wrong);
	wrong = model_compare(&l->after, s, cm);
	if (wrong && !(l->in_flight && !model_compare(&l->now, s, cm)))
		blame(l, wrong);
}

/* Recovery of what recovery left changes nothing more. */
static void check_again(struct load *l, struct crash_medium *cm)
{
	struct brick_store *s = open_store(l, cm);

	if (!s) {
		blame(l, "the second recovery refuses");
		return;
	}
	if (brick_store_recovery(s)->records_resolved)
		blame(l, "the second recovery finds work");
	check_contents(l, s, cm);
	brick_store_close(s, false);
}

static bool check_nested_state(struct crash_medium *cm, void *arg)
{
	struct load *l = arg;
	struct brick_store *s = open_store(l, cm);

	l->run->n_nested++;
	if (!s) {
		blame(l, "recovery after a crash in recovery refuses");
		return false;
	}
	check_contents(l, s, cm);
	brick_store_close(s, false);
	return !l->run->violation;
}

/* Power fails inside recovery. */
static void on_nested_point(struct crash_medium *cm, void *arg)
{
	struct crash_limits limits = {
		.exhaustive = 1,
		.random = 2,
		.few = true,
	};
	struct load *l = arg;

	if (l->nested)
		(void)crash_medium_enumerate(cm, &limits, &l->seed,
					     check_nested_state, l);
}

static bool check_state(struct crash_medium *cm, void *arg)
{
	struct load *l = arg;
	struct brick_store *s;

	l->run->n_states++;
	l->nested = l->run->nest_every &&
		    l->run->n_states % l->run->nest_every == 0;
	s = open_store(l, cm);
	l->nested = false;
	if (!s) {
		blame(l, "recovery refuses");
		return false;
	}
	check_contents(l, s, cm);
	brick_store_close(s, false);
	if (l->run->n_states % AGAIN_EVERY == 0)
		check_again(l, cm);
	return !l->run->violation;
}

/* Power fails under the load. */
static void on_point(struct crash_medium *cm, void *arg)
{
	struct load *l = arg;
	struct crash_limits limits = {
		.exhaustive = l->run->exhaustive,
		.random = l->run->random,
	};

	if (!l->run->violation)
		(void)crash_medium_enumerate(cm, &limits, &l->seed, check_state,
					     l);
}

static unsigned int roll(struct load *l, unsigned int n)
{
	return (unsigned int)(crash_random(&l->seed) % n);
}

/* An operation that will succeed as far as addresses go. */
static bool random_op(struct load *l, struct brick_store_op *op)
{
	unsigned int key = roll(l, MODEL_KEYS), n = 0;
	unsigned int want = 1 + roll(l, BLOCKS_MAX);
	bool there = l->after.blocks[key].there;

	memset(op, 0, sizeof(*op));
	op->va = model_va(key);
	while (n < want && key + n < MODEL_KEYS &&
	       l->after.blocks[key + n].there == there &&
	       model_va(key + n) == op->va + brick_va(n))
		n++;
	op->n_blocks = n;
	op->kind = there ? (roll(l, 3) ? BRICK_STORE_FREE : BRICK_STORE_BIRTH)
			 : BRICK_STORE_ALLOC;
	if (op->kind == BRICK_STORE_BIRTH)
		op->owner = ++l->next_owner;
	if (op->kind == BRICK_STORE_FREE && !roll(l, 4))
		op->quarantine = ++l->token;
	return true;
}

/* One batch, planned so that it fits; it counts once it is acknowledged. */
static void step_commit(struct load *l)
{
	struct brick_store_op ops[OPS_MAX];
	unsigned int n = 1 + roll(l, OPS_MAX), i;
	struct brick_store_stats stats;
	uint64_t free_slots;
	bool used[MODEL_KEYS] = { false };
	unsigned int n_ops = 0, k;

	brick_store_stats(l->s, &stats);
	free_slots = stats.slots_clean + stats.slots_dirty -
		     l->s->slots.n_quarantined;
	for (i = 0; i < n; i++) {
		struct brick_store_op *op = &ops[n_ops];
		bool clash = false;

		(void)random_op(l, op);
		for (k = 0; k < op->n_blocks; k++)
			clash |= used[model_key(op->va) + k];
		if (clash || (op->kind == BRICK_STORE_ALLOC &&
			      op->n_blocks > free_slots))
			continue;
		if (op->kind == BRICK_STORE_ALLOC)
			free_slots -= op->n_blocks;
		for (k = 0; k < op->n_blocks; k++)
			used[model_key(op->va) + k] = true;
		model_apply(&l->after, op);
		if (n_ops++)
			ops[n_ops - 2].next = op;
	}
	if (!n_ops)
		return;
	l->in_flight = true;
	crash_medium_mark(l->cm);
	brick_store_commit(l->s, ops);
	l->in_flight = false;
	for (i = 0; i < n_ops; i++)
		if (ops[i].error)
			blame(l, "an operation failed");
	on_point(l->cm, l);
	model_learn(&l->after, l->s);
	l->now = l->after;
}

static void step_clean(struct load *l)
{
	crash_medium_mark(l->cm);
	if (brick_store_clean_one(l->s, 1 + roll(l, 3)) < 0)
		blame(l, "cleaning failed");
	on_point(l->cm, l);
}

/* A client writes to one of its blocks, and flushes or does not. */
static void step_write(struct load *l)
{
	unsigned int key = roll(l, MODEL_KEYS), sample;
	struct model_block *b = &l->after.blocks[key];
	struct brick_run run;

	if (!b->there || b->latest != b->stable ||
	    brick_store_lookup(l->s, model_va(key), 1, &run))
		return;
	b->latest = ++l->next_data;
	for (sample = 0; sample < CRASH_SAMPLES; sample++)
		l->cm->m.ops->st64(&l->cm->m,
				   crash_sample_off(l->cm, run.slot, sample),
				   b->latest);
	l->now = l->after;
	if (roll(l, 3)) {
		brick_store_flush(l->s, model_va(key), KFB_BLOCK_BYTES);
		crash_medium_mark(l->cm);
		l->cm->n_drains = 100; /* the client's fence: never left out */
		if (brick_store_drain(l->s))
			blame(l, "a drain failed");
		b->stable = b->latest;
		l->now = l->after;
		on_point(l->cm, l);
	}
}

static void step(struct load *l)
{
	switch (roll(l, 8)) {
	case 0:
	case 1:
		step_write(l);
		break;
	case 2:
		step_clean(l);
		break;
	case 3:
		if (l->released < l->token)
			brick_store_release(l->s, ++l->released);
		break;
	default:
		step_commit(l);
		break;
	}
}

static void set_first_tx(struct load *l, uint32_t tx)
{
	l->s->tx = tx;
	brick_commit_write(l->s->m, &l->s->sb, tx);
	(void)brick_store_fence(l->s);
}

void crash_run(struct crash_run *run)
{
	struct brick_store_format f = { .uuid = { 1 } };
	struct load l = { .run = run, .seed = run->seed };
	struct crash_medium *next;
	char err[256];

	l.cm = crash_medium_new(run->n_slots, LEVELS);
	next = l.cm->next;
	if (brick_store_format(&l.cm->m, &f, err, sizeof(err)))
		abort();
	l.s = open_store(&l, l.cm);
	if (!l.s)
		abort();
	set_first_tx(&l, run->first_tx);
	l.cm->sabotage = run->sabotage;
	l.cm->on_point = on_point;
	l.cm->arg = &l;
	next->on_point = on_nested_point;
	next->arg = &l;
	for (run->step = 0; run->step < run->n_steps; run->step++) {
		step(&l);
		if (run->violation)
			break;
	}
	l.cm->on_point = NULL;
	brick_store_close(l.s, true);
	crash_medium_free(l.cm);
}
