// SPDX-License-Identifier: BSD-2-Clause
/*
 * Promotions of several clients: who waits for whom, and who has what comes free
 * when there is not enough for all. Orders have their own room beside them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "tests/unit/brickd/tier/tier_rig.h"

#define FAST	   TIER_RIG_FAST
#define SLOW	   TIER_RIG_SLOW
#define MS_PER_S   TIER_RIG_MS_PER_S
#define PROMOTE_MS (10 * MS_PER_S)
#define JOBS_MAX   16U

static const char clients[3]; /* only their addresses matter */

/* MAPs that wait: their blocks are locked; what is promoted is mapped, and stays. */
struct promotion {
	struct brick_tier_job job;
	struct brick_range_lock lock;
	uint64_t ended_ms; /* 0: it waits */
	unsigned int place; /* in the order in which they ended */
};

static struct promotion promotions[JOBS_MAX];
static unsigned int n_promotions, n_ended;
static struct promotion *again;
static uint64_t order_id, n_ordered_moved; /* before the last promotion */

static void lock_granted(struct brick_range_lock *lock)
{
	(void)lock;
}

static void promotion_done(struct brick_tier_job *job)
{
	struct promotion *p = (struct promotion *)job;

	assert_int_equal(p->ended_ms, 0);
	p->ended_ms = rig.now_ms;
	p->place = ++n_ended;
	if (job->error)
		brick_range_locks_drop(&rig.range_locks, &p->lock);
}

static struct promotion *promote(const char *whose, uint64_t first, uint64_t n)
{
	struct promotion *p = &promotions[n_promotions++];

	assert_true(n_promotions <= JOBS_MAX);
	*p = (struct promotion){
		.job = { .span = { first, first + n },
			 .whose = whose,
			 .done = promotion_done },
		.lock = { .span = { first, first + n },
			  .granted = lock_granted },
	};
	assert_true(brick_range_locks_take(&rig.range_locks, &p->lock));
	brick_tier_promote(&rig.tier, &p->job);
	return p;
}

/* Memory holds the first blocks, the slow tier the next ones. */
static int begin(void **state)
{
	struct brick_store_op more = { .kind = BRICK_STORE_ALLOC,
				       .va = (uint64_t)FAST << KFB_BLOCK_SHIFT,
				       .n_blocks = SLOW - 8 };
	int ret = tier_rig_begin(state);

	n_promotions = 0;
	n_ended = 0;
	order_id = 0;
	n_ordered_moved = 0;
	rig.config.limits.promote_wait_ms = PROMOTE_MS;
	rig.tier.low_slots = 0; /* the background has nothing to do */
	if (!ret)
		brick_store_commit(rig.storage.store, &more);
	return ret ? ret : more.error;
}

static uint64_t order(const char *whose, uint64_t first, uint64_t n,
		      bool to_slow)
{
	uint64_t id;

	assert_int_equal(
		brick_tier_order(&rig.tier, whose,
				 (struct brick_span){ first, first + n },
				 to_slow, false, &id),
		0);
	return id;
}

static void clients_have_turns(void **state)
{
	struct promotion *many[8], *one;
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++)
		many[i] = promote(&clients[0], FAST + 2 * i, 2);
	one = promote(&clients[1], FAST + 20, 2);
	tier_rig_run(rig.now_ms + MS_PER_S);
	for (i = 0; i < 8; i++)
		assert_int_equal(many[i]->job.error, 0);
	assert_int_equal(n_ended, 9);
	assert_int_equal(one->place, 2);
}

/* A new one of the same client is behind a client that waits. */
static void promote_again(struct brick_tier_job *job)
{
	bool has_ended;

	promotion_done(job);
	if (n_promotions == 8) {
		if (order_id)
			n_ordered_moved =
				brick_tier_find_order(&rig.tier, order_id,
						      &has_ended)
					->n_moved;
		return;
	}
	again = promote(&clients[0], FAST + 2 * n_promotions, 2);
	again->job.done = promote_again;
}

static void who_comes_again_is_behind_who_waits(void **state)
{
	struct promotion *first, *one, *last;

	(void)state;
	first = promote(&clients[0], FAST, 2);
	first->job.done = promote_again;
	one = promote(&clients[1], FAST + 40, 2);
	last = promote(&clients[1], FAST + 42, 2);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_int_equal(n_ended, 8);
	assert_int_equal(first->place, 1);
	assert_int_equal(one->place, 2);
	assert_int_equal(last->place, 4);
	assert_int_equal(again->place, 8);
}

