// SPDX-License-Identifier: BSD-2-Clause
/* What brickd is right now. */
#include "brickd/admin/gauges.h"

#include <string.h>

#include "brickd/admin/view.h"
#include "brickd/base/clock.h"
#include "brickd/base/log_sink.h"
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

/* By all bounds that there are; and those that nobody took. */
static uint64_t count_suppressed(const struct brick_view *view)
{
	uint64_t n = brick_sink_lost() + view->sessions->lines.suppressed +
		     view->storage->slow_lines.suppressed +
		     view->storage->fault_lines.suppressed;

	for (int i = 0; i < BRICK_LINES_KINDS; i++)
		n += view->net->lines[i].suppressed;
	for (int i = 0; i < TCPW_VIOLATIONS; i++)
		n += view->net->violation_lines[i].suppressed;
	return n;
}

void brick_gauges_read(const struct brick_view *view, struct brick_gauges *g)
{
	const struct brick_tier_job *job;
	struct brick_store_stats stats;

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
	memcpy(g->sessions, view->sessions->n_in, sizeof(g->sessions));
	g->quarantine_blocks = view->sessions->n_quarantined;
	g->ops_in_flight = view->ops->n;
	g->range_locks_held = view->ops->range_locks.n_held;
	g->range_locks_waiting = view->ops->range_locks.n - g->range_locks_held;
	g->connections = view->net->n_conns;
	g->mappings = view->sessions->mappings.n;
	g->handles = view->sessions->mappings.n_handles;
	for (size_t i = 0; i < BRICK_HOLDS_MAX; i++)
		g->quarantine_holds += view->sessions->holds[i].token != 0;
	g->medium_failed = view->storage->medium_failed;
	g->slow_failed = view->storage->slow_failed;
	g->power_epoch = view->storage->power_epoch;
	g->uptime_ns = brick_now_ns() - view->started_ns;
	g->log_lines_suppressed = count_suppressed(view);
}
