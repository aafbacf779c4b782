// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl top: numbers of a brick at one moment.
 */
#include <string.h>

#include "initiator/brickctl/base/clock.h"
#include "initiator/brickctl/top/top.h"

static struct json_object *samples_of(struct json_object *stats,
				      const char *name, size_t *n)
{
	struct json_object *metrics = ctl_admin_list(stats, "metrics", n);

	return ctl_admin_list(top_find(metrics, "name", name), "samples", n);
}

uint64_t top_metric(struct json_object *stats, const char *name,
		    const char *label, const char *value)
{
	size_t n, i;
	struct json_object *samples = samples_of(stats, name, &n);
	uint64_t sum = 0;

	for (i = 0; i < n; i++) {
		struct json_object *s = json_object_array_get_idx(samples, i);

		if (!label || !strcmp(ctl_admin_text(s, label), value))
			sum += ctl_admin_count(s, "value");
	}
	return sum;
}

void top_times_read(struct json_object *sample, struct top_times *times)
{
	size_t n, i;
	struct json_object *buckets = ctl_admin_list(sample, "buckets", &n);

	times->count = ctl_admin_count(sample, "count");
	times->sum = ctl_admin_number(sample, "sum");
	for (i = 0; i < n && i < TOP_BUCKETS_MAX; i++) {
		struct json_object *b = json_object_array_get_idx(buckets, i);

		times->bounds[i] = ctl_admin_number(b, "le");
		times->buckets[i] = ctl_admin_count(b, "count");
		times->n = (unsigned int)i + 1;
	}
}

int top_sample_take(struct ctl *ctl, struct ctl_admin *a, bool by_client,
		    struct top_sample *sample)
{
	struct top_sample s = { .at_ms = ctl_now_ms() };
	size_t n;
	int status;

	status = ctl_admin_ask(ctl, a, ctl_admin_request("info"), &s.info);
	if (!status)
		status = ctl_admin_ask(ctl, a, ctl_admin_request("stats"),
				       &s.stats);
	if (!status)
		status = ctl_admin_pages(ctl, a, "sessions", &s.sessions);
	if (!status && by_client)
		status = ctl_admin_pages(ctl, a, "clients", &s.clients);
	if (status) {
		top_sample_free(&s);
		return status;
	}
	s.ops = top_metric(s.stats, "ops", NULL, NULL);
	s.failed = s.ops - top_metric(s.stats, "ops", "status", "OK");
	top_times_read(top_find(samples_of(s.stats, "op_seconds", &n), "op",
				"flush"),
		       &s.flushes);
	*sample = s;
	return 0;
}

void top_sample_free(struct top_sample *s)
{
	json_object_put(s->info);
	json_object_put(s->stats);
	json_object_put(s->sessions);
	json_object_put(s->clients);
	*s = (struct top_sample){ 0 };
}

struct top_times top_times_since(const struct top_times *now,
				 const struct top_times *before)
{
	struct top_times t = *now;
	unsigned int i;

	/* The brick leaves out a histogram that is empty. */
	for (i = 0; i < before->n && i < t.n; i++)
		t.buckets[i] -= before->buckets[i];
	t.count -= before->count;
	t.sum -= before->sum;
	return t;
}

double top_times_percentile(const struct top_times *t, uint64_t percent)
{
	unsigned int i;

	for (i = 0; i < t->n; i++) {
		if (t->buckets[i] * 100 >= t->count * percent)
			return t->bounds[i];
	}
	return -1;
}
