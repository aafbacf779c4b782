// SPDX-License-Identifier: BSD-2-Clause
/* The table of all numbers, and the walk over it. */
#include "brickd/admin/metric_table.h"

#include <string.h>

#include "brickd/admin/gauges.h"
#include "brickd/admin/view.h"
#include "brickd/base/util.h"
#include "proto/codec/kfb_ops.h"
#include "proto/kfb_session.h"

/* ---- labels ---- */

static const char *op_text(unsigned int op)
{
	return kfb_op_label((uint16_t)op);
}

static const char *busy_text(unsigned int kind)
{
	static const char *const texts[] = {
		[BRICK_BUSY_CONNECT] = "connection",
		[BRICK_BUSY_SESSION] = "session",
		[BRICK_BUSY_TIER] = "tier",
		[BRICK_BUSY_ADMIN] = "admin",
		[BRICK_BUSY_TICK] = "tick",
	};

	if (!kind)
		return "other";
	return kind <= KFB_OP_LAST ? op_text(kind) : texts[kind];
}

static const char *status_text(unsigned int status)
{
	int error = kfb_status_to_errno((uint16_t)status);

	return error ? strerrorname_np(-error) : "OK";
}

static const char *session_state_text(unsigned int state)
{
	return kfb_session_state_name((enum kfb_session_state)state);
}

static const struct brick_label label_op = { "op", KFB_OP_LAST + 1, op_text };
static const struct brick_label label_busy = { "what", BRICK_BUSY_KINDS,
					       busy_text };
static const struct brick_label label_status = { "status", KFB_ST_LAST + 1,
						 status_text };
static const struct brick_label label_slot = { "state", BRICK_SLOT_STATES,
					       brick_slot_state_name };
static const struct brick_label label_session = { "state", KFB_SESSION_STATES,
						  session_state_text };

/* ---- the table ---- */

#define COUNTER(title, field, sentence)                          \
	{                                                        \
		.name = (title), .unit = "", .help = (sentence), \
		.kind = BRICK_METRIC_COUNTER,                    \
		.offset = offsetof(struct brick_counters, field) \
	}

#define GAUGE(title, field, sentence)                            \
	{                                                        \
		.name = (title), .unit = "", .help = (sentence), \
		.kind = BRICK_METRIC_GAUGE,                      \
		.offset = offsetof(struct brick_gauges, field)   \
	}

#define TIMES(title, field, sentence)                                       \
	{                                                                   \
		.name = (title), .unit = "seconds", .help = (sentence),     \
		.kind = BRICK_METRIC_HISTOGRAM, .bounds = &brick_bounds_ns, \
		.offset = offsetof(struct brick_counters, field)            \
	}

#define SIZES(title, field, sentence)                                         \
	{                                                                     \
		.name = (title), .unit = "", .help = (sentence),              \
		.kind = BRICK_METRIC_HISTOGRAM, .bounds = &brick_bounds_size, \
		.offset = offsetof(struct brick_counters, field)              \
	}

