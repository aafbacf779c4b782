/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tiers' files work on: jobs, the step that is under way, pins.
 *
 * There is one step at a time, a few blocks long: the tier thread copies, the
 * store thread commits, the loop decides what comes next. Blocks that move are
 * locked (range_locks.h), so that nobody maps or frees them meanwhile.
 *
 * Context: the loop thread, but for what a step's worker has between submit
 * and done().
 */
#ifndef BRICKD_TIER_TIER_STATE_H
#define BRICKD_TIER_TIER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/base/work.h"
#include "brickd/config/grants.h"
#include "brickd/mapping/range_locks.h"
#include "brickd/storage/changes.h"
#include "brickd/store/move.h"

struct brick_config;
struct brick_counters;
struct brick_session;
struct brick_sessions;
struct brick_stop;
struct brick_storage;
struct brick_tier;

/* Blocks that one search for victims looks at. */
#define BRICK_TIER_LOOK_MAX 256
/* Blocks of one step; the store may allow fewer. */
#define BRICK_TIER_STEP_MAX 16
/* Jobs of administrators that are waiting or under way. */
#define BRICK_TIER_ORDERS_MAX 16
/* Jobs of all clients whose MAPs do not wait, and of each of these clients. */
#define BRICK_TIER_ASKED_MAX  64
#define BRICK_TIER_ASKED_EACH 4
/* Administrators' jobs that have ended, and are remembered. */
#define BRICK_TIER_ENDED_MAX 16
/* Separate ranges that are pinned. */
#define BRICK_TIER_PINS_MAX 256

/*
 * struct brick_tier_job - a range that is to be in one tier
 * @span: its blocks
 * @to_slow: which tier
 * @is_locked: whoever wants it holds a range lock on all of it
 * @session: whose MAP waits, NULL: none
 * @whose: the client that takes turns with others, NULL: administrators
 * @may_ask: others are asked to give back what is in its way
 * @is_short: they are being asked
 * @until_ms: fails with -EAGAIN then; KFB_TIME_NEVER: no limit
 * @is_unwanted: does nobody wait for it any more? NULL: somebody does
 * @done: called once, when the job is in no list any more
 * @id: of an order, else 0
 * @at: the next block to look at
 * @error: 0, or why it has failed; per block failures are only counted
 * @n_moved: blocks that have been moved
 * @n_failed: blocks that could not be
 * @n_skipped: blocks that were in use or pinned
 * @n_looked: at so many blocks a search for victims has looked in vain
 * @n_misses: steps in a row that came to nothing
 * @turn: when its client has one: the least comes first
 */
struct brick_tier_job {
	TAILQ_ENTRY(brick_tier_job) link;
	struct brick_span span;
	bool to_slow;
	bool is_locked;
	struct brick_session *session;
	const void *whose;
	bool may_ask;
	bool is_short;
	uint64_t until_ms;
	bool (*is_unwanted)(const struct brick_tier_job *job);
	void (*done)(struct brick_tier_job *job);
	uint64_t id;
	uint64_t at;
	int error;
	uint64_t n_moved;
	uint64_t n_failed;
	uint64_t n_skipped;
	uint64_t n_looked;
	unsigned int n_misses;
	uint64_t turn;
};

TAILQ_HEAD(brick_tier_jobs, brick_tier_job);

/*
 * struct brick_tier_step - the step that is under way
 * @is_busy: a step is under way
 * @stepped: called in the loop thread when the step has ended
 * @job: for whom the step is, NULL: background
 * @n: how many moves the step has
 */
struct brick_tier_step {
	struct brick_work work;
	struct brick_changes changes;
	struct brick_tier *tier;
	bool is_busy;
	void (*stepped)(struct brick_tier *tier);
	struct brick_tier_job *job;
	uint64_t begun_ns;
	unsigned int n;
	struct brick_move moves[BRICK_TIER_STEP_MAX];
	struct brick_store_op ops[BRICK_TIER_STEP_MAX];
	struct brick_range_lock range_locks[BRICK_TIER_STEP_MAX];
	bool has_range_lock[BRICK_TIER_STEP_MAX];
};

/*
 * struct brick_tier_reservation - see tier_reserve.h
 * @until_ms: there is none any more
 */
struct brick_tier_reservation {
	const void *whose;
	struct brick_span span;
	uint64_t until_ms;
};

/*
 * struct brick_tier - all that decides what lies where
 * @range_locks: those of requests, too
 * @is_on: there is a slow tier
 * @thread: copies, and keeps the order of rest
 * @waiting: jobs of MAPs
 * @orders: jobs of administrators, and of clients whose MAPs do not wait
 * @n_orders: how many of @orders are administrators'
 * @n_asked: how many of @orders are clients'
 * @last_turn: the last turn of a job of @orders
 * @reserved: for the next try of a MAP
 * @n_map_steps: steps for MAPs since orders had one
 * @ended: the last of the administrators' orders that have ended
 * @is_demoting: free slots fell below the low mark and not yet to the high one
 * @n_resting: blocks on their way into the list of rest, in pieces of work
 * @again_ms: when to look again, though nothing has happened
 * @rate_ms: no background copy before
 * @trouble_ms: no background copy before, for the slow tier has failed
 * @n_troubles: failures in a row
 */
struct brick_tier {
	const struct brick_config *config;
	const struct brick_stop *stop;
	struct brick_storage *storage;
	struct brick_sessions *sessions;
	struct brick_range_locks *range_locks;
	struct brick_counters *counters;
	bool is_on;
	struct brick_worker thread;
	struct brick_tier_step step;
	struct brick_tier_jobs waiting;
	struct brick_tier_jobs orders;
	unsigned int n_orders;
	unsigned int n_asked;
	uint64_t last_order;
	uint64_t last_turn;
	struct brick_tier_reservation reserved;
	unsigned int n_map_steps;
	struct brick_tier_job ended[BRICK_TIER_ENDED_MAX];
	unsigned int n_ended;
	uint64_t low_slots;
	uint64_t high_slots;
	bool is_demoting;
	unsigned int n_resting;
	uint64_t again_ms;
	uint64_t rate_ms;
	uint64_t trouble_ms;
	unsigned int n_troubles;
	uint32_t n_pins;
	struct brick_span pins[BRICK_TIER_PINS_MAX];
};

#endif
