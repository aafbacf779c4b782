// SPDX-License-Identifier: BSD-2-Clause
/* Which disks are reserved: ranges, what they allow, and the file over a restart. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brickd/reserve/reservations.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))
#define ERR_LEN	 256

static struct brick_reservations all;
static char folder[64], path[128];

static void open_file(void)
{
	char err[ERR_LEN] = "";

	memset(&all, 0, sizeof(all));
	if (brick_reservations_open(&all, path, err, sizeof(err)))
		fail_msg("%s", err);
}

static int set_up(void **state)
{
	strcpy(folder, "/tmp/test-reservations-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/reservations", folder);
	open_file();
	return 0;
}

static int tear_down(void **state)
{
	char lock[160];

	brick_reservations_close(&all);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(path);
	unlink(lock);
	return rmdir(folder);
}

/* Changes the table and the file, as RESERVE does. */
static enum kfb_status change(const char *name, uint64_t first, uint64_t n,
			      uint8_t action, uint8_t type, uint64_t key,
			      uint64_t new_key)
{
	const struct kfb_reserve want = { .range = { first << KFB_BLOCK_SHIFT,
						     n },
					  .action = action,
					  .type = type,
					  .key = key,
					  .new_key = new_key };
	bool has_new_keys = brick_reserve_changes_keys(&want);
	struct brick_reserved *then;
	enum kfb_status status;
	char *text;

	status = brick_reservations_change(&all, name, &want, &then);
	if (status)
		return status;
	assert_int_equal(
		brick_reservations_text(&all, then, has_new_keys, &text), 0);
	assert_int_equal(brick_reservations_write(path, text), 0);
	free(text);
	brick_reservations_set(&all, then, has_new_keys);
	return KFB_ST_OK;
}

static enum kfb_status register_key(const char *name, uint64_t first,
				    uint64_t n, uint64_t new_key)
{
	return change(name, first, n, KFB_RESERVE_REGISTER, 0, 0, new_key);
}

static bool may_write(const char *name, uint64_t first, uint64_t end)
{
	return brick_reservations_allow(&all, (struct brick_span){ first, end },
					name, true);
}

static bool may_read(const char *name, uint64_t first, uint64_t end)
{
	return brick_reservations_allow(&all, (struct brick_span){ first, end },
					name, false);
}

static void reserve(const char *name, uint64_t first, uint64_t n, uint8_t type)
{
	assert_int_equal(register_key(name, first, n, 1), KFB_ST_OK);
	assert_int_equal(change(name, first, n, KFB_RESERVE_RESERVE, type, 1,
				0),
			 KFB_ST_OK);
}

static void a_reservation_covers_its_blocks_and_no_others(void **state)
{
	reserve("a", 10, 5, KFB_RESERVED_WRITE_EXCLUSIVE);
	reserve("b", 20, 5, KFB_RESERVED_EXCLUSIVE_ACCESS);
	assert_true(may_write("c", 0, 10));
	assert_false(may_write("c", 0, 11));
	assert_false(may_write("c", 14, 15));
	assert_false(may_write("c", 12, 13));
	assert_true(may_write("c", 15, 20));
	assert_true(may_read("c", 0, 20));
	assert_false(may_read("c", 0, 21));
	assert_false(may_read("c", 24, 30));
	assert_true(may_read("c", 25, 30));
	/* Who may use the one disk may not for that use the other. */
	assert_true(may_write("a", 10, 15));
	assert_false(may_write("a", 10, 25));
	assert_false(may_write("", 10, 11));
}

static void
a_disk_is_where_it_begins_and_as_long_as_anybody_has_said(void **state)
{
	const struct brick_reserved *found;

	reserve("a", 10, 5, KFB_RESERVED_WRITE_EXCLUSIVE);
	assert_int_equal(register_key("b", 10, 8, 2), KFB_ST_OK);
	assert_int_equal(register_key("c", 10, 2, 3), KFB_ST_OK);
	assert_int_equal(all.n, 1);
	assert_int_equal(all.list[0]->span.end, 18);
	assert_false(may_write("b", 17, 18));
	assert_int_equal(register_key("b", 9, 2, 2), KFB_ST_EXISTS);
	assert_int_equal(register_key("b", 11, 1, 2), KFB_ST_EXISTS);
	assert_int_equal(register_key("b", 17, 4, 2), KFB_ST_EXISTS);
	assert_int_equal(register_key("b", 18, 4, 2), KFB_ST_OK);
	assert_int_equal(register_key("c", 10, 9, 2), KFB_ST_EXISTS);
	assert_int_equal(brick_reservations_find(
				 &all, (struct brick_span){ 9, 10 }, &found),
			 0);
	assert_null(found);
	assert_int_equal(brick_reservations_find(
				 &all, (struct brick_span){ 18, 19 }, &found),
			 0);
	assert_ptr_equal(found, all.list[1]);
}

