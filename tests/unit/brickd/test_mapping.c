// SPDX-License-Identifier: BSD-2-Clause
/* The table of mappings: conflicts, ids, whole handles, the union. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/mapping/mapping.h"
#include "brickd/session/state.h"
#include "proto/kfb_wire.h"

#define INSTANCE  0x1234567ULL
#define RO_SHARED (KFB_MAP_RO | KFB_MAP_SHARED)
#define RW_ALONE  (KFB_MAP_RW | KFB_MAP_EXCLUSIVE)
#define RW_SHARED (KFB_MAP_RW | KFB_MAP_SHARED)
#define HANDLES	  (size_t)(4 * BRICK_MAPPING_STEP)

static struct brick_mappings all;
static struct brick_holdings holdings;
static struct brick_session live = { .state = KFB_SESSION_LIVE };
static struct brick_session ending = { .state = KFB_SESSION_FENCING };

static int begin(void **state)
{
	brick_mappings_init(&all, INSTANCE, brick_session_is_ending);
	return 0;
}

static int end(void **state)
{
	while (all.by_block.root) {
		struct brick_mapping *m = all.by_block.root->owner;

		while (m->n)
			brick_mappings_shorten(&all, m);
		free(m->handles);
		free(m);
	}
	assert_int_equal(all.n, 0);
	assert_null(holdings.mappings.root);
	assert_null(holdings.written.root);
	return 0;
}

/* A mapping of n_handles handles of n blocks each, one behind the other. */
static struct brick_mapping *make(struct brick_session *s, uint32_t flags,
				  uint64_t first, uint64_t n, size_t n_handles)
{
	struct brick_mapping *m = calloc(1, sizeof(*m));
	size_t i;

	assert_non_null(m);
	m->session = s;
	m->holdings = &holdings;
	m->flags = flags;
	m->n = n_handles;
	m->handles = calloc(n_handles, sizeof(*m->handles));
	assert_non_null(m->handles);
	for (i = 0; i < n_handles; i++)
		m->handles[i].span = (struct brick_span){ first + i * n,
							  first + (i + 1) * n };
	return m;
}

static struct brick_mapping *add(struct brick_session *s, uint32_t flags,
				 uint64_t first, uint64_t n, size_t n_handles)
{
	struct brick_mapping *m = make(s, flags, first, n, n_handles);

	assert_int_equal(brick_mappings_add(&all, m), 0);
	return m;
}

static int conflict(uint64_t first, uint64_t last, bool shared)
{
	return brick_mappings_conflict(&all, (struct brick_span){ first, last },
				       shared);
}

static int find(uint64_t id)
{
	struct brick_mapping *found;
	int rc = brick_mappings_find(&all, &holdings, id, &found);

	if (!rc)
		assert_int_equal(found->id, id);
	return rc;
}

/* Handles that were taken out are closed, and what came through them is durable. */
static void leave(struct brick_mapping *m, struct brick_handle *taken, size_t n)
{
	brick_mappings_forget(&all, taken, n);
	brick_holdings_flushed(&holdings, taken, n);
	brick_mapping_put(m);
	free(taken);
}

static void exclusive_refuses_everybody(void **state)
{
	add(&live, RW_ALONE, 10, 5, 1);
	assert_int_equal(conflict(14, 15, true), -EBUSY);
	assert_int_equal(conflict(0, 11, false), -EBUSY);
	assert_int_equal(conflict(0, 10, false), 0);
	assert_int_equal(conflict(15, 99, false), 0);
}

static void shared_goes_with_shared_only(void **state)
{
	add(&live, RO_SHARED, 10, 5, 1);
	assert_int_equal(conflict(12, 13, true), 0);
	assert_int_equal(conflict(12, 13, false), -EBUSY);
}

static int outlived(const struct brick_session *mine, uint64_t first,
		    uint64_t last)
{
	return brick_mappings_outlived(&all, mine, &holdings,
				       (struct brick_span){ first, last });
}

static void an_earlier_session_may_write_still(void **state)
{
	struct brick_session again = { .state = KFB_SESSION_LIVE };

	holdings.n_sessions = 2;
	add(&live, RW_SHARED, 10, 5, 2);
	add(&live, RO_SHARED, 30, 5, 1);
	add(&ending, RW_SHARED, 40, 5, 1);
	assert_int_equal(outlived(&live, 0, 25), 0);
	assert_int_equal(outlived(&again, 19, 20), -EBUSY);
	assert_int_equal(outlived(&again, 20, 40), 0);
	assert_int_equal(outlived(&again, 20, 41), -EAGAIN);
	assert_int_equal(outlived(&again, 0, 99), -EBUSY);
	holdings.n_sessions = 0;
}

static void what_others_write_is_not_its_own(void **state)
{
	struct brick_holdings others = { .n_sessions = 2 };

	add(&live, RW_SHARED, 10, 5, 1);
	assert_int_equal(brick_mappings_outlived(&all, &ending, &others,
						 (struct brick_span){ 10, 15 }),
			 0);
}

