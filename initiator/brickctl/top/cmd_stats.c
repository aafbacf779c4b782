// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl stats: what the brick of this machine is and what it has counted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/admin/admin.h"
#include "initiator/brickctl/top/top.h"

#define COLUMN_WIDTH 42

static void print_percentile(const struct top_times *times, uint64_t percent)
{
	double bound = top_times_percentile(times, percent);

	if (bound < 0)
		printf(", %" PRIu64 "%% beyond all bounds", percent);
	else
		printf(", %" PRIu64 "%% up to %g", percent, bound);
}

static void print_sample(struct json_object *metric, struct json_object *sample)
{
	const char *unit = ctl_admin_text(metric, "unit");
	struct top_times times = { 0 };
	char column[128];
	int len;

	len = snprintf(column, sizeof(column), "%s",
		       ctl_admin_text(metric, "name"));
	json_object_object_foreach(sample, name, value) {
		/* All other members are labels. */
		if (strcmp(name, "value") && strcmp(name, "count") &&
		    strcmp(name, "sum") && strcmp(name, "buckets") &&
		    len < (int)sizeof(column))
			len += snprintf(column + len,
					sizeof(column) - (size_t)len, " %s=%s",
					name, json_object_get_string(value));
	}
	printf("%-*s ", COLUMN_WIDTH, column);
	if (strcmp(ctl_admin_text(metric, "type"), "histogram")) {
		if (*unit)
			printf("%.3f\n", ctl_admin_number(sample, "value"));
		else
			printf("%" PRIu64 "\n",
			       ctl_admin_count(sample, "value"));
		return;
	}
	top_times_read(sample, &times);
	printf("%" PRIu64, times.count);
	if (times.count) {
		printf(", mean %g", times.sum / (double)times.count);
		print_percentile(&times, 50);
		print_percentile(&times, 99);
	}
	putchar('\n');
}

static void print_brick(struct json_object *info)
{
	size_t n, i;
	struct json_object *listen = ctl_admin_list(info, "listen", &n);

	printf("brickd %s serves %s, uuid %s, instance %s\n",
	       ctl_admin_text(info, "version"), ctl_admin_text(info, "store"),
	       ctl_admin_text(info, "uuid"),
	       ctl_admin_text(info, "instance_id"));
	for (i = 0; i < n; i++)
		printf("on %s\n",
		       json_object_get_string(
			       json_object_array_get_idx(listen, i)));
}

static void print_stats(const struct ctl *ctl, struct json_object *info,
			struct json_object *stats)
{
	size_t n, n_samples, i, j;
	struct json_object *list = ctl_admin_list(stats, "metrics", &n);

	if (ctl->json) {
		json_object_object_del(info, "ok");
		json_object_object_add(info, "metrics", json_object_get(list));
		ctl_json_print(json_object_get(info));
		return;
	}
	print_brick(info);
	for (i = 0; i < n; i++) {
		struct json_object *metric = json_object_array_get_idx(list, i);
		struct json_object *samples =
			ctl_admin_list(metric, "samples", &n_samples);

		for (j = 0; j < n_samples; j++)
			print_sample(metric,
				     json_object_array_get_idx(samples, j));
	}
}

static int run_stats(struct ctl *ctl, const struct ctl_args *args)
{
	struct json_object *info = NULL;
	struct json_object *stats = NULL;
	struct ctl_admin a;
	int status;

	status = ctl_admin_open(ctl, &a);
	if (status)
		return status;
	status = ctl_admin_ask(ctl, &a, ctl_admin_request("info"), &info);
	if (!status)
		status = ctl_admin_ask(ctl, &a, ctl_admin_request("stats"),
				       &stats);
	ctl_admin_close(&a);
	if (!status)
		print_stats(ctl, info, stats);
	json_object_put(stats);
	json_object_put(info);
	return status;
}

const struct ctl_command ctl_cmd_stats = {
	.name = "stats",
	.synopsis = "",
	.summary = "Shows what the brick of this machine has counted",
	.details =
		"Asks brickd over its admin socket (--admin), as root or as the user that brickd\n"
		"runs as. brickd-metrics(7) explains each number. With --json all buckets of the\n"
		"histograms are shown, without it their mean and two percentiles.\n"
		"\n"
		"Example: brickctl stats",
	.run = run_stats,
};
