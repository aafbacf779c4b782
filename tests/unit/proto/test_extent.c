// SPDX-License-Identifier: BSD-2-Clause
/*
 * Extents at the borders of the address space, and sets of them against a
 * model that has a flag for each block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_codec.h"
#include "kfb_extent.h"

#define B      KFB_BLOCK_BYTES
#define LAST   (0ULL - B) /* the last block's address */
#define CAP    16
#define MODEL  24 /* blocks of the model */
#define ROUNDS 20000

static struct kfb_extent items[CAP + 1];
static struct kfb_extents set;

static int start(void **state)
{
	memset(items, 0xa5, sizeof(items));
	kfb_extents_init(&set, items, CAP);
	return 0;
}

static int add(__u64 va, __u64 n_blocks)
{
	const struct kfb_extent extent = { va, n_blocks };

	return kfb_extents_add(&set, &extent);
}

static int insert(__u64 va, __u64 n_blocks)
{
	const struct kfb_extent extent = { va, n_blocks };

	return kfb_extents_insert(&set, &extent);
}

static int del(__u64 va, __u64 n_blocks)
{
	const struct kfb_extent extent = { va, n_blocks };

	return kfb_extents_del(&set, &extent);
}

static void expect_item(__u32 at, __u64 va, __u64 n_blocks)
{
	assert_true(at < set.n);
	assert_int_equal(items[at].va, va);
	assert_int_equal(items[at].n_blocks, n_blocks);
}

static void the_last_byte_of_the_last_block_is_known(void **state)
{
	const struct kfb_extent last = { LAST, 1 };
	const struct kfb_extent all = { 0, KFB_BLOCKS_MAX };
	const struct kfb_extent first = { 0, 1 };

	assert_int_equal(kfb_extent_last(&last), ~0ULL);
	assert_int_equal(kfb_extent_last(&all), ~0ULL);
	assert_int_equal(kfb_extent_last(&first), B - 1);
}

static void overlaps_need_a_block_in_common(void **state)
{
	const struct kfb_extent a = { 4 * B, 4 };
	const struct kfb_extent left = { 2 * B, 2 }, right = { 8 * B, 1 };
	const struct kfb_extent inner = { 5 * B, 1 }, over = { 0, 100 };
	const struct kfb_extent all = { 0, KFB_BLOCKS_MAX };
	const struct kfb_extent last = { LAST, 1 };
	struct kfb_extent out = { 1, 1 };

	assert_false(kfb_extent_overlaps(&a, &left));
	assert_false(kfb_extent_overlaps(&left, &a));
	assert_false(kfb_extent_overlaps(&a, &right));
	assert_false(kfb_extent_overlaps(&right, &a));
	assert_int_equal(kfb_extent_intersect(&a, &left, &out), -ENOENT);
	assert_int_equal(out.va, 1);
	assert_int_equal(kfb_extent_intersect(&a, &inner, &out), 0);
	assert_memory_equal(&out, &inner, sizeof(out));
	assert_int_equal(kfb_extent_intersect(&over, &a, &out), 0);
	assert_memory_equal(&out, &a, sizeof(out));
	assert_int_equal(kfb_extent_intersect(&all, &last, &out), 0);
	assert_memory_equal(&out, &last, sizeof(out));
	assert_false(kfb_extent_overlaps(&last, &over));
}

static void pieces_are_taken_until_nothing_is_left(void **state)
{
	struct kfb_extent rest = { LAST - 4 * B, 5 }, piece;

	assert_int_equal(kfb_extent_take(&rest, 0, &piece), -EINVAL);
	assert_int_equal(kfb_extent_take(&rest, 2, &piece), 0);
	assert_int_equal(piece.va, LAST - 4 * B);
	assert_int_equal(piece.n_blocks, 2);
	assert_int_equal(kfb_extent_take(&rest, 2, &piece), 0);
	assert_int_equal(kfb_extent_take(&rest, ~0ULL, &piece), 0);
	assert_int_equal(piece.va, LAST);
	assert_int_equal(piece.n_blocks, 1);
	assert_int_equal(rest.n_blocks, 0);
	assert_int_equal(rest.va, 0);
	assert_int_equal(kfb_extent_take(&rest, 2, &piece), -ENOENT);
}

