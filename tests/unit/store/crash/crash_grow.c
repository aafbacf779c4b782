// SPDX-License-Identifier: BSD-2-Clause
/* Power failures while a store grows. */
#include <stdlib.h>
#include <string.h>

#include "brickd/store/offline/grow.h"
#include "brickd/store/recovery/recover.h"
#include "brickd/store/store_impl.h"
#include "crash_load.h"
#include "crash_pages.h"
#include "crash_slow.h"
#include "crash_states.h"

#define LOAD_STEPS 12U
#define GARBAGE	   0x6761726261676521ULL
#define FNV_PRIME  0x100000001b3ULL

struct growth {
	struct crash_load l;
	uint64_t n_was;
	uint64_t n_is; /* the same once it must have grown */
	uint64_t slow_was; /* of the slow tier, if there is one */
	uint64_t slow_is;
};

static void check_grown(struct growth *g, struct brick_store *s,
			struct crash_medium *cm)
{
	const struct brick_store_recovery *r = brick_store_recovery(s);
	const char *wrong = model_check_slots(s, cm);

	if (!wrong)
		wrong = model_compare(&g->l.after, s, cm);
	if (!wrong && (s->sb.n != g->n_was || s->sb.n_slow != g->slow_was) &&
	    (s->sb.n != g->n_is || s->sb.n_slow != g->slow_is))
		wrong = "neither as large as before nor grown";
	if (!wrong && (r->records_repaired || r->records_bad ||
		       r->commit_repaired || r->instance_repaired))
		wrong = "growing looks like damage";
	if (wrong)
		crash_blame(&g->l, wrong);
}

static bool check_state(struct crash_medium *cm, void *arg)
{
	struct growth *g = arg;
	struct crash_run *run = g->l.run;
	struct brick_store *s = crash_open(&g->l, cm);

	run->n_states++;
	run->fingerprint ^= g->l.seed ^ (s ? s->sb.n : 0);
	run->fingerprint *= FNV_PRIME;
	if (run->max_states && run->n_states >= run->max_states)
		g->l.stop = true;
	if (!s) {
		crash_blame(&g->l, "a store that grew is refused");
		return false;
	}
	check_grown(g, s, cm);
	brick_store_close(s, false);
	return !g->l.stop;
}

static void on_point(struct crash_medium *cm, void *arg)
{
	struct growth *g = arg;
	struct crash_states states = {
		.exhaustive = g->l.run->exhaustive,
		.random = g->l.run->random,
		.seed = &g->l.seed,
		.fn = check_state,
		.arg = g,
	};

	if (g->l.stop)
		return;
	crash_states(cm, &states);
	if (states.all)
		g->l.run->n_points_all++;
	else
		g->l.run->n_points_some++;
}

/* What a device holds where no slot was. */
static void litter(struct crash_medium *cm, uint64_t from)
{
	uint64_t slot, off;
	unsigned int sample;

	for (slot = from; slot < cm->n_slots; slot++) {
		for (sample = 0; sample < CRASH_SAMPLES; sample++) {
			off = crash_sample_off(cm, slot, sample);
			cm->m.ops->st64(&cm->m, off, GARBAGE);
			cm->m.ops->flush(&cm->m, off, CRASH_WORD_BYTES);
		}
	}
	(void)cm->m.ops->drain(&cm->m);
}

static void litter_slow(struct crash_medium *cm, uint64_t from)
{
	static const uint64_t sector[CRASH_SECTOR_BYTES / sizeof(uint64_t)] = {
		GARBAGE
	};
	struct brick_slow *slow = cm->slow;
	uint64_t slot;

	crash_slow_resize(cm, cm->n_slow);
	for (slot = from; slot < cm->n_slow; slot++)
		(void)slow->ops->write(slow, brick_slow_data(slot), sector,
				       sizeof(sector));
	(void)slow->ops->sync(slow);
	crash_slow_resize(cm, from);
}

/* A store of n slots with blocks, and changes that may be unfinished. */
static void make_store(struct growth *g, uint64_t n, uint64_t n_slow)
{
	struct brick_store_format f = { .uuid = { 1 }, .force = true };
	struct crash_load *l = &g->l;
	unsigned int i;
	char err[256];

	memset(&l->now, 0, sizeof(l->now));
	memset(&l->after, 0, sizeof(l->after));
	l->token = 0;
	l->quarantined = 0;
	l->released = 0;
	crash_medium_resize(l->cm, n);
	if (n_slow)
		crash_slow_resize(l->cm, n_slow);
	f.slow = l->cm->slow;
	if (brick_store_format(&l->cm->m, &f, err, sizeof(err)))
		abort();
	l->s = crash_open(l, l->cm);
	if (!l->s)
		abort();
	/* The steps' own states are other runs' matter. */
	l->stop = true;
	for (i = 0; i < LOAD_STEPS; i++) {
		crash_step_write(l);
		crash_step_commit(l);
	}
	l->stop = false;
	brick_store_discard(l->s);
	litter(l->cm, n);
	if (n_slow)
		litter_slow(l->cm, n_slow);
}

static void grow_to(struct growth *g, uint64_t n, uint64_t n_slow, bool tail)
{
	struct brick_grow grow = { .zero_from = UINT64_MAX, .tail = tail };
	char err[256];

	crash_medium_resize(g->l.cm, n);
	if (n_slow != g->slow_was) {
		crash_slow_resize(g->l.cm, n_slow);
		grow.slow = g->l.cm->slow;
	}
	g->n_is = n;
	g->slow_is = n_slow;
	g->l.cm->on_point = on_point;
	if (brick_store_grow(&g->l.cm->m, &grow, err, sizeof(err)))
		crash_blame(&g->l, "growing failed");
	g->n_was = n;
	g->slow_was = n_slow;
	on_point(g->l.cm, g);
	g->l.cm->on_point = NULL;
}

/* Both tiers, or one of them, in one go or in two. */
static void grow(struct growth *g)
{
	struct crash_run *run = g->l.run;
	uint64_t slow = run->n_slow;

	if (crash_roll(&g->l, 2))
		grow_to(g, run->n_slots - 1,
			crash_roll(&g->l, 2) ? g->slow_was : slow, false);
	if (!g->l.stop)
		grow_to(g, run->n_slots,
			crash_roll(&g->l, 2) ? g->slow_was : slow,
			crash_roll(&g->l, 2));
}

void crash_run_grow(struct crash_run *run)
{
	struct growth g = { .l = { .run = run, .seed = run->seed } };

	g.l.cm = crash_medium_new(run->n_slots, run->n_slow, 2);
	if (run->n_slow)
		crash_slow_attach(g.l.cm);
	g.l.cm->arg = &g;
	for (run->step = 0; run->step < run->n_steps && !g.l.stop;
	     run->step++) {
		g.n_was = 2 + crash_roll(&g.l, 2);
		g.slow_was = run->n_slow ? 2 + crash_roll(&g.l, 2) : 0;
		make_store(&g, g.n_was, g.slow_was);
		grow(&g);
	}
	crash_slow_free(g.l.cm);
	crash_medium_free(g.l.cm);
}
