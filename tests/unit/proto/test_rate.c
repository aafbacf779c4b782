// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rates, and the bucket by which they are kept: the mean is the rate, whatever
 * is asked for, and nothing waits for longer than it has to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kfb_divide.h"
#include "kfb_rate.h"
#include "kfb_wire.h"

#define NOW 1000000ULL
#define MIB (1ULL << 20)

static struct kfb_bucket bucket(__u64 bytes_per_s, __u32 ops_per_s)
{
	const struct kfb_rate rate = { bytes_per_s, ops_per_s };
	struct kfb_bucket b;

	assert_true(kfb_rate_ok(&rate));
	kfb_bucket_init(&b, &rate, KFB_RATE_BURST_MS, NOW);
	return b;
}

static void quotients_are_those_of_the_processor(void **state)
{
	static const __u64 numbers[] = {
		0,
		1,
		2,
		3,
		999,
		1000,
		0xffff,
		0x10000,
		1 << 20,
		0xffffffff,
		1ULL << 32,
		1ULL << 40,
		(1ULL << 63) - 1,
		1ULL << 63,
		~0ULL,
	};
	unsigned int i, j;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		for (j = 1; j < sizeof(numbers) / sizeof(numbers[0]) - 1; j++)
			assert_true(kfb_divide(numbers[i], numbers[j]) ==
				    numbers[i] / numbers[j]);
}

static bool is_ok(__u64 bytes_per_s, __u32 ops_per_s)
{
	const struct kfb_rate rate = { bytes_per_s, ops_per_s };

	return kfb_rate_ok(&rate);
}

static void rates_have_bounds_or_are_none(void **state)
{
	assert_true(is_ok(0, 0));
	assert_true(is_ok(KFB_RATE_BYTES_MIN, 0));
	assert_true(is_ok(KFB_RATE_BYTES_MAX, ~0U));
	assert_true(is_ok(0, KFB_RATE_OPS_MIN));
	assert_false(is_ok(KFB_RATE_BYTES_MIN - 1, 0));
	assert_false(is_ok(KFB_RATE_BYTES_MAX + 1, 0));
	assert_false(is_ok(0, KFB_RATE_OPS_MIN - 1));
	assert_false(is_ok(1, 1000));
}

static void without_a_rate_nothing_waits(void **state)
{
	struct kfb_bucket b = bucket(0, 0);
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		assert_true(kfb_bucket_is_open(&b, NOW));
		assert_int_equal(kfb_bucket_next_ms(&b), NOW);
		assert_int_equal(kfb_bucket_piece(&b, 1ULL << 30), 1ULL << 30);
		kfb_bucket_take(&b, 1ULL << 30, 1);
	}
}

/* As much as may be for so long; the number of bytes. */
static __u64 move_for(struct kfb_bucket *b, __u64 *now_ms, __u64 for_ms,
		      __u64 bytes, __u64 *n_ops)
{
	__u64 until_ms = *now_ms + for_ms, moved = 0;

	*n_ops = 0;
	while (*now_ms < until_ms) {
		if (!kfb_bucket_is_open(b, *now_ms)) {
			assert_true(kfb_bucket_next_ms(b) > *now_ms);
			*now_ms = kfb_bucket_next_ms(b);
			/* Not before, and then. */
			if (*now_ms < until_ms) {
				assert_false(
					kfb_bucket_is_open(b, *now_ms - 1));
				assert_true(kfb_bucket_is_open(b, *now_ms));
			}
			continue;
		}
		kfb_bucket_take(b, bytes, 1);
		moved += bytes;
		(*n_ops)++;
	}
	return moved;
}

static void the_mean_is_the_rate(void **state)
{
	static const __u64 rates[] = { MIB, 100 * MIB, 12500000000ULL,
				       KFB_RATE_BYTES_MAX };
	static const __u64 lens[] = { 512, 4096, 2 * MIB };
	unsigned int i, j;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		for (j = 0; j < sizeof(lens) / sizeof(lens[0]); j++) {
			/* Short ones at the highest rate take the test too long. */
			__u64 for_ms = rates[i] > 100 * MIB ? 20 : 60000;
			struct kfb_bucket b = bucket(rates[i], 0);
			__u64 now_ms = NOW, moved, n_ops;

			/* What a full one holds at first is not the rate. */
			kfb_bucket_take(&b, rates[i] * KFB_RATE_BURST_MS / 1000,
					0);
			moved = move_for(&b, &now_ms, for_ms, lens[j], &n_ops);
			assert_true(moved <=
				    rates[i] * for_ms / 1000 + lens[j]);
			assert_true(moved + lens[j] + rates[i] / 1000 >=
				    rates[i] * for_ms / 1000);
		}
	}
}

static void operations_are_counted_as_well(void **state)
{
	struct kfb_bucket b = bucket(1000 * MIB, 50);
	__u64 now_ms = NOW, n_ops;

	move_for(&b, &now_ms, 60000, 512, &n_ops);
	/* And what it held at first. */
	assert_in_range(n_ops, 60 * 50, 60 * 50 + 6);
}

static void the_stricter_of_both_holds(void **state)
{
	struct kfb_bucket b = bucket(MIB, 1000);
	__u64 now_ms = NOW, n_ops;

	move_for(&b, &now_ms, 60000, 64 << 10, &n_ops);
	assert_in_range(n_ops, 60 * 16, 60 * 16 + 3);
}

