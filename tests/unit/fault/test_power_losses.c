// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of losses: what a client that flushes right never loses, and what
 * one that flushes wrong must be seen to lose.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "rig.h"

#define CUTS 2000u
#define SEED 20149
#define P60  600

static unsigned int losses(enum rig_flush flush, uint32_t permille, _Bool ddio,
			   _Bool eadr)
{
	const struct rig_case c = { .flush = flush,
				    .drain_permille = permille,
				    .ddio = ddio,
				    .eadr = eadr };
	unsigned int n = rig_losses(&c, CUTS, SEED);

	printf("# flush %d p %u ddio %d eadr %d: %u of %u lost\n", flush,
	       permille, ddio, eadr, n, CUTS);
	return n;
}

static void no_flush_always_shows_when_nothing_drains(void **state)
{
	assert_int_equal(losses(RIG_NO_FLUSH, 0, 0, 0), CUTS);
}

static void no_flush_shows_often_when_lines_drain(void **state)
{
	assert_in_range(losses(RIG_NO_FLUSH, P60, 0, 0), CUTS / 4, CUTS - 1);
}

static void readback_on_all_queues_loses_nothing(void **state)
{
	assert_int_equal(losses(RIG_READBACK_ALL, 0, 0, 0), 0);
	assert_int_equal(losses(RIG_READBACK_ALL, P60, 0, 0), 0);
}

static void readback_on_one_queue_loses_the_others(void **state)
{
	assert_int_equal(losses(RIG_READBACK_FIRST, 0, 0, 0), CUTS);
	assert_in_range(losses(RIG_READBACK_FIRST, P60, 0, 0), CUTS / 8,
			CUTS - 1);
}

static void readback_is_worthless_with_ddio(void **state)
{
	assert_int_equal(losses(RIG_READBACK_ALL, 0, 1, 0), CUTS);
	assert_int_equal(losses(RIG_READBACK_ALL, P60, 1, 0), CUTS);
}

static void readback_suffices_with_ddio_and_eadr(void **state)
{
	assert_int_equal(losses(RIG_READBACK_ALL, 0, 1, 1), 0);
	assert_int_equal(losses(RIG_READBACK_ALL, P60, 1, 1), 0);
}

static void eadr_without_readback_still_loses(void **state)
{
	assert_int_equal(losses(RIG_NO_FLUSH, 0, 1, 1), CUTS);
	assert_in_range(losses(RIG_NO_FLUSH, P60, 1, 1), 1, CUTS);
}

static void message_on_every_queue_loses_nothing_with_ddio(void **state)
{
	assert_int_equal(losses(RIG_MESSAGE_ALL, 0, 1, 0), 0);
	assert_int_equal(losses(RIG_MESSAGE_ALL, P60, 1, 0), 0);
	assert_int_equal(losses(RIG_MESSAGE_ALL, 0, 0, 0), 0);
}

static void message_on_one_queue_loses_the_others(void **state)
{
	assert_int_equal(losses(RIG_MESSAGE_FIRST, 0, 1, 0), CUTS);
	assert_in_range(losses(RIG_MESSAGE_FIRST, P60, 1, 0), CUTS / 8, CUTS);
}

static void the_same_seed_gives_the_same_losses(void **state)
{
	assert_int_equal(losses(RIG_NO_FLUSH, P60, 0, 0),
			 losses(RIG_NO_FLUSH, P60, 0, 0));
}

/* The table again, as one number: how many of its rows come out wrong. */
static unsigned int wrong_rows(enum fault_power_bug bug)
{
	static const struct {
		struct rig_case c;
		_Bool loses;
	} rows[] = {
		{ { .flush = RIG_NO_FLUSH }, 1 },
		{ { .flush = RIG_READBACK_ALL }, 0 },
		{ { .flush = RIG_READBACK_FIRST }, 1 },
		{ { .flush = RIG_READBACK_ALL, .ddio = 1 }, 1 },
		{ { .flush = RIG_READBACK_ALL, .ddio = 1, .eadr = 1 }, 0 },
		{ { .flush = RIG_NO_FLUSH, .ddio = 1, .eadr = 1 }, 1 },
		{ { .flush = RIG_MESSAGE_ALL, .ddio = 1 }, 0 },
		{ { .flush = RIG_MESSAGE_FIRST, .ddio = 1 }, 1 },
		{ { .flush = RIG_READBACK_ALL, .drain_permille = P60 }, 0 },
	};
	unsigned int i, wrong = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_case c = rows[i].c;

		c.bug = bug;
		wrong += !!rig_losses(&c, CUTS / 10, SEED) != rows[i].loses;
	}
	return wrong;
}

static void every_rule_that_the_table_depends_on_matters(void **state)
{
	assert_int_equal(wrong_rows(FAULT_BUG_NONE), 0);
	assert_true(wrong_rows(FAULT_BUG_ADDRESS_ORDER));
	assert_true(wrong_rows(FAULT_BUG_EMPTY_ALL));
	assert_true(wrong_rows(FAULT_BUG_EMPTY_NONE));
	assert_true(wrong_rows(FAULT_BUG_DDIO_IGNORED));
	assert_true(wrong_rows(FAULT_BUG_READ_FLUSHES_L));
	assert_true(wrong_rows(FAULT_BUG_CUT_KEEPS));
	assert_true(wrong_rows(FAULT_BUG_EADR_KEEPS_N));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_flush_always_shows_when_nothing_drains),
		cmocka_unit_test(no_flush_shows_often_when_lines_drain),
		cmocka_unit_test(readback_on_all_queues_loses_nothing),
		cmocka_unit_test(readback_on_one_queue_loses_the_others),
		cmocka_unit_test(readback_is_worthless_with_ddio),
		cmocka_unit_test(readback_suffices_with_ddio_and_eadr),
		cmocka_unit_test(eadr_without_readback_still_loses),
		cmocka_unit_test(
			message_on_every_queue_loses_nothing_with_ddio),
		cmocka_unit_test(message_on_one_queue_loses_the_others),
		cmocka_unit_test(the_same_seed_gives_the_same_losses),
		cmocka_unit_test(every_rule_that_the_table_depends_on_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
