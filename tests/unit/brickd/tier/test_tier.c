// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tiering's clockwork: what tier-rate bounds, how long the background waits
 * after failures, and what becomes of slots that are being zeroed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "brickd/base/counters.h"
#include "brickd/store/store_impl.h"
#include "proto/kfb_time.h"
#include "tests/unit/brickd/tier/tier_rig.h"

#define FAST	 TIER_RIG_FAST
#define SLOW	 TIER_RIG_SLOW
#define MS_PER_S TIER_RIG_MS_PER_S
#define MIB	 (1ULL << 20)
#define RATE	 TIER_RIG_RATE
#define GAPS_MAX 16U
#define LOOK_MS	 10U /* between two looks at what has happened */

/* From the first copy until half of the slots are free. */
static uint64_t demote_half_ms(void)
{
	uint64_t begun_ms = rig.now_ms;

	brick_tier_run(&rig.tier);
	while (tier_rig_stats().slots_ready < FAST / 2) {
		assert_true(rig.now_ms < begun_ms + 3600 * MS_PER_S);
		tier_rig_run(rig.now_ms + LOOK_MS);
	}
	return rig.now_ms - begun_ms;
}

static void the_background_copies_as_fast_as_tier_rate_says(void **state)
{
	uint64_t ms = demote_half_ms();
	uint64_t rate = (FAST / 2) * KFB_BLOCK_BYTES * MS_PER_S / ms;

	(void)state;
	/* The first step is free, the last one is rounded: wide bounds. */
	assert_in_range(rate, RATE * 3 / 4, RATE * 3 / 2);
	assert_int_equal(rig.counters.tier_demoted, FAST / 2);
}

static void half_the_rate_takes_twice_the_time(void **state)
{
	uint64_t ms;

	(void)state;
	ms = demote_half_ms();
	(void)tier_rig_end(NULL);
	assert_int_equal(tier_rig_begin(NULL), 0);
	rig.config.limits.tier_rate_bytes = RATE / 2;
	assert_in_range(demote_half_ms(), 2 * ms - ms / 5, 2 * ms + ms / 5);
}

static void without_a_bound_nothing_is_waited_for(void **state)
{
	(void)state;
	rig.config.limits.tier_rate_bytes = 0;
	brick_tier_run(&rig.tier);
	tier_rig_run(rig.now_ms);
	/* What remains is a matter of ticks, not of bytes. */
	assert_true(demote_half_ms() <= BRICK_TICK_MS * FAST);
}

static void job_done(struct brick_tier_job *job)
{
	job->done = NULL;
}

/* Somebody waits for these: they are not held up. */
static void an_order_is_not_bound_by_the_rate(void **state)
{
	uint64_t id, n_before;
	bool has_ended;

	(void)state;
	rig.config.limits.tier_rate_bytes = MIB;
	/* The background has just taken what it may for some seconds. */
	brick_tier_run(&rig.tier);
	tier_rig_run(rig.now_ms + LOOK_MS);
	n_before = rig.counters.tier_demoted;
	assert_in_range(n_before, 1, FAST / 4);
	assert_int_equal(brick_tier_order(&rig.tier, NULL,
					  (struct brick_span){ 0, FAST / 2 },
					  true, false, &id),
			 0);
	tier_rig_run(rig.now_ms + MS_PER_S / 10);
	assert_int_equal(
		brick_tier_find_order(&rig.tier, id, &has_ended)->n_moved,
		FAST / 2 - n_before);
	assert_true(has_ended);
}

/* The moments at which the background tried to sync, as gaps. */
static unsigned int record_gaps(uint64_t *gaps, uint64_t until_ms)
{
	unsigned int n = 0, seen = rig.slow->n_syncs;
	uint64_t last_ms = rig.now_ms;

	brick_tier_run(&rig.tier);
	while (n < GAPS_MAX && rig.now_ms < until_ms) {
		tier_rig_run(rig.now_ms + LOOK_MS);
		if (rig.slow->n_syncs == seen)
			continue;
		seen = rig.slow->n_syncs;
		gaps[n++] = rig.now_ms - last_ms;
		last_ms = rig.now_ms;
	}
	return n;
}

