// SPDX-License-Identifier: BSD-2-Clause
/* Losses: named exactly, to those whom they concern, one after the other. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "brickd/session/event.h"
#include "brickd/session/losses.h"
#include "brickd/storage/storage.h"
#include "event_rig.h"

#define BLOCK KFB_BLOCK_BYTES

static struct brick_storage storage;
static struct brick_sessions sessions;
static struct brick_store_recovery recovery;
static struct brick_client client;
static struct event_rig rig;

/* What the store has lost: runs of blocks, sorted. */
static struct brick_span lost[2 * BRICK_LOSSES_MAX];
static unsigned int n_lost;

uint64_t __wrap_brick_store_lost(struct brick_store *s, uint64_t va,
				 uint64_t *first);
const struct brick_store_recovery *
__wrap_brick_store_recovery(const struct brick_store *s);

uint64_t __wrap_brick_store_lost(struct brick_store *s, uint64_t va,
				 uint64_t *first)
{
	uint64_t from = va / BLOCK;

	for (unsigned int i = 0; i < n_lost; i++) {
		if (lost[i].end <= from)
			continue;
		if (from < lost[i].first)
			from = lost[i].first;
		*first = from * BLOCK;
		return lost[i].end - from;
	}
	return 0;
}

const struct brick_store_recovery *
__wrap_brick_store_recovery(const struct brick_store *s)
{
	return &recovery;
}

static void lose(uint64_t first, uint64_t n)
{
	lost[n_lost++] = (struct brick_span){ first, first + n };
}

static void grant(uint64_t first, uint64_t n)
{
	client.grants.ro[client.grants.n_ro++] =
		(struct brick_span){ first, first + n };
}

static int begin(void **state)
{
	memset(&storage, 0, sizeof(storage));
	memset(&sessions, 0, sizeof(sessions));
	sessions.storage = &storage;
	memset(&recovery, 0, sizeof(recovery));
	memset(&client, 0, sizeof(client));
	n_lost = 0;
	TAILQ_INIT(&sessions.list);
	if (rig_begin(&rig, &sessions))
		return -1;
	rig.s.client = &client;
	TAILQ_INSERT_TAIL(&sessions.list, &rig.s, link);
	return 0;
}

static int end(void **state)
{
	rig_end(&rig);
	return 0;
}

static void told(unsigned int n, uint64_t first, uint64_t n_blocks)
{
	assert_int_equal(rig.n_sent, n);
	assert_int_equal(rig.last.u.event.kind, KFB_EVENT_MEDIA_ERROR);
	assert_int_equal(rig.last.u.event.va, first * BLOCK);
	assert_int_equal(rig.last.u.event.n_blocks, n_blocks);
}

/* The client's next request, and those that acknowledge what was sent. */
static void request(void)
{
	rig_ack(&rig, KFB_OP_PING, rig.last.u.event.event_seq);
	rig.conn.event_credits = KFB_EVENTS_UNACKED_MAX;
}

static void without_a_loss_nothing_is_told(void **state)
{
	grant(0, 100);
	recovery.slots_given_up = 3;
	brick_losses_begin(&rig.s);
	request();
	assert_int_equal(rig.n_sent, 0);
}

static void ranges_are_named_one_after_the_other(void **state)
{
	grant(0, 100);
	lose(3, 1);
	lose(7, 4);
	brick_losses_begin(&rig.s);
	assert_int_equal(rig.n_sent, 0);
	request();
	told(1, 3, 1);
	/* The same once more on another connection. */
	rig_connect(&rig);
	brick_events_again(&rig.s);
	told(2, 3, 1);
	request();
	told(3, 7, 4);
	request();
	assert_int_equal(rig.n_sent, 3);
}

static void nobody_hears_of_blocks_of_others(void **state)
{
	grant(4, 4);
	grant(20, 10);
	lose(0, 6);
	lose(10, 5);
	lose(29, 2);
	lose(50, 1);
	brick_losses_begin(&rig.s);
	request();
	told(1, 4, 2);
	request();
	told(2, 29, 1);
	request();
	assert_int_equal(rig.n_sent, 2);
}

