// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rules of the power-failure model, one by one, and its bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

#define MANY 500

static struct rig rig;
static uint8_t data[FAULT_LINE];

static void start(const struct rig_case *c, uint64_t seed)
{
	rig_init(&rig, c, seed);
	memset(data, 0xa5, sizeof(data));
}

static void write_value(uint32_t conn, uint64_t addr, uint8_t value)
{
	memset(data, value, sizeof(data));
	rig_write(&rig, conn, addr, data, sizeof(data));
}

static void too_little_memory_is_refused(void **state)
{
	const struct fault_power_cfg cfg = {};

	assert_int_equal(fault_power_init(&rig.power, &cfg, rig.lines, 1,
					  rig.conns, 1),
			 -EINVAL);
	assert_int_equal(fault_power_init(&rig.power, &cfg, rig.lines, 2,
					  rig.conns, 0),
			 -EINVAL);
}

static void a_write_of_any_alignment_is_held_whole(void **state)
{
	const struct rig_case c = {};
	uint8_t bytes[3 * FAULT_LINE];
	uint32_t offset, len;

	memset(bytes, 0x3c, sizeof(bytes));
	for (offset = 0; offset < FAULT_LINE; offset += 7) {
		for (len = 1; len < sizeof(bytes); len += 13) {
			start(&c, 1);
			rig_write(&rig, 0, offset, bytes, len);
			assert_int_equal(rig.media[offset], 0);
			fault_power_empty(&rig.power, 0);
			rig_settle(&rig);
			assert_false(rig_lost(&rig));
		}
	}
}

static void a_readback_leaves_other_connections_alone(void **state)
{
	const struct rig_case c = {};

	start(&c, 1);
	write_value(0, 0, 1);
	write_value(1, FAULT_LINE, 2);
	fault_power_empty(&rig.power, 0);
	rig_settle(&rig);
	assert_int_equal(rig.media[0], 1);
	assert_int_equal(rig.media[FAULT_LINE], 0);
	assert_int_equal(fault_power_held(&rig.power, 1), 1);
}

/* Does the older of two writes ever end on top? */
static _Bool order_is_lost(enum fault_power_bug bug)
{
	const struct rig_case c = { .drain_permille = 500, .bug = bug };
	uint64_t seed;

	for (seed = 0; seed < MANY; seed++) {
		start(&c, seed);
		write_value(0, 0, 1);
		write_value(0, 0, 2);
		while (fault_power_held(&rig.power, 0)) {
			fault_power_step(&rig.power);
			rig_settle(&rig);
		}
		if (rig.media[0] != 2)
			return 1;
	}
	return 0;
}

static void writes_of_one_address_keep_their_order(void **state)
{
	assert_false(order_is_lost(FAULT_BUG_NONE));
	assert_true(order_is_lost(FAULT_BUG_ADDRESS_ORDER));
}

static void writes_of_two_addresses_are_reordered(void **state)
{
	const struct rig_case c = { .drain_permille = 500 };
	unsigned int swapped = 0;
	uint64_t seed;

	for (seed = 0; seed < MANY; seed++) {
		start(&c, seed);
		write_value(0, 0, 1);
		write_value(0, FAULT_LINE, 2);
		fault_power_step(&rig.power);
		rig_settle(&rig);
		swapped += !rig.media[0] && rig.media[FAULT_LINE];
	}
	assert_in_range(swapped, MANY / 8, MANY / 2);
}

/* Power cuts of one held line: how many bytes of it survive, by count. */
static void survivors(enum fault_power_bug bug, unsigned int *none,
		      unsigned int *some, unsigned int *all)
{
	const struct rig_case c = { .bug = bug };
	unsigned int i, n;
	uint64_t seed;

	*none = *some = *all = 0;
	for (seed = 0; seed < MANY; seed++) {
		start(&c, seed);
		write_value(0, 0, 0xff);
		fault_power_cut(&rig.power);
		rig_settle(&rig);
		for (i = 0, n = 0; i < FAULT_LINE; i++) {
			/* Pieces of 8 bytes are whole. */
			assert_int_equal(rig.media[i],
					 rig.media[i & ~(FAULT_ATOM - 1u)]);
			n += !!rig.media[i];
		}
		assert_int_equal(rig.lost_bytes, FAULT_LINE - n);
		*none += !n;
		*all += n == FAULT_LINE;
		*some += n && n < FAULT_LINE;
	}
}

