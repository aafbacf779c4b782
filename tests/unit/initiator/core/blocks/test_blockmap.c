// SPDX-License-Identifier: BSD-2-Clause
/*
 * The block map: checks of handles, lookups, splits, and the edges of the
 * address space.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "blocks/kfb_blockmap.h"

#define BLOCK	   KFB_BLOCK_BYTES
#define LAST_BLOCK (0 - BLOCK)
#define CAP	   32
#define MODEL_SIZE 64
#define ROUNDS	   20000

static struct kfb_blockmap_entry entries[CAP];
static struct kfb_blockmap map;

static struct kfb_handle handle(uint64_t va, uint64_t n_blocks)
{
	struct kfb_handle h = {
		.va = va,
		.n_blocks = n_blocks,
		.key = va / BLOCK + 1,
		.raddr = va / 2,
		.birth = 1,
	};

	return h;
}

static int add(uint64_t va, uint64_t n_blocks, uint64_t id, _Bool writable)
{
	struct kfb_handle h = handle(va, n_blocks);

	return kfb_blockmap_add(&map, &h, 1, id, writable);
}

static int setup(void **state)
{
	kfb_blockmap_init(&map, entries, CAP);
	return 0;
}

static void an_empty_map_maps_nothing(void **state)
{
	struct kfb_range range = { .va = 0, .n_blocks = KFB_BLOCKS_MAX };
	struct kfb_piece piece;

	assert_null(kfb_blockmap_find(&map, 0));
	assert_false(kfb_blockmap_overlaps(&map, &range));
	assert_int_equal(kfb_blockmap_split(&map, 0, 1, 0, &piece), -ENXIO);
}

static void an_address_finds_its_handle(void **state)
{
	assert_int_equal(add(4 * BLOCK, 2, 7, 1), 0);
	assert_int_equal(add(BLOCK, 1, 8, 1), 0);
	assert_null(kfb_blockmap_find(&map, BLOCK - 1));
	assert_int_equal(kfb_blockmap_find(&map, BLOCK)->mapping_id, 8);
	assert_int_equal(kfb_blockmap_find(&map, 2 * BLOCK - 1)->mapping_id, 8);
	assert_null(kfb_blockmap_find(&map, 2 * BLOCK));
	assert_int_equal(kfb_blockmap_find(&map, 6 * BLOCK - 1)->mapping_id, 7);
	assert_null(kfb_blockmap_find(&map, 6 * BLOCK));
}

static void the_last_block_of_the_address_space_is_a_block(void **state)
{
	struct kfb_piece piece;

	assert_int_equal(add(LAST_BLOCK, 1, 1, 1), 0);
	assert_non_null(kfb_blockmap_find(&map, UINT64_MAX));
	assert_int_equal(kfb_blockmap_split(&map, UINT64_MAX - 7, 8, 1, &piece),
			 0);
	assert_int_equal(piece.len, 8);
	assert_int_equal(kfb_blockmap_split(&map, UINT64_MAX - 7, 9, 1, &piece),
			 -EINVAL);
}

static void an_io_is_split_at_handle_borders(void **state)
{
	struct kfb_handle two[] = { handle(0, 1), handle(BLOCK, 2) };
	struct kfb_piece piece;

	assert_int_equal(kfb_blockmap_add(&map, two, 2, 1, 1), 0);
	assert_int_equal(kfb_blockmap_split(&map, BLOCK - 10, 100, 1, &piece),
			 0);
	assert_int_equal(piece.len, 10);
	assert_int_equal(piece.key, two[0].key);
	assert_int_equal(piece.raddr, two[0].raddr + BLOCK - 10);
	assert_int_equal(kfb_blockmap_split(&map, BLOCK, 90, 1, &piece), 0);
	assert_int_equal(piece.len, 90);
	assert_int_equal(piece.key, two[1].key);
	assert_int_equal(piece.raddr, two[1].raddr);
}

static void an_io_over_a_gap_is_refused(void **state)
{
	add(0, 1, 1, 1);
	add(2 * BLOCK, 1, 2, 1);
	assert_int_equal(kfb_blockmap_check_io(&map, 0, BLOCK, 1), 0);
	assert_int_equal(kfb_blockmap_check_io(&map, 0, BLOCK + 1, 1), -ENXIO);
	assert_int_equal(kfb_blockmap_check_io(&map, 0, 3 * BLOCK, 1), -ENXIO);
	assert_int_equal(kfb_blockmap_check_io(&map, 0, 0, 1), -EINVAL);
}

static void a_write_into_a_read_only_mapping_is_refused(void **state)
{
	add(0, 1, 1, 1);
	add(BLOCK, 1, 2, 0);
	assert_int_equal(kfb_blockmap_check_io(&map, 0, 2 * BLOCK, 0), 0);
	assert_int_equal(kfb_blockmap_check_io(&map, 0, 2 * BLOCK, 1), -EACCES);
	assert_int_equal(kfb_blockmap_check_io(&map, 0, BLOCK, 1), 0);
}

static void overlapping_handles_are_not_added(void **state)
{
	assert_int_equal(add(2 * BLOCK, 2, 1, 1), 0);
	assert_int_equal(add(3 * BLOCK, 1, 2, 1), -EEXIST);
	assert_int_equal(add(BLOCK, 2, 2, 1), -EEXIST);
	assert_int_equal(add(BLOCK, 4, 2, 1), -EEXIST);
	assert_int_equal(add(BLOCK, 1, 2, 1), 0);
	assert_int_equal(add(4 * BLOCK, 1, 2, 1), 0);
	assert_int_equal(map.n, 3);
}

static void a_full_map_says_so_and_can_grow(void **state)
{
	static struct kfb_blockmap_entry more[CAP + 1];
	uint64_t i;

	for (i = 0; i < CAP; i++)
		assert_int_equal(add(i * BLOCK, 1, i, 1), 0);
	assert_int_equal(add(CAP * BLOCK, 1, CAP, 1), -ENOSPC);
	assert_int_equal(kfb_blockmap_grow(&map, more, CAP - 1), -EINVAL);
	assert_int_equal(kfb_blockmap_grow(&map, more, CAP + 1), 0);
	assert_int_equal(add(CAP * BLOCK, 1, CAP, 1), 0);
	for (i = 0; i <= CAP; i++)
		assert_int_equal(kfb_blockmap_find(&map, i * BLOCK)->mapping_id,
				 i);
}

static void removing_a_mapping_leaves_the_others(void **state)
{
	uint64_t i;

	for (i = 0; i < 9; i++)
		add(i * BLOCK, 1, i % 3, 1);
	assert_int_equal(kfb_blockmap_del(&map, 1), 3);
	assert_int_equal(kfb_blockmap_del(&map, 1), 0);
	assert_int_equal(map.n, 6);
	for (i = 0; i < 9; i++) {
		if (i % 3 == 1)
			assert_null(kfb_blockmap_find(&map, i * BLOCK));
		else
			assert_non_null(kfb_blockmap_find(&map, i * BLOCK));
	}
}

/* The blocks of @want that a page of these handles covers, or -EPROTO. */
static int64_t covers(const struct kfb_handle *h, uint32_t n,
		      const struct kfb_range *want)
{
	struct kfb_map_reply page = { .mapping_id = 1, .n_handles = n };
	struct kfb_range rest = *want;

	memcpy(page.handles, h, n * sizeof(*h));
	/* It is the last page, or else it is not: one of both may be right. */
	if (kfb_blockmap_take_page(&page, 1, &rest)) {
		page.cursor = 1;
		if (kfb_blockmap_take_page(&page, 1, &rest))
			return -EPROTO;
	}
	assert_int_equal(rest.va, want->va + ((want->n_blocks - rest.n_blocks)
					      << KFB_BLOCK_SHIFT));
	return (int64_t)(want->n_blocks - rest.n_blocks);
}

