// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/brickd/tier/tier_rig.h"

#include <string.h>
#include <time.h>

#include "brickd/storage/changes.h"
#include "proto/kfb_time.h"

#define WORK_MAX 10000U /* of a test; more is a loop without an end */

struct tier_rig rig;

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
void __wrap_brick_worker_submit(struct brick_worker *worker,
				struct brick_work *work);
void __wrap_brick_worker_finish(struct brick_worker *worker,
				struct brick_work *work);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_BOOTTIME)
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = (time_t)(rig.now_ms / TIER_RIG_MS_PER_S);
	ts->tv_nsec = (long)(rig.now_ms % TIER_RIG_MS_PER_S) * 1000000;
	return 0;
}

/* Tiering has one piece of work under way at a time. */
static struct brick_worker *worker_of_next;
static struct brick_work *next;
static unsigned int n_work;

void __wrap_brick_worker_submit(struct brick_worker *worker,
				struct brick_work *work)
{
	assert_null(next);
	worker_of_next = worker;
	next = work;
}

void __wrap_brick_worker_finish(struct brick_worker *worker,
				struct brick_work *work)
{
	(void)worker;
	work->done(work);
}

static void do_work(void)
{
	struct brick_work_list batch = STAILQ_HEAD_INITIALIZER(batch);
	struct brick_work *work = next;

	assert_true(n_work++ < WORK_MAX);
	next = NULL;
	if (worker_of_next == &rig.storage.store_thread) {
		STAILQ_INSERT_TAIL(&batch, work, link);
		brick_store_thread_run(&rig.storage.store_thread, &batch);
	} else {
		work->run(work);
		rig.now_ms += rig.step_ms;
		work->done(work);
	}
}

void tier_rig_run(uint64_t end_ms)
{
	uint64_t at_ms;

	for (;;) {
		while (next)
			do_work();
		at_ms = rig.tick_ms;
		if (brick_tier_next_ms(&rig.tier) < at_ms)
			at_ms = brick_tier_next_ms(&rig.tier);
		if (at_ms > end_ms)
			break;
		if (at_ms > rig.now_ms)
			rig.now_ms = at_ms;
		if (at_ms == rig.tick_ms)
			rig.tick_ms += BRICK_TICK_MS;
		brick_tier_run(&rig.tier);
	}
	if (rig.now_ms < end_ms)
		rig.now_ms = end_ms;
}

struct brick_store_stats tier_rig_stats(void)
{
	struct brick_store_stats st;

	brick_store_stats(rig.storage.store, &st);
	return st;
}

int tier_rig_begin(void **state)
{
	struct brick_store_format format = { .uuid = { 1 } };
	struct brick_store_open how = { .instance_id = 1 };
	struct brick_store_op fill = { .kind = BRICK_STORE_ALLOC,
				       .n_blocks = TIER_RIG_FAST };
	char err[512];

	(void)state;
	memset(&rig, 0, sizeof(rig));
	rig.storage.counters = &rig.counters;
	rig.sessions.storage = &rig.storage;
	rig.tier.config = &rig.config;
	rig.tier.stop = &rig.stop;
	rig.tier.storage = &rig.storage;
	rig.tier.sessions = &rig.sessions;
	rig.tier.range_locks = &rig.range_locks;
	rig.tier.counters = &rig.counters;
	rig.now_ms = 77 * TIER_RIG_MS_PER_S;
	rig.tick_ms = rig.now_ms + BRICK_TICK_MS;
	next = NULL;
	n_work = 0;
	rig.config.slow = (char *)"fake";
	rig.config.limits.tier_low_percent = 40;
	rig.config.limits.tier_high_percent = 50;
	rig.config.limits.tier_rate_bytes = TIER_RIG_RATE;
	rig.storage.store_thread.ctx = &rig.storage;
	TAILQ_INIT(&rig.sessions.list);
	brick_range_locks_init(&rig.range_locks);
	rig.slow = slow_fake_new(TIER_RIG_SLOW);
	format.slow = &rig.slow->slow;
	how.slow = &rig.slow->slow;
	rig.storage.slow = &rig.slow->slow;
	if (brick_media_open("memory:66M", NULL, &rig.storage.media, err,
			     sizeof(err)) ||
	    brick_store_format(rig.storage.media, &format, err, sizeof(err)) ||
	    brick_store_open(rig.storage.media, &how, &rig.storage.store, err,
			     sizeof(err)))
		return -1;
	brick_store_commit(rig.storage.store, &fill);
	brick_tier_init(&rig.tier);
	return fill.error || tier_rig_stats().slots_total != TIER_RIG_FAST;
}

int tier_rig_end(void **state)
{
	(void)state;
	brick_store_close(rig.storage.store, true);
	brick_media_close(rig.storage.media);
	slow_fake_free(rig.slow);
	return 0;
}
