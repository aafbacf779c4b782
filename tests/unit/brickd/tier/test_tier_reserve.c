// SPDX-License-Identifier: BSD-2-Clause
/*
 * MAPs whose blocks take longer to come than a MAP may wait, and that are tried
 * again until they are there.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "tests/unit/brickd/tier/tier_rig.h"

#define FAST	 TIER_RIG_FAST
#define MS_PER_S TIER_RIG_MS_PER_S
#define STEP	 3U /* blocks */
#define STEP_MS	 40U
#define WAIT_MS	 100U
#define RETRY_MS 130U /* while the other one has its time */
#define MOST	 24U /* of what memory holds */
#define LONG_MS	 (20 * MS_PER_S)

static const char clients[2]; /* only their addresses matter */

struct attempt {
	struct brick_tier_job job;
	struct brick_range_lock lock;
	bool is_there;
	bool waits;
	unsigned int n;
	uint64_t again_ms;
};

static struct attempt first, second;

static void lock_granted(struct brick_range_lock *lock)
{
	(void)lock;
}

static void attempt_done(struct brick_tier_job *job)
{
	struct attempt *a = (struct attempt *)job;

	a->waits = false;
	a->is_there = !job->error;
	a->again_ms = rig.now_ms + RETRY_MS;
	if (!job->error)
		return; /* mapped: it stays locked */
	assert_int_equal(job->error, -EAGAIN);
	brick_range_locks_drop(&rig.range_locks, &a->lock);
}

static void attempt_map(struct attempt *a, const char *whose, uint64_t at,
			uint64_t n)
{
	struct brick_span span = { at, at + n };

	a->job = (struct brick_tier_job){ .span = span,
					  .whose = whose,
					  .done = attempt_done };
	a->lock = (struct brick_range_lock){ .span = span,
					     .granted = lock_granted };
	a->waits = true;
	a->n++;
	assert_true(brick_range_locks_take(&rig.range_locks, &a->lock));
	brick_tier_promote(&rig.tier, &a->job);
}

static void attempt_again(struct attempt *a)
{
	if (a->n && !a->waits && !a->is_there && rig.now_ms >= a->again_ms)
		attempt_map(a, a->job.whose, a->job.span.first,
			    a->job.span.end - a->job.span.first);
}

/* Until one of them has all that it wants, or for long. */
static void attempt_until_there(void)
{
	uint64_t end_ms = rig.now_ms + LONG_MS;

	while (!first.is_there && !second.is_there && rig.now_ms < end_ms) {
		tier_rig_run(rig.now_ms + 1);
		attempt_again(&first);
		attempt_again(&second);
	}
}

/* Memory holds the first blocks, the slow tier the next ones. */
static int begin(void **state)
{
	struct brick_store_op more = { .kind = BRICK_STORE_ALLOC,
				       .va = (uint64_t)FAST << KFB_BLOCK_SHIFT,
				       .n_blocks = 2 * MOST };
	int ret = tier_rig_begin(state);

	first = (struct attempt){ 0 };
	second = (struct attempt){ 0 };
	rig.step_ms = STEP_MS;
	rig.config.limits.promote_wait_ms = WAIT_MS;
	rig.tier.low_slots = 0; /* the background has nothing to do */
	if (!ret)
		brick_store_commit(rig.storage.store, &more);
	return ret ? ret : more.error;
}

/* Each wants more than half, so that one of them alone can be served. */
static void two_do_not_undo_each_others_work(void **state)
{
	(void)state;
	attempt_map(&first, &clients[0], FAST, MOST);
	tier_rig_run(rig.now_ms + RETRY_MS);
	attempt_map(&second, &clients[1], FAST + MOST, MOST);
	attempt_until_there();
	assert_true(first.is_there != second.is_there);
	assert_true(first.n > 2);
}

static void the_background_leaves_what_is_reserved(void **state)
{
	(void)state;
	rig.tier.low_slots = FAST - MOST + 2;
	rig.tier.high_slots = FAST - MOST + 6;
	rig.config.limits.tier_rate_bytes = 0;
	attempt_map(&first, &clients[0], FAST, FAST - 1);
	attempt_until_there();
	assert_true(first.is_there);
}

/* What is reserved stays while the MAP waits for which it is. */
static void who_comes_back_in_time_goes_on(void **state)
{
	(void)state;
	rig.step_ms = 2 * STEP_MS;
	rig.config.limits.promote_wait_ms = MS_PER_S;
	attempt_map(&first, &clients[0], FAST, MOST);
	tier_rig_run(rig.now_ms + MS_PER_S - 100);
	attempt_map(&second, &clients[1], FAST + MOST, MOST);
	attempt_until_there();
	assert_true(first.is_there);
	assert_int_equal(first.n, 2);
	assert_true(second.waits);
}

/* Who does not come back keeps nobody out for longer than a MAP may wait. */
static void a_reservation_ends(void **state)
{
	uint64_t begun_ms;

	(void)state;
	attempt_map(&first, &clients[0], FAST, MOST);
	tier_rig_run(rig.now_ms + 2 * WAIT_MS);
	assert_false(first.waits);
	assert_true(first.job.n_moved > 0);
	first.n = 0;
	begun_ms = rig.now_ms;
	attempt_map(&second, &clients[1], FAST + MOST, MOST);
	attempt_until_there();
	assert_true(second.is_there);
	assert_true(rig.now_ms < begun_ms + 3 * BRICK_RECALL_MIN_MS);
}

/* What was mapped and is not any more is there for others at once. */
static void a_map_that_succeeds_reserves_nothing(void **state)
{
	struct brick_range_lock others = { .span = { 0, FAST },
					   .granted = lock_granted };

	(void)state;
	attempt_map(&first, &clients[0], FAST, 2 * STEP);
	attempt_until_there();
	assert_true(first.is_there);
	assert_true(first.n > 1);
	brick_range_locks_drop(&rig.range_locks, &first.lock);
	first.n = 0;
	assert_true(brick_range_locks_take(&rig.range_locks, &others));
	rig.config.limits.promote_wait_ms = LONG_MS;
	attempt_map(&second, &clients[1], FAST + MOST, 2 * STEP);
	tier_rig_run(rig.now_ms + BRICK_RECALL_MIN_MS / 2);
	assert_true(second.is_there);
	brick_range_locks_drop(&rig.range_locks, &others);
}

/* A MAP that may not wait gets on, too, by a step each time. */
static void who_does_not_wait_gets_on(void **state)
{
	(void)state;
	rig.config.limits.promote_wait_ms = 0;
	attempt_map(&first, &clients[0], FAST, 2 * STEP);
	attempt_until_there();
	assert_true(first.is_there);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, tier_rig_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(two_do_not_undo_each_others_work),
		CASE(the_background_leaves_what_is_reserved),
		CASE(who_comes_back_in_time_goes_on),
		CASE(a_reservation_ends),
		CASE(a_map_that_succeeds_reserves_nothing),
		CASE(who_does_not_wait_gets_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