static void
a_page_is_of_its_mapping_and_says_whether_it_is_the_last(void **state)
{
	struct kfb_range rest = { .va = BLOCK, .n_blocks = 3 };
	struct kfb_map_reply page = { .mapping_id = 7,
				      .n_handles = 1,
				      .handles = { handle(BLOCK, 2) } };

	/* no cursor, though a block is missing */
	assert_int_equal(kfb_blockmap_take_page(&page, 7, &rest), -EPROTO);
	page.cursor = 1;
	assert_int_equal(kfb_blockmap_take_page(&page, 8, &rest), -EPROTO);
	assert_int_equal(rest.n_blocks, 3);
	assert_int_equal(kfb_blockmap_take_page(&page, 7, &rest), 0);
	assert_int_equal(rest.va, 3 * BLOCK);
	assert_int_equal(rest.n_blocks, 1);
	/* a cursor behind the last block */
	page.handles[0] = handle(3 * BLOCK, 1);
	assert_int_equal(kfb_blockmap_take_page(&page, 7, &rest), -EPROTO);
	page.cursor = 0;
	/* no mapping has the id 0 */
	page.mapping_id = 0;
	assert_int_equal(kfb_blockmap_take_page(&page, 0, &rest), -EPROTO);
	page.mapping_id = 7;
	assert_int_equal(kfb_blockmap_take_page(&page, 7, &rest), 0);
	assert_int_equal(rest.n_blocks, 0);
}

