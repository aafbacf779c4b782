// SPDX-License-Identifier: BSD-2-Clause
/*
 * The cache of mappings: its rules one by one, and random histories against a
 * model that keeps the time of each block's last use.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "blocks/kfb_mapcache.h"

#define N     24
#define CAP   8
#define NONE  KFB_MAPCACHE_NONE
#define STEPS 2000000

static struct kfb_mapcache_node nodes[N];
static struct kfb_block table[2 * N];
static struct kfb_mapcache c;

static int setup(void **state)
{
	memset(nodes, 0xa5, sizeof(nodes));
	for (uint32_t i = 0; i < 2 * N; i++)
		table[i] = (struct kfb_block){ .state = KFB_BLOCK_UNMAPPED };
	kfb_mapcache_init(&c, nodes, table, N, CAP);
	return 0;
}

static int move(uint32_t block, enum kfb_block_event event)
{
	enum kfb_block_state to = table[block].state;
	int does = kfb_mapcache_move(&c, block, event, &to);

	if (does < 0)
		assert_int_equal(to, table[block].state);
	table[block].state = to;
	return does < 0 ? does : 0;
}

static int begin(uint32_t block)
{
	return move(block, KFB_BLOCK_MAP);
}

static void done(uint32_t block)
{
	assert_int_equal(move(block, KFB_BLOCK_DONE), 0);
}

static int take(uint32_t block)
{
	return move(block, KFB_BLOCK_EVICT);
}

static void keep(uint32_t block)
{
	assert_int_equal(move(block, KFB_BLOCK_STAY), 0);
}

static uint32_t victim(void)
{
	uint32_t block = kfb_mapcache_victim(&c);

	if (block != NONE)
		assert_int_equal(take(block), 0);
	return block;
}

/* What was evicted is unmapped. */
static void gone(uint32_t block)
{
	assert_int_equal(move(block, KFB_BLOCK_UNMAP), 0);
	assert_int_equal(move(block, KFB_BLOCK_GONE), 0);
}

static void map(uint32_t block)
{
	assert_int_equal(begin(block), 0);
	done(block);
}

static bool get(uint32_t block)
{
	bool is_first;

	return kfb_mapcache_get(&c, block, &is_first);
}

static void use(uint32_t block)
{
	assert_true(get(block));
	kfb_mapcache_put(&c, block);
}

static void fill(uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		map(first + i);
}

/* ---- the rules -------------------------------------------------------- */

static void only_what_is_in_is_got(void **state)
{
	assert_false(get(3));
	assert_int_equal(begin(3), 0);
	assert_false(get(3));
	assert_false(kfb_mapcache_pin(&c, 3));
	assert_int_equal(begin(3), -EINVAL);
	done(3);
	use(3);
	assert_int_equal(begin(3), -EINVAL);
	assert_int_equal(victim(), 3);
	assert_false(get(3));
	assert_int_equal(begin(3), -EINVAL);
	gone(3);
	assert_false(get(3));
	assert_int_equal(c.n, 0);
}

static void no_more_than_it_holds(void **state)
{
	fill(0, CAP - 1);
	assert_int_equal(begin(20), 0);
	assert_int_equal(begin(21), -ENOSPC);
	done(20);
	assert_int_equal(begin(21), -ENOSPC);
	assert_int_equal(victim(), 0);
	/* Its room is not given back yet. */
	assert_int_equal(begin(21), -ENOSPC);
	gone(0);
	assert_int_equal(begin(21), 0);
	assert_int_equal(move(21, KFB_BLOCK_FAILED), 0);
	assert_int_equal(begin(22), 0);
}

static void the_longest_unused_goes(void **state)
{
	fill(0, CAP);
	use(0);
	use(2);
	use(1);
	use(0);
	for (uint32_t i = 3; i < CAP; i++)
		assert_int_equal(victim(), i);
	assert_int_equal(victim(), 2);
	assert_int_equal(victim(), 1);
	assert_int_equal(victim(), 0);
	assert_int_equal(victim(), NONE);
}

