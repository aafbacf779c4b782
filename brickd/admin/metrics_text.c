// SPDX-License-Identifier: BSD-2-Clause
/* The table of metric_table.c as OpenMetrics 1.0 text. */
#include <stdio.h>
#include <stdlib.h>

#include "brickd/admin/gauges.h"
#include "brickd/admin/metric_table.h"
#include "brickd/admin/metrics.h"
#include "brickd/base/util.h"

#define PREFIX	 "brickd_"
#define NS_PER_S 1000000000ULL

struct text {
	struct brick_metric_sink sink;
	FILE *out;
};

static const char *const kinds[] = {
	[BRICK_METRIC_COUNTER] = "counter",
	[BRICK_METRIC_GAUGE] = "gauge",
	[BRICK_METRIC_HISTOGRAM] = "histogram",
};

static void print_metric(struct brick_metric_sink *sink,
			 const struct brick_metric *m)
{
	FILE *out = brick_container_of(sink, struct text, sink)->out;

	fprintf(out, "# TYPE " PREFIX "%s %s\n", m->name, kinds[m->kind]);
	if (*m->unit)
		fprintf(out, "# UNIT " PREFIX "%s %s\n", m->name, m->unit);
	fprintf(out, "# HELP " PREFIX "%s %s\n", m->name, m->help);
}

/* Label values are words of ours: nothing in them needs an escape. */
static void print_name(FILE *out, const struct brick_metric *m,
		       const struct brick_sample *sample, const char *suffix,
		       const char *le)
{
	const char *open = "{";

	fprintf(out, PREFIX "%s%s", m->name, suffix);
	for (int i = 0; i < 2; i++) {
		if (!m->labels[i])
			continue;
		fprintf(out, "%s%s=\"%s\"", open, m->labels[i]->name,
			sample->labels[i]);
		open = ",";
	}
	if (le) {
		fprintf(out, "%sle=\"%s\"", open, le);
		open = ",";
	}
	fprintf(out, "%s ", *open == ',' ? "}" : "");
}

static void print_value(FILE *out, const struct brick_metric *m, uint64_t value)
{
	if (*m->unit)
		fprintf(out, "%llu.%09llu\n",
			(unsigned long long)(value / NS_PER_S),
			(unsigned long long)(value % NS_PER_S));
	else
		fprintf(out, "%llu\n", (unsigned long long)value);
}

static void print_sample(struct brick_metric_sink *sink,
			 const struct brick_metric *m,
			 const struct brick_sample *sample)
{
	FILE *out = brick_container_of(sink, struct text, sink)->out;

	if (m->kind != BRICK_METRIC_HISTOGRAM) {
		print_name(out, m, sample,
			   m->kind == BRICK_METRIC_COUNTER ? "_total" : "",
			   NULL);
		print_value(out, m, sample->value);
		return;
	}
	for (unsigned int i = 0; i <= m->bounds->n; i++) {
		print_name(out, m, sample, "_bucket",
			   i < m->bounds->n ? m->bounds->list[i].text : "+Inf");
		fprintf(out, "%llu\n", (unsigned long long)sample->buckets[i]);
	}
	print_name(out, m, sample, "_count", NULL);
	fprintf(out, "%llu\n",
		(unsigned long long)sample->buckets[m->bounds->n]);
	print_name(out, m, sample, "_sum", NULL);
	print_value(out, m, sample->sum);
}

char *brick_metrics_text(const struct brick_view *view, size_t *len)
{
	struct text text = {
		.sink = { .metric = print_metric, .sample = print_sample },
	};
	struct brick_gauges gauges;
	char *page = NULL;

	text.out = open_memstream(&page, len);
	if (!text.out)
		return NULL;
	brick_gauges_read(view, &gauges);
	for (size_t i = 0; brick_metrics_show(view, &gauges, i, &text.sink);
	     i++)
		;
	fputs("# EOF\n", text.out);
	if (!fclose(text.out))
		return page;
	free(page);
	return NULL;
}
