// SPDX-License-Identifier: BSD-2-Clause
/*
 * Power failures: every order of writes that the rules allow is tried, and
 * each of the rules is left out once to see that it is missed.
 *
 * CRASH_SEED, CRASH_STEPS and CRASH_RANDOM make a longer or another run.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "brickd/store/format/format.h"
#include "brickd/store/store.h"
#include "crash_run.h"
#include "crash_states.h"

static uint64_t from_env(const char *name, uint64_t value)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : value;
}

static struct crash_run plan(uint64_t seed)
{
	struct crash_run run = {
		.seed = from_env("CRASH_SEED", 1) * 1000003 + seed,
		.n_slots = 6,
		.n_steps = (unsigned int)from_env("CRASH_STEPS", 250),
		.exhaustive = 128,
		.random = from_env("CRASH_RANDOM", 24),
		.open_every = 4,
		.nest_every = 16,
		.first_tx = 7,
	};

	return run;
}

static void expect_no_violation(struct crash_run *run)
{
	crash_run(run);
	print_message("seed %llu: %u steps, %llu states, %llu in recovery\n",
		      (unsigned long long)run->seed, run->step,
		      (unsigned long long)run->n_states,
		      (unsigned long long)run->n_nested);
	if (run->violation)
		fail_msg("step %u: %s", run->step, run->violation);
	assert_true(run->n_states > 100);
	assert_true(run->n_nested > 10);
}

static void no_power_failure_breaks_a_promise(void **state)
{
	struct crash_run run = plan(1);

	(void)state;
	expect_no_violation(&run);
}

static void a_full_store_survives_power_failures(void **state)
{
	struct crash_run run = plan(2);

	(void)state;
	run.n_slots = 3;
	expect_no_violation(&run);
}

static void the_batch_number_wraps_under_power_failures(void **state)
{
	struct crash_run run = plan(3);

	(void)state;
	run.first_tx = BRICK_FMT_TX_MASK - 4;
	expect_no_violation(&run);
}

static void one_lost_line_costs_nothing(void **state)
{
	struct crash_run run = plan(4);

	(void)state;
	run.poison = true;
	run.nest_every = 0;
	crash_run(&run);
	if (run.violation)
		fail_msg("step %u: %s", run.step, run.violation);
	assert_true(run.n_states > 100);
}

static void threads_in_any_order_keep_their_promises(void **state)
{
	struct crash_run run = plan(5);

	(void)state;
	run.threads = true;
	expect_no_violation(&run);
}

static void blocks_that_change_the_tier_are_in_one_place_whole(void **state)
{
	struct crash_run run = plan(6);

	(void)state;
	run.n_slots = 3;
	run.n_slow = 4;
	expect_no_violation(&run);
}

static void moves_beside_other_threads_keep_their_promises(void **state)
{
	struct crash_run run = plan(7);

	(void)state;
	run.n_slots = 3;
	/* Enough for two moves at a time. */
	run.n_slow = 34;
	/* Each of these states takes longer. */
	run.n_steps /= 4;
	run.exhaustive = 32;
	run.random = 8;
	run.threads = true;
	expect_no_violation(&run);
}

static bool check_half_format(struct crash_medium *cm, void *arg)
{
	struct brick_store_open o = { .instance_id = 1 };
	struct brick_store_stats st;
	unsigned int *n_whole = arg;
	struct brick_store *s;
	char err[256];
	int ret = brick_store_open(&cm->m, &o, &s, err, sizeof(err));

	if (ret) {
		assert_int_equal(ret, -ENOENT);
		return true;
	}
	++*n_whole;
	brick_store_stats(s, &st);
	assert_int_equal(st.slots_clean, st.slots_total);
	assert_int_equal(brick_store_recovery(s)->records_resolved, 0);
	assert_int_equal(brick_store_recovery(s)->records_repaired, 0);
	brick_store_close(s, false);
	return true;
}

static void fail_in_format(struct crash_medium *cm, void *arg)
{
	uint64_t seed = 9;
	struct crash_states states = {
		.exhaustive = 64,
		.random = 100,
		.seed = &seed,
		.fn = check_half_format,
		.arg = arg,
	};

	crash_states(cm, &states);
}

static void an_interrupted_format_is_whole_or_not_a_store(void **state)
{
	struct brick_store_format f = { .uuid = { 1 } };
	struct crash_medium *cm = crash_medium_new(4, 0, 2);
	unsigned int n_whole = 0;
	char err[256];

	(void)state;
	cm->on_point = fail_in_format;
	cm->arg = &n_whole;
	assert_int_equal(brick_store_format(&cm->m, &f, err, sizeof(err)), 0);
	assert_true(n_whole > 2);
	crash_medium_free(cm);
}

/* Some load must notice what is left out. */
static void expect_violation(struct crash_sabotage sabotage)
{
	uint64_t seed;

	for (seed = 1; seed <= 8; seed++) {
		struct crash_run run = plan(seed);

		run.n_steps = 400;
		run.sabotage = sabotage;
		if (sabotage.skip_sync) {
			run.n_slots = 3;
			run.n_slow = 4;
		}
		crash_run(&run);
		if (run.violation) {
			print_message("step %u: %s\n", run.step, run.violation);
			return;
		}
	}
	fail_msg("no load noticed");
}

static void a_missing_first_fence_is_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_drain = 1 });
}

static void a_missing_second_fence_is_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_drain = 2 });
}

static void a_missing_third_fence_of_births_is_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_drain = 3 });
}

static void a_missing_fourth_fence_of_births_is_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_drain = 4 });
}

static void missing_flushes_of_metadata_are_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_meta_flush = true });
}

static void missing_flushes_of_the_mirror_are_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_mirror_flush = true });
}

static void missing_flushes_of_data_are_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_data_flush = true });
}

static void missing_zeros_are_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_zero = true });
}

static void missing_syncs_of_the_slow_tier_are_noticed(void **state)
{
	(void)state;
	expect_violation((struct crash_sabotage){ .skip_sync = true });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_power_failure_breaks_a_promise),
		cmocka_unit_test(a_full_store_survives_power_failures),
		cmocka_unit_test(the_batch_number_wraps_under_power_failures),
		cmocka_unit_test(one_lost_line_costs_nothing),
		cmocka_unit_test(threads_in_any_order_keep_their_promises),
		cmocka_unit_test(
			blocks_that_change_the_tier_are_in_one_place_whole),
		cmocka_unit_test(
			moves_beside_other_threads_keep_their_promises),
		cmocka_unit_test(an_interrupted_format_is_whole_or_not_a_store),
		cmocka_unit_test(a_missing_first_fence_is_noticed),
		cmocka_unit_test(a_missing_second_fence_is_noticed),
		cmocka_unit_test(a_missing_third_fence_of_births_is_noticed),
		cmocka_unit_test(a_missing_fourth_fence_of_births_is_noticed),
		cmocka_unit_test(missing_flushes_of_metadata_are_noticed),
		cmocka_unit_test(missing_flushes_of_the_mirror_are_noticed),
		cmocka_unit_test(missing_flushes_of_data_are_noticed),
		cmocka_unit_test(missing_zeros_are_noticed),
		cmocka_unit_test(missing_syncs_of_the_slow_tier_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
