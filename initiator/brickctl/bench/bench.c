// SPDX-License-Identifier: BSD-2-Clause
/*
 * The loop of brickctl bench: keeps so many operations under way and takes the
 * time of each, from its post to the end of its last step.
 */
#include "initiator/brickctl/bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "initiator/brickctl/base/clock.h"

/* How long a wait may last before the stop flag is looked at. */
#define LOOK_MS 200

/* One of the operations under way. */
struct bench_slot {
	uint8_t *data;
	uint64_t va;
	uint64_t start_ns;
	bool busy;
	bool written; /* of a durable write: the flush is under way */
};

struct bench_run {
	struct ctl *ctl;
	const struct ctl_bench_job *job;
	struct ctl_bench_result *result;
	struct bench_slot slots[CTL_BENCH_DEPTH_MAX];
	uint64_t next; /* the place of the next operation */
	uint64_t posted;
	unsigned int n_busy;
	uint64_t start_ns;
};

static unsigned int bucket_of(uint64_t ns)
{
	const uint64_t fine = 1U << CTL_BENCH_FINE_BITS;
	unsigned int shift;

	if (ns < fine)
		return (unsigned int)ns;
	shift = 63 - (unsigned int)__builtin_clzll(ns) - CTL_BENCH_FINE_BITS;
	return (unsigned int)(((shift + 1) << CTL_BENCH_FINE_BITS) +
			      ((ns >> shift) - fine));
}

static int fail_post(struct bench_run *run, const struct bench_slot *slot,
		     int err)
{
	return ctl_fail_call(run->ctl, err, "%" PRIu64 " bytes at 0x%" PRIx64,
			     run->job->size, slot->va);
}

/* -EAGAIN leaves the slot free: the queue is full or the lease is renewed. */
static int start_op(struct bench_run *run, struct bench_slot *slot)
{
	const struct ctl_bench_job *job = run->job;
	struct kfbrick *k = run->ctl->k;
	int err;

	slot->va = job->va + run->next * job->size;
	slot->written = false;
	slot->start_ns = ctl_now_ns();
	err = job->op == CTL_BENCH_READ
		      ? kfbrick_post_read(k, slot->va, slot->data, job->size,
					  slot)
		      : kfbrick_post_write(k, slot->va, slot->data, job->size,
					   slot);
	if (err)
		return err;
	run->next = (run->next + 1) % (job->len / job->size);
	run->posted++;
	run->n_busy++;
	slot->busy = true;
	return 0;
}

static bool is_over(const struct bench_run *run, const volatile int *stop)
{
	const struct ctl_bench_job *job = run->job;

	if (*stop || (job->count && run->posted >= job->count))
		return true;
	return job->time_ns && ctl_now_ns() - run->start_ns >= job->time_ns;
}

static int refill_queue(struct bench_run *run, const volatile int *stop)
{
	unsigned int i;
	int err;

	for (i = 0; i < run->job->depth; i++) {
		struct bench_slot *slot = &run->slots[i];

		if (slot->busy)
			continue;
		if (is_over(run, stop))
			break;
		err = start_op(run, slot);
		if (err == -EAGAIN)
			break;
		if (err)
			return fail_post(run, slot, err);
	}
	return CTL_DONE;
}

static int take_completed(struct bench_run *run,
			  const struct kfbrick_completion *done)
{
	struct ctl_bench_result *r = run->result;
	struct bench_slot *slot = done->context;
	uint64_t ns;
	int err;

	if (done->error)
		return ctl_fail_completion(run->ctl, done->error,
					   "%s%" PRIu64 " bytes at 0x%" PRIx64,
					   slot->written ? "flushing " : "",
					   run->job->size, slot->va);
	if (run->job->op == CTL_BENCH_DURABLE && !slot->written) {
		slot->written = true;
		/* The write has just left the queue: there is room. */
		err = kfbrick_post_flush(run->ctl->k, slot);
		return err ? fail_post(run, slot, err) : CTL_DONE;
	}
	ns = ctl_now_ns() - slot->start_ns;
	if (!r->count || ns < r->min_ns)
		r->min_ns = ns;
	if (ns > r->max_ns)
		r->max_ns = ns;
	r->sum_ns += ns;
	r->count++;
	r->buckets[bucket_of(ns)]++;
	slot->busy = false;
	run->n_busy--;
	return CTL_DONE;
}

static int collect_completed(struct bench_run *run, uint64_t *idle_ms)
{
	struct kfbrick_completion done[CTL_BENCH_DEPTH_MAX];
	int status = CTL_DONE;
	int n;
	int i;

	n = kfbrick_poll(run->ctl->k, done, run->job->depth, LOOK_MS);
	if (n > 0)
		*idle_ms = 0;
	else
		*idle_ms += LOOK_MS;
	if (!n && *idle_ms > ctl_timeout_ms(run->ctl))
		n = -ETIMEDOUT;
	if (n < 0)
		return ctl_fail_call(run->ctl, n, "waiting for %u operations",
				     run->n_busy);
	for (i = 0; i < n && !status; i++)
		status = take_completed(run, &done[i]);
	return status;
}

int ctl_bench_measure(struct ctl *ctl, const struct ctl_bench_job *job,
		      const volatile int *stop, struct ctl_bench_result *result)
{
	struct bench_run run = { .ctl = ctl, .job = job, .result = result };
	uint64_t idle_ms = 0;
	unsigned int i;
	int status;

	memset(result, 0, sizeof(*result));
	for (i = 0; i < job->depth; i++)
		run.slots[i].data = job->buffer + i * job->size;
	run.start_ns = ctl_now_ns();
	do {
		status = refill_queue(&run, stop);
		if (!status && (run.n_busy || !is_over(&run, stop)))
			status = collect_completed(&run, &idle_ms);
	} while (!status && (run.n_busy || !is_over(&run, stop)));
	result->elapsed_ns = ctl_now_ns() - run.start_ns;
	return status;
}
