// SPDX-License-Identifier: BSD-2-Clause
/* Growing: where tables go, what new slots are, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/media/progress.h"
#include "brickd/store/offline/grow.h"
#include "tests/unit/store/fixture.h"

#define GIB 512ULL /* slots in 1 GiB */

static struct fixture fx;
static uint64_t whole; /* bytes of the medium */

/* A store in the first n slots of a medium with room for more. */
static void begin(uint64_t n_room, uint64_t n)
{
	struct brick_store_format f = { .uuid = { 1 }, .force = true };

	memset(&fx, 0, sizeof(fx));
	fixture_format(&fx, n_room);
	whole = fx.m->size;
	fx.m->size = (n + n / 1024 + 1) * BLOCK;
	fx.m->fresh_is_zero = true;
	assert_int_equal(brick_store_format(fx.m, &f, fx.err, sizeof(fx.err)),
			 0);
	fixture_open(&fx, 1);
	assert_int_equal(fixture_alloc(&fx, 0, 2), 0);
	memcpy(fx.m->base + brick_super_data(&fx.s->sb, 1), "precious", 8);
	fixture_close(&fx, true);
}

static int grow_to(uint64_t size, struct brick_grow *g)
{
	fx.m->size = size;
	return brick_store_grow(fx.m, g, fx.err, sizeof(fx.err));
}

static void expect_blocks(uint64_t n_slots)
{
	struct brick_run run;

	fixture_open(&fx, 1);
	assert_int_equal(fx.s->sb.n, n_slots);
	assert_int_equal(brick_store_lookup(fx.s, 0, 2, &run), 0);
	assert_int_equal(run.n_blocks, 2);
	assert_memory_equal(fx.m->base + run.offset + BLOCK, "precious", 8);
	/* All the room can be had. */
	assert_int_equal(fixture_alloc(&fx, 2 * BLOCK, n_slots - 2), 0);
	assert_int_equal(fixture_release(&fx, 2 * BLOCK, n_slots - 2), 0);
	fixture_close(&fx, true);
}

static void tables_move_before_the_data_if_there_is_room(void **state)
{
	struct brick_grow g = { .zero_from = UINT64_MAX };
	struct brick_super was, is;

	(void)state;
	begin(20, 3);
	was = fixture_super(&fx);
	assert_int_equal(grow_to(whole, &g), 0);
	is = fixture_super(&fx);
	assert_int_equal(g.n_before, was.n);
	assert_int_equal(g.n_after, is.n);
	assert_true(is.n > was.n);
	assert_int_equal(is.seq, was.seq + 1);
	assert_true(is.rec_off[0] > was.rec_off[1]);
	assert_true(is.rec_off[1] < is.data_off);
	expect_blocks(is.n);
	fixture_free(&fx);
}

static uint64_t n_told, n_to_tell;

static void hear_progress(const char *doing, uint64_t done, uint64_t total)
{
	/* It looks at what there is before. */
	if (strcmp(doing, "adding records") != 0)
		return;
	assert_int_equal(done, n_told);
	n_told++;
	n_to_tell = total;
}

static void each_record_is_progress(void **state)
{
	struct brick_grow g = { .zero_from = UINT64_MAX };

	(void)state;
	begin(20, 3);
	n_told = 0;
	brick_progress_watch(hear_progress);
	assert_int_equal(grow_to(whole, &g), 0);
	brick_progress_watch(NULL);
	assert_int_equal(n_to_tell, g.n_after - g.n_before);
	assert_int_equal(n_told, n_to_tell);
	fixture_free(&fx);
}

/* Of a later version: whoever does not know them leaves them alone. */
static void features_that_need_not_be_known_stay(void **state)
{
	struct brick_grow g = { .zero_from = UINT64_MAX };
	struct brick_super was, is;

	(void)state;
	begin(20, 3);
	was = fixture_super(&fx);
	was.compat = 1ULL << 40 | 1;
	was.seq++;
	assert_int_equal(brick_super_write(fx.m, &was), 0);
	/* One copy is damaged: the next start writes it again. */
	fx.m->base[8] ^= 1;
	expect_blocks(was.n);
	is = fixture_super(&fx);
	assert_true(is.compat == was.compat);
	assert_memory_equal(fx.m->base, fx.m->base + BRICK_FMT_PAGE,
			    BRICK_FMT_PAGE);
	assert_int_equal(grow_to(whole, &g), 0);
	is = fixture_super(&fx);
	assert_true(is.n > was.n);
	assert_true(is.compat == was.compat);
	fixture_free(&fx);
}

