// SPDX-License-Identifier: BSD-2-Clause
/* The slow tier's header and its growth: what a check finds, what grow does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/offline/check.h"
#include "brickd/store/offline/grow.h"
#include "slow_fake.h"
#include "tests/unit/store/fixture.h"

#define ROOM	  20U /* slots that the medium has room for */
#define FAST	  4U
#define SLOW_ROOM 40U
#define SLOW	  8U
#define NAMES_MAX 64U

struct found {
	const char *names[NAMES_MAX];
	uint64_t slots[NAMES_MAX];
	unsigned int n;
	struct brick_check c;
};

static struct fixture fx;
static struct slow_fake *fake;
static uint8_t boot;

static int open_tiers(void)
{
	struct brick_store_open o = {
		.boot_id = { ++boot },
		.instance_id = 1,
		.slow = &fake->slow,
	};

	return brick_store_open(fx.m, &o, &fx.s, fx.err, sizeof(fx.err));
}

/* FAST + 2 blocks: two of them lie in the slow tier. */
static int set_up(void **state)
{
	struct brick_store_format f = { .uuid = { 1 }, .force = true };

	(void)state;
	memset(&fx, 0, sizeof(fx));
	fixture_format(&fx, ROOM);
	fx.m->size = (FAST + 1) * BLOCK;
	fx.m->fresh_is_zero = true;
	fake = slow_fake_new(SLOW_ROOM);
	fake->slow.size = brick_slow_data(SLOW);
	f.slow = &fake->slow;
	assert_int_equal(brick_store_format(fx.m, &f, fx.err, sizeof(fx.err)),
			 0);
	assert_int_equal(open_tiers(), 0);
	assert_int_equal(fixture_alloc(&fx, 0, FAST + 2), 0);
	memcpy(slow_fake_slot(fake, 1), "precious", 8);
	memcpy(fake->disk, fake->cache, fake->slow.size);
	fixture_close(&fx, true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_free(&fx);
	fake->slow.size = brick_slow_data(SLOW_ROOM);
	slow_fake_free(fake);
	return 0;
}

/* ---- check ---- */

static void take(const struct brick_finding *finding, void *arg)
{
	struct found *f = arg;

	assert_true(f->n < NAMES_MAX);
	f->names[f->n] = finding->name;
	f->slots[f->n++] = finding->slot;
}

static void check(struct found *f, struct brick_slow *slow, bool repair)
{
	*f = (struct found){ .c = { .found = take,
				    .arg = f,
				    .slow = slow,
				    .read_clean = true,
				    .repair = repair } };
	assert_int_equal(brick_store_check(fx.m, &f->c, fx.err, sizeof(fx.err)),
			 0);
}

static void expect(struct brick_slow *slow, const char *name,
		   enum brick_finding_grade grade)
{
	struct found f;

	check(&f, slow, false);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.names[0], name);
	assert_int_equal(f.c.n[grade], 1);
}

static void expect_nothing(void)
{
	struct found f;

	check(&f, &fake->slow, false);
	assert_int_equal(f.n, 0);
	assert_int_equal(f.c.n_slots, FAST + SLOW);
	assert_int_equal(f.c.n_alloc, FAST + 2);
}

static void a_slow_tier_that_is_not_named_is_said_to_be_unseen(void **state)
{
	(void)state;
	expect_nothing();
	expect(NULL, "slow-not-seen", BRICK_FINDING_NOTE);
}

static void one_damaged_header_is_written_from_the_other(void **state)
{
	struct found f;
	uint64_t copy;

	(void)state;
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		fake->cache[copy * BRICK_FMT_PAGE + 20] ^= 1;
		memcpy(fake->disk, fake->cache, fake->slow.size);
		expect(&fake->slow, "slow-damaged", BRICK_FINDING_DAMAGE);
		assert_memory_not_equal(fake->cache,
					fake->cache + BRICK_FMT_PAGE,
					BRICK_FMT_PAGE);
		check(&f, &fake->slow, true);
		assert_true(f.c.is_repaired);
		expect_nothing();
		/* Durably. */
		assert_memory_equal(fake->disk, fake->disk + BRICK_FMT_PAGE,
				    BRICK_FMT_PAGE);
	}
	assert_int_equal(open_tiers(), 0);
}

