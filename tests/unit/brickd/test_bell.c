// SPDX-License-Identifier: BSD-2-Clause
/* The bell: who pulls is looked at, once, and who is cut is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>

#include "brickd/net/bell.h"

#define ROPES	8
#define PULLS	20000
#define WAIT_MS 10000

static struct brick_bell bell;
static struct brick_rope ropes[ROPES];
static unsigned int n_rung[ROPES];
static struct brick_rope *cuts; /* the next one that is rung for cuts it */

static void rung(struct brick_rope *rope)
{
	n_rung[rope - ropes]++;
	if (cuts)
		brick_bell_cut(cuts);
	cuts = NULL;
}

static bool is_ringing(int timeout_ms)
{
	struct pollfd fd = { .fd = bell.source.fd, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

static int begin(void **state)
{
	(void)state;
	for (int i = 0; i < ROPES; i++) {
		ropes[i] = (struct brick_rope){ .bell = &bell };
		n_rung[i] = 0;
	}
	return brick_bell_init(&bell, rung);
}

static int end(void **state)
{
	(void)state;
	brick_bell_fini(&bell);
	return 0;
}

static void who_pulls_twice_is_looked_at_once(void **state)
{
	(void)state;
	assert_false(is_ringing(0));
	brick_bell_pull(&ropes[0]);
	brick_bell_pull(&ropes[0]);
	brick_bell_pull(&ropes[1]);
	assert_true(is_ringing(0));
	bell.source.ready(&bell.source);
	assert_int_equal(n_rung[0], 1);
	assert_int_equal(n_rung[1], 1);
	assert_false(is_ringing(0));
	brick_bell_pull(&ropes[0]);
	assert_true(is_ringing(0));
	bell.source.ready(&bell.source);
	assert_int_equal(n_rung[0], 2);
}

static void who_is_cut_is_not_looked_at(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		brick_bell_pull(&ropes[i]);
	brick_bell_cut(&ropes[0]);
	cuts = &ropes[2]; /* while the others are being looked at */
	bell.source.ready(&bell.source);
	assert_int_equal(n_rung[0], 0);
	assert_int_equal(n_rung[1], 1);
	assert_int_equal(n_rung[2], 0);
	brick_bell_cut(&(struct brick_rope){ .bell = NULL });
}

static void *pull_often(void *arg)
{
	for (int i = 0; i < PULLS; i++)
		brick_bell_pull(&ropes[i % ROPES]);
	return arg;
}

/* No pull is lost: after the last one each rope is rung for once more. */
static void no_pull_of_another_thread_is_lost(void **state)
{
	unsigned int before[ROPES];
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, pull_often, NULL), 0);
	for (int i = 0; i < ROPES; i++)
		while (!n_rung[i]) {
			assert_true(is_ringing(WAIT_MS));
			bell.source.ready(&bell.source);
		}
	assert_int_equal(pthread_join(thread, NULL), 0);
	bell.source.ready(&bell.source);
	for (int i = 0; i < ROPES; i++) {
		before[i] = n_rung[i];
		assert_false(ropes[i].is_pulled);
	}
	pull_often(NULL);
	assert_true(is_ringing(0));
	bell.source.ready(&bell.source);
	for (int i = 0; i < ROPES; i++)
		assert_int_equal(n_rung[i], before[i] + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			who_pulls_twice_is_looked_at_once, begin, end),
		cmocka_unit_test_setup_teardown(who_is_cut_is_not_looked_at,
						begin, end),
		cmocka_unit_test_setup_teardown(
			no_pull_of_another_thread_is_lost, begin, end),
	};

	return cmocka_run_group_tests_name("bell", tests, NULL, NULL);
}