static const struct brick_metric metrics[] = {
	{
		.name = "ops",
		.unit = "",
		.help = "Requests answered, by op and status",
		.kind = BRICK_METRIC_COUNTER,
		.sparse = true,
		.labels = { &label_op, &label_status },
		.offset = offsetof(struct brick_counters, ops),
	},
	{
		.name = "op_seconds",
		.unit = "seconds",
		.help = "From a request's arrival to its answer",
		.kind = BRICK_METRIC_HISTOGRAM,
		.sparse = true,
		.labels = { &label_op },
		.bounds = &brick_bounds_ns,
		.offset = offsetof(struct brick_counters, op_ns),
	},
	{
		.name = "loop_seconds",
		.unit = "seconds",
		.help = "How long the loop was at one thing, while nobody else "
			"was served",
		.kind = BRICK_METRIC_HISTOGRAM,
		.sparse = true,
		.labels = { &label_busy },
		.bounds = &brick_bounds_ns,
		.offset = offsetof(struct brick_counters, busy_ns),
	},
	GAUGE("ops_in_flight", ops_in_flight,
	      "Requests that are not answered yet"),
	COUNTER("connections_accepted", accepted,
		"Connection requests that were accepted"),
	{
		.name = "connections_refused",
		.unit = "",
		.help = "Connection requests that were refused, by reason",
		.kind = BRICK_METRIC_COUNTER,
		.sparse = true,
		.labels = { &label_status },
		.offset = offsetof(struct brick_counters, refused),
	},
	GAUGE("connections", connections,
	      "Connections that are open, authenticated or not"),
	/* Not by reason: who reads this must not learn which names exist. */
	COUNTER("auth_failures", auth_failures,
		"Proofs of a client's key that were refused"),
	COUNTER("sessions_opened", sessions_opened,
		"Sessions whose client was let in"),
	COUNTER("sessions_joined", sessions_joined,
		"Connections that joined a session, or took it up again"),
	COUNTER("sessions_fenced", sessions_fenced,
		"Sessions that ended, with all their keys revoked"),
	COUNTER("leases_expired", leases_expired,
		"Sessions that ended because nothing was heard in time"),
	COUNTER("evictions", evictions,
		"Sessions that were ended by an order, a reload, a FENCE or a RESERVE"),
	COUNTER("rate_exceeded", rate_exceeded,
		"Times that a session has moved more than its rate gives"),
	{
		.name = "sessions",
		.unit = "",
		.help = "Sessions, by state",
		.kind = BRICK_METRIC_GAUGE,
		.labels = { &label_session },
		.offset = offsetof(struct brick_gauges, sessions),
	},
	GAUGE("mappings", mappings, "Mappings of all sessions"),
	GAUGE("handles", handles, "Registered pieces of all mappings"),
	TIMES("drain_seconds", drain_ns,
	      "How long one pass of the flush thread took, ranges and drain"),
	SIZES("drain_flushes", drain_flushes,
	      "Flushes that one pass of the flush thread served"),
	COUNTER("drains_failed", drains_failed,
		"Drains after which data may be lost"),
	GAUGE("medium_failed", medium_failed,
	      "1 once the medium has failed: changes are refused since"),
	GAUGE("slow_tier_failed", slow_failed,
	      "1 once the slow tier has failed: nothing is moved to it since"),
	TIMES("commit_seconds", commit_ns,
	      "How long one pass of the store thread took"),
	SIZES("commit_changes", commit_changes,
	      "Changes that one pass of the store thread made durable"),
	{
		.name = "slots",
		.unit = "",
		.help = "Slots of the store, by state; dirty ones are free "
			"and wait for the cleaner or the end of a quarantine",
		.kind = BRICK_METRIC_GAUGE,
		.labels = { &label_slot },
		.offset = offsetof(struct brick_gauges, slots),
	},
	COUNTER("slots_cleaned", slots_cleaned,
		"Slots that the cleaner has zeroed"),
	{
		.name = "slow_slots",
		.unit = "",
		.help = "Slots of the slow tier, by state; some free ones are "
			"kept for moves",
		.kind = BRICK_METRIC_GAUGE,
		.labels = { &label_slot },
		.offset = offsetof(struct brick_gauges, slow_slots),
	},
	COUNTER("tier_promoted_blocks", tier_promoted,
		"Blocks that were moved out of the slow tier"),
	COUNTER("tier_demoted_blocks", tier_demoted,
		"Blocks that were moved into the slow tier"),
	TIMES("tier_step_seconds", tier_step_ns,
	      "How long moving a few blocks between the tiers took"),
	COUNTER("tier_read_errors", tier_read_errors,
		"Blocks that could not be read to be moved; they stay"),
	COUNTER("tier_write_errors", tier_write_errors,
		"Blocks that could not be written to the slow tier; they stay"),
	COUNTER("tier_disconnects", tier_disconnects,
		"Sessions whose connections were closed to end the quarantine "
		"of blocks that had to be demoted"),
	COUNTER("tier_recalls", tier_recalls,
		"Mappings that clients were asked to give back"),
	GAUGE("tier_jobs", tier_jobs,
	      "Requests and orders that wait for blocks to be moved"),
	GAUGE("tier_pinned_blocks", tier_pinned_blocks,
	      "Blocks that are not demoted because they are pinned"),
	GAUGE("range_locks_held", range_locks_held,
	      "Requests that hold their blocks"),
	GAUGE("range_locks_waiting", range_locks_waiting,
	      "Requests that wait for blocks that others hold"),
	GAUGE("quarantine_blocks", quarantine_blocks,
	      "Blocks in quarantine because late writes may reach them"),
	GAUGE("quarantine_holds", quarantine_holds,
	      "Frees that several sessions hold back"),
	GAUGE("power_epoch", power_epoch,
	      "Times that the store may have lost unflushed writes"),
	{
		.name = "uptime_seconds",
		.unit = "seconds",
		.help = "Since the daemon started",
		.kind = BRICK_METRIC_GAUGE,
		.offset = offsetof(struct brick_gauges, uptime_ns),
	},
	{
		.name = "log_lines_suppressed",
		.unit = "",
		.help = "Log lines left out because there were too many of a "
			"kind, or lost because nobody took them",
		.kind = BRICK_METRIC_COUNTER,
		.is_looked_up = true,
		.offset = offsetof(struct brick_gauges, log_lines_suppressed),
	},
	COUNTER("admin_requests", admin_requests,
		"Requests of administrators that were answered"),
	COUNTER("admin_refused", admin_refused,
		"Administrators' connections that were refused or cut off"),
};

