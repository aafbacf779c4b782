// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pages of LIST: what a brick may answer, and how many pages there can be.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "blocks/kfb_list.h"

#define BLOCK	   KFB_BLOCK_BYTES
#define LAST_BLOCK (0 - BLOCK)

static struct kfb_list list;
static struct kfb_list_reply reply;

/* Asked for extents of @max from a block on, or for mappings from a number on. */
static void ask(uint32_t what, uint32_t max, uint64_t cursor)
{
	list = (struct kfb_list){ .what = what,
				  .max_extents = max,
				  .cursor = cursor };
	memset(&reply, 0, sizeof(reply));
}

static void add(uint64_t va, uint64_t n_blocks, uint64_t mapping_id)
{
	reply.extents[reply.n_extents++] = (struct kfb_list_extent){
		.va = va, .n_blocks = n_blocks, .mapping_id = mapping_id
	};
}

static void is_right(void)
{
	assert_int_equal(kfb_list_check(&list, &reply), 0);
}

static void is_wrong(void)
{
	assert_int_equal(kfb_list_check(&list, &reply), -EPROTO);
}

static void a_last_page_may_be_short_or_empty(void **state)
{
	ask(KFB_LIST_ALLOCATED, 0, 0);
	is_right();
	add(3 * BLOCK, 2, 0);
	is_right();
}

static void a_page_that_is_not_the_last_is_full(void **state)
{
	ask(KFB_LIST_ALLOCATED, 2, 0);
	reply.cursor = BLOCK;
	is_wrong();
	add(0, 1, 0);
	is_wrong();
	add(BLOCK, 1, 0);
	reply.cursor = 2 * BLOCK;
	is_right();
}

static void a_page_has_no_more_than_was_asked_for(void **state)
{
	uint32_t i;

	ask(KFB_LIST_ALLOCATED, 2, 0);
	for (i = 0; i < 3; i++)
		add(i * BLOCK, 1, 0);
	is_wrong();
	list.max_extents = 0;
	is_right();
}

static void what_fits_is_a_full_page_when_no_number_is_asked_for(void **state)
{
	uint32_t i;

	ask(KFB_LIST_MAPPED, 0, 0);
	for (i = 0; i < KFB_LIST_EXTENTS_MAX - 1; i++)
		add(i * BLOCK, 1, 0);
	reply.cursor = i * BLOCK;
	is_wrong();
	add(i * BLOCK, 1, 0);
	reply.cursor += BLOCK;
	is_right();
	list.max_extents = UINT32_MAX;
	is_right();
}

static void the_cursor_rises_by_whole_blocks(void **state)
{
	ask(KFB_LIST_ALLOCATED, 1, 4 * BLOCK);
	add(4 * BLOCK, 1, 0);
	reply.cursor = 4 * BLOCK + 1;
	is_wrong();
	reply.cursor = 5 * BLOCK + 1;
	is_wrong();
	reply.cursor = 4 * BLOCK;
	is_wrong();
	reply.cursor = 3 * BLOCK;
	is_wrong();
	reply.cursor = 5 * BLOCK;
	is_right();
}

static void the_cursor_is_behind_what_was_listed(void **state)
{
	ask(KFB_LIST_ALLOCATED, 1, 0);
	add(2 * BLOCK, 4, 0);
	reply.cursor = 5 * BLOCK;
	is_wrong();
	reply.cursor = 6 * BLOCK;
	is_right();
}

static void extents_rise_from_the_cursor_and_do_not_overlap(void **state)
{
	ask(KFB_LIST_ALLOCATED, 0, 4 * BLOCK);
	add(3 * BLOCK, 2, 0);
	is_wrong();
	ask(KFB_LIST_ALLOCATED, 0, 4 * BLOCK);
	add(6 * BLOCK, 2, 0);
	add(7 * BLOCK, 1, 0);
	is_wrong();
	reply.extents[1].va = 5 * BLOCK;
	is_wrong();
	reply.extents[1].va = 8 * BLOCK;
	is_right();
}

static void an_extent_is_a_range_of_blocks(void **state)
{
	ask(KFB_LIST_ALLOCATED, 0, 0);
	add(BLOCK + 1, 1, 0);
	is_wrong();
	reply.extents[0] = (struct kfb_list_extent){ .va = BLOCK };
	is_wrong();
	reply.extents[0] =
		(struct kfb_list_extent){ .va = LAST_BLOCK, .n_blocks = 2 };
	is_wrong();
}

static void the_last_block_of_the_address_space_is_listed(void **state)
{
	ask(KFB_LIST_ALLOCATED, 1, LAST_BLOCK);
	add(LAST_BLOCK, 1, 0);
	is_right();
	/* Nothing is behind it. */
	reply.cursor = LAST_BLOCK;
	is_wrong();
}

static void mappings_rise_by_their_numbers(void **state)
{
	ask(KFB_LIST_MINE, 2, 7);
	add(9 * BLOCK, 1, 7);
	add(BLOCK, 1, 9);
	is_right();
	reply.cursor = 9;
	is_wrong();
	reply.cursor = 10;
	is_right();
	reply.extents[1].mapping_id = 7;
	is_wrong();
	reply.extents[1].mapping_id = 6;
	is_wrong();
	reply.extents[1].mapping_id = UINT64_MAX;
	is_wrong();
}

/* Whatever a brick does: so many blocks are so many pages at most. */
static void a_list_is_over_after_as_many_pages_as_its_blocks_fill(void **state)
{
	const uint64_t n_blocks = 40;
	uint64_t pages = 0;
	uint32_t i;

	ask(KFB_LIST_ALLOCATED, 4, 0);
	do {
		memset(&reply, 0, sizeof(reply));
		/* As slow as one can be. */
		for (i = 0; i < list.max_extents; i++)
			add(list.cursor + i * BLOCK, 1, 0);
		reply.cursor = list.cursor + i * BLOCK;
		is_right();
		reply.cursor -= BLOCK;
		is_wrong();
		list.cursor += i * BLOCK;
		pages++;
	} while (list.cursor < n_blocks * BLOCK);
	assert_int_equal(pages, n_blocks / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_last_page_may_be_short_or_empty),
		cmocka_unit_test(a_page_that_is_not_the_last_is_full),
		cmocka_unit_test(a_page_has_no_more_than_was_asked_for),
		cmocka_unit_test(
			what_fits_is_a_full_page_when_no_number_is_asked_for),
		cmocka_unit_test(the_cursor_rises_by_whole_blocks),
		cmocka_unit_test(the_cursor_is_behind_what_was_listed),
		cmocka_unit_test(
			extents_rise_from_the_cursor_and_do_not_overlap),
		cmocka_unit_test(an_extent_is_a_range_of_blocks),
		cmocka_unit_test(the_last_block_of_the_address_space_is_listed),
		cmocka_unit_test(mappings_rise_by_their_numbers),
		cmocka_unit_test(
			a_list_is_over_after_as_many_pages_as_its_blocks_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