static void byte_ranges_are_clipped_to_an_extent(void **state)
{
	const struct kfb_extent handle = { 4 * B, 2 };
	const struct kfb_extent last = { LAST, 1 };
	const struct kfb_extent all = { 0, KFB_BLOCKS_MAX };

	assert_int_equal(kfb_extent_clip_bytes(&handle, 4 * B - 1, 8), 0);
	assert_int_equal(kfb_extent_clip_bytes(&handle, 6 * B, 8), 0);
	assert_int_equal(kfb_extent_clip_bytes(&handle, 4 * B, 8), 8);
	assert_int_equal(kfb_extent_clip_bytes(&handle, 6 * B - 8, 8), 8);
	assert_int_equal(kfb_extent_clip_bytes(&handle, 6 * B - 8, 9), 8);
	assert_int_equal(kfb_extent_clip_bytes(&handle, 4 * B, ~0ULL), 2 * B);
	assert_int_equal(kfb_extent_clip_bytes(&handle, 4 * B, 0), 0);
	assert_int_equal(kfb_extent_clip_bytes(&last, ~0ULL, 1), 1);
	assert_int_equal(kfb_extent_clip_bytes(&last, ~0ULL, 2), 1);
	assert_int_equal(kfb_extent_clip_bytes(&last, LAST, ~0ULL), B);
	assert_int_equal(kfb_extent_clip_bytes(&all, 0, ~0ULL), ~0ULL);
	assert_int_equal(kfb_extent_clip_bytes(&all, 1, ~0ULL), ~0ULL);
	assert_int_equal(kfb_extent_clip_bytes(&all, 2, ~0ULL), ~0ULL - 1);
}

static void neighbours_merge_on_add_and_stay_apart_on_insert(void **state)
{
	assert_int_equal(add(4 * B, 2), 0);
	assert_int_equal(add(8 * B, 2), 0);
	assert_int_equal(set.n, 2);
	assert_int_equal(add(6 * B, 2), 0);
	assert_int_equal(set.n, 1);
	expect_item(0, 4 * B, 6);
	assert_int_equal(add(10 * B, 1), 0);
	expect_item(0, 4 * B, 7);
	assert_int_equal(add(3 * B, 1), 0);
	expect_item(0, 3 * B, 8);
	assert_int_equal(insert(2 * B, 1), 0);
	assert_int_equal(set.n, 2);
	assert_int_equal(add(5 * B, 1), -EEXIST);
	assert_int_equal(add(0, 100), -EEXIST);
	assert_int_equal(insert(10 * B, 1), -EEXIST);
	assert_int_equal(add(11 * B, KFB_BLOCKS_MAX), -EINVAL);
	assert_int_equal(add(1, 1), -EINVAL);
	assert_int_equal(insert(0, 0), -EINVAL);
	assert_int_equal(del(LAST, 2), -EINVAL);
}

static void a_set_reaches_the_end_of_the_address_space(void **state)
{
	const struct kfb_extent all = { 0, KFB_BLOCKS_MAX };

	assert_int_equal(add(LAST, 1), 0);
	assert_int_equal(add(LAST - 2 * B, 1), 0);
	assert_int_equal(add(LAST - B, 1), 0);
	expect_item(0, LAST - 2 * B, 3);
	assert_int_equal(kfb_extents_find(&set, ~0ULL), 0);
	assert_false(kfb_extents_cover(&set, &all));
	assert_int_equal(add(0, KFB_BLOCKS_MAX - 3), 0);
	assert_int_equal(set.n, 1);
	expect_item(0, 0, KFB_BLOCKS_MAX);
	assert_true(kfb_extents_cover(&set, &all));
	assert_int_equal(del(LAST, 1), 0);
	expect_item(0, 0, KFB_BLOCKS_MAX - 1);
	assert_int_equal(kfb_extents_find(&set, LAST), 1);
	assert_int_equal(del(0, KFB_BLOCKS_MAX - 1), 0);
	assert_int_equal(set.n, 0);
	assert_int_equal(del(0, 1), -ENOENT);
}

static void a_full_set_refuses_but_still_merges(void **state)
{
	unsigned int i;

	for (i = 0; i < CAP; i++)
		assert_int_equal(add(4 * i * B, 3), 0);
	assert_int_equal(add(4 * CAP * B, 1), -ENOSPC);
	assert_int_equal(insert(3 * B, 1), -ENOSPC);
	assert_int_equal(del(B, 1), -ENOSPC);
	expect_item(0, 0, 3);
	assert_int_equal(set.n, CAP);
	assert_int_equal(add(3 * B, 1), 0);
	assert_int_equal(set.n, CAP - 1);
	assert_int_equal(del(B, 1), 0);
	assert_int_equal(set.n, CAP);
	expect_item(0, 0, 1);
	expect_item(1, 2 * B, 5);
	/* What is left of an extent keeps its place. */
	assert_int_equal(del(2 * B, 1), 0);
	assert_int_equal(del(6 * B, 1), 0);
	expect_item(1, 3 * B, 3);
	assert_int_equal(set.n, CAP);
	/* The place behind the array was never touched. */
	assert_int_equal(items[CAP].va, 0xa5a5a5a5a5a5a5a5);
}

static void only_whole_handles_count_as_whole(void **state)
{
	const struct kfb_extent both = { 4 * B, 6 }, second = { 6 * B, 4 };
	const struct kfb_extent part = { 4 * B, 3 }, gap = { 4 * B, 8 };
	const struct kfb_extent inner = { 5 * B, 5 };

	assert_int_equal(insert(4 * B, 2), 0);
	assert_int_equal(insert(6 * B, 4), 0);
	assert_int_equal(insert(11 * B, 1), 0);
	assert_true(kfb_extents_whole(&set, &both));
	assert_true(kfb_extents_whole(&set, &second));
	assert_false(kfb_extents_whole(&set, &part));
	assert_false(kfb_extents_whole(&set, &inner));
	assert_false(kfb_extents_whole(&set, &gap));
}