static void what_is_pinned_stays(void **state)
{
	fill(0, 3);
	assert_true(get(0));
	assert_true(get(0));
	assert_true(kfb_mapcache_pin(&c, 1));
	assert_int_equal(take(0), -EBUSY);
	assert_int_equal(victim(), 2);
	assert_int_equal(victim(), NONE);
	assert_false(kfb_mapcache_is_idle(&c, 0, 3));
	kfb_mapcache_put(&c, 0);
	assert_int_equal(victim(), NONE);
	kfb_mapcache_put(&c, 1);
	assert_false(kfb_mapcache_is_idle(&c, 0, 3));
	assert_true(kfb_mapcache_is_idle(&c, 1, 2));
	kfb_mapcache_put(&c, 0);
	assert_true(kfb_mapcache_is_idle(&c, 0, 3));
	assert_int_equal(victim(), 1);
	assert_int_equal(victim(), 0);
}

static void what_was_going_can_stay(void **state)
{
	fill(0, 2);
	assert_int_equal(take(1), 0);
	assert_int_equal(take(1), -EINVAL);
	assert_int_equal(take(9), -EINVAL);
	keep(1);
	use(1);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.evictions, 0);
}

static void counts_are_of_requests(void **state)
{
	map(0);
	assert_true(kfb_mapcache_pin(&c, 0));
	kfb_mapcache_put(&c, 0);
	use(0);
	use(0);
	assert_false(get(1));
	assert_int_equal(c.misses, 1);
	assert_int_equal(c.hits, 2);
	assert_int_equal(victim(), 0);
	gone(0);
	assert_int_equal(c.evictions, 1);
}

/* ---- in advance ------------------------------------------------------- */

static void miss(uint32_t block)
{
	map(block);
	assert_true(kfb_mapcache_pin(&c, block));
	kfb_mapcache_put(&c, block);
}

static void two_in_a_row_want_more(void **state)
{
	miss(4);
	assert_int_equal(kfb_mapcache_ahead(&c), NONE);
	miss(5);
	/* A quarter of the cache, each once. */
	assert_int_equal(kfb_mapcache_ahead(&c), 6);
	assert_int_equal(kfb_mapcache_ahead(&c), 7);
	assert_int_equal(kfb_mapcache_ahead(&c), NONE);
}

static void the_first_use_wants_more(void **state)
{
	bool is_first;

	miss(4);
	miss(5);
	assert_int_equal(kfb_mapcache_ahead(&c), 6);
	assert_int_equal(move(6, KFB_BLOCK_AHEAD), 0);
	done(6);
	assert_true(kfb_mapcache_get(&c, 6, &is_first));
	assert_true(is_first);
	assert_int_equal(kfb_mapcache_ahead(&c), 7);
	assert_int_equal(kfb_mapcache_ahead(&c), 8);
	assert_true(kfb_mapcache_get(&c, 6, &is_first));
	assert_false(is_first);
	assert_int_equal(c.prefetches, 1);
	assert_int_equal(c.prefetch_hits, 1);
}

static void some_rows_at_once(void **state)
{
	miss(0);
	miss(8);
	miss(16);
	miss(1);
	assert_int_equal(kfb_mapcache_ahead(&c), 2);
	miss(9);
	assert_int_equal(kfb_mapcache_ahead(&c), 10);
	miss(17);
	assert_int_equal(kfb_mapcache_ahead(&c), 18);
}

static void what_is_there_is_not_wanted(void **state)
{
	map(6);
	miss(4);
	miss(5);
	assert_int_equal(kfb_mapcache_ahead(&c), 7);
	assert_int_equal(kfb_mapcache_ahead(&c), NONE);
}

static void a_row_ends_with_the_device(void **state)
{
	miss(N - 3);
	miss(N - 2);
	assert_int_equal(kfb_mapcache_ahead(&c), N - 1);
	assert_int_equal(kfb_mapcache_ahead(&c), NONE);
	miss(N - 1);
	assert_int_equal(kfb_mapcache_ahead(&c), NONE);
	/* None before the first. */
	miss(0);
	assert_int_equal(kfb_mapcache_ahead(&c), NONE);
}

