/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tier without a brick: its time is the test's, and there are no threads. What
 * workers are given is done when tier_rig_run() finds it.
 *
 * A test that uses it is linked with clock_gettime(), brick_worker_submit() and
 * brick_worker_finish() wrapped.
 */
#ifndef TESTS_UNIT_BRICKD_TIER_RIG_H
#define TESTS_UNIT_BRICKD_TIER_RIG_H

#include "brickd/base/counters.h"
#include "brickd/base/stop.h"
#include "brickd/config/config.h"
#include "brickd/session/state.h"
#include "brickd/storage/storage.h"
#include "brickd/tier/tier.h"
#include "tests/unit/store/slow/slow_fake.h"

#define TIER_RIG_FAST	  32U
#define TIER_RIG_SLOW	  72U /* three moves at a time */
#define TIER_RIG_MS_PER_S 1000U
#define TIER_RIG_RATE	  (16ULL << 20)

struct tier_rig {
	struct brick_counters counters;
	struct brick_stop stop;
	struct brick_storage storage;
	struct brick_sessions sessions;
	struct brick_range_locks range_locks;
	struct brick_tier tier;
	struct brick_config config;
	struct slow_fake *slow;
	uint64_t now_ms;
	uint64_t step_ms; /* that copying takes */
	uint64_t tick_ms; /* when the loop looks next, whatever happens */
};

extern struct tier_rig rig;

/* All slots of memory hold blocks at rest; half of them are to be free. */
int tier_rig_begin(void **state);
int tier_rig_end(void **state);

/* What the loop does: work, and looks when asked to or once a tick. */
void tier_rig_run(uint64_t end_ms);

struct brick_store_stats tier_rig_stats(void);

#endif
