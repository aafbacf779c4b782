// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is flushed in the loop, and what is left to the flush worker: on a store
 * in memory that is taken for persistent, and counts.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/base/counters.h"
#include "brickd/storage/flush.h"
#include "brickd/storage/storage.h"
#include "flush_rig.h"
#include "proto/codec/kfb_codec.h"

static struct brick_storage storage;
static uint64_t n_flushed, n_drained;
static int drain_result;

static void flush(struct brick_media *m, uint64_t off, size_t len)
{
	(void)m;
	(void)off;
	n_flushed += len;
}

static int drain(struct brick_media *m)
{
	(void)m;
	n_drained++;
	return drain_result;
}

static int open_store(void **state)
{
	int error = flush_rig_open(&storage, "memory:32M", 2, flush, drain);

	(void)state;
	n_flushed = 0;
	n_drained = 0;
	drain_result = 0;
	return error;
}

static int close_store(void **state)
{
	(void)state;
	flush_rig_close(&storage);
	return 0;
}

static void small_ranges_are_flushed_at_once(void **state)
{
	struct kfb_flush small = { .n_ranges = 2,
				   .ranges = { { 64, 4096 }, { 8192, 64 } } };
	int error = 1;

	(void)state;
	assert_true(brick_flush_try_now(&storage, &small, 0, &error));
	assert_int_equal(error, 0);
	assert_int_equal(n_flushed, 4096 + 64);
	assert_int_equal(n_drained, 1);
}

static void all_ranges_count_together(void **state)
{
	struct kfb_flush f = { .n_ranges = 3,
			       .ranges = { { 0, BRICK_TRY_FLUSH_MAX - 2 },
					   { KFB_BLOCK_BYTES, 1 },
					   { KFB_BLOCK_BYTES + 64, 1 } } };
	int error;

	(void)state;
	assert_true(brick_flush_try_now(&storage, &f, 0, &error));
	f.ranges[2].len = 2;
	assert_false(brick_flush_try_now(&storage, &f, 0, &error));
	f.ranges[2].len = UINT64_MAX - KFB_BLOCK_BYTES - 64;
	assert_false(brick_flush_try_now(&storage, &f, 0, &error));
	assert_int_equal(n_drained, 1);
}

static void what_may_take_long_is_left_to_the_worker(void **state)
{
	struct kfb_flush f = { .n_ranges = 1, .ranges = { { 0, 64 } } };
	int error;

	(void)state;
	storage.media->granularity = BRICK_GRANULARITY_PAGE;
	assert_false(brick_flush_try_now(&storage, &f, 0, &error));
	storage.media->granularity = BRICK_GRANULARITY_CACHE_LINE;
	f.flags = KFB_FLUSH_ALL;
	assert_false(brick_flush_try_now(&storage, &f, 0, &error));
	assert_int_equal(n_flushed, 0);
	assert_int_equal(n_drained, 0);
}

static void a_medium_that_fails_is_told(void **state)
{
	struct kfb_flush f = { .n_ranges = 1, .ranges = { { 0, 64 } } };
	int error = 0;

	(void)state;
	drain_result = -EIO;
	assert_true(brick_flush_try_now(&storage, &f, 0, &error));
	assert_int_equal(error, -EIO);
	assert_int_equal(storage.counters->drains_failed, 1);
}

#define FLUSH_TEST(name) \
	cmocka_unit_test_setup_teardown(name, open_store, close_store)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FLUSH_TEST(small_ranges_are_flushed_at_once),
		FLUSH_TEST(all_ranges_count_together),
		FLUSH_TEST(what_may_take_long_is_left_to_the_worker),
		FLUSH_TEST(a_medium_that_fails_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
