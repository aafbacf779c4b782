// SPDX-License-Identifier: BSD-2-Clause
/* Leases: what ends when, whatever the number of sessions. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "brickd/session/lease.h"

#define LENGTH_MS 3000
#define N	  1000
#define PLACE	  65536

static struct brick_leases all;
static struct brick_lease lease[N];

static int begin(void **state)
{
	memset(lease, 0, sizeof(lease));
	brick_leases_init(&all, LENGTH_MS);
	return 0;
}

static enum brick_lease_due due(uint64_t now_ms, struct brick_lease **out)
{
	*out = NULL;
	return brick_leases_due(&all, now_ms, out);
}

static void a_lease_is_old_after_two_thirds_and_over_at_its_end(void **state)
{
	struct brick_lease *out;

	brick_lease_renew(&all, &lease[0], 100);
	assert_int_equal(brick_leases_next_ms(&all), 2100);
	assert_int_equal(due(2099, &out), BRICK_LEASE_NONE_DUE);
	assert_int_equal(due(2100, &out), BRICK_LEASE_OLD);
	assert_ptr_equal(out, &lease[0]);
	assert_int_equal(due(3099, &out), BRICK_LEASE_NONE_DUE);
	assert_int_equal(brick_leases_next_ms(&all), 3100);
	assert_int_equal(brick_lease_left_ms(&all, &lease[0], 3099), 1);
	assert_int_equal(due(3100, &out), BRICK_LEASE_OVER);
	assert_ptr_equal(out, &lease[0]);
	assert_int_equal(due(3100, &out), BRICK_LEASE_OVER);
	brick_lease_stop(&all, &lease[0]);
	assert_int_equal(due(9999, &out), BRICK_LEASE_NONE_DUE);
	assert_int_equal(brick_leases_next_ms(&all), KFB_TIME_NEVER);
	assert_int_equal(brick_lease_left_ms(&all, &lease[0], 0),
			 KFB_TIME_NEVER);
}

static void a_message_makes_an_old_lease_fresh_again(void **state)
{
	struct brick_lease *out;

	brick_lease_renew(&all, &lease[0], 0);
	assert_int_equal(due(2500, &out), BRICK_LEASE_OLD);
	brick_lease_renew(&all, &lease[0], 2999);
	assert_int_equal(due(4998, &out), BRICK_LEASE_NONE_DUE);
	assert_int_equal(due(4999, &out), BRICK_LEASE_OLD);
	assert_int_equal(due(5998, &out), BRICK_LEASE_NONE_DUE);
	assert_int_equal(due(5999, &out), BRICK_LEASE_OVER);
}

/* The next one is old and then over, also after a long sleep. */
static void expect_end(struct brick_lease *next)
{
	struct brick_lease *out;

	assert_int_equal(due(90000, &out), BRICK_LEASE_OLD);
	assert_ptr_equal(out, next);
	assert_int_equal(due(90000, &out), BRICK_LEASE_OVER);
	assert_ptr_equal(out, next);
	brick_lease_stop(&all, out);
}

static void those_that_were_renewed_first_end_first(void **state)
{
	struct brick_lease *out;
	size_t i;

	for (i = 0; i < N; i++)
		brick_lease_renew(&all, &lease[i], i);
	for (i = 0; i < N; i += 2)
		brick_lease_renew(&all, &lease[i], N);
	for (i = 1; i < N; i += 2)
		expect_end(&lease[i]);
	for (i = 0; i < N; i += 2)
		expect_end(&lease[i]);
	assert_int_equal(due(90000, &out), BRICK_LEASE_NONE_DUE);
}

/* What came before now, and after the last message, counts from when it came. */
static void bytes_renew_a_lease_as_of_when_they_came(void **state)
{
	struct brick_lease *out;

	brick_lease_renew(&all, &lease[0], 0);
	brick_lease_renew(&all, &lease[1], 10);
	assert_false(brick_lease_renew_at(&all, &lease[0], 0));
	assert_false(brick_lease_renew_at(&all, &lease[2], 99));
	assert_int_equal(due(2009, &out), BRICK_LEASE_OLD);
	assert_ptr_equal(out, &lease[0]);
	/* It is not old any more, and behind the other now. */
	assert_true(brick_lease_renew_at(&all, &lease[0], 20));
	assert_int_equal(due(2009, &out), BRICK_LEASE_NONE_DUE);
	assert_int_equal(brick_lease_left_ms(&all, &lease[0], 20), LENGTH_MS);
	expect_end(&lease[1]);
	expect_end(&lease[0]);
	assert_int_equal(due(90000, &out), BRICK_LEASE_NONE_DUE);
}

