// SPDX-License-Identifier: BSD-2-Clause
/* A MAP under way: its pages, and what becomes of it when it is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "blocks/kfb_map_try.h"

#define VA 0x40000000ULL
#define ID 77

static const struct kfb_range range = { .va = VA, .n_blocks = 3 };

static struct kfb_map_try begun(uint32_t flags, bool in_mapping,
				uint64_t until_ms)
{
	struct kfb_map_try t;

	kfb_map_try_begin(&t, &range, flags, in_mapping, until_ms);
	return t;
}

static int take(struct kfb_map_try *t, uint64_t id, uint64_t va,
		uint64_t n_blocks, uint64_t cursor)
{
	const struct kfb_map_reply page = {
		.mapping_id = id,
		.cursor = cursor,
		.n_handles = 1,
		.handles = { { .va = va, .n_blocks = n_blocks, .key = 1 } },
	};

	return kfb_map_try_took(t, &page);
}

static void each_page_is_asked_for_in_turn(void **state)
{
	struct kfb_map_try t = begun(KFB_MAP_RW, false, 1000);
	struct kfb_request req = { 0 };

	(void)state;
	kfb_map_try_ask(&t, &req);
	assert_int_equal(req.op, KFB_OP_MAP);
	assert_int_equal(req.u.map.range.va, VA);
	assert_int_equal(req.u.map.range.n_blocks, 3);
	assert_int_equal(req.u.map.flags, KFB_MAP_RW);
	assert_int_equal(req.u.map.mapping_id, 0);
	assert_int_equal(req.u.map.cursor, 0);
	assert_int_equal(take(&t, ID, VA, 2, 5), 0);
	assert_int_equal(t.rest.n_blocks, 1);
	kfb_map_try_ask(&t, &req);
	/* The range is always the whole one: the cursor tells the rest. */
	assert_int_equal(req.u.map.range.n_blocks, 3);
	assert_int_equal(req.u.map.mapping_id, ID);
	assert_int_equal(req.u.map.cursor, 5);
	assert_int_equal(take(&t, ID, VA + 2 * KFB_BLOCK_BYTES, 1, 0), 0);
	assert_int_equal(t.rest.n_blocks, 0);
}

/* Its id is known all the same: whoever asked can give it back. */
static void a_page_of_something_else_is_refused(void **state)
{
	struct kfb_map_try t = begun(KFB_MAP_RW, false, 1000);

	(void)state;
	assert_int_equal(take(&t, ID, VA + KFB_BLOCK_BYTES, 2, 5), -EPROTO);
	assert_int_equal(t.mapping_id, ID);
	t = begun(KFB_MAP_RW, false, 1000);
	assert_int_equal(take(&t, ID, VA, 2, 5), 0);
	assert_int_equal(take(&t, ID + 1, VA + 2 * KFB_BLOCK_BYTES, 1, 0),
			 -EPROTO);
	assert_int_equal(t.mapping_id, ID);
}

static void some_refusals_may_pass(void **state)
{
	static const struct {
		int error;
		bool first;
		bool again;
	} cases[] = {
		{ -EAGAIN, true, true },      { -EBUSY, false, true },
		{ -ENOMEM, false, true },     { -ENOSPC, false, true },
		{ -ESHUTDOWN, false, true },  { -ETIMEDOUT, false, true },
		{ -EACCES, false, false },    { -ENOENT, false, false },
		{ -ESTALE, false, false },    { -ECONNRESET, false, false },
		{ -EOPNOTSUPP, false, false }
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kfb_map_try first = begun(KFB_MAP_RW, false, 1000);
		struct kfb_map_try again = begun(KFB_MAP_RW, true, 1000);

		assert_int_equal(!!kfb_map_try_refused(&first, cases[i].error,
						       0),
				 cases[i].first);
		assert_int_equal(!!kfb_map_try_refused(&again, cases[i].error,
						       0),
				 cases[i].again);
	}
}

static void pauses_grow_until_there_is_no_time_left(void **state)
{
	struct kfb_map_try t = begun(KFB_MAP_RW, true, 2000);
	uint32_t pause_ms = KFB_MAP_PAUSE_MIN_MS;
	uint32_t i;

	(void)state;
	for (i = 0; i < 10; i++) {
		assert_int_equal(kfb_map_try_refused(&t, -EBUSY, 0), pause_ms);
		pause_ms *= 2;
		if (pause_ms > KFB_MAP_PAUSE_MAX_MS)
			pause_ms = KFB_MAP_PAUSE_MAX_MS;
	}
	assert_int_equal(kfb_map_try_refused(&t, -EBUSY, 1993), 7);
	assert_int_equal(kfb_map_try_refused(&t, -EBUSY, 2000), 0);
	assert_int_equal(kfb_map_try_refused(&t, -EBUSY, 2001), 0);
	/* The next page is another one's to wait for. */
	assert_int_equal(take(&t, ID, VA, 1, 5), 0);
	assert_int_equal(kfb_map_try_refused(&t, -EBUSY, 0),
			 KFB_MAP_PAUSE_MIN_MS);
	t = begun(KFB_MAP_RW, false, 0);
	assert_int_equal(kfb_map_try_refused(&t, -EAGAIN, 1), 0);
}

static void the_first_try_alone_does_not_wait_at_the_brick(void **state)
{
	struct kfb_map_try t = begun(KFB_MAP_RW | KFB_MAP_NOWAIT, true, 1000);

	(void)state;
	assert_true(kfb_map_try_refused(&t, -EBUSY, 0));
	assert_int_equal(t.flags, KFB_MAP_RW | KFB_MAP_NOWAIT);
	assert_true(kfb_map_try_refused(&t, -EAGAIN, 0));
	assert_int_equal(t.flags, KFB_MAP_RW);
}

static void only_what_is_gone_is_stale(void **state)
{
	(void)state;
	assert_true(kfb_map_is_stale(-ESTALE));
	assert_true(kfb_map_is_stale(-ENOENT));
	assert_false(kfb_map_is_stale(-EACCES));
	assert_false(kfb_map_is_stale(-ENOMEM));
	assert_false(kfb_map_is_stale(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_page_is_asked_for_in_turn),
		cmocka_unit_test(a_page_of_something_else_is_refused),
		cmocka_unit_test(some_refusals_may_pass),
		cmocka_unit_test(pauses_grow_until_there_is_no_time_left),
		cmocka_unit_test(
			the_first_try_alone_does_not_wait_at_the_brick),
		cmocka_unit_test(only_what_is_gone_is_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
