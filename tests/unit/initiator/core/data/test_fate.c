// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether blocks have changed hands, and the memory of what is lost.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/kfb_fate.h"

static void births_are_compared_block_by_block(void **state)
{
	struct kfb_handle before[] = { { 0, 2, 1, 1, 5 },
				       { 2 * KFB_BLOCK_BYTES, 2, 1, 1, 6 } };
	struct kfb_handle after[] = { { 0, 1, 2, 2, 5 },
				      { KFB_BLOCK_BYTES, 1, 2, 2, 5 },
				      { 2 * KFB_BLOCK_BYTES, 2, 2, 2, 6 } };

	assert_true(kfb_births_same(before, 2, after, 3));
	assert_true(kfb_births_same(after, 3, before, 2));
	assert_false(kfb_births_same(before, 2, after, 2));
	assert_false(kfb_births_same(before, 1, after, 3));
	after[1].birth = 6;
	assert_false(kfb_births_same(before, 2, after, 3));
	after[1].birth = 5;
	after[2].va += KFB_BLOCK_BYTES;
	assert_false(kfb_births_same(before, 2, after, 3));
}

static void losses_last_until_they_are_accepted(void **state)
{
	struct kfb_losses losses = { 0 };
	struct kfb_dirty none = { 0 };
	struct kfb_dirty some = { 0 };

	kfb_losses_add(&losses, &none, KFB_LOSS_EPOCH);
	assert_int_equal(kfb_losses_error(&losses), 0);
	kfb_dirty_add(&some, 4096, 512);
	kfb_losses_add(&losses, &some, KFB_LOSS_EPOCH);
	kfb_losses_add(&losses, &some, KFB_LOSS_BIRTH);
	assert_int_equal(kfb_losses_error(&losses), -EIO);
	assert_int_equal(losses.why, KFB_LOSS_EPOCH | KFB_LOSS_BIRTH);
	assert_int_equal(losses.ranges.n, 1);
	kfb_losses_reset(&losses);
	assert_int_equal(kfb_losses_error(&losses), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(births_are_compared_block_by_block),
		cmocka_unit_test(losses_last_until_they_are_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
