// SPDX-License-Identifier: BSD-2-Clause
/* One run: a store is made, and loaded until it is enough. */
#include <stdlib.h>

#include "brickd/store/format/commit_word.h"
#include "brickd/store/store_impl.h"
#include "crash_load.h"
#include "crash_sched.h"
#include "crash_slow.h"

/* Blocks are written to and moved more often than they come and go. */
static void step_tiers(struct crash_load *l)
{
	switch (crash_roll(l, 8)) {
	case 0:
	case 1:
		crash_step_write(l);
		break;
	case 2:
		crash_step_clean(l);
		break;
	case 3:
		crash_step_release(l);
		break;
	case 4:
	case 5:
		crash_step_commit(l);
		break;
	default:
		crash_step_move(l);
		break;
	}
}

static void step(struct crash_load *l)
{
	switch (crash_roll(l, 8)) {
	case 0:
	case 1:
		crash_step_write(l);
		break;
	case 2:
		crash_step_clean(l);
		break;
	case 3:
		crash_step_release(l);
		break;
	default:
		crash_step_commit(l);
		break;
	}
}

static void take_turns(struct crash_load *l)
{
	struct crash_run *run = l->run;

	for (run->step = 0; run->step < run->n_steps && !l->stop; run->step++)
		if (l->cm->slow)
			step_tiers(l);
		else
			step(l);
	if (run->violation)
		run->step--;
}

static bool is_over(const struct crash_load *l)
{
	return l->stop || l->run->step >= l->run->n_steps;
}

static void store_thread(void *load)
{
	struct crash_load *l = load;

	for (; !is_over(l); l->run->step++)
		crash_step_commit(l);
}

static void cleaner_thread(void *load)
{
	struct crash_load *l = load;

	while (!is_over(l)) {
		crash_step_clean(l);
		crash_sched_yield();
	}
}

static void client_thread(void *load)
{
	struct crash_load *l = load;

	while (!is_over(l)) {
		crash_step_read(l);
		if (crash_roll(l, 4))
			crash_step_write(l);
		else
			crash_step_release(l);
		crash_sched_yield();
	}
}

static void mover_thread(void *load)
{
	struct crash_load *l = load;

	while (!is_over(l)) {
		crash_step_move(l);
		crash_sched_yield();
	}
}

static void run_threads(struct crash_load *l)
{
	static const crash_thread_fn fns[] = {
		store_thread, cleaner_thread, client_thread,
		mover_thread, /* with a slow tier */
	};
	unsigned int n = sizeof(fns) / sizeof(fns[0]);

	l->cm->on_op = crash_sched_yield;
	crash_sched_run(&l->seed, fns, l->cm->slow ? n : n - 1, l);
	l->cm->on_op = NULL;
}

static void set_first_tx(struct crash_load *l, uint32_t tx)
{
	l->s->tx = tx;
	brick_commit_write(l->s->m, &l->s->sb, tx);
	(void)brick_store_fence(l->s);
}

void crash_run(struct crash_run *run)
{
	struct brick_store_format f = { .uuid = { 1 } };
	struct crash_load l = { .run = run, .seed = run->seed };
	struct crash_medium *next;
	char err[256];

	l.cm = crash_medium_new(run->n_slots, run->n_slow, CRASH_LEVELS);
	if (run->n_slow)
		crash_slow_attach(l.cm);
	f.slow = l.cm->slow;
	next = l.cm->next;
	if (brick_store_format(&l.cm->m, &f, err, sizeof(err)))
		abort();
	l.s = crash_open(&l, l.cm);
	if (!l.s)
		abort();
	set_first_tx(&l, run->first_tx);
	l.cm->sabotage = run->sabotage;
	l.cm->on_point = crash_on_point;
	l.cm->arg = &l;
	next->on_point = crash_on_nested_point;
	next->arg = &l;
	if (run->threads)
		run_threads(&l);
	else
		take_turns(&l);
	l.cm->on_point = NULL;
	brick_store_close(l.s, true);
	crash_slow_free(l.cm);
	crash_medium_free(l.cm);
}
