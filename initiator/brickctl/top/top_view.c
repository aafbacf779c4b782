// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl top: the lines that show a brick, at most 80 columns each.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/top/top.h"

#define MS_PER_S    1000
#define S_PER_HOUR  3600
#define S_PER_MIN   60
#define NAME_WIDTH  12
#define STORE_WIDTH 30

void top_print_cut(FILE *out, const char *text, int width)
{
	int n = 0;

	for (; *text && n < width; text++, n++)
		fputc(isprint((unsigned char)*text) ? *text : '?', out);
	fprintf(out, "%*s", width - n, "");
}

struct json_object *top_find(struct json_object *list, const char *member,
			     const char *text)
{
	size_t i, n = list ? json_object_array_length(list) : 0;

	for (i = 0; i < n; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);

		if (!strcmp(ctl_admin_text(one, member), text))
			return one;
	}
	return NULL;
}

double top_span_s(const struct top_sample *now, const struct top_sample *before)
{
	uint64_t ms = before ? now->at_ms - before->at_ms
			     : ctl_admin_count(now->info, "uptime_ms");

	return ms ? (double)ms / MS_PER_S : 1;
}

static void draw_brick(FILE *out, const struct top_sample *now)
{
	uint64_t up_s = ctl_admin_count(now->info, "uptime_ms") / MS_PER_S;

	fputs("brickd ", out);
	top_print_cut(out, ctl_admin_text(now->info, "version"), 8);
	top_print_cut(out, ctl_admin_text(now->info, "store"), STORE_WIDTH);
	fprintf(out, "  up %" PRIu64 ":%02u:%02u%s\n", up_s / S_PER_HOUR,
		(unsigned int)(up_s % S_PER_HOUR / S_PER_MIN),
		(unsigned int)(up_s % S_PER_MIN),
		top_metric(now->stats, "medium_failed", NULL, NULL)
			? "  MEDIUM FAILED"
			: "");
}

static void draw_slots(FILE *out, const struct top_sample *now)
{
	static const char *const states[] = { "allocated", "clean", "dirty",
					      "bad" };
	unsigned int i;

	fprintf(out, "slots %" PRIu64,
		top_metric(now->stats, "slots", NULL, NULL));
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		fprintf(out, "  %s %" PRIu64, states[i],
			top_metric(now->stats, "slots", "state", states[i]));
	fprintf(out, "  quarantine %" PRIu64 "\n",
		top_metric(now->stats, "quarantine_blocks", NULL, NULL));
}

static void draw_rates(FILE *out, const struct top_sample *now,
		       const struct top_sample *before)
{
	static const struct top_sample nothing;
	const struct top_sample *from = before ? before : &nothing;
	struct top_times t = top_times_since(&now->flushes, &from->flushes);
	double s = top_span_s(now, before);
	double most = top_times_percentile(&t, 99);

	fprintf(out, "%s  ops/s %.1f  failed/s %.1f\n",
		before ? "now" : "since the start",
		(double)(now->ops - from->ops) / s,
		(double)(now->failed - from->failed) / s);
	fprintf(out, "flushes/s %.1f", (double)t.count / s);
	if (t.count) {
		fprintf(out, "  mean %.3f ms", t.sum / (double)t.count * 1e3);
		if (most < 0)
			fputs("  99% beyond all bounds", out);
		else
			fprintf(out, "  99%% up to %g ms", most * 1e3);
	}
	fputc('\n', out);
}

static void draw_counts(FILE *out, const struct top_sample *now)
{
	struct json_object *stats = now->stats;

	fprintf(out,
		"sessions %zu  busy %" PRIu64 "  waiting %" PRIu64
		"  mappings %" PRIu64 "  refused %" PRIu64
		"  auth failures %" PRIu64 "\n",
		json_object_array_length(now->sessions),
		top_metric(stats, "ops_in_flight", NULL, NULL),
		top_metric(stats, "range_locks_waiting", NULL, NULL),
		top_metric(stats, "mappings", NULL, NULL),
		top_metric(stats, "connections_refused", NULL, NULL),
		top_metric(stats, "auth_failures", NULL, NULL));
}

/* ---- sessions ---- */

struct row {
	struct json_object *session;
	uint64_t ops; /* in the span */
};

/* The busiest first; else as the brick lists them. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a;
	const struct row *y = b;

	if (x->ops != y->ops)
		return x->ops < y->ops ? 1 : -1;
	return strcmp(ctl_admin_text(x->session, "session"),
		      ctl_admin_text(y->session, "session"));
}

static void draw_row(FILE *out, const struct row *row, double s)
{
	struct json_object *session = row->session;

	top_print_cut(out, ctl_admin_text(session, "session"), 16);
	fputc(' ', out);
	top_print_cut(out, ctl_admin_text(session, "client"), NAME_WIDTH);
	fputc(' ', out);
	top_print_cut(out, ctl_admin_text(session, "state"), 8);
	if (json_object_object_get_ex(session, "lease_left_ms", NULL))
		fprintf(out, " %6.1f",
			(double)ctl_admin_count(session, "lease_left_ms") /
				MS_PER_S);
	else
		fprintf(out, " %6s", "-");
	fprintf(out,
		" %2" PRIu64 " %5" PRIu64 " %6" PRIu64 " %4" PRIu64 " %8.1f\n",
		ctl_admin_count(session, "queues"),
		ctl_admin_count(session, "mappings"),
		ctl_admin_count(session, "handles"),
		ctl_admin_count(session, "ops_in_flight"),
		(double)row->ops / s);
}

static void draw_sessions(FILE *out, const struct top_sample *now,
			  const struct top_sample *before)
{
	size_t n = json_object_array_length(now->sessions);
	struct row *rows = calloc(n + 1, sizeof(*rows));
	size_t i;

	if (!rows)
		return;
	for (i = 0; i < n; i++) {
		struct json_object *s =
			json_object_array_get_idx(now->sessions, i);
		struct json_object *old =
			top_find(before ? before->sessions : NULL, "session",
				 ctl_admin_text(s, "session"));

		rows[i].session = s;
		rows[i].ops = ctl_admin_session_ops(s) -
			      (old ? ctl_admin_session_ops(old) : 0);
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	fprintf(out, "%-16s %-*s %-8s %6s %2s %5s %6s %4s %8s\n", "SESSION",
		NAME_WIDTH, "CLIENT", "STATE", "LEASE", "Q", "MAPS", "PIECES",
		"BUSY", "OPS/S");
	for (i = 0; i < n; i++)
		draw_row(out, &rows[i], top_span_s(now, before));
	free(rows);
}

void top_draw(FILE *out, const struct top_sample *now,
	      const struct top_sample *before, int sort)
{
	draw_brick(out, now);
	draw_slots(out, now);
	draw_rates(out, now, before);
	draw_counts(out, now);
	fputc('\n', out);
	if (sort < 0)
		draw_sessions(out, now, before);
	else
		top_draw_clients(out, now, before, sort);
}
