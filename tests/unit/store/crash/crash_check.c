// SPDX-License-Identifier: BSD-2-Clause
/*
 * The check of each state that a power failure left.
 *
 * Recovery of the records is the product's own. The superblock, the instance
 * pages and the log are the same in all states of a load, so that most states
 * go without reading them again; every open_every-th is opened in full.
 */
#include <stdlib.h>
#include <string.h>

#include "brickd/store/recovery/recover.h"
#include "brickd/store/store_impl.h"
#include "crash_load.h"
#include "crash_sched.h"
#include "crash_states.h"

#define AGAIN_EVERY 8U /* states on which recovery runs twice */
#define QUIET	    8U /* moments of which one is looked at, see below */
#define FNV_PRIME   0x100000001b3ULL

/* A store of the state checked: opened in full, or its records recovered. */
struct patient {
	struct brick_store *s; /* NULL: refused */
	bool full;
};

void crash_blame(struct crash_load *l, const char *wrong)
{
	if (!l->run->violation)
		l->run->violation = wrong;
	l->stop = true;
}

struct brick_store *crash_open(struct crash_load *l, struct crash_medium *cm)
{
	struct brick_store_open o = { .instance_id = ++l->n_opened,
				      .slow = cm->slow };
	struct brick_store *s;
	char err[256];

	/* Each follows a reboot: no process holds the store. */
	memcpy(o.boot_id, &l->n_opened, sizeof(l->n_opened));
	return brick_store_open(&cm->m, &o, &s, err, sizeof(err)) ? NULL : s;
}

static struct brick_store *recover_records(struct crash_load *l,
					   struct crash_medium *cm)
{
	struct brick_store *s = brick_store_new(&cm->m, cm->slow);
	char err[256];

	if (!s)
		abort();
	s->sb = l->s->sb;
	if (brick_store_make_room(s))
		abort();
	if (!brick_store_recover(s, err, sizeof(err)))
		return s;
	brick_store_discard(s);
	return NULL;
}

static struct patient admit(struct crash_load *l, struct crash_medium *cm,
			    bool full)
{
	struct patient p = { .full = full };

	p.s = full ? crash_open(l, cm) : recover_records(l, cm);
	return p;
}

static void dismiss(struct patient p)
{
	if (!p.s)
		return;
	if (p.full)
		brick_store_close(p.s, false);
	else
		brick_store_discard(p.s);
}

static void check_contents(struct crash_load *l, struct brick_store *s,
			   struct crash_medium *cm)
{
	const struct brick_store_recovery *r = brick_store_recovery(s);
	const char *wrong = model_check_slots(s, cm);

	if (r->records_repaired || r->records_bad || r->commit_repaired ||
	    r->super_repaired)
		crash_blame(l, "power loss looks like damage");
	if (wrong)
		crash_blame(l, wrong);
	wrong = model_compare(&l->after, s, cm);
	if (wrong && !(l->in_flight && !model_compare(&l->now, s, cm)))
		crash_blame(l, wrong);
}

/* Recovery of what recovery left changes nothing more. */
static void check_again(struct crash_load *l, struct crash_medium *cm,
			const struct crash_loss *loss, bool full)
{
	struct patient p = admit(l, cm, full);
	const struct brick_store_recovery *r;

	if (!p.s) {
		crash_blame(l, "the second recovery refuses");
		return;
	}
	r = brick_store_recovery(p.s);
	if (r->records_resolved || r->records_repaired || r->records_bad ||
	    r->commit_repaired || r->super_repaired)
		crash_blame(l, "the second recovery finds work");
	if (!loss->happened)
		check_contents(l, p.s, cm);
	dismiss(p);
}

static void count(struct crash_load *l, uint64_t *n, const struct patient *p)
{
	struct crash_run *run = l->run;
	const struct brick_store_recovery *r;

	++*n;
	run->fingerprint ^= l->seed;
	if (p->s) {
		r = brick_store_recovery(p->s);
		run->fingerprint += r->records_resolved << 32 | p->s->n_alloc;
	}
	run->fingerprint *= FNV_PRIME;
	if (run->max_states && run->n_states + run->n_nested >= run->max_states)
		l->stop = true;
}

static bool check_nested_state(struct crash_medium *cm, void *arg)
{
	struct crash_load *l = arg;
	struct patient p = admit(l, cm, false);

	count(l, &l->run->n_nested, &p);
	if (p.s)
		check_contents(l, p.s, cm);
	else
		crash_blame(l, "recovery after a crash in recovery refuses");
	dismiss(p);
	return !l->stop;
}

void crash_on_nested_point(struct crash_medium *cm, void *load)
{
	struct crash_load *l = load;
	struct crash_states states = {
		.exhaustive = l->run->exhaustive,
		.random = l->run->random,
		.few = true,
		.seed = &l->seed,
		.fn = check_nested_state,
		.arg = l,
	};

	if (l->nested && !l->stop)
		crash_states(cm, &states);
}

static bool is_nth(uint64_t n, unsigned int every)
{
	return every && n % every == 0;
}

static bool check_state(struct crash_medium *cm, void *arg)
{
	struct crash_load *l = arg;
	struct crash_loss loss = { .happened = false };
	uint64_t n = l->run->n_states;
	struct patient p;
	bool full;

	if (l->run->poison)
		crash_poison(l, cm, &loss);
	full = loss.needs_open || is_nth(n, l->run->open_every);
	l->nested = !loss.happened && is_nth(n, l->run->nest_every);
	p = admit(l, cm, full);
	l->nested = false;
	if (!l->stop)
		count(l, &l->run->n_states, &p);
	if (!p.s)
		crash_blame(l, "recovery refuses");
	else if (loss.happened)
		crash_check_loss(l, p.s, cm, &loss);
	else
		check_contents(l, p.s, cm);
	dismiss(p);
	if (is_nth(n, AGAIN_EVERY))
		check_again(l, cm, &loss, full);
	return !l->stop;
}

void crash_on_point(struct crash_medium *cm, void *load)
{
	struct crash_load *l = load;
	struct crash_states states = {
		.exhaustive = l->run->exhaustive,
		.random = l->run->random,
		.seed = &l->seed,
		.fn = check_state,
		.arg = l,
	};

	/* Without a move under way these moments are other runs' matter. */
	if (l->stop || (cm->slow && !l->n_moves && crash_roll(l, QUIET)))
		return;
	crash_sched_freeze(true);
	crash_states(cm, &states);
	crash_sched_freeze(false);
	if (states.all)
		l->run->n_points_all++;
	else
		l->run->n_points_some++;
}
