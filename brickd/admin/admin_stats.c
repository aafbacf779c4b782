// SPDX-License-Identifier: BSD-2-Clause
/* The admin op "stats": the table of metric_table.c as JSON. */
#include "brickd/admin/admin_parts.h"
#include "brickd/admin/admin_put.h"
#include "brickd/admin/metric_table.h"
#include "brickd/base/util.h"

struct stats {
	struct brick_metric_sink sink;
	struct json_object *list;
	struct json_object *samples; /* of the metric at hand */
};

static const char *const kinds[] = {
	[BRICK_METRIC_COUNTER] = "counter",
	[BRICK_METRIC_GAUGE] = "gauge",
	[BRICK_METRIC_HISTOGRAM] = "histogram",
};

static void add_metric(struct brick_metric_sink *sink,
		       const struct brick_metric *m)
{
	struct stats *stats = brick_container_of(sink, struct stats, sink);
	struct json_object *object = json_object_new_object();

	stats->samples = json_object_new_array();
	brick_admin_put_text(object, "name", m->name);
	brick_admin_put_text(object, "type", kinds[m->kind]);
	brick_admin_put_text(object, "unit", m->unit);
	brick_admin_put_text(object, "help", m->help);
	json_object_object_add(object, "samples", stats->samples);
	json_object_array_add(stats->list, object);
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
	struct stats *stats = brick_container_of(sink, struct stats, sink);
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
	json_object_array_add(stats->samples, object);
}

void brick_admin_stats(const struct brick_view *view, struct json_object *reply)
{
	struct stats stats = {
		.sink = { .metric = add_metric, .sample = add_sample },
		.list = json_object_new_array(),
	};

	brick_metrics_walk(view, &stats.sink);
	json_object_object_add(reply, "metrics", stats.list);
}