static void what_brickd_refuses_is_fatal(void **state)
{
	uint8_t header[BRICK_FMT_PAGE];

	(void)state;
	memcpy(header, fake->cache, sizeof(header));
	fake->cache[20] ^= 1;
	fake->cache[BRICK_FMT_PAGE + 20] ^= 1;
	expect(&fake->slow, "slow-lost", BRICK_FINDING_FATAL);
	assert_int_equal(open_tiers(), -EUCLEAN);
	memset(fake->cache, 0, BRICK_FMT_COPIES * BRICK_FMT_PAGE);
	expect(&fake->slow, "slow-missing", BRICK_FINDING_FATAL);
	assert_int_equal(open_tiers(), -ENOENT);
	memcpy(fake->cache, header, sizeof(header));
	fake->slow.size -= BLOCK;
	expect(&fake->slow, "slow-short", BRICK_FINDING_FATAL);
	assert_int_equal(open_tiers(), -EINVAL);
	fake->slow.size = BRICK_FMT_PAGE;
	expect(&fake->slow, "slow-short", BRICK_FINDING_FATAL);
	assert_int_equal(open_tiers(), -EINVAL);
}

static void another_stores_slow_tier_is_fatal(void **state)
{
	struct slow_fake *other = slow_fake_new(SLOW);
	struct brick_super sb = fixture_super(&fx);

	(void)state;
	sb.uuid[3] ^= 1;
	assert_int_equal(brick_slow_write_header(&other->slow, &sb), 0);
	expect(&other->slow, "slow-foreign", BRICK_FINDING_FATAL);
	slow_fake_free(other);
}

static void a_slow_slot_that_is_not_zero_is_found_and_put_right(void **state)
{
	struct brick_store_stats st;
	struct found f;

	(void)state;
	slow_fake_slot(fake, 5)[BLOCK - 1] = 1;
	expect(&fake->slow, "clean-not-zero", BRICK_FINDING_DAMAGE);
	check(&f, &fake->slow, true);
	assert_int_equal(f.slots[0], BRICK_SLOT_SLOW + 5);
	expect_nothing();
	/* So is one that cannot be read: the cleaner writes it anew. */
	fake->bad_read = 6 + 1;
	expect(&fake->slow, "clean-not-zero", BRICK_FINDING_DAMAGE);
	fake->bad_read = 0;
	assert_int_equal(open_tiers(), 0);
	brick_store_stats(fx.s, &st);
	assert_int_equal(st.slow_dirty, 1);
}

/* ---- grow ---- */

static int grow(uint64_t n_fast, uint64_t n_slow, bool tail)
{
	struct brick_grow g = {
		.zero_from = UINT64_MAX,
		.tail = tail,
		.slow = n_slow ? &fake->slow : NULL,
	};
	int ret;

	fx.m->size = (n_fast + 1) * BLOCK;
	if (n_slow)
		fake->slow.size = brick_slow_data(n_slow);
	ret = brick_store_grow(fx.m, &g, fx.err, sizeof(fx.err));
	if (!ret) {
		assert_int_equal(g.n_after, fixture_super(&fx).n);
		assert_int_equal(g.slow_after, fixture_super(&fx).n_slow);
	}
	return ret;
}

/* Every slot of both tiers can be had, but for the spare one or two. */
static void expect_tiers(uint64_t n_fast, uint64_t n_slow)
{
	uint64_t spare = (n_slow + 31) / 32;
	uint64_t n = n_fast + n_slow - spare - (FAST + 2);
	struct brick_store_stats st;
	struct brick_run run;

	assert_int_equal(open_tiers(), 0);
	brick_store_stats(fx.s, &st);
	assert_int_equal(st.slots_total, n_fast);
	assert_int_equal(st.slow_total, n_slow);
	assert_int_equal(brick_store_recovery(fx.s)->records_repaired, 0);
	assert_int_equal(brick_store_lookup(fx.s, (FAST + 1) * BLOCK, 1, &run),
			 0);
	assert_true(run.slow);
	assert_memory_equal(slow_fake_slot(fake, run.slot), "precious", 8);
	assert_int_equal(fixture_alloc(&fx, (FAST + 2) * BLOCK, n), 0);
	assert_int_equal(fixture_release(&fx, (FAST + 2) * BLOCK, n), 0);
	fixture_close(&fx, true);
}

static void the_slow_tier_grows_alone(void **state)
{
	struct brick_super was = fixture_super(&fx), is;
	struct brick_store_stats st;

	(void)state;
	memset(slow_fake_slot(fake, SLOW), 0xee, 64);
	assert_int_equal(grow(FAST, SLOW_ROOM, false), 0);
	is = fixture_super(&fx);
	assert_int_equal(is.rec_off[0], was.rec_off[0]);
	assert_true(is.slow_off[0] > was.slow_off[1]);
	assert_true(is.slow_off[1] < is.data_off);
	/* Nobody knows what is in the new slots. */
	assert_int_equal(open_tiers(), 0);
	brick_store_stats(fx.s, &st);
	assert_int_equal(st.slow_dirty, SLOW_ROOM - SLOW);
	fixture_close(&fx, true);
	expect_tiers(FAST, SLOW_ROOM);
}

