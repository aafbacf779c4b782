// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl ping: how long a request takes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "initiator/brickctl/base/brickctl.h"
#include "initiator/brickctl/base/clock.h"

#define COUNT_DEFAULT 10
#define COUNT_MAX     1000000

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

static double ping_us_of(uint64_t ns)
{
	return (double)ns / 1e3;
}

static void print_times(const struct ctl *ctl, uint64_t *ns, size_t count)
{
	struct json_object *object;
	uint64_t median;

	qsort(ns, count, sizeof(*ns), compare_times);
	median = ns[count / 2];
	if (!ctl->json) {
		printf("%zu pings of %s: min %.1f, median %.1f, max %.1f us\n",
		       count, ctl->settings.brick, ping_us_of(ns[0]),
		       ping_us_of(median), ping_us_of(ns[count - 1]));
		return;
	}
	object = json_object_new_object();
	ctl_json_text(object, "brick", ctl->settings.brick);
	ctl_json_count(object, "count", count);
	ctl_json_count(object, "min_ns", ns[0]);
	ctl_json_count(object, "median_ns", median);
	ctl_json_count(object, "max_ns", ns[count - 1]);
	ctl_json_print(object);
}

static int ping_times(struct ctl *ctl, uint64_t *ns, size_t count)
{
	uint64_t start;
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
	print_times(ctl, ns, count);
	return CTL_DONE;
}

static int run_ping(struct ctl *ctl, const struct ctl_args *args)
{
	const char *text = args->options[OPT_COUNT];
	uint64_t count = COUNT_DEFAULT;
	int status = CTL_DONE;
	uint64_t *ns;

	if (text)
		status = ctl_read_number(ctl, "--count", text, COUNT_MAX,
					 &count);
	if (status)
		return status;
	if (!count)
		return ctl_usage(ctl, "--count \"%s\": at least 1", text);
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
