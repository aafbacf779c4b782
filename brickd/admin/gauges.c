// SPDX-License-Identifier: BSD-2-Clause
/* What brickd is right now. */
#include "brickd/admin/gauges.h"

#include <string.h>

#include "brickd/admin/view.h"
#include "brickd/base/clock.h"
#include "brickd/net/conn.h"
#include "brickd/session/session.h"
#include "brickd/tier/tier_pins.h"

const char *brick_slot_state_name(unsigned int state)
{
	static const char *const names[BRICK_SLOT_STATES] = {
		[BRICK_SLOT_CLEAN] = "clean",
		[BRICK_SLOT_DIRTY] = "dirty",
		[BRICK_SLOT_ALLOCATED] = "allocated",
		[BRICK_SLOT_BAD] = "bad",
	};

	return state < BRICK_SLOT_STATES ? names[state] : "?";
}

static void read_sessions(const struct brick_view *view, struct brick_gauges *g)
{
	const struct brick_session *s;

	TAILQ_FOREACH(s, &view->sessions->list, link)
	{
		if (s->state < KFB_SESSION_STATES)
			g->sessions[s->state]++;
		g->handles += s->n_handles;
		g->ops_in_flight += s->n_ops;
		for (uint32_t i = 0; i < s->quarantine.n; i++)
			g->quarantine_blocks += s->quarantine.spans[i].end -
						s->quarantine.spans[i].first;
	}
}

void brick_gauges_read(const struct brick_view *view, struct brick_gauges *g)
{
	const struct brick_range_lock *range_lock;
	const struct brick_tier_job *job;
	struct brick_store_stats stats;
	const struct brick_conn *c;

	memset(g, 0, sizeof(*g));
	brick_store_stats(view->storage->store, &stats);
	g->slots[BRICK_SLOT_CLEAN] = stats.slots_clean;
	g->slots[BRICK_SLOT_DIRTY] = stats.slots_dirty;
	g->slots[BRICK_SLOT_ALLOCATED] = stats.slots_alloc;
	g->slots[BRICK_SLOT_BAD] = stats.slots_bad;
	g->slow_slots[BRICK_SLOT_CLEAN] = stats.slow_clean;
	g->slow_slots[BRICK_SLOT_DIRTY] = stats.slow_dirty;
	g->slow_slots[BRICK_SLOT_ALLOCATED] = stats.slow_alloc;
	g->slow_slots[BRICK_SLOT_BAD] = stats.slow_bad;
	g->tier_pinned_blocks = brick_tier_pinned_blocks(view->tier);
	g->tier_jobs = view->tier->n_orders + view->tier->n_asked;
	TAILQ_FOREACH(job, &view->tier->waiting, link)
	g->tier_jobs++;
	read_sessions(view, g);
	TAILQ_FOREACH(range_lock, &view->ops->range_locks.list, link)
	{
		if (range_lock->held)
			g->range_locks_held++;
		else
			g->range_locks_waiting++;
	}
	TAILQ_FOREACH(c, &view->net->conns, link)
	g->connections++;
	g->mappings = view->sessions->mappings.n;
	for (size_t i = 0; i < BRICK_HOLDS_MAX; i++)
		g->quarantine_holds += view->sessions->holds[i].token != 0;
	g->medium_failed = view->storage->medium_failed;
	g->slow_failed = view->storage->slow_failed;
	g->power_epoch = view->storage->power_epoch;
	g->uptime_ns = brick_now_ns() - view->started_ns;
	for (int i = 0; i < BRICK_LINES_KINDS; i++)
		g->log_lines_suppressed += view->net->lines[i].suppressed;
}