static void more_than_memory_is_refused_at_once(void **state)
{
	struct promotion *p = promote(&clients[0], FAST, FAST + 1);

	(void)state;
	assert_int_equal(p->job.error, -ENOSPC);
	assert_int_equal(p->ended_ms, rig.now_ms);
	assert_true(TAILQ_EMPTY(&rig.tier.waiting));
}

/* Each wants more than half: the first one is not interrupted. */
static void two_that_want_too_much_do_not_starve_each_other(void **state)
{
	struct promotion *a, *b;

	(void)state;
	a = promote(&clients[0], FAST, 20);
	b = promote(&clients[1], FAST + 20, 20);
	tier_rig_run(rig.now_ms + 2 * PROMOTE_MS);
	assert_int_equal(a->job.error, 0);
	/* What the other one has is locked, and in use. */
	assert_int_equal(b->job.error, -EAGAIN);
	assert_int_equal(b->job.n_moved, FAST - 20);
}

/* All that is in memory is locked by somebody: a MAP waits for its time. */
static void who_waits_for_others_ends_in_time(void **state)
{
	struct brick_range_lock all = { .span = { 0, FAST },
					.granted = lock_granted };
	struct promotion *first, *second;
	uint64_t begun_ms = rig.now_ms;

	(void)state;
	assert_true(brick_range_locks_take(&rig.range_locks, &all));
	first = promote(&clients[0], FAST, 4);
	tier_rig_run(rig.now_ms + MS_PER_S);
	second = promote(&clients[1], FAST + 4, 1);
	tier_rig_run(begun_ms + 3 * PROMOTE_MS);
	assert_int_equal(first->job.error, -EAGAIN);
	assert_in_range(first->ended_ms, begun_ms + PROMOTE_MS,
			begun_ms + PROMOTE_MS + BRICK_TICK_MS);
	assert_int_equal(second->job.error, -EAGAIN);
	assert_in_range(second->ended_ms, begun_ms + PROMOTE_MS + MS_PER_S,
			begun_ms + PROMOTE_MS + MS_PER_S + BRICK_TICK_MS);
	brick_range_locks_drop(&rig.range_locks, &all);
}

/* MAPs that come without an end leave steps to an administrator's order. */
static void orders_are_not_held_up_by_maps(void **state)
{
	struct promotion *first;

	(void)state;
	first = promote(&clients[0], FAST, 2);
	first->job.done = promote_again;
	order_id = order(NULL, FAST - 3, 3, true);
	tier_rig_run(rig.now_ms + MS_PER_S);
	assert_int_equal(n_ended, 8);
	assert_int_equal(n_ordered_moved, 3);
}

/* Orders of clients whose MAPs do not wait take none of the administrators'. */
static void clients_leave_orders_to_administrators(void **state)
{
	struct brick_range_lock all = { .span = { 0, FAST + SLOW },
					.granted = lock_granted };
	uint64_t id;
	unsigned int i;

	(void)state;
	assert_true(brick_range_locks_take(&rig.range_locks, &all));
	for (i = 0; i < BRICK_TIER_ASKED_EACH; i++)
		(void)order(&clients[0], FAST + i, 1, false);
	assert_int_equal(brick_tier_order(&rig.tier, &clients[0],
					  (struct brick_span){ FAST, FAST + 1 },
					  false, false, &id),
			 -EUSERS);
	(void)order(&clients[1], FAST, 1, false);
	for (i = 0; i < BRICK_TIER_ORDERS_MAX; i++)
		(void)order(NULL, FAST, SLOW / 2, false);
	assert_int_equal(brick_tier_order(&rig.tier, NULL,
					  (struct brick_span){ FAST, FAST + 1 },
					  false, false, &id),
			 -EUSERS);
	brick_range_locks_drop(&rig.range_locks, &all);
	rig.stop.is_stopping = true;
	brick_tier_run(&rig.tier);
	assert_int_equal(rig.tier.n_orders, 0);
	assert_int_equal(rig.tier.n_asked, 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, tier_rig_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(clients_have_turns),
		CASE(who_comes_again_is_behind_who_waits),
		CASE(more_than_memory_is_refused_at_once),
		CASE(two_that_want_too_much_do_not_starve_each_other),
		CASE(who_waits_for_others_ends_in_time),
		CASE(orders_are_not_held_up_by_maps),
		CASE(clients_leave_orders_to_administrators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