static void a_small_cache_maps_nothing_in_advance(void **state)
{
	kfb_mapcache_init(&c, nodes, table, N, 3);
	miss(0);
	miss(1);
	assert_int_equal(kfb_mapcache_ahead(&c), NONE);
}

static void a_cache_grows(void **state)
{
	struct kfb_mapcache_node more[2 * N];

	fill(0, CAP);
	assert_true(get(3));
	/* What is new is the caller's to clear, without its lock. */
	memset(more, 0, sizeof(more));
	more[2 * N - 1].newer = 7;
	kfb_mapcache_grow(&c, more, table, 2 * N);
	assert_int_equal(more[2 * N - 1].newer, 7);
	memset(nodes, 0xff, sizeof(nodes));
	assert_int_equal(victim(), 0);
	gone(0);
	map(2 * N - 1);
	use(2 * N - 1);
	assert_false(get(N));
	kfb_mapcache_put(&c, 3);
	assert_int_equal(victim(), 1);
}

static void fewer_for_a_while(void **state)
{
	fill(0, 4);
	kfb_mapcache_set_limit(&c, 3);
	assert_int_equal(begin(9), -ENOSPC);
	assert_int_equal(victim(), 0);
	gone(0);
	assert_int_equal(begin(9), -ENOSPC);
	assert_int_equal(victim(), 1);
	gone(1);
	map(9);
	kfb_mapcache_set_limit(&c, CAP + 5);
	fill(10, CAP - 3);
	assert_int_equal(begin(20), -ENOSPC);
	kfb_mapcache_set_limit(&c, 0);
	assert_int_equal(c.limit, 1);
}

/* ---- the model -------------------------------------------------------- */

/* OUT is not mapped, GOING quiet or its key about to die. */
enum whereabouts {
	OUT,
	COMING,
	IN,
	GOING
};

struct block {
	enum whereabouts state;
	uint32_t pins;
	uint64_t used;
};

static struct block blocks[N];
static uint64_t now;
static unsigned int n_full, n_busy, n_gone, n_none;

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

static uint32_t n_taken(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N; i++)
		n += blocks[i].state != OUT;
	return n;
}

static uint32_t oldest(void)
{
	const struct block *found = NULL;

	for (uint32_t i = 0; i < N; i++) {
		if (blocks[i].state != IN || blocks[i].pins)
			continue;
		if (!found || blocks[i].used < found->used)
			found = &blocks[i];
	}
	return found ? (uint32_t)(found - blocks) : NONE;
}

static void try_get(uint32_t i)
{
	struct block *b = &blocks[i];
	bool is_in = b->state == IN;

	assert_int_equal(below(2) ? get(i) : kfb_mapcache_pin(&c, i), is_in);
	b->pins += is_in;
}

static void try_put(uint32_t i)
{
	struct block *b = &blocks[i];

	if (!b->pins)
		return;
	kfb_mapcache_put(&c, i);
	if (!--b->pins)
		b->used = ++now;
}

static void try_begin(uint32_t i)
{
	struct block *b = &blocks[i];
	int rc = move(i, below(2) ? KFB_BLOCK_MAP : KFB_BLOCK_AHEAD);

	if (b->state != OUT) {
		assert_int_equal(rc, -EINVAL);
	} else if (n_taken() == CAP) {
		assert_int_equal(rc, -ENOSPC);
		n_full++;
	} else {
		assert_int_equal(rc, 0);
		b->state = COMING;
	}
}

/* It stays where it is in the order unless its key was about to die. */
static void try_keep(uint32_t i)
{
	if (below(2)) {
		assert_int_equal(move(i, KFB_BLOCK_UNMAP), 0);
		blocks[i].used = ++now;
	}
	keep(i);
	blocks[i].state = IN;
}

