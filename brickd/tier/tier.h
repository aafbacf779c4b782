/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which block lies in which tier: promotion for MAP, demotion in the
 * background, and what an administrator orders. docs/tiering.md says why.
 *
 * There is one step at a time, a few blocks long: the tier thread copies, the
 * store thread commits, the loop decides what comes next. Blocks that move are
 * claimed (claims.h), so that nobody maps or frees them meanwhile.
 *
 * Context: the loop thread, but for what a step's worker has between submit
 * and done().
 */
#ifndef BRICKD_TIER_TIER_H
#define BRICKD_TIER_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/storage/changes.h"
#include "brickd/mapping/claims.h"
#include "brickd/config/grants.h"
#include "brickd/store/move.h"
#include "brickd/base/work.h"

struct brick_handle;
struct brick_server;
struct brick_session;

/* Blocks that one search for victims looks at. */
#define BRICK_TIER_LOOK_MAX 256
/* Blocks of one step; the store may allow fewer. */
#define BRICK_TIER_STEP_MAX 16
/* Jobs of administrators that are waiting or under way. */
#define BRICK_TIER_ORDERS_MAX 16
/* Of those that have ended so many are remembered. */
#define BRICK_TIER_ENDED_MAX 16
/* Separate ranges that are pinned. */
#define BRICK_TIER_PINS_MAX 256

/*
 * struct brick_tier_job - a range that is to be in one tier
 * @span: its blocks
 * @to_slow: which tier
 * @is_claimed: whoever wants it holds a claim on all of it
 * @session: whose MAP waits, NULL: none
 * @may_ask: others are asked to give back what is in its way
 * @is_short: they are being asked
 * @until_ms: fails with -EAGAIN then; KFB_TIME_NEVER: no limit
 * @is_unwanted: does nobody wait for it any more? NULL: somebody does
 * @done: called once, when the job is in no list any more
 * @id: of an administrator's, else 0
 * @at: the next block to look at
 * @error: 0, or why it has failed; per block failures are only counted
 * @n_moved: blocks that have been moved
 * @n_failed: blocks that could not be
 * @n_skipped: blocks that were in use or pinned
 * @n_looked: at so many blocks a search for victims has looked in vain
 * @n_misses: steps in a row that came to nothing
 */
struct brick_tier_job {
	TAILQ_ENTRY(brick_tier_job) link;
	struct brick_span span;
	bool to_slow;
	bool is_claimed;
	struct brick_session *session;
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
};

TAILQ_HEAD(brick_tier_jobs, brick_tier_job);

/*
 * struct brick_tier_step - what is under way
 * @is_busy: it is
 * @job: for whom, NULL: background
 * @n: moves
 */
struct brick_tier_step {
	struct brick_work work;
	struct brick_changes changes;
	struct brick_server *server;
	bool is_busy;
	struct brick_tier_job *job;
	uint64_t begun_ns;
	unsigned int n;
	struct brick_move moves[BRICK_TIER_STEP_MAX];
	struct brick_store_op ops[BRICK_TIER_STEP_MAX];
	struct brick_claim claims[BRICK_TIER_STEP_MAX];
	bool has_claim[BRICK_TIER_STEP_MAX];
};

/*
 * struct brick_tier - the part of the server
 * @is_on: there is a slow tier
 * @thread: copies, and keeps the order of rest
 * @waiting: jobs of MAPs, first come first served
 * @orders: jobs of administrators, after those
 * @ended: the last orders that have ended
 * @is_demoting: free slots fell below the low mark and not yet to the high one
 * @n_resting: blocks on their way into the list of rest, in pieces of work
 * @again_ms: when to look again, though nothing has happened
 * @rate_ms: no background copy before
 * @trouble_ms: no background copy before, for the slow tier has failed
 * @n_troubles: failures in a row
 */
