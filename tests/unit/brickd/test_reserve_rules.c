// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rules of reservations: the whole table of who may do what under which type, and
 * what each action makes of the keys, by type and by who asks.
 *
 * Keys are written as text: the type, then each registrant with its key, and a star
 * if it holds the reservation alone. "h" holds it, "r" has registered, "s" has not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "brickd/reserve/rules.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum {
	KEY_H = 1,
	KEY_R = 2,
	KEY_NEW = 5,
	KEY_NOBODYS = 9,
};

#define WE    KFB_RESERVED_WRITE_EXCLUSIVE
#define EA    KFB_RESERVED_EXCLUSIVE_ACCESS
#define WE_RO KFB_RESERVED_WRITE_EXCLUSIVE_REG_ONLY
#define EA_RO KFB_RESERVED_EXCLUSIVE_ACCESS_REG_ONLY
#define WE_AR KFB_RESERVED_WRITE_EXCLUSIVE_ALL_REGS
#define EA_AR KFB_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS

static const uint8_t single[] = { WE, EA, WE_RO, EA_RO };
static const uint8_t of_all[] = { WE_AR, EA_AR };

static struct brick_keys keys;

static const char *as_text(void)
{
	static char text[4096];
	char *end = text + sprintf(text, "%u", keys.type);

	for (uint32_t i = 0; i < keys.n; i++)
		end += sprintf(end, " %s=%u%s", keys.list[i].name,
			       (unsigned int)keys.list[i].key,
			       keys.list[i].is_holder ? "*" : "");
	return text;
}

/* "#" stands for the type that was reserved, "+" for the other one that was asked for. */
static void are(const char *expected, uint8_t type, uint8_t other)
{
	char text[256], *end = text;

	for (; *expected; expected++) {
		*end++ = *expected == '#'   ? (char)('0' + type)
			 : *expected == '+' ? (char)('0' + other)
					    : *expected;
	}
	*end = '\0';
	assert_string_equal(as_text(), text);
}

static enum kfb_status do_as(const char *name, uint8_t action, uint8_t type,
			     uint64_t key, uint64_t new_key)
{
	const struct kfb_reserve want = {
		.action = action, .type = type, .key = key, .new_key = new_key
	};

	return brick_keys_change(&keys, name, &want);
}

/* "h" holds the type, and "r" has registered. */
static void set_up(uint8_t type)
{
	memset(&keys, 0, sizeof(keys));
	assert_int_equal(do_as("h", KFB_RESERVE_REGISTER, 0, 0, KEY_H), 0);
	assert_int_equal(do_as("r", KFB_RESERVE_REGISTER, 0, 0, KEY_R), 0);
	if (type)
		assert_int_equal(
			do_as("h", KFB_RESERVE_RESERVE, type, KEY_H, 0), 0);
}

static void the_table_says_who_may_read_and_write(void **state)
{
	static const struct {
		uint8_t type;
		const char *may[BRICK_STANDINGS];
	} table[] = {
		/* holder, registrant, stranger */
		{ KFB_RESERVED_NONE, { "rw", "rw", "rw" } },
		{ WE, { "rw", "r", "r" } },
		{ EA, { "rw", "", "" } },
		{ WE_RO, { "rw", "rw", "r" } },
		{ EA_RO, { "rw", "rw", "" } },
		{ WE_AR, { "rw", "rw", "r" } },
		{ EA_AR, { "rw", "rw", "" } },
	};
	enum brick_standing who;
	size_t i;

	assert_int_equal(N(table), KFB_RESERVED_LAST + 1);
	for (i = 0; i < N(table); i++) {
		assert_int_equal(table[i].type, i);
		for (who = 0; who < BRICK_STANDINGS; who++) {
			const char *may = table[i].may[who];

			assert_int_equal(brick_reserve_may(i, who, false),
					 strchr(may, 'r') != NULL);
			assert_int_equal(brick_reserve_may(i, who, true),
					 strchr(may, 'w') != NULL);
		}
	}
}

static void standing_is_that_of_the_type(void **state)
{
	for (size_t i = 0; i < N(single); i++) {
		set_up(single[i]);
		assert_int_equal(brick_keys_standing(&keys, "h"),
				 BRICK_STANDING_HOLDER);
		assert_int_equal(brick_keys_standing(&keys, "r"),
				 BRICK_STANDING_REGISTRANT);
	}
	for (size_t i = 0; i < N(of_all); i++) {
		set_up(of_all[i]);
		assert_int_equal(brick_keys_standing(&keys, "h"),
				 BRICK_STANDING_HOLDER);
		assert_int_equal(brick_keys_standing(&keys, "r"),
				 BRICK_STANDING_HOLDER);
	}
	set_up(KFB_RESERVED_NONE);
	assert_int_equal(brick_keys_standing(&keys, "h"),
			 BRICK_STANDING_REGISTRANT);
	assert_int_equal(brick_keys_standing(&keys, "s"),
			 BRICK_STANDING_STRANGER);
	assert_int_equal(brick_keys_standing(&keys, ""),
			 BRICK_STANDING_STRANGER);
}