static void who_is_refused_changes_nothing(void **state)
{
	reserve("a", 10, 5, KFB_RESERVED_WRITE_EXCLUSIVE);
	assert_int_equal(change("b", 10, 9, KFB_RESERVE_CLEAR, 0, 7, 0),
			 KFB_ST_CONFLICT);
	assert_int_equal(all.list[0]->span.end, 15);
	assert_int_equal(all.generation, 1);
}

static void a_disk_without_registrants_is_forgotten(void **state)
{
	reserve("a", 10, 5, KFB_RESERVED_WRITE_EXCLUSIVE);
	assert_int_equal(change("a", 10, 5, KFB_RESERVE_CLEAR, 0, 1, 0),
			 KFB_ST_OK);
	assert_int_equal(all.n, 0);
	assert_true(may_write("b", 10, 15));
	/* Registering nothing registers nothing. */
	assert_int_equal(register_key("a", 10, 5, 0), KFB_ST_OK);
	assert_int_equal(all.n, 0);
	assert_int_equal(register_key("a", 9, 9, 1), KFB_ST_OK);
}

static void the_generation_counts_changes_of_keys(void **state)
{
	reserve("a", 10, 5, KFB_RESERVED_WRITE_EXCLUSIVE);
	assert_int_equal(all.generation, 1);
	assert_int_equal(register_key("b", 10, 5, 2), KFB_ST_OK);
	assert_int_equal(all.generation, 2);
	assert_int_equal(change("b", 10, 5, KFB_RESERVE_PREEMPT,
				KFB_RESERVED_WRITE_EXCLUSIVE, 2, 1),
			 KFB_ST_OK);
	assert_int_equal(all.generation, 3);
	assert_int_equal(change("b", 10, 5, KFB_RESERVE_RELEASE,
				KFB_RESERVED_WRITE_EXCLUSIVE, 2, 0),
			 KFB_ST_OK);
	assert_int_equal(all.generation, 3);
	assert_int_equal(change("b", 10, 5, KFB_RESERVE_CLEAR, 0, 2, 0),
			 KFB_ST_OK);
	assert_int_equal(all.generation, 4);
}

static void only_so_many_disks_have_registrants(void **state)
{
	for (uint64_t i = 0; i < BRICK_RESERVATIONS_MAX; i++) {
		const char name[] = { (char)('a' + i % 8), '\0' };

		assert_int_equal(register_key(name, 2 * i, 1, 1), KFB_ST_OK);
	}
	assert_int_equal(register_key("i", 1, 1, 1), KFB_ST_LIMIT);
	assert_int_equal(register_key("b", 0, 1, 1), KFB_ST_OK);
	assert_int_equal(change("c", 4, 1, KFB_RESERVE_CLEAR, 0, 1, 0),
			 KFB_ST_OK);
	assert_int_equal(register_key("i", 1, 1, 1), KFB_ST_OK);
}

static void one_client_does_not_fill_the_table(void **state)
{
	for (uint64_t i = 0; i < BRICK_RESERVATIONS_SHARE; i++)
		assert_int_equal(register_key("e", 2 * i, 1, 1), KFB_ST_OK);
	assert_int_equal(register_key("e", 1, 1, 1), KFB_ST_LIMIT);
	assert_int_equal(register_key("v", 1, 1, 1), KFB_ST_OK);
	/* Where others have registered, too, it may be. */
	assert_int_equal(register_key("e", 1, 1, 1), KFB_ST_OK);
	assert_int_equal(register_key("e", 3, 1, 1), KFB_ST_LIMIT);
	/* A new key takes none; one that others share is none of them. */
	assert_int_equal(register_key("e", 0, 1, 1), KFB_ST_CONFLICT);
	assert_int_equal(change("e", 0, 1, KFB_RESERVE_REGISTER, 0, 1, 2),
			 KFB_ST_OK);
	assert_int_equal(register_key("v", 0, 1, 1), KFB_ST_OK);
	assert_int_equal(register_key("e", 3, 1, 1), KFB_ST_OK);
	/* It may give back what it has. */
	assert_int_equal(register_key("e", 5, 1, 1), KFB_ST_LIMIT);
	assert_int_equal(register_key("e", 5, 1, 0), KFB_ST_OK);
	assert_int_equal(change("e", 2, 1, KFB_RESERVE_CLEAR, 0, 1, 0),
			 KFB_ST_OK);
	assert_int_equal(register_key("e", 5, 1, 1), KFB_ST_OK);
}

static char *text_of(void)
{
	char *text;

	assert_int_equal(brick_reservations_text(&all, NULL, false, &text), 0);
	return text;
}