/* Among fresh ones and among old ones it finds its place. */
static void a_lease_that_is_renewed_late_ends_in_its_turn(void **state)
{
	struct brick_lease *out;
	size_t i;

	for (i = 0; i < 4; i++)
		brick_lease_renew(&all, &lease[i], 100 * i);
	assert_int_equal(due(2000, &out), BRICK_LEASE_OLD);
	assert_true(brick_lease_renew_at(&all, &lease[0], 150));
	expect_end(&lease[1]);
	for (i = 0; i < 3; i++)
		assert_int_equal(due(2999, &out), BRICK_LEASE_OLD);
	/* All are old; this one was heard of before that. */
	assert_true(brick_lease_renew_at(&all, &lease[0], 250));
	assert_int_equal(due(2999, &out), BRICK_LEASE_OLD);
	assert_int_equal(due(90000, &out), BRICK_LEASE_OVER);
	assert_ptr_equal(out, &lease[2]);
	brick_lease_stop(&all, out);
	assert_int_equal(due(90000, &out), BRICK_LEASE_OVER);
	assert_ptr_equal(out, &lease[0]);
	brick_lease_stop(&all, out);
	assert_int_equal(due(90000, &out), BRICK_LEASE_OVER);
	assert_ptr_equal(out, &lease[3]);
}

/*
 * When a switch dies thousands of sessions are lost at a time, each a few ms after
 * its last message as its socket counts them: whoever looks through all that were
 * renewed since dies of the one that nobody may look at.
 */
static void its_place_is_looked_for_where_it_was_and_at_the_end(void **state)
{
	struct brick_lease *hidden = mmap(NULL, PLACE, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct brick_lease *out;

	assert_ptr_not_equal(hidden, MAP_FAILED);
	for (size_t i = 0; i < 4; i++)
		brick_lease_renew(&all, &lease[i], 100 * i);
	brick_lease_renew(&all, hidden, 400);
	for (size_t i = 5; i < 9; i++)
		brick_lease_renew(&all, &lease[i], 100 * i);
	assert_int_equal(mprotect(hidden, PLACE, PROT_NONE), 0);
	assert_true(brick_lease_renew_at(&all, &lease[1], 103));
	assert_true(brick_lease_renew_at(&all, &lease[0], 202));
	assert_true(brick_lease_renew_at(&all, &lease[6], 801));
	assert_int_equal(mprotect(hidden, PLACE, PROT_READ | PROT_WRITE), 0);
	expect_end(&lease[1]);
	expect_end(&lease[2]);
	expect_end(&lease[0]);
	expect_end(&lease[3]);
	expect_end(hidden);
	expect_end(&lease[5]);
	expect_end(&lease[7]);
	expect_end(&lease[8]);
	expect_end(&lease[6]);
	assert_int_equal(due(90000, &out), BRICK_LEASE_NONE_DUE);
	munmap(hidden, PLACE);
}

/* Wherever it was and goes to. */
static void each_late_renewal_finds_its_place(void **state)
{
	struct brick_lease *out;
	uint64_t last_ms = 0;
	size_t n = 0;

	for (size_t i = 0; i < N; i++)
		brick_lease_renew(&all, &lease[i], i);
	for (uint64_t i = 0; i < 4ULL * N; i++)
		(void)brick_lease_renew_at(&all, &lease[i * 7919 % N],
					   i * 104729 % (2 * N));
	while (due(90000, &out) != BRICK_LEASE_NONE_DUE) {
		if (!out->is_old || due(90000, &out) != BRICK_LEASE_OVER)
			continue;
		assert_true(out->renewed_ms >= last_ms);
		last_ms = out->renewed_ms;
		brick_lease_stop(&all, out);
		n++;
	}
	assert_int_equal(n, N);
}

static void leases_of_no_length_never_end(void **state)
{
	struct brick_lease *out;

	brick_leases_init(&all, 0);
	brick_lease_renew(&all, &lease[0], 1);
	assert_int_equal(due(UINT64_MAX - 1, &out), BRICK_LEASE_NONE_DUE);
	assert_int_equal(brick_lease_left_ms(&all, &lease[0], 5),
			 KFB_TIME_NEVER);
	brick_lease_stop(&all, &lease[0]);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_lease_is_old_after_two_thirds_and_over_at_its_end),
		CASE(a_message_makes_an_old_lease_fresh_again),
		CASE(those_that_were_renewed_first_end_first),
		CASE(bytes_renew_a_lease_as_of_when_they_came),
		CASE(a_lease_that_is_renewed_late_ends_in_its_turn),
		CASE(its_place_is_looked_for_where_it_was_and_at_the_end),
		CASE(each_late_renewal_finds_its_place),
		CASE(leases_of_no_length_never_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
