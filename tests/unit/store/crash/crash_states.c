// SPDX-License-Identifier: BSD-2-Clause
/* The enumeration of crash states. */
#include <stdlib.h>
#include <string.h>

#include "crash_states.h"

struct enumeration {
	struct crash_medium *cm;
	struct crash_states *states;
	uint8_t *pick; /* how many of its values each dirty word has taken */
	bool stop;
};

static void show_state(struct enumeration *e)
{
	uint32_t i;

	if (e->stop)
		return;
	for (i = 0; i < e->cm->n_dirty; i++)
		crash_medium_give(e->cm, i, e->pick[i]);
	e->states->n_states++;
	e->stop = !e->states->fn(e->cm->next, e->states->arg);
	crash_medium_restore(e->cm);
}

static uint8_t last_pick(const struct enumeration *e, uint32_t i)
{
	return e->cm->words[e->cm->dirty[i]].n_pending;
}

static void all_states(struct enumeration *e)
{
	uint32_t i;

	do {
		show_state(e);
		for (i = 0; i < e->cm->n_dirty; i++) {
			if (++e->pick[i] <= last_pick(e, i))
				break;
			e->pick[i] = 0;
		}
	} while (i < e->cm->n_dirty && !e->stop);
}

/* Each word alone, behind or ahead of all others. */
static void odd_ones(struct enumeration *e, bool ahead)
{
	uint32_t i;
	uint8_t v, rest;

	for (i = 0; i < e->cm->n_dirty; i++) {
		rest = e->pick[i];
		for (v = 0; v < last_pick(e, i); v++) {
			e->pick[i] = v + (ahead ? 1 : 0);
			show_state(e);
		}
		e->pick[i] = rest;
	}
}

/* None, all, each word alone, all words but one, and random ones. */
static void some_states(struct enumeration *e)
{
	uint32_t n = e->cm->n_dirty, i;
	uint64_t r;

	show_state(e);
	if (!e->states->few)
		odd_ones(e, true);
	for (i = 0; i < n; i++)
		e->pick[i] = last_pick(e, i);
	show_state(e);
	if (!e->states->few)
		odd_ones(e, false);
	for (r = 0; r < e->states->random && !e->stop; r++) {
		for (i = 0; i < n; i++)
			e->pick[i] = (uint8_t)(crash_random(e->states->seed) %
					       (last_pick(e, i) + 1U));
		show_state(e);
	}
}

void crash_states(struct crash_medium *cm, struct crash_states *states)
{
	struct enumeration e = { .cm = cm, .states = states };
	uint64_t total = 1;
	uint32_t i;

	e.pick = calloc(cm->n_dirty + 1, 1);
	if (!e.pick)
		abort();
	for (i = 0; i < cm->n_dirty && total <= states->exhaustive; i++)
		total *= last_pick(&e, i) + 1U;
	states->n_states = 0;
	states->all = total <= states->exhaustive;
	if (states->all)
		all_states(&e);
	else
		some_states(&e);
	free(e.pick);
}