static void a_wide_mapping_far_before_is_found(void **state)
{
	uint64_t i;

	add(&live, RW_ALONE, 0, 100000, 1);
	for (i = 0; i < 300; i++)
		add(&live, RO_SHARED, 200000 + 2 * i, 1, 1);
	assert_int_equal(conflict(99999, 100000, true), -EBUSY);
	assert_int_equal(conflict(100000, 100001, true), 0);
	assert_int_equal(conflict(200599, 200600, false), 0);
	assert_int_equal(conflict(200598, 200599, false), -EBUSY);
}

static void what_is_about_to_go_asks_for_another_try(void **state)
{
	add(&ending, RW_ALONE, 10, 5, 1);
	assert_int_equal(conflict(10, 11, true), -EAGAIN);
	add(&live, RW_ALONE, 12, 1, 1);
	assert_int_equal(conflict(10, 15, true), -EBUSY);
	add(&ending, RW_ALONE, 14, 1, 1);
	assert_int_equal(conflict(12, 15, true), -EBUSY);
}

/* Others' mappings are many: a request does not look at all of them. */
static void of_many_that_go_some_are_looked_at(void **state)
{
	for (int i = 0; i < 63; i++)
		add(&ending, RW_ALONE, 10, 5, 1);
	add(&live, RW_ALONE, 11, 1, 1);
	assert_int_equal(conflict(10, 15, true), -EBUSY);
	add(&ending, RW_ALONE, 10, 5, 1);
	assert_int_equal(conflict(10, 15, true), -EAGAIN);
}

static void ids_of_another_instance_are_stale(void **state)
{
	struct brick_mapping *m = add(&live, RO_SHARED, 0, 1, 1);

	assert_int_equal(find(m->id), 0);
	assert_int_equal(find(m->id + 1), -ENOENT);
	assert_int_equal(find(m->id ^ 1ULL << 60), -ESTALE);
	assert_int_equal(find(1), -ESTALE);
}

static void what_a_session_leaves_is_not_found(void **state)
{
	assert_int_equal(find(add(&ending, RO_SHARED, 0, 1, 1)->id), -ENOENT);
}

static void of_many_each_is_found(void **state)
{
	struct brick_mapping *many[300];
	size_t i;

	for (i = 0; i < 300; i++)
		many[i] = add(&live, RO_SHARED, i, 1, 1);
	for (i = 0; i < 300; i++)
		assert_int_equal(find(many[i]->id), 0);
}

/* The loop serves nobody while it goes through handles. */
static void a_large_mapping_comes_and_goes_in_steps(void **state)
{
	struct brick_mapping *m = make(&live, RW_ALONE, 100, 1, HANDLES);
	size_t n_steps = 0;

	while (m->n_noted < m->n) {
		assert_int_equal(brick_mappings_note(&all, m), 0);
		n_steps++;
		assert_int_equal(m->n_noted, n_steps * BRICK_MAPPING_STEP);
		assert_int_equal(conflict(100 + m->n_noted - 1,
					  100 + m->n_noted, true),
				 -EBUSY);
		assert_int_equal(conflict(100 + m->n_noted, 2000, true), 0);
		assert_int_equal(all.n, 0);
		assert_null(holdings.mappings.root);
	}
	assert_int_equal(brick_mappings_add(&all, m), 0);
	assert_int_equal(find(m->id), 0);
	for (; m->n; n_steps--) {
		assert_int_equal(m->n, n_steps * BRICK_MAPPING_STEP);
		assert_int_equal(all.n, 1);
		brick_mappings_shorten(&all, m);
		assert_int_equal(conflict(100 + m->n, 2000, true), 0);
	}
	assert_int_equal(all.n, 0);
	free(m->handles);
	free(m);
}

/* Its MAP is refused in the end: nobody has seen it. */
static void what_is_not_complete_is_forgotten(void **state)
{
	struct brick_mapping *m = make(&live, RW_ALONE, 100, 1, HANDLES);

	assert_int_equal(brick_mappings_note(&all, m), 0);
	m->n = m->n_noted;
	brick_mappings_shorten(&all, m);
	assert_int_equal(m->n, 0);
	assert_int_equal(conflict(0, 2000, true), 0);
	free(m->handles);
	free(m);
}

static void only_whole_handles_can_be_cut(void **state)
{
	struct brick_mapping *m = add(&live, RO_SHARED, 100, 10, 3);
	size_t first, n;

	assert_int_equal(brick_mapping_cut(m, (struct brick_span){ 110, 130 },
					   &first, &n),
			 0);
	assert_int_equal(first, 1);
	assert_int_equal(n, 2);
	assert_int_equal(brick_mapping_cut(m, (struct brick_span){ 105, 120 },
					   &first, &n),
			 -EINVAL);
	assert_int_equal(brick_mapping_cut(m, (struct brick_span){ 100, 115 },
					   &first, &n),
			 -EINVAL);
	assert_int_equal(brick_mapping_cut(m, (struct brick_span){ 120, 140 },
					   &first, &n),
			 -ENOENT);
	assert_int_equal(brick_mapping_cut(m, (struct brick_span){ 90, 110 },
					   &first, &n),
			 -ENOENT);
}