static void a_cut_drops_keeps_and_tears_at_8_bytes(void **state)
{
	unsigned int none, some, all;

	survivors(FAULT_BUG_NONE, &none, &some, &all);
	assert_in_range(none, MANY / 5, MANY / 2);
	assert_in_range(some, MANY / 5, MANY / 2);
	assert_in_range(all, MANY / 5, MANY / 2);
	survivors(FAULT_BUG_NO_TEAR, &none, &some, &all);
	assert_int_equal(some, 0);
}

static void
a_cut_never_shows_a_newer_write_over_a_dropped_older_one(void **state)
{
	const struct rig_case c = {};
	const uint8_t a = 1, b = 2;
	uint64_t seed;

	for (seed = 0; seed < MANY; seed++) {
		start(&c, seed);
		rig_write(&rig, 0, 0, &a, 1);
		rig_write(&rig, 0, 1, &b, 1);
		fault_power_cut(&rig.power);
		rig_settle(&rig);
		assert_false(!rig.media[0] && rig.media[1]);
	}
}

static void a_cut_keeps_or_drops_whole_lines_of_the_cache(void **state)
{
	const struct rig_case c = { .ddio = 1 };
	unsigned int kept = 0;
	uint64_t seed;

	for (seed = 0; seed < MANY; seed++) {
		start(&c, seed);
		write_value(0, 0, 0xff);
		fault_power_empty(&rig.power, 0);
		fault_power_cut(&rig.power);
		rig_settle(&rig);
		assert_int_equal(rig.media[0], rig.media[FAULT_LINE - 1]);
		kept += !!rig.media[0];
	}
	assert_in_range(kept, MANY / 3, MANY - MANY / 3);
}

static void a_flush_covers_its_range_only(void **state)
{
	const struct rig_case c = { .ddio = 1 };

	start(&c, 1);
	write_value(0, 0, 1);
	write_value(0, FAULT_LINE, 2);
	write_value(0, 2 * FAULT_LINE, 3);
	fault_power_empty(&rig.power, 0);
	fault_power_flush(&rig.power, RIG_SPACE + 1, 0, RIG_MEDIA);
	rig_settle(&rig);
	assert_int_equal(rig.media[FAULT_LINE], 0);
	fault_power_flush(&rig.power, RIG_SPACE, FAULT_LINE + 5, 1);
	rig_settle(&rig);
	assert_int_equal(rig.media[0], 0);
	assert_int_equal(rig.media[FAULT_LINE], 2);
	assert_int_equal(rig.media[2 * FAULT_LINE], 0);
}

static void a_message_does_not_flush_what_is_still_in_the_buffers(void **state)
{
	const struct rig_case c = { .ddio = 1 };

	start(&c, 1);
	write_value(1, 0, 1);
	rig_flush(&rig, RIG_MESSAGE_FIRST);
	assert_int_equal(rig.media[0], 0);
	rig_flush(&rig, RIG_MESSAGE_ALL);
	assert_int_equal(rig.media[0], 1);
}

static void nothing_lands_after_an_endpoint_is_destroyed(void **state)
{
	struct rig_case c = {};
	int drain;

	for (drain = 0; drain < 2; drain++) {
		start(&c, 1);
		write_value(0, 0, 1);
		fault_power_destroy(&rig.power, 0, drain);
		rig_settle(&rig);
		assert_int_equal(rig.media[0], drain);
		assert_int_equal(rig.lost_lines, !drain);
		/* A new connection takes its place and writes. */
		write_value(0, 0, 2);
		fault_power_empty(&rig.power, 0);
		rig_settle(&rig);
		assert_int_equal(rig.lost_lines, !drain);
	}
	c.bug = FAULT_BUG_LANDS_LATE;
	start(&c, 1);
	write_value(0, 0, 1);
	fault_power_destroy(&rig.power, 0, 0);
	assert_int_equal(fault_power_held(&rig.power, 0), 1);
}