/*
 * struct act - an action and what becomes of it
 * @action: KFB_RESERVE_*
 * @is_other: of another type than what is reserved
 * @new_key: of it
 * @status: by who asks: "h", "r", "s"
 * @then: the keys, by the same; NULL: as they were
 */
struct act {
	uint8_t action;
	bool is_other;
	uint64_t new_key;
	enum kfb_status status[BRICK_STANDINGS];
	const char *then[BRICK_STANDINGS];
};

#define OK	 KFB_ST_OK
#define CONFLICT KFB_ST_CONFLICT
#define INVALID	 KFB_ST_INVALID

static const struct act acts_single[] = {
	{ KFB_RESERVE_REGISTER,
	  false,
	  KEY_NEW,
	  { OK, OK, OK },
	  { "# h=5* r=2", "# h=1* r=5", "# h=1* r=2 s=5" } },
	{ KFB_RESERVE_REGISTER,
	  false,
	  0,
	  { OK, OK, OK },
	  { "0 r=2", "# h=1*", NULL } },
	{ KFB_RESERVE_RESERVE,
	  false,
	  0,
	  { OK, CONFLICT, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_RESERVE,
	  true,
	  0,
	  { CONFLICT, CONFLICT, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_RELEASE,
	  false,
	  0,
	  { OK, OK, CONFLICT },
	  { "0 h=1 r=2", NULL, NULL } },
	{ KFB_RESERVE_RELEASE,
	  true,
	  0,
	  { INVALID, OK, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  KEY_H,
	  { OK, OK, CONFLICT },
	  { "+ h=1* r=2", "+ r=2*", NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  KEY_R,
	  { OK, OK, CONFLICT },
	  { "# h=1*", "# h=1*", NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  KEY_NOBODYS,
	  { CONFLICT, CONFLICT, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  0,
	  { INVALID, INVALID, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_CLEAR,
	  false,
	  0,
	  { OK, OK, CONFLICT },
	  { "0", "0", NULL } },
};

/* The other type is one that a single one holds. */
static const struct act acts_of_all[] = {
	{ KFB_RESERVE_REGISTER,
	  false,
	  KEY_NEW,
	  { OK, OK, OK },
	  { "# h=5 r=2", "# h=1 r=5", "# h=1 r=2 s=5" } },
	{ KFB_RESERVE_REGISTER,
	  false,
	  0,
	  { OK, OK, OK },
	  { "# r=2", "# h=1", NULL } },
	{ KFB_RESERVE_RESERVE,
	  false,
	  0,
	  { OK, OK, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_RESERVE,
	  true,
	  0,
	  { CONFLICT, CONFLICT, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_RELEASE,
	  false,
	  0,
	  { OK, OK, CONFLICT },
	  { "0 h=1 r=2", "0 h=1 r=2", NULL } },
	{ KFB_RESERVE_RELEASE,
	  true,
	  0,
	  { INVALID, INVALID, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  KEY_H,
	  { OK, OK, CONFLICT },
	  { "# r=2", "# r=2", NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  KEY_R,
	  { OK, OK, CONFLICT },
	  { "# h=1", "# h=1", NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  KEY_NOBODYS,
	  { CONFLICT, CONFLICT, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  0,
	  { OK, OK, CONFLICT },
	  { "+ h=1*", "+ r=2*", NULL } },
	{ KFB_RESERVE_CLEAR,
	  false,
	  0,
	  { OK, OK, CONFLICT },
	  { "0", "0", NULL } },
};

/* Nothing is reserved: each registrant is alike. */
static const struct act acts_none[] = {
	{ KFB_RESERVE_REGISTER,
	  false,
	  KEY_NEW,
	  { OK, OK, OK },
	  { "0 h=5 r=2", "0 h=1 r=5", "0 h=1 r=2 s=5" } },
	{ KFB_RESERVE_REGISTER,
	  false,
	  0,
	  { OK, OK, OK },
	  { "0 r=2", "0 h=1", NULL } },
	{ KFB_RESERVE_RESERVE,
	  true,
	  0,
	  { OK, OK, CONFLICT },
	  { "+ h=1* r=2", "+ h=1 r=2*", NULL } },
	{ KFB_RESERVE_RELEASE,
	  true,
	  0,
	  { OK, OK, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  KEY_R,
	  { OK, OK, CONFLICT },
	  { "0 h=1", "0 h=1", NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  KEY_NOBODYS,
	  { CONFLICT, CONFLICT, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_PREEMPT,
	  true,
	  0,
	  { INVALID, INVALID, CONFLICT },
	  { NULL, NULL, NULL } },
	{ KFB_RESERVE_CLEAR,
	  false,
	  0,
	  { OK, OK, CONFLICT },
	  { "0", "0", NULL } },
};

static void try_act(const struct act *act, uint8_t type, uint8_t action)
{
	static const char *const names[] = { "h", "r", "s" };
	static const uint64_t right[] = { KEY_H, KEY_R, 0 };
	uint8_t other = type == WE ? EA : WE, with = 0;
	char before[256];

	if (action != KFB_RESERVE_REGISTER && action != KFB_RESERVE_CLEAR)
		with = act->is_other ? other : type;
	for (int who = 0; who < BRICK_STANDINGS; who++) {
		set_up(type);
		snprintf(before, sizeof(before), "%s", as_text());
		/* With a key that is not its own nobody does anything. */
		assert_int_equal(do_as(names[who], action, with, KEY_NOBODYS,
				       act->new_key),
				 CONFLICT);
		assert_string_equal(as_text(), before);
		assert_int_equal(do_as(names[who], action, with, right[who],
				       act->new_key),
				 act->status[who]);
		if (act->then[who])
			are(act->then[who], type, other);
		else
			assert_string_equal(as_text(), before);
	}
}

static void try_acts(const struct act *acts, size_t n, uint8_t type)
{
	for (size_t i = 0; i < n; i++) {
		try_act(&acts[i], type, acts[i].action);
		if (acts[i].action == KFB_RESERVE_PREEMPT)
			try_act(&acts[i], type, KFB_RESERVE_PREEMPT_ABORT);
	}
}

static void each_action_under_what_one_holds(void **state)
{
	for (size_t i = 0; i < N(single); i++)
		try_acts(acts_single, N(acts_single), single[i]);
}

static void each_action_under_what_all_hold(void **state)
{
	for (size_t i = 0; i < N(of_all); i++)
		try_acts(acts_of_all, N(acts_of_all), of_all[i]);
}

static void each_action_where_nothing_is_reserved(void **state)
{
	try_acts(acts_none, N(acts_none), KFB_RESERVED_NONE);
}

static void what_all_hold_goes_with_the_last_registrant(void **state)
{
	set_up(WE_AR);
	assert_int_equal(do_as("h", KFB_RESERVE_REGISTER, 0, KEY_H, 0), OK);
	are("# r=2", WE_AR, 0);
	assert_int_equal(do_as("r", KFB_RESERVE_REGISTER, 0, KEY_R, 0), OK);
	are("0", 0, 0);
}

static void a_key_that_is_ignored_need_not_be_known(void **state)
{
	struct kfb_reserve want = { .action = KFB_RESERVE_REGISTER,
				    .flags = KFB_RESERVE_IGNORE_KEY,
				    .new_key = KEY_NEW };

	set_up(WE);
	assert_int_equal(brick_keys_change(&keys, "s", &want), OK);
	assert_int_equal(brick_keys_change(&keys, "h", &want), OK);
	are("# h=5* r=2 s=5", WE, 0);
	want.new_key = 0;
	assert_int_equal(brick_keys_change(&keys, "s", &want), OK);
	assert_int_equal(brick_keys_change(&keys, "s", &want), OK);
	assert_int_equal(brick_keys_change(&keys, "h", &want), OK);
	are("0 r=2", WE, 0);
}

static void all_who_have_the_key_are_preempted_but_who_asks(void **state)
{
	set_up(WE);
	assert_int_equal(do_as("x", KFB_RESERVE_REGISTER, 0, 0, KEY_H), OK);
	assert_int_equal(do_as("y", KFB_RESERVE_REGISTER, 0, 0, KEY_H), OK);
	assert_int_equal(do_as("x", KFB_RESERVE_PREEMPT, EA_RO, KEY_H, KEY_H),
			 OK);
	are("+ r=2 x=1*", WE, EA_RO);
	set_up(WE);
	assert_int_equal(do_as("x", KFB_RESERVE_REGISTER, 0, 0, KEY_R), OK);
	assert_int_equal(do_as("h", KFB_RESERVE_PREEMPT, WE, KEY_H, KEY_R), OK);
	are("# h=1*", WE, 0);
}

static void there_are_only_so_many_registrants(void **state)
{
	char name[16];

	memset(&keys, 0, sizeof(keys));
	for (int i = 0; i < KFB_REGISTRANTS_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(do_as(name, KFB_RESERVE_REGISTER, 0, 0, 7),
				 OK);
	}
	assert_int_equal(do_as("s", KFB_RESERVE_REGISTER, 0, 0, 7),
			 KFB_ST_LIMIT);
	assert_int_equal(keys.n, KFB_REGISTRANTS_MAX);
	/* Who is there may have another key. */
	assert_int_equal(do_as("n0", KFB_RESERVE_REGISTER, 0, 7, 8), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_says_who_may_read_and_write),
		cmocka_unit_test(standing_is_that_of_the_type),
		cmocka_unit_test(each_action_under_what_one_holds),
		cmocka_unit_test(each_action_under_what_all_hold),
		cmocka_unit_test(each_action_where_nothing_is_reserved),
		cmocka_unit_test(what_all_hold_goes_with_the_last_registrant),
		cmocka_unit_test(a_key_that_is_ignored_need_not_be_known),
		cmocka_unit_test(
			all_who_have_the_key_are_preempted_but_who_asks),
		cmocka_unit_test(there_are_only_so_many_registrants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