static void try_settle(uint32_t i)
{
	struct block *b = &blocks[i];

	if (b->state == COMING && below(8)) {
		done(i);
		b->state = IN;
		b->used = ++now;
	} else if (b->state == COMING) {
		assert_int_equal(move(i, KFB_BLOCK_FAILED), 0);
		b->state = OUT;
	} else if (b->state == GOING && below(8)) {
		gone(i);
		b->state = OUT;
		n_gone++;
	} else if (b->state == GOING) {
		try_keep(i);
	}
}

static void try_take(uint32_t i)
{
	struct block *b = &blocks[i];
	int rc = take(i);

	if (b->state != IN) {
		assert_int_equal(rc, -EINVAL);
	} else if (b->pins) {
		assert_int_equal(rc, -EBUSY);
		n_busy++;
	} else {
		assert_int_equal(rc, 0);
		b->state = GOING;
	}
}

static void try_victim(void)
{
	uint32_t want = oldest();

	assert_int_equal(victim(), want);
	if (want == NONE)
		n_none++;
	else
		blocks[want].state = GOING;
}

static void step(uint32_t dice, uint32_t i)
{
	if (dice < 300)
		try_get(i);
	else if (dice < 600)
		try_put(i);
	else if (dice < 750)
		try_begin(i);
	else if (dice < 950)
		try_settle(i);
	else if (dice < 970)
		try_take(i);
	else
		try_victim();
}

/* Who waits for room has it, though nothing was evicted for it. */
static void what_is_invalidated_makes_room(void **state)
{
	(void)state;
	fill(0, CAP);
	for (uint32_t i = 0; i < CAP; i++) {
		assert_true(kfb_mapcache_may_take(&c));
		assert_true(get(i));
	}
	assert_false(kfb_mapcache_may_take(&c));
	kfb_mapcache_put(&c, 0);
	assert_true(kfb_mapcache_may_take(&c));
	assert_int_equal(move(0, KFB_BLOCK_INVALIDATE), 0);
	assert_int_equal(kfb_mapcache_victim(&c), NONE);
	assert_true(kfb_mapcache_may_take(&c));
	assert_int_equal(begin(0), 0);
	assert_false(kfb_mapcache_may_take(&c));
}

static void it_does_what_the_model_does(void **state)
{
	uint32_t ahead;

	srand(20149);
	memset(blocks, 0, sizeof(blocks));
	for (unsigned int i = 0; i < STEPS; i++) {
		step(below(1000), below(N));
		assert_int_equal(c.n, n_taken());
		assert_true(c.n <= CAP);
		ahead = kfb_mapcache_ahead(&c);
		assert_true(ahead == NONE ||
			    (ahead < N && blocks[ahead].state == OUT));
	}
	assert_int_equal(c.evictions, n_gone);
	print_message("# %u gone, %u full, %u busy, %u times all pinned\n",
		      n_gone, n_full, n_busy, n_none);
	assert_true(n_gone > 1000 && n_full > 1000 && n_busy > 1000 &&
		    n_none > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_what_is_in_is_got, setup),
		cmocka_unit_test_setup(no_more_than_it_holds, setup),
		cmocka_unit_test_setup(the_longest_unused_goes, setup),
		cmocka_unit_test_setup(what_is_pinned_stays, setup),
		cmocka_unit_test_setup(what_was_going_can_stay, setup),
		cmocka_unit_test_setup(counts_are_of_requests, setup),
		cmocka_unit_test_setup(two_in_a_row_want_more, setup),
		cmocka_unit_test_setup(the_first_use_wants_more, setup),
		cmocka_unit_test_setup(some_rows_at_once, setup),
		cmocka_unit_test_setup(what_is_there_is_not_wanted, setup),
		cmocka_unit_test_setup(a_row_ends_with_the_device, setup),
		cmocka_unit_test_setup(a_small_cache_maps_nothing_in_advance,
				       setup),
		cmocka_unit_test_setup(a_cache_grows, setup),
		cmocka_unit_test_setup(fewer_for_a_while, setup),
		cmocka_unit_test_setup(what_is_invalidated_makes_room, setup),
		cmocka_unit_test_setup(it_does_what_the_model_does, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
