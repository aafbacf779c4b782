// SPDX-License-Identifier: BSD-2-Clause
/* The room of a receive of several messages: who gets it, and when it is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "rdmw_multi.h"

#define ROUNDS 500
#define UNDER  4 /* messages under way at one time */

static void test_messages_lie_one_behind_the_other(void **state)
{
	struct rdmw_multi m = { .size = 100, .min = 10 };
	__u64 at;

	(void)state;
	assert_true(rdmw_multi_take(&m, 40, &at));
	assert_int_equal(at, 0);
	assert_true(rdmw_multi_take(&m, 0, &at));
	assert_int_equal(at, 40);
	assert_true(rdmw_multi_take(&m, 50, &at));
	assert_int_equal(at, 40);
	assert_false(m.is_over);
	assert_int_equal(m.users, 3);
	assert_true(rdmw_multi_take(&m, 1, &at));
	assert_int_equal(at, 90);
	assert_true(m.is_over);
}

static void test_it_is_given_back_when_the_last_one_is_done(void **state)
{
	struct rdmw_multi m = { .size = 100, .min = 10 };
	__u64 at;

	(void)state;
	assert_true(rdmw_multi_take(&m, 40, &at));
	assert_false(rdmw_multi_done(&m));
	assert_true(rdmw_multi_take(&m, 40, &at));
	assert_true(rdmw_multi_take(&m, 20, &at));
	assert_true(m.is_over);
	assert_false(rdmw_multi_done(&m));
	assert_true(rdmw_multi_done(&m));
}

static void test_what_does_not_fit_ends_it_and_stays_outside(void **state)
{
	struct rdmw_multi m = { .size = 100, .min = 10 };
	__u64 at = 7;

	(void)state;
	assert_true(rdmw_multi_take(&m, 40, &at));
	assert_false(rdmw_multi_done(&m));
	assert_false(rdmw_multi_take(&m, 61, &at));
	assert_true(m.is_over);
	assert_int_equal(m.users, 0);
	assert_int_equal(m.at, 40);
}

static void test_what_is_too_long_for_all_of_it_gets_all(void **state)
{
	struct rdmw_multi m = { .size = 100, .min = 10 };
	__u64 at;

	(void)state;
	assert_true(rdmw_multi_take(&m, 1ULL << 40, &at));
	assert_int_equal(at, 0);
	assert_int_equal(m.at, 100);
	assert_true(m.is_over);
	assert_true(rdmw_multi_done(&m));
}

static void test_a_buffer_below_the_bound_takes_one(void **state)
{
	struct rdmw_multi m = { .size = 100, .min = 1000 };
	__u64 at;

	(void)state;
	assert_true(rdmw_multi_take(&m, 1, &at));
	assert_true(m.is_over);
}

static void test_room_that_was_not_used_is_free_again(void **state)
{
	struct rdmw_multi m = { .size = 100, .min = 10 };
	__u64 first, second;

	(void)state;
	assert_true(rdmw_multi_take(&m, 40, &first));
	assert_true(rdmw_multi_take(&m, 60, &second));
	assert_true(m.is_over);
	/* The last one's is; and the receive goes on. */
	rdmw_multi_undo(&m, 60, second);
	assert_int_equal(m.at, 40);
	assert_false(m.is_over);
	/* One's that others lie behind is not. */
	assert_true(rdmw_multi_take(&m, 5, &second));
	rdmw_multi_undo(&m, 40, first);
	assert_int_equal(m.at, 45);
	assert_int_equal(m.users, 1);
	/* Nor is what was too long for all of it more than all of it. */
	m = (struct rdmw_multi){ .size = 100, .min = 10 };
	assert_true(rdmw_multi_take(&m, UINT64_MAX, &first));
	rdmw_multi_undo(&m, UINT64_MAX, first);
	assert_int_equal(m.at, 0);
	assert_int_equal(m.users, 0);
	assert_false(m.is_over);
}

/* No two messages under way have a byte in common, and none one beyond the end. */
static void test_no_byte_has_two_messages(void **state)
{
	struct {
		__u64 at, len;
	} under[UNDER];
	struct rdmw_multi m = { .size = 1000, .min = 20 };
	__u64 at = 0, len;
	unsigned int n = 0, i;
	int round;

	(void)state;
	srand(1);
	for (round = 0; round < ROUNDS; round++) {
		len = (__u64)rand() % 300;
		if (!m.is_over && n < UNDER && rand() % 2 &&
		    rdmw_multi_take(&m, len, &at)) {
			len = len < m.size - at ? len : m.size - at;
			assert_true(at + len <= m.size);
			for (i = 0; i < n; i++)
				assert_true(at >= under[i].at + under[i].len);
			under[n].at = at;
			under[n++].len = len;
		} else if (n) {
			i = (unsigned int)rand() % n;
			if (rand() % 2)
				rdmw_multi_undo(&m, under[i].len, under[i].at);
			else
				rdmw_multi_done(&m);
			under[i] = under[--n];
		}
		assert_int_equal(m.users, n);
		if (m.is_over && !n)
			m = (struct rdmw_multi){ .size = 1000, .min = 20 };
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_lie_one_behind_the_other),
		cmocka_unit_test(
			test_it_is_given_back_when_the_last_one_is_done),
		cmocka_unit_test(
			test_what_does_not_fit_ends_it_and_stays_outside),
		cmocka_unit_test(test_what_is_too_long_for_all_of_it_gets_all),
		cmocka_unit_test(test_a_buffer_below_the_bound_takes_one),
		cmocka_unit_test(test_room_that_was_not_used_is_free_again),
		cmocka_unit_test(test_no_byte_has_two_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
