// SPDX-License-Identifier: BSD-2-Clause
/*
 * Syncs of the slow tier that fail: no block is where its bytes are not, and
 * nothing is called zero that is not, whichever sync was told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/offline/check.h"
#include "slow_fake.h"
#include "tests/unit/store/fixture.h"
#include "tests/unit/store/hold.h"

#define FAST	   4U
#define SLOW	   8U
#define DIRTY	   3U
#define OLD	   0x11
#define FILLED	   0x5a
#define TIMEOUT_MS 300 /* ms: for what must not happen */

struct scene {
	struct fixture fx;
	struct slow_fake *slow;
	struct hold hold;
	uint8_t boot;
};

static void open_all(struct scene *sc)
{
	struct brick_store_open o = {
		.boot_id = { ++sc->boot },
		.instance_id = 1,
		.slow = &sc->slow->slow,
	};

	assert_int_equal(brick_store_open(sc->fx.m, &o, &sc->fx.s, sc->fx.err,
					  sizeof(sc->fx.err)),
			 0);
}

static int begin(void **state)
{
	struct brick_store_format f = { .uuid = { 1 }, .force = true };
	static struct scene sc;

	memset(&sc, 0, sizeof(sc));
	*state = &sc;
	fixture_format(&sc.fx, FAST);
	sc.slow = slow_fake_new(SLOW);
	hold_init(&sc.hold);
	sc.slow->hold = &sc.hold;
	f.slow = &sc.slow->slow;
	sc.fx.m->fresh_is_zero = true;
	if (brick_store_format(sc.fx.m, &f, sc.fx.err, sizeof(sc.fx.err)))
		return -1;
	open_all(&sc);
	return 0;
}

static int end(void **state)
{
	struct scene *sc = *state;

	fixture_free(&sc->fx);
	slow_fake_free(sc->slow);
	hold_fini(&sc->hold);
	return 0;
}

static struct brick_run place(struct scene *sc, uint64_t va)
{
	struct brick_run run = { .va = 0 };

	assert_int_equal(brick_store_lookup(sc->fx.s, va, 1, &run), 0);
	return run;
}

static uint8_t first_byte(struct scene *sc, uint64_t va)
{
	struct brick_run run = place(sc, va);

	return run.slow ? *slow_fake_slot(sc->slow, brick_slot_number(run.slot))
			: sc->fx.m->base[run.offset];
}

static void fill(struct scene *sc, uint64_t va, int byte)
{
	memset(sc->fx.m->base + place(sc, va).offset, byte, BLOCK);
}

static int demote(void *arg)
{
	struct scene *sc = arg;

	return fixture_move(&sc->fx, 0, true);
}

static int clean_slow(void *arg)
{
	struct scene *sc = arg;

	return brick_store_clean_slow(sc->fx.s, 1);
}

static struct brick_store_stats stats_of(struct scene *sc)
{
	struct brick_store_stats st;

	brick_store_stats(sc->fx.s, &st);
	return st;
}

/* Slots of the slow tier that the cleaner has to zero. */
static void leave_dirty_slots(struct scene *sc)
{
	uint64_t va;

	assert_int_equal(fixture_alloc(&sc->fx, BLOCK, DIRTY), 0);
	for (va = BLOCK; va <= DIRTY * BLOCK; va += BLOCK) {
		fill(sc, va, OLD);
		assert_int_equal(fixture_move(&sc->fx, va, true), 0);
	}
	assert_int_equal(fixture_release(&sc->fx, BLOCK, DIRTY), 0);
	assert_int_equal(stats_of(sc).slow_dirty, DIRTY);
}

/*
 * The bytes of the first are in the page cache when its sync is held; the sync
 * of the second meets their error, if it may begin.
 */
static void meet(struct scene *sc, struct worker *first, struct worker *second)
{
	bool early;

	sc->slow->n_syncs = 0;
	hold_arm(&sc->hold, 1, HOLD_BEGUN);
	worker_start(first);
	hold_wait(&sc->hold);
	sc->slow->fails = true;
	worker_start(second);
	early = worker_ends_in(second, TIMEOUT_MS);
	hold_release(&sc->hold);
	worker_join(first);
	if (!early)
		worker_join(second);
	sc->slow->fails = false;
}

/* Power fails: what was not written back is gone, on the slow tier. */
static void lose_power(struct scene *sc)
{
	uint64_t seed = 1;

	fixture_kill(&sc->fx);
	slow_fake_lose_power(sc->slow, 0, &seed);
}

static void assert_clean_is_zero(struct scene *sc)
{
	struct brick_check c = { .read_clean = true,
				 .boot_id = { 99 },
				 .slow = &sc->slow->slow };

	assert_int_equal(brick_store_check(sc->fx.m, &c, sc->fx.err,
					   sizeof(sc->fx.err)),
			 0);
	assert_int_equal(c.n[BRICK_FINDING_DAMAGE], 0);
}

static void a_demotion_hears_of_an_error_that_the_cleaner_was_told(void **state)
{
	struct scene *sc = *state;
	struct worker demotion = { .work = demote, .arg = sc };
	struct worker cleaner = { .work = clean_slow, .arg = sc };

	leave_dirty_slots(sc);
	assert_int_equal(fixture_alloc(&sc->fx, 0, 1), 0);
	fill(sc, 0, FILLED);
	meet(sc, &demotion, &cleaner);
	assert_int_equal(cleaner.error, -EIO);
	assert_int_equal(demotion.error, -EIO);
	assert_false(place(sc, 0).slow);
	lose_power(sc);
	assert_clean_is_zero(sc);
	open_all(sc);
	assert_int_equal(first_byte(sc, 0), FILLED);
}

