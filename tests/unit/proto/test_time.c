// SPDX-License-Identifier: BSD-2-Clause
/*
 * Backoff with bounds and jitter, and the lease of a client.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <cmocka.h>

#include "kfb_time.h"

#define NOW 1000000ULL

static __u64 delay(struct kfb_retry *retry, __u32 random, __u32 asked_ms)
{
	__u64 at_ms = 0;

	assert_int_equal(kfb_retry_next(retry, NOW, random, asked_ms, &at_ms),
			 0);
	assert_true(at_ms >= NOW);
	return at_ms - NOW;
}

static void bounds_of_backoff_are_checked(void **state)
{
	struct kfb_retry retry;

	assert_int_equal(kfb_retry_init(&retry, 0, 10, 0), -EINVAL);
	assert_int_equal(kfb_retry_init(&retry, 11, 10, 0), -EINVAL);
	assert_int_equal(kfb_retry_init(&retry, 10, 10, 0), 0);
}

static void delays_double_up_to_the_bound(void **state)
{
	static const __u32 expected[] = { 100, 200, 400, 800, 1000, 1000 };
	struct kfb_retry retry;
	unsigned int i;

	assert_int_equal(kfb_retry_init(&retry, 100, 1000, 0), 0);
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(delay(&retry, 0, 0), expected[i]);
	kfb_retry_succeeded(&retry);
	assert_int_equal(delay(&retry, 0, 0), 100);
}

static void jitter_takes_up_to_half_of_the_delay(void **state)
{
	struct kfb_retry retry;
	__u64 least = ~0ULL, most = 0;
	__u32 random;

	for (random = 0; random < 1000; random++) {
		__u64 ms;

		assert_int_equal(kfb_retry_init(&retry, 100, 1000, 0), 0);
		ms = delay(&retry, random, 0);
		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	assert_int_equal(least, 50);
	assert_int_equal(most, 100);
	assert_int_equal(kfb_retry_init(&retry, 1, 1, 0), 0);
	assert_int_equal(delay(&retry, ~0U, 0), 1);
}

static void the_longest_bound_does_not_overflow(void **state)
{
	struct kfb_retry retry;
	unsigned int i;
	__u64 at_ms;

	assert_int_equal(kfb_retry_init(&retry, 1, ~0U, 0), 0);
	for (i = 0; i < 32; i++)
		assert_int_equal(delay(&retry, 0, 0), 1ULL << i);
	assert_int_equal(delay(&retry, 0, 0), ~0U);
	retry.attempts = ~0U;
	assert_int_equal(delay(&retry, 0, 0), ~0U);
	assert_int_equal(retry.attempts, ~0U);
	assert_int_equal(kfb_retry_next(&retry, ~0ULL - 5, 0, 0, &at_ms), 0);
	assert_int_equal(at_ms, KFB_TIME_NEVER - 1);
}

static void attempts_end_when_they_are_bounded(void **state)
{
	struct kfb_retry retry;
	__u64 at_ms = 7;

	assert_int_equal(kfb_retry_init(&retry, 1, 1, 2), 0);
	delay(&retry, 0, 0);
	delay(&retry, 0, 0);
	assert_int_equal(kfb_retry_next(&retry, NOW, 0, 0, &at_ms), -ETIMEDOUT);
	assert_int_equal(at_ms, 7);
	kfb_retry_succeeded(&retry);
	delay(&retry, 0, 0);
}

static void what_a_reject_asks_for_is_heeded_within_the_bound(void **state)
{
	struct kfb_retry retry;

	assert_int_equal(kfb_retry_init(&retry, 100, 1000, 0), 0);
	assert_int_equal(delay(&retry, 0, 700), 700);
	assert_int_equal(delay(&retry, 0, 150), 200);
	assert_int_equal(delay(&retry, 0, ~0U), 1000);
}

static bool is_valid(const struct kfb_lease *lease, __u64 now)
{
	return lease->until_ms == KFB_TIME_NEVER || now < lease->until_ms;
}

static void the_client_counts_a_lease_from_sending_less_a_margin(void **state)
{
	struct kfb_lease lease = { 0 };

	assert_false(is_valid(&lease, 0));
	assert_false(is_valid(&lease, NOW));
	kfb_lease_renewed(&lease, NOW, 30000, 5000);
	assert_true(is_valid(&lease, NOW + 24999));
	assert_false(is_valid(&lease, NOW + 25000));
}

static void replies_that_overtake_each_other_never_shorten_a_lease(void **state)
{
	struct kfb_lease lease = { 0 };

	kfb_lease_renewed(&lease, NOW + 500, 1000, 100);
	kfb_lease_renewed(&lease, NOW, 1000, 100);
	assert_true(is_valid(&lease, NOW + 1399));
}

static void a_margin_above_the_lease_leaves_nothing(void **state)
{
	struct kfb_lease lease = { 0 };

	kfb_lease_renewed(&lease, NOW, 1000, 1000);
	assert_false(is_valid(&lease, NOW));
	kfb_lease_renewed(&lease, NOW, 1000, 2000);
	assert_false(is_valid(&lease, 0));
}

static void a_brick_without_leases_gives_handles_without_end(void **state)
{
	struct kfb_lease lease = { 0 };

	kfb_lease_renewed(&lease, NOW, 0, 100);
	assert_true(is_valid(&lease, ~0ULL));
	lease.until_ms = 0;
	kfb_lease_renewed(&lease, ~0ULL - 5, 1000, 100);
	assert_false(is_valid(&lease, ~0ULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_of_backoff_are_checked),
		cmocka_unit_test(delays_double_up_to_the_bound),
		cmocka_unit_test(jitter_takes_up_to_half_of_the_delay),
		cmocka_unit_test(the_longest_bound_does_not_overflow),
		cmocka_unit_test(attempts_end_when_they_are_bounded),
		cmocka_unit_test(
			what_a_reject_asks_for_is_heeded_within_the_bound),
		cmocka_unit_test(
			the_client_counts_a_lease_from_sending_less_a_margin),
		cmocka_unit_test(
			replies_that_overtake_each_other_never_shorten_a_lease),
		cmocka_unit_test(a_margin_above_the_lease_leaves_nothing),
		cmocka_unit_test(
			a_brick_without_leases_gives_handles_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