static void handles_of_another_range_are_refused(void **state)
{
	struct kfb_range want = { .va = BLOCK, .n_blocks = 3 };
	struct kfb_handle h[] = { handle(BLOCK, 1), handle(2 * BLOCK, 2) };

	assert_int_equal(covers(h, 2, &want), 3);
	assert_int_equal(covers(h, 1, &want), 1);
	/* nothing at all */
	assert_int_equal(covers(h, 0, &want), -EPROTO);
	/* not from the start */
	assert_int_equal(covers(h + 1, 1, &want), -EPROTO);
	/* beyond the end */
	h[1].n_blocks = 3;
	assert_int_equal(covers(h, 2, &want), -EPROTO);
	/* a gap */
	h[1] = handle(3 * BLOCK, 1);
	assert_int_equal(covers(h, 2, &want), -EPROTO);
	/* an overlap */
	h[1] = handle(BLOCK, 1);
	assert_int_equal(covers(h, 2, &want), -EPROTO);
}

static void handles_that_no_brick_may_send_are_refused(void **state)
{
	struct kfb_range want = { .va = 0, .n_blocks = KFB_BLOCKS_MAX };
	struct kfb_handle h = handle(0, 1);

	h.n_blocks = 0;
	assert_int_equal(covers(&h, 1, &want), -EPROTO);
	h.n_blocks = (KFB_MAP_EXTENT_MAX_BYTES >> KFB_BLOCK_SHIFT) + 1;
	assert_int_equal(covers(&h, 1, &want), -EPROTO);
	h.n_blocks = 1ULL << 63;
	assert_int_equal(covers(&h, 1, &want), -EPROTO);
	h = handle(0, 1);
	h.va = 4096;
	assert_int_equal(covers(&h, 1, &want), -EPROTO);
	assert_int_equal(kfb_blockmap_add(&map, &h, 1, 1, 1), -EPROTO);
	/* remote range wraps */
	h = handle(0, 1);
	h.raddr = UINT64_MAX - BLOCK + 2;
	assert_int_equal(covers(&h, 1, &want), -EPROTO);
	h.raddr = UINT64_MAX - BLOCK + 1;
	assert_int_equal(covers(&h, 1, &want), 1);
}

static void a_random_history_agrees_with_a_flat_table(void **state)
{
	static uint64_t model[MODEL_SIZE]; /* mapping id, 0: not mapped */
	uint64_t id = 0;
	unsigned int i;

	srand(1);
	for (i = 0; i < ROUNDS; i++) {
		uint64_t at = (uint64_t)rand() % MODEL_SIZE;
		uint64_t n = 1 + (uint64_t)rand() % 4;
		uint64_t j;
		int want = 0;

		if (rand() % 3 == 0) {
			uint64_t victim = model[at];

			for (j = 0; j < MODEL_SIZE; j++) {
				if (victim && model[j] == victim)
					model[j] = 0;
			}
			kfb_blockmap_del(&map, victim);
			continue;
		}
		if (at + n > MODEL_SIZE)
			n = MODEL_SIZE - at;
		for (j = at; j < at + n; j++) {
			if (model[j])
				want = -EEXIST;
		}
		if (!want && map.n == map.cap)
			want = -ENOSPC;
		assert_int_equal(add(at * BLOCK, n, ++id, 1), want);
		for (j = at; !want && j < at + n; j++)
			model[j] = id;
		for (j = 0; j < MODEL_SIZE; j++) {
			const struct kfb_blockmap_entry *e =
				kfb_blockmap_find(&map, j * BLOCK + 5);

			assert_int_equal(e ? e->mapping_id : 0, model[j]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_empty_map_maps_nothing, setup),
		cmocka_unit_test_setup(an_address_finds_its_handle, setup),
		cmocka_unit_test_setup(
			the_last_block_of_the_address_space_is_a_block, setup),
		cmocka_unit_test_setup(an_io_is_split_at_handle_borders, setup),
		cmocka_unit_test_setup(an_io_over_a_gap_is_refused, setup),
		cmocka_unit_test_setup(
			a_write_into_a_read_only_mapping_is_refused, setup),
		cmocka_unit_test_setup(overlapping_handles_are_not_added,
				       setup),
		cmocka_unit_test_setup(a_full_map_says_so_and_can_grow, setup),
		cmocka_unit_test_setup(removing_a_mapping_leaves_the_others,
				       setup),
		cmocka_unit_test_setup(
			a_page_is_of_its_mapping_and_says_whether_it_is_the_last,
			setup),
		cmocka_unit_test_setup(handles_of_another_range_are_refused,
				       setup),
		cmocka_unit_test_setup(
			handles_that_no_brick_may_send_are_refused, setup),
		cmocka_unit_test_setup(
			a_random_history_agrees_with_a_flat_table, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