static void the_cleaner_hears_of_an_error_that_a_demotion_was_told(void **state)
{
	struct scene *sc = *state;
	struct worker demotion = { .work = demote, .arg = sc };
	struct worker cleaner = { .work = clean_slow, .arg = sc };

	leave_dirty_slots(sc);
	assert_int_equal(fixture_alloc(&sc->fx, 0, 1), 0);
	fill(sc, 0, FILLED);
	meet(sc, &cleaner, &demotion);
	assert_int_equal(demotion.error, -EIO);
	assert_int_equal(cleaner.error, -EIO);
	lose_power(sc);
	assert_clean_is_zero(sc);
	open_all(sc);
	assert_int_equal(first_byte(sc, 0), FILLED);
}

/* A store with a block in each tier, and a slow tier that has failed. */
static void let_it_fail(struct scene *sc)
{
	leave_dirty_slots(sc);
	assert_int_equal(fixture_alloc(&sc->fx, 0, 2), 0);
	fill(sc, 0, FILLED);
	fill(sc, BLOCK, FILLED);
	assert_int_equal(fixture_move(&sc->fx, BLOCK, true), 0);
	sc->slow->fails = true;
	assert_int_equal(fixture_move(&sc->fx, 0, true), -EIO);
	sc->slow->fails = false;
}

static void nothing_is_moved_to_a_tier_that_has_failed(void **state)
{
	struct scene *sc = *state;
	unsigned int n;

	let_it_fail(sc);
	assert_true(stats_of(sc).slow_has_failed);
	assert_int_equal(stats_of(sc).slow_ready, 0);
	n = sc->slow->n_syncs;
	assert_int_equal(fixture_move(&sc->fx, 0, true), -EIO);
	assert_int_equal(clean_slow(sc), -EIO);
	assert_int_equal(sc->slow->n_syncs, n);
	assert_false(place(sc, 0).slow);
	/* It is another matter than the medium. */
	assert_int_equal(brick_store_drain(sc->fx.s), 0);
	assert_null(brick_store_failure(sc->fx.s));
	assert_int_equal(brick_store_slow_failure(sc->fx.s)->error, -EIO);
}

static void what_is_in_it_is_served(void **state)
{
	struct scene *sc = *state;

	let_it_fail(sc);
	assert_int_equal(first_byte(sc, BLOCK), FILLED);
	assert_int_equal(fixture_move(&sc->fx, BLOCK, false), 0);
	assert_int_equal(first_byte(sc, BLOCK), FILLED);
	assert_int_equal(fixture_release(&sc->fx, BLOCK, 1), 0);
}

/* Slots that are durably zero can be had, those to be zeroed cannot. */
static void new_blocks_get_its_clean_slots_and_no_others(void **state)
{
	struct brick_store_stats st;
	struct scene *sc = *state;
	uint64_t n;

	let_it_fail(sc);
	st = stats_of(sc);
	n = st.slots_clean + st.slots_dirty + st.slow_clean - st.slow_spare;
	assert_true(st.slow_dirty > 0);
	assert_int_equal(fixture_alloc(&sc->fx, 32 * BLOCK, n + 1), -ENOSPC);
	assert_int_equal(fixture_alloc(&sc->fx, 32 * BLOCK, n), 0);
	assert_null(brick_store_failure(sc->fx.s));
}

/* It fails while an ALLOC waits for slots to be zeroed. */
static void an_alloc_that_waits_for_zeros_finds_no_room(void **state)
{
	struct brick_store_stats st;
	struct scene *sc = *state;
	uint64_t n;

	leave_dirty_slots(sc);
	st = stats_of(sc);
	n = st.slots_clean + st.slots_dirty + st.slow_clean + st.slow_dirty -
	    st.slow_spare;
	assert_true(st.slow_dirty > st.slow_spare);
	sc->slow->fails = true;
	assert_int_equal(fixture_alloc(&sc->fx, 32 * BLOCK, n), -ENOSPC);
	sc->slow->fails = false;
	assert_true(stats_of(sc).slow_has_failed);
	assert_null(brick_store_failure(sc->fx.s));
}

static void it_is_tried_again_when_the_store_is_opened_again(void **state)
{
	struct scene *sc = *state;

	let_it_fail(sc);
	fixture_close(&sc->fx, true);
	open_all(sc);
	assert_false(stats_of(sc).slow_has_failed);
	assert_int_equal(fixture_move(&sc->fx, 0, true), 0);
	lose_power(sc);
	open_all(sc);
	assert_int_equal(first_byte(sc, 0), FILLED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_demotion_hears_of_an_error_that_the_cleaner_was_told),
		CASE(the_cleaner_hears_of_an_error_that_a_demotion_was_told),
		CASE(nothing_is_moved_to_a_tier_that_has_failed),
		CASE(what_is_in_it_is_served),
		CASE(new_blocks_get_its_clean_slots_and_no_others),
		CASE(an_alloc_that_waits_for_zeros_finds_no_room),
		CASE(it_is_tried_again_when_the_store_is_opened_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