static void iterating_clips_to_the_range_and_to_borders(void **state)
{
	struct kfb_extent rest = { 5 * B, 7 }, piece;

	assert_int_equal(insert(4 * B, 2), 0);
	assert_int_equal(insert(6 * B, 4), 0);
	assert_int_equal(insert(11 * B, 5), 0);
	assert_int_equal(kfb_extents_next(&set, &rest, &piece), 0);
	assert_int_equal(piece.va, 5 * B);
	assert_int_equal(piece.n_blocks, 1);
	assert_int_equal(kfb_extents_next(&set, &rest, &piece), 0);
	assert_int_equal(piece.va, 6 * B);
	assert_int_equal(piece.n_blocks, 4);
	assert_int_equal(kfb_extents_next(&set, &rest, &piece), 0);
	assert_int_equal(piece.va, 11 * B);
	assert_int_equal(piece.n_blocks, 1);
	assert_int_equal(kfb_extents_next(&set, &rest, &piece), -ENOENT);
	assert_int_equal(rest.n_blocks, 0);
	assert_int_equal(insert(LAST, 1), 0);
	rest.va = LAST - B;
	rest.n_blocks = 2;
	assert_int_equal(kfb_extents_next(&set, &rest, &piece), 0);
	assert_int_equal(piece.va, LAST);
	assert_int_equal(kfb_extents_next(&set, &rest, &piece), -ENOENT);
	rest.va = 5 * B;
	rest.n_blocks = 0;
	assert_int_equal(kfb_extents_next(&set, &rest, &piece), -ENOENT);
	rest.va = 20 * B;
	rest.n_blocks = 2;
	assert_int_equal(kfb_extents_next(&set, &rest, &piece), -ENOENT);
	assert_int_equal(rest.n_blocks, 0);
}

/* The model's blocks are the last ones below 2^64. */
static __u64 model_va(unsigned int block)
{
	return 0ULL - (MODEL - block) * B;
}

static unsigned int model_count(const _Bool *model, unsigned int from,
				unsigned int n)
{
	unsigned int i, count = 0;

	for (i = from; i < from + n; i++)
		count += model[i];
	return count;
}

static void compare_with_model(const _Bool *model)
{
	struct kfb_extent rest = { model_va(0), MODEL }, piece;
	_Bool seen[MODEL] = { 0 };
	unsigned int i;

	for (i = 1; i < set.n; i++) {
		__u64 end = kfb_extent_last(&items[i - 1]) + 1;

		/* Sorted, apart, and nothing left that should have merged. */
		assert_true(end < items[i].va);
	}
	while (kfb_extents_next(&set, &rest, &piece) == 0) {
		__u64 first = (piece.va - model_va(0)) / B;

		for (i = 0; i < piece.n_blocks; i++)
			seen[first + i] = 1;
	}
	assert_memory_equal(seen, model, sizeof(seen));
}

static void random_sets_equal_their_model(void **state)
{
	_Bool model[MODEL] = { 0 };
	__u32 random = 12345, round, i;

	for (round = 0; round < ROUNDS; round++) {
		unsigned int from, n, there;
		struct kfb_extent extent;

		random = random * 1664525 + 1013904223;
		from = (random >> 8) % MODEL;
		n = 1 + (random >> 16) % 5;
		if (n > MODEL - from)
			n = MODEL - from;
		extent.va = model_va(from);
		extent.n_blocks = n;
		there = model_count(model, from, n);
		assert_int_equal(kfb_extents_overlap(&set, &extent), there > 0);
		assert_int_equal(kfb_extents_cover(&set, &extent), there == n);
		if (random >> 31) {
			assert_int_equal(add(extent.va, n),
					 there ? -EEXIST : 0);
			for (i = from; !there && i < from + n; i++)
				model[i] = 1;
		} else {
			assert_int_equal(del(extent.va, n),
					 there == n ? 0 : -ENOENT);
			for (i = from; there == n && i < from + n; i++)
				model[i] = 0;
		}
		compare_with_model(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_byte_of_the_last_block_is_known),
		cmocka_unit_test(overlaps_need_a_block_in_common),
		cmocka_unit_test(pieces_are_taken_until_nothing_is_left),
		cmocka_unit_test(byte_ranges_are_clipped_to_an_extent),
		cmocka_unit_test_setup(
			neighbours_merge_on_add_and_stay_apart_on_insert,
			start),
		cmocka_unit_test_setup(
			a_set_reaches_the_end_of_the_address_space, start),
		cmocka_unit_test_setup(a_full_set_refuses_but_still_merges,
				       start),
		cmocka_unit_test_setup(only_whole_handles_count_as_whole,
				       start),
		cmocka_unit_test_setup(
			iterating_clips_to_the_range_and_to_borders, start),
		cmocka_unit_test_setup(random_sets_equal_their_model, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
