// SPDX-License-Identifier: BSD-2-Clause
/* Range locks: overlapping ops go one after the other, in order. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "brickd/mapping/range_locks.h"

static struct brick_range_locks locks;
static int order[8];
static int n_granted;

struct numbered {
	struct brick_range_lock lock;
	int number;
};

static void granted(struct brick_range_lock *lock)
{
	order[n_granted++] = ((struct numbered *)(void *)lock)->number;
}

static bool take(struct numbered *c, int number, uint64_t first, uint64_t end)
{
	c->number = number;
	c->lock.span = (struct brick_span){ first, end };
	c->lock.granted = granted;
	return brick_range_locks_take(&locks, &c->lock);
}

static int begin(void **state)
{
	brick_range_locks_init(&locks);
	n_granted = 0;
	return 0;
}

static void disjoint_range_locks_are_held_at_once(void **state)
{
	struct numbered a, b;

	assert_true(take(&a, 1, 0, 10));
	assert_true(take(&b, 2, 10, 20));
}

static void an_overlapping_range_lock_waits_for_the_first(void **state)
{
	struct numbered a, b;

	assert_true(take(&a, 1, 0, 10));
	assert_false(take(&b, 2, 9, 11));
	assert_true(brick_range_locks_would_wait(
		&locks, (struct brick_span){ 10, 11 }));
	brick_range_locks_drop(&locks, &a.lock);
	assert_int_equal(n_granted, 1);
	assert_int_equal(order[0], 2);
	assert_true(b.lock.held);
}

static void a_waiting_range_lock_is_not_overtaken(void **state)
{
	struct numbered a, b, c;

	assert_true(take(&a, 1, 0, 10));
	assert_false(take(&b, 2, 5, 20));
	/* Free of a, but behind b. */
	assert_false(take(&c, 3, 15, 16));
	brick_range_locks_drop(&locks, &a.lock);
	assert_int_equal(n_granted, 1);
	brick_range_locks_drop(&locks, &b.lock);
	assert_int_equal(n_granted, 2);
	assert_int_equal(order[1], 3);
}

static void a_waiting_range_lock_can_be_dropped(void **state)
{
	struct numbered a, b, c;

	assert_true(take(&a, 1, 0, 10));
	assert_false(take(&b, 2, 0, 30));
	assert_false(take(&c, 3, 20, 30));
	brick_range_locks_drop(&locks, &b.lock);
	assert_int_equal(n_granted, 1);
	assert_int_equal(order[0], 3);
	brick_range_locks_drop(&locks, &a.lock);
	assert_int_equal(n_granted, 1);
}

static void one_that_came_later_and_is_dropped_lets_nobody_go(void **state)
{
	struct numbered a, b, c;

	assert_true(take(&a, 1, 0, 10));
	assert_false(take(&b, 2, 0, 30));
	assert_false(take(&c, 3, 0, 5));
	brick_range_locks_drop(&locks, &c.lock);
	assert_int_equal(n_granted, 0);
	brick_range_locks_drop(&locks, &a.lock);
	assert_int_equal(n_granted, 1);
	assert_int_equal(order[0], 2);
}

static void one_drop_can_let_several_go(void **state)
{
	struct numbered a, b, c, d;

	assert_true(take(&a, 1, 0, 10));
	assert_false(take(&b, 2, 0, 5));
	assert_false(take(&c, 3, 5, 10));
	assert_false(take(&d, 4, 4, 6));
	brick_range_locks_drop(&locks, &a.lock);
	assert_int_equal(n_granted, 2);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 3);
	assert_false(d.lock.held);
}

static void drop_nothing(struct brick_range_lock *lock)
{
	(void)lock;
}

static struct brick_range_lock *dropped;

static void drop_other(struct brick_range_lock *lock)
{
	(void)lock;
	brick_range_locks_drop(&locks, dropped);
}

