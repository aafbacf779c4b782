// SPDX-License-Identifier: BSD-2-Clause
/* Bad blocks: what is given up, what is shown as lost, what stays in use. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "brickd/store/move.h"
#include "brickd/store/recovery/poison.h"
#include "tests/unit/store/fixture.h"
#include "tests/unit/store/slow/slow_fake.h"

#define SLOTS 4U
#define LINE  64U

static int setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	assert_non_null(fx);
	fixture_format(fx, SLOTS);
	fixture_open(fx, 1);
	*state = fx;
	return 0;
}

static int teardown(void **state)
{
	fixture_free(*state);
	free(*state);
	return 0;
}

static void open_with(struct fixture *fx, struct brick_slow *slow,
		      const struct brick_bytes *bad, uint32_t n_bad)
{
	struct brick_store_open o = { .boot_id = { 1 },
				      .instance_id = 1,
				      .slow = slow,
				      .bad = bad,
				      .n_bad = n_bad };
	int ret = brick_store_open(fx->m, &o, &fx->s, fx->err, sizeof(fx->err));

	if (ret)
		fail_msg("open: %d: %s", ret, fx->err);
}

/* Open again; one line in the middle of a slot is bad. */
static void poison(struct fixture *fx, uint64_t slot)
{
	struct brick_super sb = fixture_super(fx);
	struct brick_bytes bad = { brick_super_data(&sb, slot) + BLOCK / 2,
				   LINE };

	fixture_close(fx, true);
	open_with(fx, NULL, &bad, 1);
}

static struct brick_store_stats stats_of(struct fixture *fx)
{
	struct brick_store_stats st;

	brick_store_stats(fx->s, &st);
	assert_int_equal(st.slots_clean + st.slots_dirty + st.slots_alloc +
				 st.slots_bad,
			 SLOTS);
	return st;
}

static uint64_t slot_of(struct fixture *fx, uint64_t va)
{
	struct brick_run run;

	assert_int_equal(brick_store_lookup(fx->s, va, 1, &run), 0);
	return run.slot;
}

static bool is_bad(struct fixture *fx, uint64_t va)
{
	struct brick_run run;

	assert_int_equal(brick_store_lookup(fx->s, va, 1, &run), 0);
	return run.bad;
}

static void a_clean_slot_is_given_up_for_good(void **state)
{
	struct fixture *fx = *state;

	poison(fx, 2);
	assert_int_equal(stats_of(fx).slots_bad, 1);
	assert_int_equal(stats_of(fx).slots_clean, SLOTS - 1);
	assert_int_equal(brick_store_recovery(fx->s)->blocks_lost, 0);
	/* Nothing was in it. */
	assert_int_equal(brick_store_recovery(fx->s)->records_bad, 0);
	assert_int_equal(brick_store_recovery(fx->s)->slots_given_up, 1);
	assert_int_equal(fixture_alloc(fx, 0, SLOTS), -ENOSPC);
	assert_int_equal(fixture_alloc(fx, 0, SLOTS - 1), 0);
	for (uint64_t va = 0; va < (SLOTS - 1) * BLOCK; va += BLOCK)
		assert_int_not_equal(slot_of(fx, va), 2);
	/* Whatever the platform says next time. */
	fixture_close(fx, true);
	fixture_open(fx, 1);
	assert_int_equal(stats_of(fx).slots_bad, 1);
}

static void so_is_a_dirty_one(void **state)
{
	struct fixture *fx = *state;
	uint64_t slot;

	assert_int_equal(fixture_alloc(fx, 0, 1), 0);
	slot = slot_of(fx, 0);
	assert_int_equal(fixture_release(fx, 0, 1), 0);
	assert_int_equal(stats_of(fx).slots_dirty, 1);
	poison(fx, slot);
	assert_int_equal(stats_of(fx).slots_bad, 1);
	assert_int_equal(stats_of(fx).slots_dirty, 0);
	assert_int_equal(brick_store_clean_one(fx->s, SLOTS), 0);
}

