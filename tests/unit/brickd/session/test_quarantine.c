// SPDX-License-Identifier: BSD-2-Clause
/* Quarantine: who blocks what, and when freed slots are cleaned again. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "brickd/base/counters.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/state.h"
#include "brickd/storage/storage.h"

static struct brick_counters counters;
static struct brick_storage storage;
static struct brick_sessions sessions;
static struct brick_session a, b;
static char err[512];

static int begin(void **state)
{
	const struct brick_store_format format = { .uuid = { 1 } };
	const struct brick_store_open how = { .instance_id = 1 };

	memset(&counters, 0, sizeof(counters));
	memset(&storage, 0, sizeof(storage));
	memset(&sessions, 0, sizeof(sessions));
	storage.counters = &counters;
	sessions.storage = &storage;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	TAILQ_INIT(&sessions.list);
	a.all = &sessions;
	b.all = &sessions;
	TAILQ_INSERT_TAIL(&sessions.list, &a, link);
	TAILQ_INSERT_TAIL(&sessions.list, &b, link);
	return brick_media_open("memory:32M", NULL, &storage.media, err,
				sizeof(err)) ||
	       brick_store_format(storage.media, &format, err, sizeof(err)) ||
	       brick_store_open(storage.media, &how, &storage.store, err,
				sizeof(err));
}

static void leave(struct brick_session *s)
{
	brick_quarantine_end(s);
	TAILQ_REMOVE(&sessions.list, s, link);
}

static int end(void **state)
{
	struct brick_session *s;

	while ((s = TAILQ_FIRST(&sessions.list)))
		leave(s);
	brick_store_close(storage.store, true);
	brick_media_close(storage.media);
	return 0;
}

static int add(struct brick_session *s, uint64_t first, uint64_t last)
{
	return brick_quarantine_add(s, (struct brick_span){ first, last });
}

static bool blocks(uint64_t first, uint64_t last,
		   const struct brick_session *but)
{
	return brick_quarantine_blocks(&sessions,
				       (struct brick_span){ first, last }, but);
}

static void only_other_sessions_are_blocked(void **state)
{
	assert_int_equal(add(&a, 10, 20), 0);
	assert_true(blocks(19, 21, &b));
	assert_false(blocks(19, 21, &a));
	assert_false(blocks(20, 21, &b));
	assert_false(blocks(0, 10, &b));
	leave(&a);
	assert_false(blocks(0, 100, &b));
}

static void extents_that_touch_are_one(void **state)
{
	assert_int_equal(add(&a, 0, 5), 0);
	assert_int_equal(add(&a, 10, 15), 0);
	assert_int_equal(a.quarantine.n, 2);
	assert_int_equal(add(&a, 5, 10), 0);
	assert_int_equal(a.quarantine.n, 1);
	assert_true(blocks(7, 8, &b));
}

static void freed_blocks_block_nobody(void **state)
{
	assert_int_equal(add(&a, 0, 30), 0);
	brick_quarantine_forget(&sessions, (struct brick_span){ 10, 20 });
	assert_true(blocks(9, 10, &b));
	assert_false(blocks(10, 20, &b));
	assert_true(blocks(20, 21, &b));
	brick_quarantine_forget(&sessions, (struct brick_span){ 0, 100 });
	assert_int_equal(a.quarantine.n, 0);
}

static void a_full_list_blocks_more_never_less(void **state)
{
	uint64_t i;

	for (i = 0; i < BRICK_QUARANTINE_MAX + 10; i++)
		assert_int_equal(add(&a, 3 * i, 3 * i + 1), 0);
	assert_int_equal(a.quarantine.n, BRICK_QUARANTINE_MAX);
	for (i = 0; i < BRICK_QUARANTINE_MAX + 10; i++)
		assert_true(blocks(3 * i, 3 * i + 1, &b));
}

static void commit(enum brick_store_op_kind kind, uint64_t token)
{
	struct brick_store_op op = { .kind = kind,
				     .n_blocks = 1,
				     .quarantine = token };

	brick_store_commit(storage.store, &op);
	assert_int_equal(op.error, 0);
}

static uint64_t free_block(void)
{
	const struct brick_span span = { 0, 1 };
	uint64_t token;

	commit(BRICK_STORE_ALLOC, 0);
	assert_int_equal(brick_quarantine_token(&sessions, span, &token), 0);
	commit(BRICK_STORE_FREE, token);
	return token;
}

static void a_slot_nobody_holds_is_cleaned_at_once(void **state)
{
	assert_int_equal(free_block(), 0);
	assert_int_equal(brick_store_clean_one(storage.store, 16), 1);
}

static void a_slot_is_cleaned_when_its_session_has_ended(void **state)
{
	uint64_t token;

	assert_int_equal(add(&a, 0, 1), 0);
	token = free_block();
	brick_quarantine_settle(&sessions, token, true);
	assert_int_equal(brick_store_clean_one(storage.store, 16), 0);
	leave(&a);
	assert_int_equal(brick_store_clean_one(storage.store, 16), 1);
}

static void a_slot_of_two_sessions_waits_for_both(void **state)
{
	uint64_t token;

	assert_int_equal(add(&a, 0, 1), 0);
	assert_int_equal(add(&b, 0, 1), 0);
	token = free_block();
	brick_quarantine_settle(&sessions, token, true);
	leave(&a);
	assert_int_equal(brick_store_clean_one(storage.store, 16), 0);
	leave(&b);
	assert_int_equal(brick_store_clean_one(storage.store, 16), 1);
}

/* The session ends while the store thread is at the FREE. */
static void a_slot_whose_session_ended_meanwhile_is_not_lost(void **state)
{
	const struct brick_span span = { 0, 1 };
	uint64_t token;

	assert_int_equal(add(&a, 0, 1), 0);
	commit(BRICK_STORE_ALLOC, 0);
	assert_int_equal(brick_quarantine_token(&sessions, span, &token), 0);
	leave(&a);
	commit(BRICK_STORE_FREE, token);
	brick_quarantine_settle(&sessions, token, true);
	assert_int_equal(brick_store_clean_one(storage.store, 16), 1);
}

/* Its endpoints were closed while the store thread is at the FREE. */
static void a_session_that_connects_anew_holds_nothing_of_before(void **state)
{
	const struct brick_span span = { 0, 1 };
	uint64_t token;

	assert_int_equal(add(&a, 0, 1), 0);
	commit(BRICK_STORE_ALLOC, 0);
	assert_int_equal(brick_quarantine_token(&sessions, span, &token), 0);
	brick_quarantine_end(&a);
	assert_int_equal(add(&a, 5, 6), 0);
	assert_false(blocks(0, 1, &b));
	commit(BRICK_STORE_FREE, token);
	brick_quarantine_settle(&sessions, token, true);
	assert_int_equal(brick_store_clean_one(storage.store, 16), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_other_sessions_are_blocked),
		TEST(extents_that_touch_are_one),
		TEST(freed_blocks_block_nobody),
		TEST(a_full_list_blocks_more_never_less),
		TEST(a_slot_nobody_holds_is_cleaned_at_once),
		TEST(a_slot_is_cleaned_when_its_session_has_ended),
		TEST(a_slot_of_two_sessions_waits_for_both),
		TEST(a_slot_whose_session_ended_meanwhile_is_not_lost),
		TEST(a_session_that_connects_anew_holds_nothing_of_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
