// SPDX-License-Identifier: BSD-2-Clause
/* Grants: what is inside, also across grants that touch. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "brickd/config/grants.h"

static struct brick_grants g;

static int clear(void **state)
{
	memset(&g, 0, sizeof(g));
	return 0;
}

static void add(uint64_t block, uint64_t n, uint32_t access)
{
	const struct kfb_grant grant = { .va = block << KFB_BLOCK_SHIFT,
					 .n_blocks = n,
					 .access = access };

	assert_int_equal(brick_grants_add(&g, &grant), 0);
}

static bool allow(uint64_t first, uint64_t end, bool write)
{
	return brick_grants_allow(&g, (struct brick_span){ first, end }, write);
}

static void nothing_is_allowed_without_grants(void **state)
{
	assert_false(allow(0, 1, false));
}

static void borders_are_exact(void **state)
{
	add(10, 5, KFB_GRANT_RW);
	assert_true(allow(10, 15, true));
	assert_false(allow(9, 11, true));
	assert_false(allow(14, 16, true));
	assert_false(allow(15, 16, false));
}

static void read_only_is_not_for_writing(void **state)
{
	add(0, 4, KFB_GRANT_RO);
	add(4, 4, KFB_GRANT_RW);
	assert_true(allow(0, 8, false));
	assert_false(allow(0, 8, true));
	assert_false(allow(3, 5, true));
	assert_true(allow(4, 8, true));
}

static void grants_that_touch_or_overlap_are_one(void **state)
{
	add(20, 10, KFB_GRANT_RW);
	add(0, 10, KFB_GRANT_RW);
	add(5, 15, KFB_GRANT_RW);
	assert_true(allow(0, 30, true));
	assert_int_equal(g.n_rw, 1);
	assert_int_equal(g.n, 3);
}

static void a_gap_stays_a_gap(void **state)
{
	add(0, 10, KFB_GRANT_RW);
	add(11, 10, KFB_GRANT_RW);
	assert_false(allow(9, 12, true));
	assert_int_equal(g.n_rw, 2);
}

static void the_last_block_can_be_granted(void **state)
{
	add(KFB_BLOCKS_MAX - 1, 1, KFB_GRANT_RW);
	assert_true(allow(KFB_BLOCKS_MAX - 1, KFB_BLOCKS_MAX, true));
	assert_false(allow(0, 1, true));
}

static void grants_are_bounded(void **state)
{
	const struct kfb_grant one = { .n_blocks = 1, .access = KFB_GRANT_RO };
	uint64_t i;

	for (i = 0; i < KFB_GRANTS_MAX; i++)
		add(2 * i, 1, KFB_GRANT_RW);
	assert_int_equal(brick_grants_add(&g, &one), -ENOSPC);
	assert_int_equal(g.n_rw, KFB_GRANTS_MAX);
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_allowed_without_grants),
		TEST(borders_are_exact),
		TEST(read_only_is_not_for_writing),
		TEST(grants_that_touch_or_overlap_are_one),
		TEST(a_gap_stays_a_gap),
		TEST(the_last_block_can_be_granted),
		TEST(grants_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
