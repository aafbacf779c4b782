/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of all numbers, for `brickctl stats` and the metrics page.
 *
 * A number is declared once: its place is in struct brick_counters or struct
 * brick_gauges, its name, unit and sentence are a row of the table in
 * metric_table.c. Whoever shows numbers goes through the table with
 * brick_metrics_show().
 *
 * Context: the loop thread, which owns what the gauges are taken from.
 */
#ifndef BRICKD_ADMIN_METRIC_TABLE_H
#define BRICKD_ADMIN_METRIC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/base/counters.h"

struct brick_gauges;
struct brick_view;

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

/**
 * brick_metrics_show - show the numbers of a row
 * @view: what is shown
 * @gauges: of it, from brick_gauges_read()
 * @row: from 0 on
 * @sink: shown to
 *
 * Return: false: there is no such row.
 */
bool brick_metrics_show(const struct brick_view *view,
			const struct brick_gauges *gauges, size_t row,
			struct brick_metric_sink *sink);

#endif