struct brick_tier {
	bool is_on;
	struct brick_worker thread;
	struct brick_tier_step step;
	struct brick_tier_jobs waiting;
	struct brick_tier_jobs orders;
	unsigned int n_orders;
	uint64_t last_order;
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

/* Before the threads start; the store is open. */
void brick_tier_init(struct brick_server *server);

/* Free slots were taken or came back, claims were dropped: look what to do. */
void brick_tier_run(struct brick_server *server);

/* When brick_tier_run() wants to be called at the latest. */
uint64_t brick_tier_next_ms(const struct brick_server *server);

/* Is nothing under way? When the server stops no more is begun. */
bool brick_tier_is_idle(const struct brick_server *server);

/**
 * brick_tier_promote - have blocks moved to where they can be mapped
 * @server: the server
 * @job: span, session and done are set, all else is zero; the blocks are
 *	claimed
 *
 * is_unwanted may be set too. done() may be called before this returns. Its
 * error is -EIO (a block cannot be read), -ENOSPC (all slots are mapped or
 * pinned, and nobody has given any back), -EAGAIN (it takes longer than
 * promote-wait-ms; what has been moved stays), -ESHUTDOWN or -ENOENT.
 */
void brick_tier_promote(struct brick_server *server,
			struct brick_tier_job *job);

/**
 * brick_tier_order - what an administrator wants
 * @server: the server
 * @span: blocks
 * @to_slow: demote, or else promote
 * @may_ask: ask clients to give back what is in its way, without waiting
 * @id: of the job, to ask for it
 *
 * Blocks that are mapped, pinned (when they are to be demoted), in quarantine
 * or busy are skipped.
 *
 * Return: 0, -EOPNOTSUPP (no slow tier), -EUSERS (too many jobs), -ENOMEM.
 */
int brick_tier_order(struct brick_server *server, struct brick_span span,
		     bool to_slow, bool may_ask, uint64_t *id);

/**
 * brick_tier_find_order - an order, or how it has ended
 * @server: the server
 * @id: from brick_tier_order()
 * @has_ended: it is only remembered
 *
 * Return: NULL: it is forgotten, or never was.
 */
const struct brick_tier_job *
brick_tier_find_order(const struct brick_server *server, uint64_t id,
		      bool *has_ended);

/* Ends an order after the step that is under way. 0 or -ENOENT. */
int brick_tier_cancel(struct brick_server *server, uint64_t id);

/* Handles were closed: their blocks are at rest, if nobody else has them. */
void brick_tier_rest(struct brick_server *server,
		     const struct brick_handle *handles, size_t n);

/* Blocks are pinned no more: they may be demoted again. */
void brick_tier_rest_span(struct brick_server *server, struct brick_span span);

/* ---- tier_step.c: used by tier.c only ---- */

/**
 * brick_tier_step_begin - move blocks
 * @server: no step is under way
 * @job: for whom, or NULL
 * @va: blocks that may be claimed, or are by the job
 * @n: at most what brick_move_max() says
 * @to_slow: where to
 */
void brick_tier_step_begin(struct brick_server *server,
			   struct brick_tier_job *job, const uint64_t *va,
			   unsigned int n, bool to_slow);

/* A step has ended: in tier.c. */
void brick_tier_stepped(struct brick_server *server);

/* ---- tier_victims.c ---- */

enum brick_tier_excuse {
	BRICK_TIER_NONE_LEFT, /* all are mapped or pinned */
	BRICK_TIER_LOOK_ON, /* there are more than one search looks at */
	BRICK_TIER_WAIT, /* some are busy, or wait for a connection's end */
};

/**
 * brick_tier_victims - the blocks to demote next
 * @server: the server
 * @va: filled
 * @max: at most so many
 * @job: who waits: quarantines are ended for it, if nothing else helps; its own
 *	blocks are none; NULL: nobody
 * @excuse: why there are none
 *
 * Return: how many.
 */
unsigned int brick_tier_victims(struct brick_server *server, uint64_t *va,
				unsigned int max,
				const struct brick_tier_job *job,
				enum brick_tier_excuse *excuse);

/* May a block be moved by somebody who has no claim on it? */
bool brick_tier_is_movable(const struct brick_server *server, uint64_t va,
			   bool to_slow);

/* ---- tier_pins.c ---- */

/**
 * brick_tier_pin - keep blocks where they can be mapped
 * @tier: the tier
 * @span: blocks
 *
 * Those that are in the slow tier stay there until they are promoted.
 *
 * Return: 0 or -ENOSPC (too many separate ranges).
 */
int brick_tier_pin(struct brick_tier *tier, struct brick_span span);
int brick_tier_unpin(struct brick_tier *tier, struct brick_span span);
bool brick_tier_is_pinned(const struct brick_tier *tier, uint64_t block);
/* Are all of these blocks pinned? */
bool brick_tier_pins_cover(const struct brick_tier *tier,
			   struct brick_span span);
uint64_t brick_tier_pinned_blocks(const struct brick_tier *tier);

#endif