static void both_tables_go_behind_the_data_and_move_again(void **state)
{
	struct brick_super is;

	(void)state;
	assert_int_equal(grow(FAST + 3, SLOW_ROOM, true), 0);
	is = fixture_super(&fx);
	assert_int_equal(is.n, FAST + 2); /* one slot's room is the tables' */
	assert_true(is.rec_off[0] >= brick_super_data(&is, is.n));
	assert_true(is.slow_off[0] >= brick_super_data(&is, is.n));
	expect_tiers(FAST + 2, SLOW_ROOM);
	/* New slots take their place: both move, though one tier grows. */
	assert_int_equal(grow(FAST + 9, 0, true), 0);
	assert_true(fixture_super(&fx).slow_off[0] > is.slow_off[1]);
	expect_tiers(FAST + 8, SLOW_ROOM);
	assert_int_equal(grow(FAST + 12, 0, false), 0);
	assert_true(fixture_super(&fx).slow_off[0] < is.data_off);
	expect_tiers(FAST + 12, SLOW_ROOM);
}

static void no_room_for_records_is_said_and_changes_nothing(void **state)
{
	(void)state;
	fixture_snapshot(&fx);
	assert_int_equal(grow(FAST, SLOW_ROOM, true), -ENOSPC);
	assert_non_null(strstr(fx.err, "make the store larger"));
	fixture_assert_unchanged(&fx);
	fake->slow.size = brick_slow_data(SLOW);
	assert_int_equal(grow(FAST, SLOW, false), -ENOSPC);
	assert_non_null(strstr(fx.err, "another block"));
	fixture_assert_unchanged(&fx);
	expect_tiers(FAST, SLOW);
}

static void only_its_own_slow_tier_makes_a_store_grow(void **state)
{
	struct brick_store_format f = { .uuid = { 2 }, .force = true };

	(void)state;
	fixture_snapshot(&fx);
	fake->cache[40] ^= 1;
	fake->cache[BRICK_FMT_PAGE + 40] ^= 1;
	assert_int_equal(grow(FAST, SLOW_ROOM, false), -EUCLEAN);
	fixture_assert_unchanged(&fx);
	assert_int_equal(brick_store_format(fx.m, &f, fx.err, sizeof(fx.err)),
			 0);
	assert_int_equal(grow(FAST, SLOW_ROOM, false), -EOPNOTSUPP);
}

/* ---- in memory ---- */

static void of_a_store_that_is_durable_it_is_durable_too(void **state)
{
	struct brick_store_format f = {
		.uuid = { 2 },
		.force = true,
		.slow = &fake->slow,
	};

	(void)state;
	fixture_snapshot(&fx);
	fake->slow.is_volatile = true;
	assert_int_equal(open_tiers(), -ENOTSUP);
	assert_non_null(strstr(fx.err, "fake: is in memory"));
	fixture_assert_unchanged(&fx);
	assert_int_equal(grow(FAST, SLOW_ROOM, false), -ENOTSUP);
	fixture_assert_unchanged(&fx);
	assert_int_equal(brick_store_format(fx.m, &f, fx.err, sizeof(fx.err)),
			 -ENOTSUP);
	assert_non_null(strstr(fx.err, "fake: is in memory"));
	fixture_assert_unchanged(&fx);
	fake->slow.size = brick_slow_data(SLOW);
	expect(&fake->slow, "slow-volatile", BRICK_FINDING_FATAL);
	/* Named so, it is copied to a disk, and is what it was. */
	fake->slow.is_volatile = false;
	assert_int_equal(open_tiers(), 0);
	fixture_close(&fx, true);
}

static void of_a_store_in_memory_it_may_be_in_memory(void **state)
{
	struct brick_store_format f = {
		.uuid = { 2 },
		.force = true,
		.slow = &fake->slow,
	};

	(void)state;
	fake->slow.is_volatile = true;
	fx.m->is_volatile = true;
	expect_nothing();
	assert_int_equal(grow(FAST, SLOW_ROOM, false), 0);
	assert_int_equal(brick_store_format(fx.m, &f, fx.err, sizeof(fx.err)),
			 0);
	assert_int_equal(open_tiers(), 0);
	fixture_close(&fx, true);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_slow_tier_that_is_not_named_is_said_to_be_unseen),
		CASE(one_damaged_header_is_written_from_the_other),
		CASE(what_brickd_refuses_is_fatal),
		CASE(another_stores_slow_tier_is_fatal),
		CASE(a_slow_slot_that_is_not_zero_is_found_and_put_right),
		CASE(the_slow_tier_grows_alone),
		CASE(both_tables_go_behind_the_data_and_move_again),
		CASE(no_room_for_records_is_said_and_changes_nothing),
		CASE(only_its_own_slow_tier_makes_a_store_grow),
		CASE(of_a_store_that_is_durable_it_is_durable_too),
		CASE(of_a_store_in_memory_it_may_be_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