static void failures_make_the_background_wait_twice_as_long(void **state)
{
	uint64_t gaps[GAPS_MAX], want_ms = MS_PER_S;
	unsigned int n, i;

	(void)state;
	rig.config.limits.tier_rate_bytes = 0;
	rig.slow->fail_write = true;
	n = record_gaps(gaps, rig.now_ms + 400 * MS_PER_S);
	assert_true(n >= 9);
	/* gaps[0] is the first try. To look again is a tick's matter. */
	for (i = 1; i < n; i++) {
		assert_in_range(gaps[i], want_ms - LOOK_MS,
				want_ms + BRICK_TICK_MS + LOOK_MS);
		want_ms = want_ms < 64 * MS_PER_S ? 2 * want_ms : want_ms;
	}
	assert_int_equal(tier_rig_stats().slots_alloc, FAST);
	assert_int_equal(rig.counters.tier_demoted, 0);
	assert_true(rig.counters.tier_write_errors >= n);
}

static void what_works_again_is_used_at_once(void **state)
{
	uint64_t gaps[GAPS_MAX];

	(void)state;
	rig.config.limits.tier_rate_bytes = 0;
	rig.slow->fail_write = true;
	(void)record_gaps(gaps, rig.now_ms + 10 * MS_PER_S);
	rig.slow->fail_write = false;
	/* One more wait, and no other behind it. */
	tier_rig_run(rig.now_ms + 10 * MS_PER_S);
	assert_true(tier_rig_stats().slots_ready > 0);
	assert_int_equal(rig.tier.n_troubles, 0);
	(void)demote_half_ms();
	assert_int_equal(rig.counters.tier_demoted, FAST / 2);
}

static void a_tier_that_has_failed_is_left_alone(void **state)
{
	struct brick_tier_job job = { .span = { 0, 1 }, .done = job_done };
	unsigned int n_syncs;
	bool has_ended;
	uint64_t id;

	(void)state;
	rig.config.limits.tier_rate_bytes = 0;
	rig.config.limits.promote_wait_ms = 10 * MS_PER_S;
	rig.slow->fail_sync = true;
	tier_rig_run(rig.now_ms + MS_PER_S);
	rig.slow->fail_sync = false;
	assert_true(rig.storage.slow_failed);
	assert_false(rig.storage.medium_failed);
	n_syncs = rig.slow->n_syncs;
	tier_rig_run(rig.now_ms + 400 * MS_PER_S);
	assert_int_equal(rig.slow->n_syncs, n_syncs);
	assert_int_equal(rig.counters.tier_demoted, 0);
	assert_int_equal(brick_tier_order(&rig.tier, NULL,
					  (struct brick_span){ 0, 1 }, true,
					  false, &id),
			 0);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_int_equal(
		brick_tier_find_order(&rig.tier, id, &has_ended)->error, -EIO);
	assert_true(has_ended);
	brick_tier_promote(&rig.tier, &job);
	assert_int_equal(job.error, 0);
}

/* One slot that cannot be written costs that slot, and a moment. */
static void a_bad_slot_is_left_out(void **state)
{
	(void)state;
	rig.slow->bad_write = 1;
	(void)demote_half_ms();
	assert_int_equal(tier_rig_stats().slow_bad, 1);
	assert_int_equal(rig.counters.tier_write_errors, 1);
	assert_int_equal(rig.counters.tier_demoted, FAST / 2);
	assert_int_equal(tier_rig_stats().slots_alloc +
				 tier_rig_stats().slow_alloc,
			 FAST);
}

static void a_block_that_cannot_be_read_is_said_to_who_waits(void **state)
{
	struct brick_tier_job job = { .span = { 0, 1 }, .done = job_done };
	struct brick_run run;

	(void)state;
	rig.config.limits.promote_wait_ms = 10 * MS_PER_S;
	(void)demote_half_ms();
	assert_int_equal(brick_store_lookup(rig.storage.store, 0, 1, &run), 0);
	assert_true(run.slow);
	rig.slow->bad_read = brick_slot_number(run.slot) + 1;
	brick_tier_promote(&rig.tier, &job);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_null(job.done);
	assert_int_equal(job.error, -EIO);
	assert_int_equal(rig.counters.tier_read_errors, 1);
	/* Others are served, and it is, too, once it can be read. */
	job = (struct brick_tier_job){ .span = { 1, 2 }, .done = job_done };
	brick_tier_promote(&rig.tier, &job);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_int_equal(job.error, 0);
	rig.slow->bad_read = 0;
	job = (struct brick_tier_job){ .span = { 0, 1 }, .done = job_done };
	brick_tier_promote(&rig.tier, &job);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_int_equal(job.error, 0);
	assert_int_equal(brick_store_lookup(rig.storage.store, 0, 1, &run), 0);
	assert_false(run.slow);
}

