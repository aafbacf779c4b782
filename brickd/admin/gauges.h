/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What brickd is right now: numbers that are looked up, not counted.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_ADMIN_GAUGES_H
#define BRICKD_ADMIN_GAUGES_H

#include <stdint.h>

#include "proto/kfb_session.h"

struct brick_view;

enum brick_slot_state {
	BRICK_SLOT_CLEAN,
	BRICK_SLOT_DIRTY,
	BRICK_SLOT_ALLOCATED,
	BRICK_SLOT_BAD,
	BRICK_SLOT_STATES
};

/*
 * struct brick_gauges - the state at one moment
 *
 * The table in metric_table.c says what each one is.
 */
struct brick_gauges {
	uint64_t slots[BRICK_SLOT_STATES];
	uint64_t slow_slots[BRICK_SLOT_STATES];
	uint64_t tier_jobs;
	uint64_t tier_pinned_blocks;
	uint64_t sessions[KFB_SESSION_STATES];
	uint64_t connections;
	uint64_t mappings;
	uint64_t handles;
	uint64_t ops_in_flight;
	uint64_t range_locks_held;
	uint64_t range_locks_waiting;
	uint64_t quarantine_blocks;
	uint64_t quarantine_holds;
	uint64_t medium_failed;
	uint64_t slow_failed;
	uint64_t power_epoch;
	uint64_t uptime_ns;
	uint64_t log_lines_suppressed;
};

void brick_gauges_read(const struct brick_view *view,
		       struct brick_gauges *gauges);

/* "clean", "dirty", "allocated", "bad". */
const char *brick_slot_state_name(unsigned int state);

#endif
