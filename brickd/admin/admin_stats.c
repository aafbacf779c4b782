// SPDX-License-Identifier: BSD-2-Clause
/*
 * The admin op "stats": the table of metric_table.c as JSON, some rows at a time. An
 * object of each row is made and put into words before the next one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "brickd/admin/gauges.h"
#include "brickd/admin/admin_parts.h"
#include "brickd/admin/admin_put.h"
#include "brickd/admin/metric_table.h"
#include "brickd/base/util.h"

/* Numbers in a piece; a row has them all in one. */
#define PIECE_MAX 128

/*
 * struct brick_admin_stats - a reply that is being made
 * @gauges: when it began
 * @row: comes next
 * @is_last: there is none
 * @n: numbers in the piece at hand
 * @metric: the row at hand
 * @samples: in there
 */
struct brick_admin_stats {
	struct brick_metric_sink sink;
	const struct brick_view *view;
	struct brick_gauges gauges;
	size_t row;
	bool is_last;
	unsigned int n;
	struct json_object *metric;
	struct json_object *samples;
};

static const char *const kinds[] = {
	[BRICK_METRIC_COUNTER] = "counter",
	[BRICK_METRIC_GAUGE] = "gauge",
	[BRICK_METRIC_HISTOGRAM] = "histogram",
};

static void add_metric(struct brick_metric_sink *sink,
		       const struct brick_metric *m)
{
	struct brick_admin_stats *stats =
		brick_container_of(sink, struct brick_admin_stats, sink);
	struct json_object *object = json_object_new_object();

	stats->samples = json_object_new_array();
	brick_admin_put_text(object, "name", m->name);
	brick_admin_put_text(object, "type", kinds[m->kind]);
	brick_admin_put_text(object, "unit", m->unit);
	brick_admin_put_text(object, "help", m->help);
	json_object_object_add(object, "samples", stats->samples);
	stats->metric = object;
}

static void put_value(struct json_object *object, const struct brick_metric *m,
		      const char *name, uint64_t value)
{
	if (*m->unit)
		brick_admin_put_seconds(object, name, value);
	else
		brick_admin_put_count(object, name, value);
}

static void add_sample(struct brick_metric_sink *sink,
		       const struct brick_metric *m,
		       const struct brick_sample *sample)
{
	struct brick_admin_stats *stats =
		brick_container_of(sink, struct brick_admin_stats, sink);
	struct json_object *object = json_object_new_object();
	struct json_object *list, *bucket;

	for (int i = 0; i < 2; i++)
		if (m->labels[i])
			brick_admin_put_text(object, m->labels[i]->name,
					     sample->labels[i]);
	if (m->kind == BRICK_METRIC_HISTOGRAM) {
		brick_admin_put_count(object, "count",
				      sample->buckets[m->bounds->n]);
		put_value(object, m, "sum", sample->sum);
		list = json_object_new_array();
		stats->n += m->bounds->n;
		for (unsigned int i = 0; i < m->bounds->n; i++) {
			bucket = json_object_new_object();
			put_value(bucket, m, "le", m->bounds->list[i].value);
			brick_admin_put_count(bucket, "count",
					      sample->buckets[i]);
			json_object_array_add(list, bucket);
		}
		json_object_object_add(object, "buckets", list);
	} else {
		put_value(object, m, "value", sample->value);
	}
	stats->n++;
	json_object_array_add(stats->samples, object);
}

struct brick_admin_stats *brick_admin_stats_begin(const struct brick_view *view)
{
	struct brick_admin_stats *stats = calloc(1, sizeof(*stats));

	if (!stats)
		return NULL;
	stats->sink.metric = add_metric;
	stats->sink.sample = add_sample;
	stats->view = view;
	brick_gauges_read(view, &stats->gauges);
	return stats;
}

char *brick_admin_stats_next(struct brick_admin_stats *stats, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		return NULL;
	stats->n = 0;
	while (!stats->is_last && stats->n < PIECE_MAX) {
		stats->is_last = !brick_metrics_show(
			stats->view, &stats->gauges, stats->row, &stats->sink);
		if (stats->is_last)
			break;
		fputs(stats->row++ ? "," : "{\"ok\":true,\"metrics\":[", out);
		fputs(json_object_to_json_string_ext(
			      stats->metric,
			      JSON_C_TO_STRING_PLAIN |
				      JSON_C_TO_STRING_NOSLASHESCAPE),
		      out);
		json_object_put(stats->metric);
	}
	if (stats->is_last)
		fputs("]}\n", out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

bool brick_admin_stats_are_all(const struct brick_admin_stats *stats)
{
	return stats->is_last;
}
