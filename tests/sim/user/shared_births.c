// SPDX-License-Identifier: BSD-2-Clause
/* What clients are told of the births of the block that they share: see shared.h. */
#include "../brick.h"
#include "client.h"
#include "kfbrick.h"

/* Behind the end of a session that the brick may not know of yet. */
#define GRACE_NS (2 * SIM_S)

static uint64_t grace_of(const struct sim_client *c)
{
	return sim.now_ns + 2 * c->settings.lease_ms * SIM_MS + GRACE_NS;
}

void sim_births_ask(struct sim_client *c)
{
	struct sim_told *t = &c->shared->told[c->number];

	t->asks_ns = sim.now_ns;
	t->before_ns = t->until_ns;
	t->until_ns = SIM_NEVER;
}

void sim_births_refused(struct sim_client *c, bool is_busy)
{
	struct sim_told *t = &c->shared->told[c->number];

	t->until_ns = is_busy ? t->before_ns : grace_of(c);
}

void sim_births_left(struct sim_client *c, bool is_sure)
{
	struct sim_told *t = &c->shared->told[c->number];

	if (t->until_ns == SIM_NEVER)
		t->until_ns = is_sure ? sim.now_ns : grace_of(c);
}

/* Where records may be damaged, or were in memory alone, nobody knows. */
static bool is_known(const struct sim_client *c)
{
	const struct sim_brick *brick = c->brick;

	return !brick->n_spoiled && !brick->is_damaged &&
	       !brick->files.n_failed && !c->settings.is_nameless;
}

/* Somebody else has been told of a birth of his own between two of these. */
static void check_anew(const struct sim_client *c, const struct sim_told *t,
		       const struct sim_told *other, uint32_t birth)
{
	if (!t->told_ns || other->asked_ns <= t->told_ns ||
	    other->told_ns >= t->asks_ns)
		return;
	if (birth == t->birth || birth == other->birth)
		sim_violated("%s: what is shared has been another's, and its "
			     "birth is %u still",
			     c->name, birth);
}

/* Nobody else may have mapped it since it was told of a birth. */
static bool was_alone(const struct sim_client *c, const struct sim_told *t)
{
	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++)
		if (i != c->number &&
		    c->shared->told[i].until_ns >= t->asked_ns)
			return false;
	return true;
}

void sim_births_told(struct sim_client *c)
{
	struct sim_told *t = &c->shared->told[c->number];
	const struct kfbrick_handle *handles;

	if (!kfbrick_mapping_handles(c->shared_mapping, &handles))
		return;
	for (uint32_t i = 0; is_known(c) && i < SIM_CLIENTS_MAX; i++)
		if (i != c->number)
			check_anew(c, t, &c->shared->told[i], handles->birth);
	if (is_known(c) && t->told_ns && was_alone(c, t) &&
	    handles->birth != t->birth)
		sim_violated("%s: what is shared has been nobody else's, and "
			     "its birth is %u, no more %u",
			     c->name, handles->birth, t->birth);
	t->birth = handles->birth;
	t->asked_ns = t->asks_ns;
	t->told_ns = sim.now_ns;
}

void sim_births_begin_anew(struct sim_shared *s)
{
	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++)
		s->told[i].told_ns = 0;
}