/* It is held by then, and has not been told. */
static void who_is_told_drops_one_that_is_next(void **state)
{
	struct numbered a, b, c;

	assert_true(take(&a, 1, 0, 10));
	assert_false(take(&b, 2, 0, 5));
	assert_false(take(&c, 3, 5, 10));
	b.lock.granted = drop_other;
	dropped = &c.lock;
	brick_range_locks_drop(&locks, &a.lock);
	assert_int_equal(n_granted, 0);
	assert_true(b.lock.held);
	assert_false(brick_range_locks_would_wait(
		&locks, (struct brick_span){ 5, 10 }));
}

#define CHAIN 2000

static unsigned int depth, deepest, n_chained;

static void drop_at_once(struct brick_range_lock *lock)
{
	depth++;
	if (depth > deepest)
		deepest = depth;
	n_chained++;
	brick_range_locks_drop(&locks, lock);
	depth--;
}

static void a_chain_of_waiting_locks_needs_no_stack(void **state)
{
	struct brick_range_lock *chain = calloc(CHAIN, sizeof(*chain));
	unsigned int i;

	assert_non_null(chain);
	for (i = 0; i < CHAIN; i++) {
		/* Every other one waits for what the one before it lets go. */
		chain[i].span = (struct brick_span){ i % 2, 2 };
		chain[i].granted = drop_at_once;
		assert_int_equal(brick_range_locks_take(&locks, &chain[i]), !i);
	}
	brick_range_locks_drop(&locks, &chain[0]);
	assert_int_equal(n_chained, CHAIN - 1);
	assert_int_equal(deepest, 1);
	assert_true(TAILQ_EMPTY(&locks.list));
	free(chain);
}

static bool is_crowded(uint64_t first, uint64_t end)
{
	return brick_range_locks_is_crowded(&locks,
					    (struct brick_span){ first, end });
}

/* Each counts those it overlaps when it comes, and those behind it when it goes. */
static void so_many_may_overlap_and_no_more(void **state)
{
	static struct numbered wide, narrow[BRICK_RANGE_LOCKS_OVERLAPS];

	assert_true(take(&wide, 0, 0, 2ULL * BRICK_RANGE_LOCKS_OVERLAPS));
	for (uint64_t i = 0; i < BRICK_RANGE_LOCKS_OVERLAPS; i++) {
		assert_false(is_crowded(i, i + 1));
		assert_false(take(&narrow[i], (int)i, i, i + 1));
	}
	/* Behind the wide one; of the narrow ones there is none. */
	assert_true(is_crowded(BRICK_RANGE_LOCKS_OVERLAPS,
			       BRICK_RANGE_LOCKS_OVERLAPS + 1));
	brick_range_locks_drop(&locks, &narrow[0].lock);
	assert_false(is_crowded(0, 1));
	assert_false(take(&narrow[0], 0, 0, 1));
	for (int i = 0; i < BRICK_RANGE_LOCKS_OVERLAPS; i++)
		narrow[i].lock.granted = drop_nothing;
	brick_range_locks_drop(&locks, &wide.lock);
	/* Behind all the narrow ones, of which each has none. */
	assert_true(is_crowded(0, BRICK_RANGE_LOCKS_OVERLAPS));
	assert_false(is_crowded(1, BRICK_RANGE_LOCKS_OVERLAPS));
	assert_false(is_crowded(0, 1));
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(disjoint_range_locks_are_held_at_once),
		TEST(an_overlapping_range_lock_waits_for_the_first),
		TEST(a_waiting_range_lock_is_not_overtaken),
		TEST(a_waiting_range_lock_can_be_dropped),
		TEST(one_that_came_later_and_is_dropped_lets_nobody_go),
		TEST(one_drop_can_let_several_go),
		TEST(a_chain_of_waiting_locks_needs_no_stack),
		TEST(who_is_told_drops_one_that_is_next),
		TEST(so_many_may_overlap_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