static void a_block_is_lost_and_its_neighbours_are_not(void **state)
{
	struct brick_store_extent ext[SLOTS];
	struct fixture *fx = *state;
	uint64_t cursor = 0, counter;
	struct brick_run run;

	assert_int_equal(fixture_alloc(fx, 0, SLOTS), 0);
	poison(fx, slot_of(fx, BLOCK));
	assert_int_equal(brick_store_recovery(fx->s)->blocks_lost, 1);
	assert_int_equal(stats_of(fx).slots_alloc, SLOTS);
	assert_int_equal(brick_store_lookup(fx->s, 0, SLOTS, &run), 0);
	assert_int_equal(run.n_blocks, 1);
	assert_false(run.bad);
	assert_true(is_bad(fx, BLOCK));
	assert_int_equal(brick_store_lookup(fx->s, 2 * BLOCK, 2, &run), 0);
	assert_int_equal(run.n_blocks, 2);
	assert_false(run.bad);
	assert_int_equal(brick_store_list(fx->s, &cursor, ext, SLOTS, &counter),
			 3);
	assert_false(ext[0].bad);
	assert_true(ext[1].bad);
	assert_int_equal(ext[1].va, BLOCK);
	assert_int_equal(ext[1].n_blocks, 1);
	assert_false(ext[2].bad);
}

static void expect_lost(struct fixture *fx, uint64_t from, uint64_t n,
			uint64_t va)
{
	uint64_t first = UINT64_MAX;

	assert_int_equal(brick_store_lost(fx->s, from, &first), n);
	assert_int_equal(first, n ? va : UINT64_MAX);
}

static void lost_blocks_are_named_as_long_as_they_are_allocated(void **state)
{
	struct fixture *fx = *state;
	struct brick_bytes bad[3];
	struct brick_super sb;
	uint64_t i;

	/* Addresses that fall while slots rise. */
	for (i = 0; i < SLOTS; i++)
		assert_int_equal(fixture_alloc(fx, (SLOTS - 1 - i) * BLOCK, 1),
				 0);
	expect_lost(fx, 0, 0, 0);
	sb = fixture_super(fx);
	for (i = 0; i < 3; i++)
		bad[i] = (struct brick_bytes){
			brick_super_data(&sb, slot_of(fx, (3 - i) * BLOCK)), 1
		};
	bad[1].off = brick_super_data(&sb, slot_of(fx, 0));
	fixture_close(fx, true);
	open_with(fx, NULL, bad, 3); /* 3, 0 and 1 */
	assert_int_equal(brick_store_recovery(fx->s)->blocks_lost, 3);
	assert_int_equal(brick_store_recovery(fx->s)->slots_given_up, 0);
	expect_lost(fx, 0, 2, 0);
	expect_lost(fx, BLOCK, 1, BLOCK);
	expect_lost(fx, 2 * BLOCK, 1, 3 * BLOCK);
	expect_lost(fx, 4 * BLOCK, 0, 0);
	assert_int_equal(fixture_release(fx, 0, 1), 0);
	expect_lost(fx, 0, 1, BLOCK);
	assert_int_equal(fixture_release(fx, BLOCK, 3), 0);
	expect_lost(fx, 0, 0, 0);
}

static void a_freed_one_is_not_used_again(void **state)
{
	struct fixture *fx = *state;
	uint64_t slot;

	assert_int_equal(fixture_alloc(fx, 0, SLOTS), 0);
	slot = slot_of(fx, BLOCK);
	poison(fx, slot);
	assert_int_equal(fixture_release(fx, 0, SLOTS), 0);
	assert_int_equal(stats_of(fx).slots_bad, 1);
	assert_int_equal(stats_of(fx).slots_dirty, SLOTS - 1);
	assert_int_equal(fixture_alloc(fx, 0, SLOTS), -ENOSPC);
	assert_int_equal(fixture_alloc(fx, 0, SLOTS - 1), 0);
	for (uint64_t va = 0; va < (SLOTS - 1) * BLOCK; va += BLOCK) {
		assert_int_not_equal(slot_of(fx, va), slot);
		assert_false(is_bad(fx, va));
	}
	/* Once the platform has mended it, it is a free slot like any other. */
	fixture_close(fx, true);
	fixture_open(fx, 1);
	assert_int_equal(stats_of(fx).slots_bad, 0);
	assert_int_equal(stats_of(fx).slots_dirty, 1);
}

static void nor_is_one_that_comes_out_of_quarantine(void **state)
{
	struct brick_store_op op = { .kind = BRICK_STORE_FREE,
				     .n_blocks = SLOTS,
				     .quarantine = 7 };
	struct fixture *fx = *state;

	assert_int_equal(fixture_alloc(fx, 0, SLOTS), 0);
	poison(fx, slot_of(fx, BLOCK));
	brick_store_commit(fx->s, &op);
	assert_int_equal(op.error, 0);
	brick_store_release(fx->s, 7);
	assert_int_equal(stats_of(fx).slots_bad, 1);
	assert_int_equal(fixture_alloc(fx, 0, SLOTS), -ENOSPC);
	assert_int_equal(fixture_alloc(fx, 0, SLOTS - 1), 0);
}