static void a_full_model_pushes_the_oldest_line_out(void **state)
{
	const struct rig_case c = {};
	unsigned int i;

	start(&c, 1);
	for (i = 0; i < RIG_LINES; i++)
		assert_int_equal(fault_power_write(&rig.power, 0, RIG_SPACE,
						   (i % 4) * FAULT_LINE, data,
						   FAULT_LINE),
				 FAULT_LINE);
	assert_int_equal(fault_power_write(&rig.power, 1, RIG_SPACE, 0, data,
					   FAULT_LINE),
			 0);
	assert_int_equal(rig.media[0], 0);
	write_value(1, 8 * FAULT_LINE, 9);
	assert_int_equal(rig.media[0], 0xa5);
	assert_int_equal(rig.media[FAULT_LINE], 0);
	assert_int_equal(fault_power_held(&rig.power, 0), RIG_LINES - 1);
	assert_int_equal(fault_power_held(&rig.power, 1), 1);
}

static void a_full_cache_evicts(void **state)
{
	const struct rig_case c = { .ddio = 1 };
	unsigned int i;

	start(&c, 1);
	for (i = 0; i < RIG_LINES; i++) {
		write_value(0, i * FAULT_LINE, 1);
		fault_power_empty(&rig.power, 0);
	}
	assert_int_equal(rig.power.free.count, 0);
	memset(data, 2, sizeof(data));
	assert_int_equal(fault_power_squeeze(&rig.power, 0), 0);
	rig_settle(&rig);
	assert_int_equal(rig.media[0], 1);
	assert_int_equal(rig.power.free.count, 1);
}

static void an_empty_model_has_nothing_to_squeeze(void **state)
{
	struct fault_line line;

	start(&(struct rig_case){}, 1);
	rig.power.free.count = 0;
	assert_int_equal(fault_power_squeeze(&rig.power, 0), -ENOENT);
	assert_false(fault_power_pop(&rig.power, &line));
}

static void chance_follows_its_permille(void **state)
{
	__u64 rng = 1;
	unsigned int i, yes = 0;

	for (i = 0; i < 10000; i++) {
		assert_false(fault_chance(&rng, 0));
		assert_true(fault_chance(&rng, FAULT_PERMILLE));
		yes += fault_chance(&rng, 250);
	}
	assert_in_range(yes, 2300, 2700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_little_memory_is_refused),
		cmocka_unit_test(a_write_of_any_alignment_is_held_whole),
		cmocka_unit_test(a_readback_leaves_other_connections_alone),
		cmocka_unit_test(writes_of_one_address_keep_their_order),
		cmocka_unit_test(writes_of_two_addresses_are_reordered),
		cmocka_unit_test(a_cut_drops_keeps_and_tears_at_8_bytes),
		cmocka_unit_test(
			a_cut_never_shows_a_newer_write_over_a_dropped_older_one),
		cmocka_unit_test(a_cut_keeps_or_drops_whole_lines_of_the_cache),
		cmocka_unit_test(a_flush_covers_its_range_only),
		cmocka_unit_test(
			a_message_does_not_flush_what_is_still_in_the_buffers),
		cmocka_unit_test(nothing_lands_after_an_endpoint_is_destroyed),
		cmocka_unit_test(a_full_model_pushes_the_oldest_line_out),
		cmocka_unit_test(a_full_cache_evicts),
		cmocka_unit_test(an_empty_model_has_nothing_to_squeeze),
		cmocka_unit_test(chance_follows_its_permille),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