/* ---- a row of it ---- */

static uint64_t load_counter(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Return: false when the sample is a zero that is left out. */
static bool fill_sample(const struct brick_metric *m, const void *base,
			size_t index, struct brick_sample *sample)
{
	const char *at = (const char *)base + m->offset;
	const struct brick_histogram *h;
	uint64_t n = 0;

	if (m->kind != BRICK_METRIC_HISTOGRAM) {
		sample->value =
			m->kind == BRICK_METRIC_GAUGE || m->is_looked_up
				? ((const uint64_t *)at)[index]
				: load_counter(&(
					  (const _Atomic uint64_t *)at)[index]);
		return sample->value || !m->sparse;
	}
	h = &((const struct brick_histogram *)at)[index];
	for (unsigned int i = 0; i <= m->bounds->n; i++) {
		n += load_counter(&h->buckets[i]);
		sample->buckets[i] = n;
	}
	sample->sum = load_counter(&h->sum);
	return n || !m->sparse;
}

static void walk_metric(const struct brick_metric *m, const void *base,
			struct brick_metric_sink *sink)
{
	const struct brick_label *outer = m->labels[0], *inner = m->labels[1];
	unsigned int n_outer = outer ? outer->n : 1;
	unsigned int n_inner = inner ? inner->n : 1;

	if (sink->metric)
		sink->metric(sink, m);
	for (unsigned int i = 0; i < n_outer * n_inner; i++) {
		struct brick_sample sample = { 0 };

		if (outer)
			sample.labels[0] = outer->text(i / n_inner);
		if (inner)
			sample.labels[1] = inner->text(i % n_inner);
		if (fill_sample(m, base, i, &sample))
			sink->sample(sink, m, &sample);
	}
}

bool brick_metrics_show(const struct brick_view *view,
			const struct brick_gauges *gauges, size_t row,
			struct brick_metric_sink *sink)
{
	const struct brick_metric *m = &metrics[row];

	if (row >= BRICK_ARRAY_SIZE(metrics))
		return false;
	walk_metric(m,
		    m->kind == BRICK_METRIC_GAUGE || m->is_looked_up
			    ? (const void *)gauges
			    : (const void *)view->counters,
		    sink);
	return true;
}