/* As a start finds it where the medium has bad lines. */
static void lose_block(uint64_t block)
{
	struct brick_store *s = rig.storage.store;
	uint64_t slot;

	brick_store_lock(s);
	assert_true(brick_index_get(&s->index, block, &slot));
	assert_int_equal(
		brick_index_put(&s->index, block, slot | BRICK_INDEX_LOST), 0);
	brick_lru_del(&s->at_rest, slot);
	brick_store_unlock(s);
}

static void
a_block_that_memory_has_lost_is_no_trouble_of_the_slow_tier(void **state)
{
	const struct brick_tier_job *order;
	bool has_ended;
	uint64_t id;

	(void)state;
	rig.config.limits.tier_low_percent = 0;
	rig.config.limits.tier_high_percent = 0;
	lose_block(0);
	assert_int_equal(brick_tier_order(&rig.tier, NULL,
					  (struct brick_span){ 0, 3 }, true,
					  false, &id),
			 0);
	tier_rig_run(rig.now_ms + MS_PER_S);
	order = brick_tier_find_order(&rig.tier, id, &has_ended);
	assert_true(has_ended);
	assert_int_equal(order->n_moved, 2);
	assert_int_equal(order->n_failed, 1);
	/* Nothing rests for it. */
	assert_int_equal(rig.tier.trouble_ms, 0);
	assert_int_equal(rig.counters.tier_write_errors, 0);
	assert_int_equal(rig.counters.tier_read_errors, 1);
	/* Nor where it is all that there is to be moved. */
	assert_int_equal(brick_tier_order(&rig.tier, NULL,
					  (struct brick_span){ 0, 1 }, true,
					  false, &id),
			 0);
	tier_rig_run(rig.now_ms + MS_PER_S);
	order = brick_tier_find_order(&rig.tier, id, &has_ended);
	assert_true(has_ended);
	assert_int_equal(order->n_failed, 1);
	assert_int_equal(rig.tier.trouble_ms, 0);
}

/* ---- while the cleaner has the free slots ---- */

static struct brick_media_ops media_ops;
static struct brick_slow_ops slow_ops;
static const struct brick_media_ops *real_media;
static const struct brick_slow_ops *real_slow;
static void (*meanwhile)(void);

static void happens_meanwhile(void)
{
	void (*fn)(void) = meanwhile;

	meanwhile = NULL;
	if (fn)
		fn();
}

static void zero_with_media_op(struct brick_media *m, uint64_t off, size_t len)
{
	happens_meanwhile();
	real_media->zero(m, off, len);
}

static int zero_with_slow_op(struct brick_slow *s, uint64_t off, size_t len)
{
	happens_meanwhile();
	return real_slow->zero(s, off, len);
}

/* All free slots of memory are being zeroed while it happens. */
static void while_memory_is_zeroed(void (*what)(void))
{
	uint64_t n = tier_rig_stats().slots_dirty;

	real_media = rig.storage.media->ops;
	media_ops = *real_media;
	media_ops.zero = zero_with_media_op;
	rig.storage.media->ops = &media_ops;
	meanwhile = what;
	assert_int_equal(
		brick_store_clean_one(rig.storage.store, (unsigned int)n), n);
	assert_null(meanwhile);
}

static void while_slow_tier_is_zeroed(void (*what)(void))
{
	uint64_t n = tier_rig_stats().slow_dirty;

	real_slow = rig.slow->slow.ops;
	slow_ops = *real_slow;
	slow_ops.zero = zero_with_slow_op;
	rig.slow->slow.ops = &slow_ops;
	meanwhile = what;
	assert_int_equal(brick_store_clean_slow(rig.storage.store, SLOW), n);
	assert_null(meanwhile);
}

static void change_blocks(enum brick_store_op_kind kind, uint64_t first,
			  uint64_t n)
{
	struct brick_store_op op = { .kind = kind,
				     .va = first << KFB_BLOCK_SHIFT,
				     .n_blocks = n };

	brick_store_commit(rig.storage.store, &op);
	assert_int_equal(op.error, 0);
}

static void the_background_looks(void)
{
	assert_int_equal(tier_rig_stats().slots_ready, 0);
	tier_rig_run(rig.now_ms + 10 * MS_PER_S);
}

