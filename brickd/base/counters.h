/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What brickd counts of itself. Whoever counts includes this and nothing else;
 * who shows it walks the table (admin/metric_table.h).
 *
 * Context: any thread.
 * Locking: none. Each number is exact by itself; two of them may be a moment
 * apart.
 */
#ifndef BRICKD_BASE_COUNTERS_H
#define BRICKD_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "proto/kfb_err.h"
#include "proto/kfb_wire.h"

/* Upper bounds of a histogram, at most. */
#define BRICK_BOUNDS_MAX 18

/**
 * struct brick_histogram - how often a value was how large
 * @buckets: values up to each bound; the last one: beyond all
 * @sum: of all values
 */
struct brick_histogram {
	_Atomic uint64_t buckets[BRICK_BOUNDS_MAX + 1];
	_Atomic uint64_t sum;
};

/* What the loop is busy with, where it is no request: one of these, or KFB_OP_*. */
enum brick_busy_kind {
	BRICK_BUSY_CONNECT = KFB_OP_LAST + 1, /* a connection comes or goes */
	BRICK_BUSY_SESSION, /* a session ends, or is told something */
	BRICK_BUSY_TIER,
	BRICK_BUSY_ADMIN,
	BRICK_BUSY_TICK,
	BRICK_BUSY_KINDS,
};

/*
 * struct brick_counters - events since the daemon started
 *
 * The table in metric_table.c says what each one counts. Those of an op have 0 for
 * ops that this version does not know; so has busy_ns, and for what has no name.
 */
struct brick_counters {
	_Atomic uint64_t ops[KFB_OP_LAST + 1][KFB_ST_LAST + 1];
	struct brick_histogram op_ns[KFB_OP_LAST + 1];
	struct brick_histogram busy_ns[BRICK_BUSY_KINDS];
	_Atomic uint64_t accepted;
	_Atomic uint64_t refused[KFB_ST_LAST + 1];
	_Atomic uint64_t auth_failures;
	_Atomic uint64_t sessions_opened;
	_Atomic uint64_t sessions_joined;
	_Atomic uint64_t sessions_fenced;
	_Atomic uint64_t leases_expired;
	_Atomic uint64_t evictions;
	_Atomic uint64_t rate_exceeded;
	struct brick_histogram drain_ns;
	struct brick_histogram drain_flushes;
	_Atomic uint64_t drains_failed;
	struct brick_histogram commit_ns;
	struct brick_histogram commit_changes;
	_Atomic uint64_t slots_cleaned;
	_Atomic uint64_t tier_promoted;
	_Atomic uint64_t tier_demoted;
	struct brick_histogram tier_step_ns;
	_Atomic uint64_t tier_read_errors;
	_Atomic uint64_t tier_write_errors;
	_Atomic uint64_t tier_disconnects;
	_Atomic uint64_t tier_recalls;
	_Atomic uint64_t admin_requests;
	_Atomic uint64_t admin_refused;
};

/**
 * struct brick_client_counters - what one client has had done since the start
 * @ops: its requests answered, by op; those of ops that this version does not
 *	know: 0
 * @failed: its requests answered with another status than OK
 * @flushed_bytes: written back by cache lines, for its FLUSHes and at the end of
 *	its sessions
 * @zeroed_blocks: slots that its ALLOCs had to wait for to be zeroed
 * @promoted_blocks: moved out of the slow tier for its MAPs that waited for them
 * @read_bytes: by its one-sided reads, where that can be counted
 * @written_bytes: by its one-sided writes, where that can be counted
 * @data_ops: its one-sided reads and writes, where they can be counted
 * @rate_exceeded: how often one of its sessions has moved more than its rate gives
 */
struct brick_client_counters {
	_Atomic uint64_t ops[KFB_OP_LAST + 1];
	_Atomic uint64_t failed;
	_Atomic uint64_t flushed_bytes;
	_Atomic uint64_t zeroed_blocks;
	_Atomic uint64_t promoted_blocks;
	_Atomic uint64_t read_bytes;
	_Atomic uint64_t written_bytes;
	_Atomic uint64_t data_ops;
	_Atomic uint64_t rate_exceeded;
};

/* A bound of a histogram, and how it is written; a bound has one spelling. */
struct brick_bound {
	uint64_t value;
	const char *text;
};

struct brick_bounds {
	unsigned int n;
	struct brick_bound list[BRICK_BOUNDS_MAX];
};

/* The bounds of histograms of durations, and of numbers of things. */
extern const struct brick_bounds brick_bounds_ns, brick_bounds_size;

static inline void brick_count_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline void brick_count(_Atomic uint64_t *counter)
{
	brick_count_add(counter, 1);
}

static inline uint64_t brick_counted(_Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* A duration, nanoseconds. */
void brick_count_ns(struct brick_histogram *histogram, uint64_t ns);

/* A number of things. */
void brick_count_size(struct brick_histogram *histogram, uint64_t size);

/**
 * brick_count_op - a request is answered
 * @counters: where
 * @op: KFB_OP_*, any value
 * @status: of the reply
 * @begun_ns: when it came
 */
void brick_count_op(struct brick_counters *counters, uint16_t op,
		    enum kfb_status status, uint64_t begun_ns);

/**
 * brick_count_client_op - the same, of whoever asked
 * @counters: the client's
 * @op: KFB_OP_*, any value
 * @status: of the reply
 */
void brick_count_client_op(struct brick_client_counters *counters, uint16_t op,
			   enum kfb_status status);

/* A connection request is refused. */
void brick_count_refused(struct brick_counters *counters,
			 enum kfb_status status);

#endif