static void who_has_had_nothing_has_a_burst_and_no_more(void **state)
{
	struct kfb_bucket b = bucket(10 * MIB, 0);
	__u64 now_ms = NOW, moved, n_ops;

	moved = move_for(&b, &now_ms, 1, 4096, &n_ops);
	assert_in_range(moved, MIB - 4096, MIB + 4096);
	/* However long it was. */
	now_ms += 1000000;
	moved = move_for(&b, &now_ms, 1, 4096, &n_ops);
	assert_in_range(moved, MIB - 4096, MIB + 4096);
	now_ms = ~0ULL >> 1;
	moved = move_for(&b, &now_ms, 1, 4096, &n_ops);
	assert_in_range(moved, MIB - 4096, MIB + 4096);
}

static void a_long_operation_goes_whole_and_the_next_one_waits(void **state)
{
	struct kfb_bucket b = bucket(MIB, 0);

	assert_true(kfb_bucket_is_open(&b, NOW));
	kfb_bucket_take(&b, 4 * MIB, 1);
	assert_false(kfb_bucket_is_open(&b, NOW));
	assert_false(kfb_bucket_is_open(&b, NOW + 3900));
	assert_true(kfb_bucket_is_open(&b, NOW + 3901));
	assert_int_equal(kfb_bucket_piece(&b, 4 * MIB), 25 * 4096);
	assert_int_equal(kfb_bucket_piece(&b, 512), 512);
}

static void what_has_not_begun_is_given_back(void **state)
{
	struct kfb_bucket b = bucket(MIB, 10);

	kfb_bucket_take(&b, 4 * MIB, 1);
	kfb_bucket_give(&b, 4 * MIB);
	assert_true(kfb_bucket_is_open(&b, NOW));
	kfb_bucket_take(&b, 0, 1);
	assert_false(kfb_bucket_is_open(&b, NOW));
}

static void what_is_owed_is_owed_at_another_rate(void **state)
{
	const struct kfb_rate faster = { 10 * MIB, 0 };
	struct kfb_bucket b = bucket(MIB, 0);

	/* At the old one it takes half a second more. */
	kfb_bucket_take(&b, MIB / 10 + MIB / 2, 1);
	kfb_bucket_change(&b, &faster, NOW);
	assert_false(kfb_bucket_is_open(&b, NOW + 49));
	assert_true(kfb_bucket_is_open(&b, NOW + 51));
	/* A change fills nothing. */
	while (kfb_bucket_is_open(&b, NOW + 1000))
		kfb_bucket_take(&b, 4096, 1);
	kfb_bucket_change(&b, &faster, NOW + 1000);
	assert_false(kfb_bucket_is_open(&b, NOW + 1000));
	/* Without a rate nothing is owed, and a new one begins with its burst. */
	kfb_bucket_take(&b, 100 * MIB, 1);
	kfb_bucket_change(&b, &kfb_rate_none, NOW + 1000);
	assert_true(kfb_bucket_is_open(&b, NOW + 1000));
	kfb_bucket_take(&b, 100 * MIB, 1);
	kfb_bucket_change(&b, &faster, NOW + 1000);
	assert_true(kfb_bucket_is_open(&b, NOW + 1000));
}

static void a_small_rate_does_not_pay_for_a_large_one(void **state)
{
	const struct kfb_rate slower = { MIB, 10 };
	struct kfb_bucket b = bucket(1000 * MIB, 100000);

	kfb_bucket_take(&b, 108 * MIB, 20000);
	kfb_bucket_change(&b, &slower, NOW);
	assert_false(kfb_bucket_is_open(&b, NOW + KFB_RATE_BURST_MS));
	assert_true(kfb_bucket_is_open(&b, NOW + KFB_RATE_BURST_MS + 1));
}

static void a_clock_that_is_behind_fills_nothing(void **state)
{
	struct kfb_bucket b = bucket(MIB, 0);

	kfb_bucket_take(&b, MIB, 1);
	assert_false(kfb_bucket_is_open(&b, NOW - 5000));
	assert_false(kfb_bucket_is_open(&b, NOW + 800));
	assert_true(kfb_bucket_is_open(&b, NOW + 901));
}

static void absurd_numbers_do_not_overflow(void **state)
{
	struct kfb_bucket b = bucket(KFB_RATE_BYTES_MAX, ~0U);
	unsigned int i;

	for (i = 0; i < 10; i++) {
		kfb_bucket_take(&b, ~0ULL, ~0ULL);
		assert_false(kfb_bucket_is_open(&b, NOW));
	}
	assert_true(kfb_bucket_next_ms(&b) > NOW);
	assert_true(kfb_bucket_is_open(&b, kfb_bucket_next_ms(&b)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotients_are_those_of_the_processor),
		cmocka_unit_test(rates_have_bounds_or_are_none),
		cmocka_unit_test(without_a_rate_nothing_waits),
		cmocka_unit_test(the_mean_is_the_rate),
		cmocka_unit_test(operations_are_counted_as_well),
		cmocka_unit_test(the_stricter_of_both_holds),
		cmocka_unit_test(who_has_had_nothing_has_a_burst_and_no_more),
		cmocka_unit_test(
			a_long_operation_goes_whole_and_the_next_one_waits),
		cmocka_unit_test(what_has_not_begun_is_given_back),
		cmocka_unit_test(what_is_owed_is_owed_at_another_rate),
		cmocka_unit_test(a_small_rate_does_not_pay_for_a_large_one),
		cmocka_unit_test(a_clock_that_is_behind_fills_nothing),
		cmocka_unit_test(absurd_numbers_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