static void tables_move_behind_the_data_if_there_is_none(void **state)
{
	struct brick_grow g = { .zero_from = UINT64_MAX };
	struct brick_fmt_super raw;
	struct brick_super is;

	(void)state;
	begin(140 * GIB, 60 * GIB);
	assert_int_equal(grow_to(whole - 20 * GIB * BLOCK, &g), 0);
	is = fixture_super(&fx);
	assert_true(is.rec_off[0] >= brick_super_data(&is, is.n));
	memcpy(&raw, fx.m->base, sizeof(raw));
	assert_int_equal(raw.feat_incompat, BRICK_FMT_INCOMPAT_TAIL);
	fixture_open(&fx, 1);
	assert_int_equal(fx.s->sb.n, is.n);
	assert_int_equal(fx.s->n_alloc, 2);
	fixture_close(&fx, true);
	/* And once more; the old tables become slots. */
	assert_int_equal(grow_to(whole, &g), 0);
	assert_true(fixture_super(&fx).n > is.n);
	fixture_open(&fx, 1);
	assert_int_equal(fx.s->n_alloc, 2);
	fixture_free(&fx);
}

static void new_slots_are_clean_only_where_the_file_is_new(void **state)
{
	struct brick_grow g;
	struct brick_super was;
	struct brick_store_stats stats;

	(void)state;
	begin(20, 3);
	was = fixture_super(&fx);
	g = (struct brick_grow){
		.zero_from = brick_super_data(&was, was.n) + BLOCK + 1,
	};
	assert_int_equal(grow_to(whole, &g), 0);
	fixture_open(&fx, 1);
	brick_store_stats(fx.s, &stats);
	/* Two new slots begin before that byte. */
	assert_int_equal(stats.slots_dirty, 2);
	fixture_free(&fx);
}

static void no_room_is_said_and_changes_nothing(void **state)
{
	struct brick_grow g = { .zero_from = UINT64_MAX };

	(void)state;
	begin(20, 3);
	fixture_snapshot(&fx);
	assert_int_equal(grow_to(fx.m->size + BLOCK - 1, &g), -ENOSPC);
	assert_non_null(strstr(fx.err, "no room"));
	assert_int_equal(g.n_after, g.n_before);
	fixture_assert_unchanged(&fx);
	fixture_free(&fx);
}

static void what_cannot_be_repaired_does_not_grow(void **state)
{
	struct brick_grow g = { .zero_from = UINT64_MAX };

	(void)state;
	begin(20, 3);
	fx.m->base[BRICK_FMT_COMMIT] ^= 1;
	fx.m->base[BRICK_FMT_COMMIT + BRICK_FMT_PAGE] ^= 1;
	fixture_snapshot(&fx);
	assert_int_equal(grow_to(whole, &g), -EUCLEAN);
	fixture_assert_unchanged(&fx);
	fixture_free(&fx);
}

static void a_store_in_use_does_not_grow(void **state)
{
	struct brick_grow g = { .zero_from = UINT64_MAX, .boot_id = { 1 } };

	(void)state;
	begin(20, 3);
	fixture_open(&fx, 1);
	fixture_snapshot(&fx);
	assert_int_equal(grow_to(whole, &g), -EBUSY);
	fixture_assert_unchanged(&fx);
	fixture_free(&fx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_is_progress),
		cmocka_unit_test(tables_move_before_the_data_if_there_is_room),
		cmocka_unit_test(features_that_need_not_be_known_stay),
		cmocka_unit_test(tables_move_behind_the_data_if_there_is_none),
		cmocka_unit_test(
			new_slots_are_clean_only_where_the_file_is_new),
		cmocka_unit_test(no_room_is_said_and_changes_nothing),
		cmocka_unit_test(what_cannot_be_repaired_does_not_grow),
		cmocka_unit_test(a_store_in_use_does_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
