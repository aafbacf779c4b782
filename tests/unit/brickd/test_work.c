// SPDX-License-Identifier: BSD-2-Clause
/* Workers: order, batches, the way back, and the end. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <poll.h>
#include <semaphore.h>
#include <string.h>

#include "brickd/base/util.h"
#include "brickd/base/work.h"

#define N_ITEMS	    1000
#define DEADLINE_MS 10000

struct item {
	struct brick_work work;
	int number;
	bool ran;
};

static struct brick_mailbox box;
static struct brick_worker worker;
static struct item items[N_ITEMS];
static int n_done;
static bool in_order;

static void run(struct brick_work *work)
{
	brick_container_of(work, struct item, work)->ran = true;
}

static void done(struct brick_work *work)
{
	struct item *item = brick_container_of(work, struct item, work);

	in_order = in_order && item->ran && item->number == n_done;
	n_done++;
}

static int begin(void **state)
{
	n_done = 0;
	in_order = true;
	memset(items, 0, sizeof(items));
	worker = (struct brick_worker){ .name = "test",
					.run = brick_worker_run_each,
					.box = &box };
	return brick_mailbox_init(&box) || brick_worker_start(&worker);
}

static int end(void **state)
{
	brick_worker_stop(&worker);
	brick_mailbox_fini(&box);
	return 0;
}

static void submit_all(void)
{
	for (int i = 0; i < N_ITEMS; i++) {
		items[i].number = i;
		items[i].work.run = run;
		items[i].work.done = done;
		brick_worker_submit(&worker, &items[i].work);
	}
}

static void work_comes_back_in_order_and_wakes_the_loop(void **state)
{
	struct pollfd fd = { .fd = box.source.fd, .events = POLLIN };

	submit_all();
	while (n_done < N_ITEMS) {
		assert_int_equal(poll(&fd, 1, DEADLINE_MS), 1);
		box.source.ready(&box.source);
	}
	assert_int_equal(n_done, N_ITEMS);
	assert_true(in_order);
	/* Nothing is left that would wake the loop for nothing. */
	assert_int_equal(poll(&fd, 1, 0), 0);
}

static void stop_finishes_what_is_queued(void **state)
{
	submit_all();
	brick_worker_stop(&worker);
	brick_mailbox_deliver(&box);
	assert_int_equal(n_done, N_ITEMS);
	assert_true(in_order);
}

/* The first one holds the worker until all have come. */
static sem_t is_held, goes_on;
static int whose[3], order[6];

static void run_at_the_gate(struct brick_work *work)
{
	sem_post(&is_held);
	sem_wait(&goes_on);
	run(work);
}

static void note_order(struct brick_work *work)
{
	order[n_done++] = brick_container_of(work, struct item, work)->number;
}

static void each_has_its_turn_however_much_another_one_wants(void **state)
{
	static const int owners[] = { 0, 0, 0, 0, 1, 2 };
	static const int expected[] = { 0, 1, 4, 5, 2, 3 };

	(void)state;
	sem_init(&is_held, 0, 0);
	sem_init(&goes_on, 0, 0);
	brick_worker_stop(&worker);
	worker.run = brick_worker_run_by_turns;
	assert_int_equal(brick_worker_start(&worker), 0);
	for (int i = 0; i < 6; i++) {
		items[i].number = i;
		items[i].work.whose = &whose[owners[i]];
		items[i].work.run = i ? run : run_at_the_gate;
		items[i].work.done = note_order;
		brick_worker_submit(&worker, &items[i].work);
		if (!i)
			sem_wait(&is_held);
	}
	sem_post(&goes_on);
	brick_worker_stop(&worker);
	brick_mailbox_deliver(&box);
	assert_int_equal(n_done, 6);
	assert_memory_equal(order, expected, sizeof(order));
}

static void a_worker_that_never_started_can_be_stopped(void **state)
{
	struct brick_worker never = { 0 };

	brick_worker_stop(&never);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			work_comes_back_in_order_and_wakes_the_loop, begin,
			end),
		cmocka_unit_test_setup_teardown(stop_finishes_what_is_queued,
						begin, end),
		cmocka_unit_test_setup_teardown(
			each_has_its_turn_however_much_another_one_wants, begin,
			end),
		cmocka_unit_test(a_worker_that_never_started_can_be_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
