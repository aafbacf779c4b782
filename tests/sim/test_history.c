// SPDX-License-Identifier: BSD-2-Clause
/* The oracles: what they must let pass, and what they must not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "history.h"
#include "oracle.h"
#include "world.h"

static struct sim_history history;

static int begin(void **state)
{
	sim_world_init(1);
	*sim_violation = '\0';
	sim_history_init(&history, 0);
	return 0;
}

static void at(uint64_t us)
{
	sim.now_ns = SIM_S + us * SIM_US;
}

static void writes(uint64_t value, uint64_t from_us, uint64_t to_us)
{
	at(from_us);
	sim_history_write(&history, value);
	if (!to_us)
		return;
	at(to_us);
	sim_history_written(&history, value);
}

static void reads(uint64_t value, uint64_t from_us, uint64_t to_us)
{
	at(to_us);
	sim_history_read(&history, value, SIM_S + from_us * SIM_US);
}

static void passes(void)
{
	sim_history_check(&history);
	assert_string_equal(sim_violation, "");
}

static void fails(void)
{
	sim_history_check(&history);
	assert_string_not_equal(sim_violation, "");
}

static void one_after_the_other_passes(void **state)
{
	reads(0, 1, 2);
	writes(1, 3, 4);
	reads(1, 5, 6);
	writes(2, 7, 8);
	reads(2, 9, 10);
	passes();
}

static void writes_at_the_same_time_may_have_any_order(void **state)
{
	writes(1, 1, 0);
	writes(2, 2, 0);
	at(10);
	sim_history_written(&history, 1);
	sim_history_written(&history, 2);
	reads(1, 11, 12);
	reads(1, 13, 14);
	passes();
}

static void an_order_once_seen_stays(void **state)
{
	writes(1, 1, 10);
	writes(2, 1, 10);
	reads(1, 11, 12);
	reads(2, 13, 14);
	fails();
}

static void a_stale_value_fails(void **state)
{
	writes(1, 1, 2);
	writes(2, 3, 4);
	reads(1, 5, 6);
	fails();
}

static void a_write_that_reverts_fails(void **state)
{
	writes(1, 1, 2);
	reads(1, 3, 4);
	reads(0, 5, 6);
	fails();
}

static void a_read_during_a_write_may_see_either(void **state)
{
	writes(1, 1, 2);
	writes(2, 3, 20);
	reads(1, 4, 5);
	reads(2, 6, 7);
	passes();
}

static void a_new_value_then_the_old_one_fails(void **state)
{
	writes(1, 1, 2);
	writes(2, 3, 20);
	reads(2, 4, 5);
	reads(1, 6, 7);
	fails();
}

static void a_write_without_an_end_may_come_late(void **state)
{
	writes(1, 1, 0);
	writes(2, 2, 3);
	reads(2, 4, 5);
	reads(1, 6, 7);
	passes();
}

static void a_value_of_the_future_fails(void **state)
{
	reads(1, 1, 2);
	writes(1, 3, 4);
	fails();
}

static void a_value_of_nobody_fails(void **state)
{
	reads(7, 1, 2);
	fails();
}

static void what_was_durable_survives_a_loss_of_power(void **state)
{
	writes(1, 1, 2);
	writes(2, 3, 4);
	at(5);
	sim_history_power(&history);
	reads(1, 6, 7);
	fails();
}

static void what_was_not_durable_need_not(void **state)
{
	writes(1, 1, 2);
	writes(2, 3, 0);
	reads(2, 4, 5);
	at(6);
	sim_history_power(&history);
	reads(1, 7, 8);
	passes();
}

static void one_value_only_was_there_after_it(void **state)
{
	writes(1, 1, 10);
	writes(2, 2, 10);
	at(11);
	sim_history_power(&history);
	reads(1, 12, 13);
	reads(2, 14, 15);
	fails();
}

static void a_second_loss_forgets_nothing(void **state)
{
	writes(1, 1, 2);
	at(3);
	sim_history_power(&history);
	sim_history_power(&history);
	reads(0, 4, 5);
	fails();
}

static void what_was_read_before_it_tells_nothing(void **state)
{
	writes(1, 1, 0);
	at(3);
	sim_history_power(&history);
	reads(1, 2, 4);
	reads(0, 5, 6);
	passes();
}

static void a_write_that_is_told_after_it_may_be_the_older_one(void **state)
{
	writes(1, 1, 0);
	writes(2, 1, 0);
	at(3);
	sim_history_power(&history);
	at(4);
	sim_history_written(&history, 1);
	reads(2, 5, 6);
	passes();
}

static void nor_has_that_overwritten_what_was_there(void **state)
{
	writes(1, 1, 0);
	writes(2, 1, 2);
	at(3);
	sim_history_power(&history);
	at(4);
	sim_history_written(&history, 1);
	at(5);
	sim_history_power(&history);
	reads(2, 6, 7);
	passes();
}

/* ---- registers ------------------------------------------------------------ */

