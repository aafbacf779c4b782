// SPDX-License-Identifier: BSD-2-Clause
/*
 * Power failures: every order of writes that the rules allow is tried, and
 * each of the rules is left out once to see that it is missed.
 *
 * CRASH_SEED, CRASH_STEPS and CRASH_RANDOM make a longer or another run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "brickd/store/format.h"
#include "crash_run.h"

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

/* Some load must notice what is left out. */
static void expect_violation(struct crash_sabotage sabotage)
{
	uint64_t seed;

	for (seed = 1; seed <= 8; seed++) {
		struct crash_run run = plan(seed);

		run.n_steps = 400;
		run.sabotage = sabotage;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_power_failure_breaks_a_promise),
		cmocka_unit_test(a_full_store_survives_power_failures),
		cmocka_unit_test(the_batch_number_wraps_under_power_failures),
		cmocka_unit_test(a_missing_first_fence_is_noticed),
		cmocka_unit_test(a_missing_second_fence_is_noticed),
		cmocka_unit_test(a_missing_third_fence_of_births_is_noticed),
		cmocka_unit_test(a_missing_fourth_fence_of_births_is_noticed),
		cmocka_unit_test(missing_flushes_of_metadata_are_noticed),
		cmocka_unit_test(missing_flushes_of_the_mirror_are_noticed),
		cmocka_unit_test(missing_flushes_of_data_are_noticed),
		cmocka_unit_test(missing_zeros_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