static void what_cannot_be_named_comes_last(void **state)
{
	grant(0, 100);
	lose(9, 1);
	recovery.records_bad = 1;
	brick_losses_begin(&rig.s);
	request();
	told(1, 9, 1);
	request();
	told(2, 0, 0);
	request();
	assert_int_equal(rig.n_sent, 2);
	/* A drain fails: at once, and again for whoever comes later. */
	brick_losses_tell(&sessions);
	told(3, 0, 0);
	request();
	assert_int_equal(rig.n_sent, 3);
}

static void a_failure_waits_for_what_is_being_told(void **state)
{
	grant(0, 100);
	lose(9, 1);
	brick_losses_begin(&rig.s);
	request();
	told(1, 9, 1);
	brick_losses_tell(&sessions);
	assert_int_equal(rig.n_sent, 1);
	request();
	told(2, 0, 0);
	request();
	assert_int_equal(rig.n_sent, 2);
}

static void find(uint64_t block)
{
	brick_losses_found(&sessions, (struct brick_span){ block, block + 1 });
}

static void a_page_that_cannot_be_had_is_told_to_whom_it_concerns(void **state)
{
	grant(4, 4);
	brick_losses_begin(&rig.s);
	find(3);
	assert_int_equal(rig.n_sent, 0);
	find(5);
	told(1, 5, 1);
	/* It is out; the newest of others waits. */
	find(6);
	find(7);
	find(5);
	assert_int_equal(rig.n_sent, 1);
	request();
	told(2, 7, 1);
	request();
	assert_int_equal(rig.n_sent, 2);
	/* As often as it is met. */
	find(7);
	told(3, 7, 1);
}

static void what_is_lost_for_good_is_told_before(void **state)
{
	grant(0, 100);
	lose(9, 1);
	lose(20, 1);
	recovery.records_bad = 1;
	brick_losses_begin(&rig.s);
	request();
	told(1, 9, 1);
	find(5);
	request();
	told(2, 20, 1);
	request();
	told(3, 5, 1);
	request();
	told(4, 0, 0);
}

/* The session of before has ended with its connection. */
static void who_begins_soon_after_is_told_too(void **state)
{
	grant(4, 4);
	TAILQ_INIT(&sessions.list);
	find(5);
	brick_losses_begin(&rig.s);
	request();
	told(1, 5, 1);
	request();
	assert_int_equal(rig.n_sent, 1);
	sessions.found.at_ms -= 3600000;
	brick_losses_begin(&rig.s);
	request();
	assert_int_equal(rig.n_sent, 1);
}

static void so_many_are_named_and_no_more(void **state)
{
	unsigned int i;

	grant(0, 1000);
	for (i = 0; i <= BRICK_LOSSES_MAX; i++)
		lose(2 * i, 1);
	brick_losses_begin(&rig.s);
	for (i = 0; i < BRICK_LOSSES_MAX; i++) {
		request();
		told(i + 1, 2 * i, 1);
	}
	request();
	told(i + 1, 0, 0);
	request();
	assert_int_equal(rig.n_sent, i + 1);
	/* One fewer: all are named. */
	end(state);
	begin(state);
	grant(0, 1000);
	for (i = 0; i < BRICK_LOSSES_MAX; i++)
		lose(2 * i, 1);
	brick_losses_begin(&rig.s);
	for (i = 0; i < BRICK_LOSSES_MAX + 2; i++)
		request();
	told(BRICK_LOSSES_MAX, 2 * (BRICK_LOSSES_MAX - 1), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_a_loss_nothing_is_told),
		CASE(ranges_are_named_one_after_the_other),
		CASE(nobody_hears_of_blocks_of_others),
		CASE(what_cannot_be_named_comes_last),
		CASE(a_failure_waits_for_what_is_being_told),
		CASE(a_page_that_cannot_be_had_is_told_to_whom_it_concerns),
		CASE(what_is_lost_for_good_is_told_before),
		CASE(who_begins_soon_after_is_told_too),
		CASE(so_many_are_named_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