static struct sim_register reg;
static uint64_t words[2][2]; /* of the first write, and of the second */

/* The second one is under way when the client is told of a loss. */
static int begin_register(void **state)
{
	begin(state);
	sim_register_init(&reg, 1, 0, 2);
	sim_register_write(&reg, 1, words[0]);
	sim_register_written(&reg, true);
	sim_register_write(&reg, 1, words[1]);
	sim_register_lost(&reg);
	return 0;
}

static void what_was_under_way_and_completes_is_all_there(void **state)
{
	sim_register_written(&reg, true);
	words[1][0] = words[0][0];
	sim_register_read(&reg, 1, words[1]);
	fails();
}

static void what_was_under_way_and_fails_may_be_there_in_part(void **state)
{
	sim_register_written(&reg, false);
	words[1][0] = 0;
	sim_register_read(&reg, 1, words[1]);
	passes();
}

/* Whoever is told of it once more knows of what has completed meanwhile. */
static void what_has_completed_by_then_may_be_lost(void **state)
{
	sim_register_written(&reg, true);
	sim_register_lost(&reg);
	sim_register_read(&reg, 1, words[0]);
	passes();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_after_the_other_passes, begin),
		cmocka_unit_test_setup(
			writes_at_the_same_time_may_have_any_order, begin),
		cmocka_unit_test_setup(an_order_once_seen_stays, begin),
		cmocka_unit_test_setup(a_stale_value_fails, begin),
		cmocka_unit_test_setup(a_write_that_reverts_fails, begin),
		cmocka_unit_test_setup(a_read_during_a_write_may_see_either,
				       begin),
		cmocka_unit_test_setup(a_new_value_then_the_old_one_fails,
				       begin),
		cmocka_unit_test_setup(a_write_without_an_end_may_come_late,
				       begin),
		cmocka_unit_test_setup(a_value_of_the_future_fails, begin),
		cmocka_unit_test_setup(a_value_of_nobody_fails, begin),
		cmocka_unit_test_setup(
			what_was_durable_survives_a_loss_of_power, begin),
		cmocka_unit_test_setup(what_was_not_durable_need_not, begin),
		cmocka_unit_test_setup(one_value_only_was_there_after_it,
				       begin),
		cmocka_unit_test_setup(a_second_loss_forgets_nothing, begin),
		cmocka_unit_test_setup(what_was_read_before_it_tells_nothing,
				       begin),
		cmocka_unit_test_setup(
			a_write_that_is_told_after_it_may_be_the_older_one,
			begin),
		cmocka_unit_test_setup(nor_has_that_overwritten_what_was_there,
				       begin),
		cmocka_unit_test_setup(
			what_was_under_way_and_completes_is_all_there,
			begin_register),
		cmocka_unit_test_setup(
			what_was_under_way_and_fails_may_be_there_in_part,
			begin_register),
		cmocka_unit_test_setup(what_has_completed_by_then_may_be_lost,
				       begin_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