static void all_of_it_is_there_after_a_restart(void **state)
{
	static const char expected[] =
		"generation 6\n"
		"disk 0x0+3 6\n"
		"key 0xffffffffffffffff a\n"
		"key 0x1 0123456789012345678901234567890123456789\n"
		"disk 0x1400000+5 3\n"
		"key 0x1 a holder\n"
		"key 0x2 b\n"
		"disk 0xffffffffffe00000+1 0\n"
		"key 0x1 a\n";
	char *before, *after;

	reserve("a", 10, 5, KFB_RESERVED_WRITE_EXCLUSIVE_REG_ONLY);
	assert_int_equal(register_key("b", 10, 5, 2), KFB_ST_OK);
	reserve("a", 0, 3, KFB_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS);
	assert_int_equal(
		register_key("0123456789012345678901234567890123456789", 0, 3,
			     1),
		KFB_ST_OK);
	assert_int_equal(change("a", 0, 3, KFB_RESERVE_REGISTER, 0, 1,
				UINT64_MAX),
			 KFB_ST_OK);
	assert_int_equal(register_key("a", KFB_BLOCKS_MAX - 1, 1, 1),
			 KFB_ST_OK);
	before = text_of();
	assert_string_equal(before, expected);
	brick_reservations_close(&all);
	open_file();
	after = text_of();
	assert_string_equal(after, expected);
	assert_false(may_read("c", 0, 1));
	assert_true(may_write("b", 10, 15));
	assert_false(may_write("c", 10, 15));
	free(before);
	free(after);
}

static void what_brickd_did_not_write_is_not_read(void **state)
{
	static const char *const texts[] = {
		"",
		"generation\n",
		"generation 4294967296\n",
		"generation 1",
		"disk 0x0+1 0\nkey 0x1 a\n",
		"generation 1\ngeneration 1\n",
		"generation 1\nkey 0x1 a\n",
		"generation 1\ndisk 0x0+1 0\n",
		"generation 1\ndisk 0x0+1 0\ndisk 0x200000+1 0\nkey 0x1 a\n",
		"generation 1\ndisk 0x0+1 7\nkey 0x1 a holder\n",
		"generation 1\ndisk 0x1+1 0\nkey 0x1 a\n",
		"generation 1\ndisk 0x0+0 0\nkey 0x1 a\n",
		"generation 1\ndisk 0x0+1 0 \nkey 0x1 a\n",
		"generation 1\ndisk 0x0+1 0\nkey 0x0 a\n",
		"generation 1\ndisk 0x0+1 0\nkey 0x1\n",
		"generation 1\ndisk 0x0+1 0\nkey 0x1 a b\n",
		"generation 1\ndisk 0x0+1 0\nkey 0x1 a holder\n",
		"generation 1\ndisk 0x0+1 1\nkey 0x1 a\n",
		"generation 1\ndisk 0x0+1 1\nkey 0x1 a holder\nkey 0x1 b holder\n",
		"generation 1\ndisk 0x0+1 5\nkey 0x1 a holder\n",
		"generation 1\ndisk 0x0+1 0\nkey 0x1 a\nkey 0x2 a\n",
		"generation 1\ndisk 0x0+1 0\nkey 0x1 a\ndisk 0x0+1 0\nkey 0x1 a\n",
		"generation 1\ndisk 0x0+2 0\nkey 0x1 a\ndisk 0x200000+1 0\nkey 0x1 a\n",
		"generation 1\ndisk 0x0+1 0\nkey 0x1 a\n\n",
		"generation 1\ndisk 0x0+1 0\nkey 0x1 a",
		"generation 1\ndisk 0x0+1 1\nkey 0x1 a holder x\n",
		"generation 1\ndisk 0x0+1 1\nkey 0x1 a keeper\n",
	};
	char err[ERR_LEN];

	brick_reservations_close(&all);
	for (size_t i = 0; i < N(texts); i++) {
		assert_int_equal(brick_reservations_write(path, texts[i]), 0);
		memset(&all, 0, sizeof(all));
		if (brick_reservations_open(&all, path, err, sizeof(err)) !=
		    -EINVAL)
			fail_msg("taken: %s", texts[i]);
		assert_non_null(strstr(err, "is damaged, or has been edited"));
		/* It is left as it is, and to whoever wants it. */
		assert_int_equal(all.lock_fd, -1);
		assert_int_equal(all.n, 0);
	}
}

static void another_brickd_does_not_have_the_file(void **state)
{
	struct brick_reservations other = { 0 };
	char err[ERR_LEN];

	assert_int_equal(brick_reservations_open(&other, path, err,
						 sizeof(err)),
			 -EWOULDBLOCK);
	assert_non_null(strstr(err, "in use by another brickd"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reservation_covers_its_blocks_and_no_others),
		TEST(a_disk_is_where_it_begins_and_as_long_as_anybody_has_said),
		TEST(who_is_refused_changes_nothing),
		TEST(a_disk_without_registrants_is_forgotten),
		TEST(the_generation_counts_changes_of_keys),
		TEST(only_so_many_disks_have_registrants),
		TEST(one_client_does_not_fill_the_table),
		TEST(all_of_it_is_there_after_a_restart),
		TEST(what_brickd_did_not_write_is_not_read),
		TEST(another_brickd_does_not_have_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
