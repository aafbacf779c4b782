// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl ping: how long a request takes.
 */
#include <stdlib.h>

#include "initiator/brickctl/base/brickctl.h"
#include "initiator/brickctl/base/clock.h"

#define COUNT_DEFAULT 10
#define COUNT_MAX     1000000
#define NS_PER_US     1e3

enum {
	OPT_COUNT
};

static const struct ctl_option options[] = {
	[OPT_COUNT] = { "count", 'c', "N", "how many; 10" },
	{ NULL },
};

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

static int ping_times(struct ctl *ctl, uint64_t *ns, size_t count)
{
	struct json_object *object;
	uint64_t start, median;
	size_t i;
	int err;

	for (i = 0; i < count; i++) {
		start = ctl_now_ns();
		err = kfbrick_ping(ctl->k);
		if (err)
			return ctl_fail_call(ctl, err, "%s",
					     ctl->settings.brick);
		ns[i] = ctl_now_ns() - start;
	}
	qsort(ns, count, sizeof(*ns), compare_times);
	median = ns[count / 2];
	object = json_object_new_object();
	ctl_json_text(object, "brick", ctl->settings.brick);
	ctl_json_count(object, "count", count);
	ctl_json_count(object, "min_ns", ns[0]);
	ctl_json_count(object, "median_ns", median);
	ctl_json_count(object, "max_ns", ns[count - 1]);
	return ctl_done(ctl, object,
			"%zu pings of %s: min %.1f, median %.1f, max %.1f us\n",
			count, ctl->settings.brick, (double)ns[0] / NS_PER_US,
			(double)median / NS_PER_US,
			(double)ns[count - 1] / NS_PER_US);
}

static int run_ping(struct ctl *ctl, const struct ctl_args *args)
{
	uint64_t count = COUNT_DEFAULT;
	uint64_t *ns;
	int status;

	status = ctl_read_option(ctl, args, OPT_COUNT, 1, COUNT_MAX, &count);
	if (status)
		return status;
	ns = calloc(count, sizeof(*ns));
	if (!ns)
		return ctl_no_memory(ctl);
	status = ctl_connect(ctl);
	if (!status)
		status = ping_times(ctl, ns, count);
	free(ns);
	return status;
}

const struct ctl_command ctl_cmd_ping = {
	.name = "ping",
	.synopsis = "[-c N]",
	.summary = "Measures how long a request and its answer take",
	.details =
		"The requests follow one another at once; the times are those of the control\n"
		"path, not of one-sided reads and writes.\n"
		"\n"
		"Example: brickctl ping -c 1000",
	.options = options,
	.run = run_ping,
};
