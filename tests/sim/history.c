// SPDX-License-Identifier: BSD-2-Clause
/* Histories of words: see history.h. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "world.h"

/* All that is done with one value. */
struct zone {
	uint64_t value;
	bool is_read;
	uint64_t written_ns; /* its write began */
	uint64_t first_end_ns;
	uint64_t last_begin_ns;
};

static bool is_forward(const struct zone *z)
{
	return z->first_end_ns < z->last_begin_ns;
}

void sim_history_init(struct sim_history *h, uint32_t name)
{
	memset(h, 0, sizeof(*h));
	h->name = name;
	h->candidates[h->n_candidates++] = 0;
}

static struct sim_history_op *add(struct sim_history *h)
{
	if (h->n == SIM_HISTORY_MAX) {
		/* What is left out could explain what is there. */
		h->is_overrun = true;
		h->n = 0;
	}
	return &h->ops[h->n++];
}

void sim_history_write(struct sim_history *h, uint64_t value)
{
	*add(h) = (struct sim_history_op){ .is_write = true,
					   .value = value,
					   .begin_ns = sim.now_ns,
					   .end_ns = SIM_NEVER };
}

void sim_history_written(struct sim_history *h, uint64_t value)
{
	for (uint32_t i = h->n; i--;) {
		if (!h->ops[i].is_write || h->ops[i].value != value)
			continue;
		h->ops[i].end_ns = sim.now_ns;
		return;
	}
}

void sim_history_read(struct sim_history *h, uint64_t value, uint64_t begin_ns)
{
	if (begin_ns < h->power_ns)
		return;
	*add(h) = (struct sim_history_op){ .value = value,
					   .begin_ns = begin_ns,
					   .end_ns = sim.now_ns };
}

/* ---- zones ------------------------------------------------------------------ */

static struct zone *find(struct zone *zones, uint32_t n, uint64_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (zones[i].value == value)
			return &zones[i];
	return NULL;
}

static bool is_candidate(const struct sim_history *h, uint64_t value)
{
	for (uint32_t i = 0; i < h->n_candidates; i++)
		if (h->candidates[i] == value)
			return true;
	return false;
}

/* What was there when the power came back: one value, which is read first. */
static struct zone *zone_of_first(struct sim_history *h, struct zone *zones,
				  uint32_t *n, uint64_t value)
{
	if (!is_candidate(h, value) || (h->has_first && h->first != value)) {
		sim_violated("word %u: %llx was read, which nobody has "
			     "written since the power failed, nor can it have "
			     "been there then",
			     h->name, (unsigned long long)value);
		return NULL;
	}
	h->has_first = true;
	h->first = value;
	zones[*n] = (struct zone){ .value = value,
				   .written_ns = h->power_ns,
				   .first_end_ns = h->power_ns,
				   .last_begin_ns = h->power_ns };
	return &zones[(*n)++];
}

static uint32_t make_zones(struct sim_history *h, struct zone *zones)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->n; i++)
		if (h->ops[i].is_write)
			zones[n++] = (struct zone){
				.value = h->ops[i].value,
				.written_ns = h->ops[i].begin_ns,
				.first_end_ns = h->ops[i].end_ns,
				.last_begin_ns = h->ops[i].begin_ns,
			};
	for (uint32_t i = 0; i < h->n; i++) {
		const struct sim_history_op *op = &h->ops[i];
		struct zone *z;

		if (op->is_write)
			continue;
		z = find(zones, n, op->value);
		if (!z)
			z = zone_of_first(h, zones, &n, op->value);
		if (!z)
			return 0;
		z->is_read = true;
		if (op->end_ns < z->first_end_ns)
			z->first_end_ns = op->end_ns;
		if (op->begin_ns > z->last_begin_ns)
			z->last_begin_ns = op->begin_ns;
		if (op->end_ns < z->written_ns)
			sim_violated("word %u: %llx was read before it was "
				     "written",
				     h->name, (unsigned long long)op->value);
	}
	return n;
}

static bool are_at_odds(const struct zone *a, const struct zone *b)
{
	if (is_forward(a) && is_forward(b))
		return a->first_end_ns < b->last_begin_ns &&
		       b->first_end_ns < a->last_begin_ns;
	if (is_forward(b)) {
		const struct zone *forward = b;

		b = a;
		a = forward;
	}
	return is_forward(a) && a->first_end_ns < b->last_begin_ns &&
	       b->first_end_ns < a->last_begin_ns;
}

void sim_history_check(struct sim_history *h)
{
	static struct zone zones[SIM_HISTORY_MAX + 1];
	uint32_t n = h->is_overrun ? 0 : make_zones(h, zones);

	for (uint32_t i = 0; i < n; i++) {
		/* One that nobody has seen may have happened, or not. */
		if (zones[i].first_end_ns == SIM_NEVER)
			continue;
		for (uint32_t k = 0; k < i; k++)
			if (zones[k].first_end_ns != SIM_NEVER &&
			    are_at_odds(&zones[i], &zones[k]))
				sim_violated(
					"word %u: %llx and %llx were "
					"there in turns: there is no order "
					"of what was done with it",
					h->name,
					(unsigned long long)zones[i].value,
					(unsigned long long)zones[k].value);
	}
}

/* ---- power -------------------------------------------------------------------- */

/* A durable write that began when this one had ended has overwritten it. */
static bool is_overwritten(const struct sim_history *h,
			   const struct sim_history_op *op)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->ops[i].is_write && h->ops[i].end_ns != SIM_NEVER &&
		    h->ops[i].begin_ns > op->end_ns)
			return true;
	return false;
}

void sim_history_power(struct sim_history *h)
{
	struct sim_history_op open[SIM_CANDIDATES_MAX];
	uint64_t candidates[SIM_CANDIDATES_MAX];
	uint32_t n = 0, n_open = 0;
	bool any = false;

	sim_history_check(h);
	for (uint32_t i = 0; i < h->n; i++) {
		const struct sim_history_op *op = &h->ops[i];

		if (!op->is_write)
			continue;
		/* One from before may be older than what was there then. */
		any |= op->end_ns != SIM_NEVER && op->begin_ns >= h->power_ns;
		if (is_overwritten(h, op))
			continue;
		if (n == SIM_CANDIDATES_MAX)
			h->is_overrun = true;
		else
			candidates[n++] = op->value;
		/* It may still be under way, and arrive when all is well. */
		if (op->end_ns == SIM_NEVER && n_open < SIM_CANDIDATES_MAX)
			open[n_open++] = *op;
	}
	for (uint32_t i = 0; !any && i < h->n_candidates; i++) {
		if (h->has_first && h->candidates[i] != h->first)
			continue;
		if (n == SIM_CANDIDATES_MAX)
			h->is_overrun = true;
		else
			candidates[n++] = h->candidates[i];
	}
	memcpy(h->candidates, candidates, n * sizeof(*candidates));
	h->n_candidates = n;
	h->has_first = false;
	h->power_ns = sim.now_ns;
	memcpy(h->ops, open, n_open * sizeof(*open));
	h->n = n_open;
}