static void every_slot_that_is_touched_counts_once(void **state)
{
	struct fixture *fx = *state;
	struct brick_super sb = fixture_super(fx);
	struct brick_bytes bad[] = {
		/* The last byte of 0, all of 1, the first of 2. */
		{ brick_super_data(&sb, 1) - 1, BLOCK + 2 },
		{ brick_super_data(&sb, 1), LINE },
		{ brick_super_data(&sb, 2) + LINE, 0 },
		/* Behind the last slot. */
		{ brick_super_data(&sb, SLOTS), LINE },
		{ 0, sb.data_off },
	};

	fixture_close(fx, true);
	open_with(fx, NULL, bad, sizeof(bad) / sizeof(bad[0]));
	assert_int_equal(stats_of(fx).slots_bad, 3);
	assert_int_equal(stats_of(fx).slots_clean, 1);
}

/* Reading it would be the end of the daemon. */
static void a_lost_block_is_not_moved(void **state)
{
	struct brick_store_format f = { .uuid = { 1 }, .force = true };
	struct brick_move m = { .va = 0, .to_slow = true };
	struct slow_fake *slow = slow_fake_new(8);
	struct fixture *fx = *state;
	struct brick_bytes bad = { 0, 1 };
	struct brick_super sb;
	uint64_t coldest;

	fixture_close(fx, true);
	f.slow = &slow->slow;
	fx->m->fresh_is_zero = true;
	assert_int_equal(
		brick_store_format(fx->m, &f, fx->err, sizeof(fx->err)), 0);
	open_with(fx, &slow->slow, NULL, 0);
	assert_int_equal(fixture_alloc(fx, 0, 1), 0);
	sb = fixture_super(fx);
	bad.off = brick_super_data(&sb, slot_of(fx, 0));
	fixture_close(fx, true);
	open_with(fx, &slow->slow, &bad, 1);
	brick_move_begin(fx->s, &m, 1);
	assert_int_equal(m.error, -EIO);
	brick_move_end(fx->s, &m, 1);
	assert_false(brick_lru_take(&fx->s->at_rest, &coldest));
	fixture_close(fx, true);
	slow_fake_free(slow);
	/* The next test's teardown wants a store. */
	f.slow = NULL;
	assert_int_equal(
		brick_store_format(fx->m, &f, fx->err, sizeof(fx->err)), 0);
	fixture_open(fx, 1);
}

static bool part(const struct brick_super *sb, uint64_t off, uint64_t len,
		 struct brick_bytes *out)
{
	return brick_poison_in_tables(sb, (struct brick_bytes){ off, len },
				      out);
}

static void the_tables_are_what_is_no_data(void **state)
{
	struct brick_super sb = fixture_super(*state);
	uint64_t end = sb.data_off + SLOTS * BLOCK;
	struct brick_bytes out;

	assert_true(part(&sb, 0x1000, 1, &out));
	assert_int_equal(out.off, 0x1000);
	assert_int_equal(out.len, 1);
	assert_false(part(&sb, sb.data_off, SLOTS * BLOCK, &out));
	assert_true(part(&sb, sb.data_off - 1, 2, &out));
	assert_int_equal(out.off, sb.data_off - 1);
	assert_int_equal(out.len, 1);
	assert_true(part(&sb, end - 1, 3, &out));
	assert_int_equal(out.off, end);
	assert_int_equal(out.len, 2);
	assert_true(part(&sb, end, 1, &out));
	/* Before the superblock is read, only the fixed places are known. */
	assert_true(part(NULL, 0, 0x20000, &out));
	assert_int_equal(out.len, 0x10000);
	assert_false(part(NULL, 0x10000, LINE, &out));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_clean_slot_is_given_up_for_good),
		TEST(so_is_a_dirty_one),
		TEST(a_block_is_lost_and_its_neighbours_are_not),
		TEST(lost_blocks_are_named_as_long_as_they_are_allocated),
		TEST(a_freed_one_is_not_used_again),
		TEST(nor_is_one_that_comes_out_of_quarantine),
		TEST(every_slot_that_is_touched_counts_once),
		TEST(a_lost_block_is_not_moved),
		TEST(the_tables_are_what_is_no_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
