/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What brickd counts of itself, for `brickctl stats` and the metrics page.
 *
 * A number is declared once: its place is in struct brick_counters or struct
 * brick_gauges, its name, unit and sentence are a row of the table in
 * counters.c. Whoever shows numbers walks the table with brick_counters_walk().
 *
 * Context: any thread counts; the walk runs in the loop thread, which owns
 * what the gauges are taken from.
 * Locking: none. Each number is exact by itself; two of them may be a moment
 * apart.
 */
#ifndef BRICKD_BASE_COUNTERS_H
#define BRICKD_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/kfb_err.h"
#include "proto/kfb_session.h"
#include "proto/kfb_wire.h"

struct brick_server;
struct brick_session;

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

/*
 * struct brick_counters - events since the daemon started
 *
 * The table in counters.c says what each one counts. Those of an op have 0 for
 * ops that this version does not know.
 */
struct brick_counters {
	_Atomic uint64_t ops[KFB_OP_LAST + 1][KFB_ST_LAST + 1];
	struct brick_histogram op_ns[KFB_OP_LAST + 1];
	_Atomic uint64_t accepted;
	_Atomic uint64_t refused[KFB_ST_LAST + 1];
	_Atomic uint64_t auth_failures;
	_Atomic uint64_t sessions_opened;
	_Atomic uint64_t sessions_joined;
	_Atomic uint64_t sessions_fenced;
	_Atomic uint64_t leases_expired;
	_Atomic uint64_t evictions;
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
	_Atomic uint64_t tier_give_backs;
	_Atomic uint64_t admin_requests;
	_Atomic uint64_t admin_refused;
};

enum brick_metric_kind {
	BRICK_METRIC_COUNTER,
	BRICK_METRIC_GAUGE,
	BRICK_METRIC_HISTOGRAM,
};

/* A label: its name, and the text of each of its values. */
struct brick_label {
	const char *name;
	unsigned int n;
	const char *(*text)(unsigned int value);
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

/*
 * struct brick_metric - one row of the table
 * @name: without the prefix "brickd_" and without "_total"
 * @unit: "seconds" when its values are nanoseconds, else ""
 * @help: one sentence, without a full stop
 * @kind: what it is
 * @sparse: rows of labels that are zero are left out
 * @is_looked_up: a counter that is kept elsewhere and read with the gauges
 * @labels: outer and inner one; NULL: none
 * @bounds: of a histogram
 *
 * The rest is private.
 */
struct brick_metric {
	const char *name;
	const char *unit;
	const char *help;
	enum brick_metric_kind kind;
	bool sparse;
	bool is_looked_up;
	const struct brick_label *labels[2];
	const struct brick_bounds *bounds;
	size_t offset;
};

/**
 * struct brick_sample - one number, or one histogram
 * @labels: values of the metric's labels
 * @value: of a counter or gauge
 * @buckets: of a histogram: how many were at most each bound; last: all
 * @sum: of a histogram
 */
struct brick_sample {
	const char *labels[2];
	uint64_t value;
	uint64_t buckets[BRICK_BOUNDS_MAX + 1];
	uint64_t sum;
};

/**
 * struct brick_metric_sink - who wants to see them
 * @metric: called first for each row of the table; may be NULL
 * @sample: called for each of its numbers
 */
struct brick_metric_sink {
	void (*metric)(struct brick_metric_sink *sink,
		       const struct brick_metric *metric);
	void (*sample)(struct brick_metric_sink *sink,
		       const struct brick_metric *metric,
		       const struct brick_sample *sample);
};

static inline void brick_count_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline void brick_count(_Atomic uint64_t *counter)
{
	brick_count_add(counter, 1);
}

/* A duration, nanoseconds. */
void brick_count_ns(struct brick_histogram *histogram, uint64_t ns);

/* A number of things. */
void brick_count_size(struct brick_histogram *histogram, uint64_t size);

/**
 * brick_count_op - a request is answered
 * @session: whose
 * @op: KFB_OP_*, any value
 * @status: of the reply
 * @begun_ns: when it came
 */
void brick_count_op(struct brick_session *session, uint16_t op,
		    enum kfb_status status, uint64_t begun_ns);

/* A connection request is refused. */
void brick_count_refused(struct brick_counters *counters,
			 enum kfb_status status);

/* What an op is called, "unknown" for a number that is none. */
const char *brick_op_name(unsigned int op);

/**
 * brick_counters_walk - show all numbers
 * @server: whose
 * @sink: shown to
 *
 * Context: the loop thread.
 */
void brick_counters_walk(const struct brick_server *server,
			 struct brick_metric_sink *sink);

#endif