static void handles_taken_out_no_longer_conflict(void **state)
{
	struct brick_mapping *m = add(&live, RW_ALONE, 100, 10, 3);
	struct brick_handle *one, *two;

	add(&live, RW_ALONE, 50, 10, 1);
	assert_int_equal(brick_mappings_take_handles(&all, m, 0, 1, &one), 0);
	assert_int_equal(one->span.first, 100);
	/* Not before they are closed. */
	assert_int_equal(conflict(100, 110, false), -EBUSY);
	assert_int_equal(brick_mappings_take_handles(&all, m, 0, 2, &two), 0);
	assert_int_equal(two[1].span.first, 120);
	assert_int_equal(all.n, 1);
	assert_int_equal(find(m->id), -ENOENT);
	/* The last ones are, while the first one is not. */
	leave(m, two, 2);
	assert_int_equal(conflict(110, 200, false), 0);
	assert_int_equal(conflict(100, 110, false), -EBUSY);
	leave(m, one, 1);
	assert_int_equal(conflict(100, 200, false), 0);
}

static void the_union_has_no_overlaps(void **state)
{
	static const struct {
		struct brick_span span;
		uint32_t flags;
	} want[] = {
		{ { 10, 15 }, KFB_EXTENT_MAPPED },
		{ { 15, 20 }, KFB_EXTENT_MAPPED | KFB_EXTENT_RW },
		{ { 20, 40 }, KFB_EXTENT_MAPPED | KFB_EXTENT_RW },
		{ { 60, 61 },
		  KFB_EXTENT_MAPPED | KFB_EXTENT_RW | KFB_EXTENT_EXCLUSIVE },
	};
	struct brick_span span;
	uint64_t from = 0;
	uint32_t flags;
	size_t i = 0;

	add(&live, RO_SHARED, 10, 10, 1);
	add(&live, KFB_MAP_RW | KFB_MAP_SHARED, 15, 25, 1);
	add(&live, RW_ALONE, 60, 1, 1);
	while (!brick_mappings_union(&all, from, &span, &flags)) {
		if (i == 1 && span.end == 40)
			i = 2; /* neighbours alike may be one extent */
		else
			assert_int_equal(span.first, want[i].span.first);
		assert_int_equal(span.end, want[i].span.end);
		assert_int_equal(flags, want[i].flags);
		from = span.end;
		i++;
	}
	assert_int_equal(i, 4);
}

/* As many as eight of them are one stretch, of whichever mapping they are. */
static void neighbours_are_one_stretch(void **state)
{
	struct brick_span span;
	uint32_t flags;

	for (uint64_t i = 0; i < 12; i++)
		add(&live, RO_SHARED, 10 + 2 * i, 2, 1);
	add(&live, RW_ALONE, 34, 2, 1);
	assert_int_equal(brick_mappings_union(&all, 0, &span, &flags), 0);
	assert_int_equal(span.first, 10);
	assert_int_equal(span.end, 26);
	assert_int_equal(brick_mappings_union(&all, 26, &span, &flags), 0);
	assert_int_equal(span.first, 26);
	assert_int_equal(span.end, 34);
	assert_int_equal(flags, KFB_EXTENT_MAPPED);
}

static void the_last_block_of_all_can_be_mapped(void **state)
{
	struct brick_span span;
	uint32_t flags;

	add(&live, RW_ALONE, KFB_BLOCKS_MAX - 1, 1, 1);
	assert_int_equal(conflict(KFB_BLOCKS_MAX - 1, KFB_BLOCKS_MAX, true),
			 -EBUSY);
	assert_int_equal(brick_mappings_union(&all, 0, &span, &flags), 0);
	assert_int_equal(span.end, KFB_BLOCKS_MAX);
	assert_int_equal(brick_mappings_union(&all, span.end, &span, &flags),
			 -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(exclusive_refuses_everybody),
		TEST(shared_goes_with_shared_only),
		TEST(an_earlier_session_may_write_still),
		TEST(what_others_write_is_not_its_own),
		TEST(a_wide_mapping_far_before_is_found),
		TEST(what_is_about_to_go_asks_for_another_try),
		TEST(of_many_that_go_some_are_looked_at),
		TEST(ids_of_another_instance_are_stale),
		TEST(what_a_session_leaves_is_not_found),
		TEST(of_many_each_is_found),
		TEST(a_large_mapping_comes_and_goes_in_steps),
		TEST(what_is_not_complete_is_forgotten),
		TEST(only_whole_handles_can_be_cut),
		TEST(handles_taken_out_no_longer_conflict),
		TEST(the_union_has_no_overlaps),
		TEST(neighbours_are_one_stretch),
		TEST(the_last_block_of_all_can_be_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
