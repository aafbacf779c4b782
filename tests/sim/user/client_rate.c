// SPDX-License-Identifier: BSD-2-Clause
/* What a client moves, held against the rate that its brick has told it. */
#include "../scene.h"
#include "initiator/lib/kfbrick.h"

/* Between two looks of the client at what has completed, and what is in flight. */
#define SLACK_OPS (2 * SIM_POSTED_MAX)

void sim_client_rate_begin(struct sim_client *c)
{
	c->moved = (struct sim_moved){ .since_ns = sim.now_ns };
}

static uint64_t most(uint64_t per_s, uint64_t since_ns)
{
	uint64_t ms = (sim.now_ns - since_ns) / SIM_MS + KFB_RATE_BURST_MS + 1;

	return per_s * ms / 1000 + 1;
}

static bool may_have(const struct sim_client *c, const struct kfb_rate *rate)
{
	const struct sim_brick_settings *s = &c->brick->settings;

	return !kfb_rate_is_set(rate) ||
	       kfb_rate_equals(rate, &s->rates[c->number]) ||
	       kfb_rate_equals(rate, &s->other_rates[c->number]);
}

void sim_client_rate_moved(struct sim_client *c, uint64_t bytes)
{
	struct sim_moved *m = &c->moved;
	struct kfb_rate rate = { 0 };
	uint64_t bytes_per_s;

	kfbrick_get_rate(c->k, &bytes_per_s, &rate.ops_per_s);
	rate.bytes_per_s = bytes_per_s;
	if (!may_have(c, &rate))
		sim_violated("%s: it has a rate of nobody's", c->name);
	if (!kfb_rate_equals(&rate, &m->rate)) {
		*m = (struct sim_moved){ .rate = rate, .since_ns = sim.now_ns };
		return;
	}
	m->n_ops++;
	m->bytes += bytes;
	if ((rate.ops_per_s &&
	     m->n_ops > most(rate.ops_per_s, m->since_ns) + SLACK_OPS) ||
	    (rate.bytes_per_s &&
	     m->bytes > most(rate.bytes_per_s, m->since_ns) +
				SLACK_OPS * SIM_REGISTER_BYTES))
		sim_violated("%s: it moves more than its rate", c->name);
}
