// SPDX-License-Identifier: BSD-2-Clause
/*
 * A disk's states: every event in every state, and what no history of events
 * may lead to.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "blocks/kfb_disk.h"
#include "kfb_wire.h"

/*
 * Rows are states, columns events, both in their order. A word is the first
 * letter of the state it leads to (a is ATTACHING, w is CONNECTING, x is DEAD) and
 * what is done:
 * o unquiesces, s quiesces, r writes again, e ends. A dash is refused.
 */
static const char *const table[KFB_DISK_STATES][KFB_DISK_EVENTS] = {
	/* added usable replay unusable lost over retake detach */
	{ "u", "ao", "-", "as", "-", "foe", "-", "-" },
	{ "-", "uo", "rsr", "ws", "l", "foe", "-", "d" },
	{ "-", "uo", "rsr", "ws", "l", "foe", "-", "d" },
	{ "-", "uo", "rsr", "ws", "l", "foe", "-", "d" },
	{ "-", "lo", "-", "ls", "l", "xoe", "-", "d" },
	{ "-", "-", "-", "-", "x", "foe", "ws", "d" },
	{ "-", "-", "-", "-", "x", "xoe", "-", "d" },
	{ "-", "do", "dsr", "ds", "d", "doe", "-", "-" },
};

static const char letters[] = "auwrlfxd";

static int bits_of(const char *word)
{
	int bits = 0;

	for (; *word; word++) {
		if (*word == 'o')
			bits |= KFB_DISK_DO_UNQUIESCE;
		if (*word == 's')
			bits |= KFB_DISK_DO_QUIESCE;
		if (*word == 'r')
			bits |= KFB_DISK_DO_REPLAY;
		if (*word == 'e')
			bits |= KFB_DISK_DO_FAIL;
	}
	return bits;
}

static void every_event_in_every_state_does_what_the_table_says(void **state)
{
	unsigned int s;
	unsigned int e;

	for (s = 0; s < KFB_DISK_STATES; s++) {
		for (e = 0; e < KFB_DISK_EVENTS; e++) {
			enum kfb_disk_state now = s;
			int does = kfb_disk_move(&now, e);

			if (table[s][e][0] == '-') {
				assert_int_equal(does, -EINVAL);
				assert_int_equal(now, s);
				continue;
			}
			assert_int_equal(letters[now], table[s][e][0]);
			assert_int_equal(does, bits_of(table[s][e] + 1));
		}
	}
}

/* States that events lead to from here, as bits. */
static uint32_t reached(uint32_t from)
{
	uint32_t before;
	unsigned int s;
	unsigned int e;

	do {
		before = from;
		for (s = 0; s < KFB_DISK_STATES; s++) {
			for (e = 0; from & 1U << s && e < KFB_DISK_EVENTS;
			     e++) {
				enum kfb_disk_state now = s;

				if (kfb_disk_move(&now, e) >= 0)
					from |= 1U << now;
			}
		}
	} while (from != before);
	return from;
}

static void a_disk_that_has_lost_writes_is_never_up_again(void **state)
{
	uint32_t ends = 1U << KFB_DISK_LOSSY | 1U << KFB_DISK_DEAD |
			1U << KFB_DISK_DETACHING;

	assert_int_equal(reached(1U << KFB_DISK_LOSSY), ends);
	assert_int_equal(reached(1U << KFB_DISK_DEAD),
			 1U << KFB_DISK_DEAD | 1U << KFB_DISK_DETACHING);
	assert_int_equal(reached(1U << KFB_DISK_DETACHING),
			 1U << KFB_DISK_DETACHING);
	assert_int_equal(reached(1U << KFB_DISK_ATTACHING),
			 (1U << KFB_DISK_STATES) - 1);
}

static void no_request_goes_while_copies_have_to(void **state)
{
	unsigned int s;
	unsigned int e;

	for (s = 0; s < KFB_DISK_STATES; s++) {
		for (e = 0; e < KFB_DISK_EVENTS; e++) {
			enum kfb_disk_state now = s;
			int does = kfb_disk_move(&now, e);

			if (does < 0)
				continue;
			assert_true(!(does & KFB_DISK_DO_UNQUIESCE) ||
				    !(does & KFB_DISK_DO_QUIESCE));
			if (does & KFB_DISK_DO_REPLAY)
				assert_true(does & KFB_DISK_DO_QUIESCE);
			if (now == KFB_DISK_CONNECTING ||
			    now == KFB_DISK_REPLAYING)
				assert_true(does & KFB_DISK_DO_QUIESCE);
		}
	}
}