static void slots_being_zeroed_are_free_to_the_background(void **state)
{
	(void)state;
	(void)demote_half_ms();
	while_memory_is_zeroed(the_background_looks);
	tier_rig_run(rig.now_ms + 10 * MS_PER_S);
	assert_int_equal(rig.counters.tier_demoted, FAST / 2);
	assert_int_equal(rig.counters.tier_write_errors, 0);
}

static struct brick_tier_job promotion;

static void a_block_is_promoted(void)
{
	brick_tier_promote(&rig.tier, &promotion);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_non_null(promotion.done);
}

static void a_promotion_waits_for_slots_being_zeroed(void **state)
{
	(void)state;
	rig.config.limits.promote_wait_ms = 10 * MS_PER_S;
	promotion =
		(struct brick_tier_job){ .span = { 0, 1 }, .done = job_done };
	(void)demote_half_ms();
	while_memory_is_zeroed(a_block_is_promoted);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_null(promotion.done);
	assert_int_equal(promotion.error, 0);
	assert_int_equal(rig.counters.tier_demoted, FAST / 2);
}

static uint64_t order;

static void blocks_are_demoted(void)
{
	bool has_ended;

	assert_int_equal(tier_rig_stats().slow_ready, 3);
	assert_int_equal(brick_tier_order(&rig.tier, NULL,
					  (struct brick_span){ 0, FAST / 2 },
					  true, false, &order),
			 0);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_int_equal(
		brick_tier_find_order(&rig.tier, order, &has_ended)->n_moved,
		3);
	assert_false(has_ended);
}

static void an_order_waits_for_slots_being_zeroed(void **state)
{
	bool has_ended;

	(void)state;
	rig.tier.low_slots = 0;
	change_blocks(BRICK_STORE_ALLOC, FAST, SLOW - 3);
	change_blocks(BRICK_STORE_FREE, FAST, SLOW - 3);
	while_slow_tier_is_zeroed(blocks_are_demoted);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_int_equal(
		brick_tier_find_order(&rig.tier, order, &has_ended)->error, 0);
	assert_true(has_ended);
	assert_int_equal(
		brick_tier_find_order(&rig.tier, order, &has_ended)->n_moved,
		FAST / 2);
}

/* All of memory is given out, and all that is free is being zeroed. */
static void room_is_made_when_slots_are_zeroed(void **state)
{
	(void)state;
	rig.tier.low_slots = 0;
	rig.config.limits.promote_wait_ms = 10 * MS_PER_S;
	promotion = (struct brick_tier_job){ .span = { FAST, FAST + 1 },
					     .done = job_done };
	change_blocks(BRICK_STORE_ALLOC, FAST, SLOW - 3);
	assert_int_equal(brick_tier_order(&rig.tier, NULL,
					  (struct brick_span){ 0, 3 }, true,
					  false, &order),
			 0);
	tier_rig_run(rig.now_ms + MS_PER_S);
	change_blocks(BRICK_STORE_FREE, FAST + 1, SLOW - 4);
	change_blocks(BRICK_STORE_ALLOC, FAST + 1, 3);
	assert_int_equal(tier_rig_stats().slots_ready, 0);
	while_slow_tier_is_zeroed(a_block_is_promoted);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_null(promotion.done);
	assert_int_equal(promotion.error, 0);
}

#define CASE(fn) \
	cmocka_unit_test_setup_teardown(fn, tier_rig_begin, tier_rig_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_background_copies_as_fast_as_tier_rate_says),
		CASE(half_the_rate_takes_twice_the_time),
		CASE(without_a_bound_nothing_is_waited_for),
		CASE(an_order_is_not_bound_by_the_rate),
		CASE(failures_make_the_background_wait_twice_as_long),
		CASE(what_works_again_is_used_at_once),
		CASE(a_tier_that_has_failed_is_left_alone),
		CASE(a_bad_slot_is_left_out),
		CASE(slots_being_zeroed_are_free_to_the_background),
		CASE(a_promotion_waits_for_slots_being_zeroed),
		CASE(an_order_waits_for_slots_being_zeroed),
		CASE(room_is_made_when_slots_are_zeroed),
		CASE(a_block_that_memory_has_lost_is_no_trouble_of_the_slow_tier),
		CASE(a_block_that_cannot_be_read_is_said_to_who_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
