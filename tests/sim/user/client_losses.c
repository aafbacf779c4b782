// SPDX-License-Identifier: BSD-2-Clause
/* A client of libkfbrick: what it is told that it has lost. */
#include "client.h"

#include "kfbrick.h"
#include "../machine/process.h"

#define LOSSES_MAX 16

static bool overlaps(const struct sim_register *r,
		     const struct kfbrick_range *range)
{
	return r->va < range->va + range->len &&
	       range->va < r->va + r->n_words * sizeof(uint64_t);
}

void sim_client_lose_all(struct sim_client *c)
{
	for (uint32_t i = 0; i < c->settings.n_registers; i++)
		sim_register_lost(&c->registers[i]);
}

/* What it has been told, it knows. */
bool sim_client_hear_losses(struct sim_client *c)
{
	struct kfbrick_range ranges[LOSSES_MAX];
	size_t n = kfbrick_losses(c->k, ranges, LOSSES_MAX);

	if (n && c->settings.retains && !c->is_new)
		sim_trace(c->name, "is told of losses in spite of its copies");
	for (size_t i = 0; i < n && i < LOSSES_MAX; i++) {
		bool all = ranges[i].len == UINT64_MAX;

		for (uint32_t at = 0; at < c->settings.n_registers; at++)
			if (all || overlaps(&c->registers[at], &ranges[i]))
				sim_register_lost(&c->registers[at]);
	}
	if (n > LOSSES_MAX)
		sim_client_lose_all(c);
	c->n_losses += n;
	return n;
}

/* One that is posted as well may be told instead. */
bool sim_client_flushes_besides(const struct sim_client *c,
				const struct sim_posted *but)
{
	for (uint32_t i = 0; i < SIM_POSTED_MAX; i++)
		if (&c->posted[i] != but &&
		    c->posted[i].kind == SIM_POSTED_FLUSH)
			return true;
	return false;
}

/* What a flush had failed to do may be among these: it may be told, and need not. */
void sim_client_accept_losses(struct sim_client *c)
{
	c->is_untold = false;
	c->has_accepted = true;
	kfbrick_accept_losses(c->k);
}