/* What an event leads to and does in a state. */
static void moves(enum kfb_disk_state from, enum kfb_disk_event event,
		  enum kfb_disk_state to, int does)
{
	enum kfb_disk_state now = from;

	assert_int_equal(kfb_disk_move(&now, event), does);
	assert_int_equal(now, to);
}

/* No look of the session's work has seen the disk unusable in between. */
static void
a_loss_and_the_way_back_between_two_looks_write_copies_again(void **state)
{
	const int again = KFB_DISK_DO_QUIESCE | KFB_DISK_DO_REPLAY;

	moves(KFB_DISK_UP, KFB_DISK_REPLAY, KFB_DISK_REPLAYING, again);
	moves(KFB_DISK_DETACHING, KFB_DISK_REPLAY, KFB_DISK_DETACHING, again);
}

static void copies_that_cannot_be_written_again_are_a_loss(void **state)
{
	moves(KFB_DISK_REPLAYING, KFB_DISK_LOST, KFB_DISK_LOSSY, 0);
}

static void the_end_of_the_way_back_ends_writing_again(void **state)
{
	moves(KFB_DISK_REPLAYING, KFB_DISK_OVER, KFB_DISK_FAILED,
	      KFB_DISK_DO_UNQUIESCE | KFB_DISK_DO_FAIL);
}

static void a_loss_of_a_disk_that_has_failed_is_its_end(void **state)
{
	moves(KFB_DISK_FAILED, KFB_DISK_LOST, KFB_DISK_DEAD, 0);
}

static void a_dead_disk_has_nothing_more_to_lose(void **state)
{
	moves(KFB_DISK_DEAD, KFB_DISK_LOST, KFB_DISK_DEAD, 0);
}

static void what_is_no_state_or_event_is_refused(void **state)
{
	enum kfb_disk_state now = KFB_DISK_STATES;

	assert_int_equal(kfb_disk_move(&now, KFB_DISK_LOST), -EINVAL);
	now = KFB_DISK_UP;
	assert_int_equal(kfb_disk_move(&now, KFB_DISK_EVENTS), -EINVAL);
	assert_string_equal(kfb_disk_state_name(KFB_DISK_STATES), "?");
	assert_string_equal(kfb_disk_event_name(KFB_DISK_EVENTS), "?");
	assert_string_equal(kfb_disk_state_name(KFB_DISK_LOSSY), "lossy");
	assert_string_equal(kfb_disk_event_name(KFB_DISK_OVER), "over");
}

static void
who_shares_blocks_lets_others_in_and_takes_nothing_back(void **state)
{
	static const struct {
		__u32 flags;
		bool is_alone;
	} uses[KFB_DISK_USES] = {
		[KFB_DISK_ALONE] = { KFB_MAP_RW | KFB_MAP_EXCLUSIVE, true },
		[KFB_DISK_READER] = { KFB_MAP_RO | KFB_MAP_SHARED, false },
		[KFB_DISK_SHARED] = { KFB_MAP_RW | KFB_MAP_SHARED, false },
	};

	for (int i = 0; i < KFB_DISK_USES; i++) {
		enum kfb_disk_use use = (enum kfb_disk_use)i;

		assert_int_equal(kfb_disk_map_flags(use), uses[i].flags);
		assert_int_equal(kfb_disk_allocates(use), uses[i].is_alone);
		assert_int_equal(kfb_disk_retains(use), uses[i].is_alone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_event_in_every_state_does_what_the_table_says),
		cmocka_unit_test(a_disk_that_has_lost_writes_is_never_up_again),
		cmocka_unit_test(no_request_goes_while_copies_have_to),
		cmocka_unit_test(
			a_loss_and_the_way_back_between_two_looks_write_copies_again),
		cmocka_unit_test(
			copies_that_cannot_be_written_again_are_a_loss),
		cmocka_unit_test(the_end_of_the_way_back_ends_writing_again),
		cmocka_unit_test(a_loss_of_a_disk_that_has_failed_is_its_end),
		cmocka_unit_test(a_dead_disk_has_nothing_more_to_lose),
		cmocka_unit_test(what_is_no_state_or_event_is_refused),
		cmocka_unit_test(
			who_shares_blocks_lets_others_in_and_takes_nothing_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
