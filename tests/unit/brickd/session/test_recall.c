// SPDX-License-Identifier: BSD-2-Clause
/* RECALL: who is asked, for what, how often. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "brickd/base/counters.h"
#include "brickd/base/stop.h"
#include "brickd/config/config.h"
#include "brickd/session/event.h"
#include "brickd/storage/storage.h"
#include "brickd/tier/tier.h"
#include "brickd/tier/tier_ask.h"
#include "brickd/tier/tier_pins.h"
#include "event_rig.h"

#define BLOCK	 KFB_BLOCK_BYTES
#define SESSIONS 3

static struct brick_counters counters;
static struct brick_stop stop;
static struct brick_storage storage;
static struct brick_sessions sessions;
static struct brick_holdings holdings;
static struct brick_tier tier;
static struct brick_config config;
static struct event_rig rigs[SESSIONS];

static int begin(void **state)
{
	memset(&counters, 0, sizeof(counters));
	memset(&storage, 0, sizeof(storage));
	memset(&sessions, 0, sizeof(sessions));
	memset(&tier, 0, sizeof(tier));
	storage.counters = &counters;
	sessions.storage = &storage;
	tier.config = &config;
	tier.stop = &stop;
	tier.storage = &storage;
	tier.sessions = &sessions;
	tier.counters = &counters;
	sessions.config = &config;
	sessions.counters = &counters;
	sessions.stop = &stop;
	memset(&config, 0, sizeof(config));
	config.limits.promote_wait_ms = 60000;
	TAILQ_INIT(&sessions.list);
	brick_leases_init(&sessions.leases, 1000);
	brick_mappings_init(&sessions.mappings, 1, brick_session_is_ending);
	for (size_t i = 0; i < SESSIONS; i++) {
		if (rig_begin(&rigs[i], &sessions))
			return -1;
		rigs[i].s.features = KFB_FEATURE_EVENT;
		rigs[i].s.holdings = &holdings;
		TAILQ_INSERT_TAIL(&sessions.list, &rigs[i].s, link);
	}
	return 0;
}

static void unmap(struct brick_mapping *m)
{
	TAILQ_REMOVE(&m->session->mappings, m, session_link);
	m->session->n_handles--;
	brick_mappings_shorten(&sessions.mappings, m);
	free(m->handles);
	free(m);
}

static int end(void **state)
{
	while (sessions.mappings.by_block.root)
		unmap(sessions.mappings.by_block.root->owner);
	for (size_t i = 0; i < SESSIONS; i++)
		rig_end(&rigs[i]);
	return 0;
}

static struct brick_mapping *map(size_t i, uint64_t first, uint64_t n)
{
	struct brick_mapping *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->session = &rigs[i].s;
	m->holdings = &holdings;
	m->n = 1;
	m->handles = calloc(1, sizeof(*m->handles));
	assert_non_null(m->handles);
	m->handles[0].span = (struct brick_span){ first, first + n };
	assert_int_equal(brick_mappings_add(&sessions.mappings, m), 0);
	TAILQ_INSERT_TAIL(&m->session->mappings, m, session_link);
	m->session->n_handles++;
	return m;
}

static bool ask(uint64_t n_blocks)
{
	return brick_recall_ask(&tier, n_blocks, NULL);
}

/* The time of all that were asked is over. */
static void time_passes(void)
{
	for (size_t i = 0; i < SESSIONS; i++)
		rigs[i].s.events.recall.until_ms = 0;
}

static void asked(size_t i, unsigned int n, const struct brick_mapping *m)
{
	const struct kfb_event *event = &rigs[i].last.u.event;

	assert_int_equal(rigs[i].n_sent, n);
	if (!m)
		return;
	assert_int_equal(event->kind, KFB_EVENT_RECALL);
	assert_int_equal(event->mapping_id, m->id);
	assert_int_equal(event->va, m->handles[0].span.first * BLOCK);
	assert_int_equal(event->n_blocks,
			 m->handles[0].span.end - m->handles[0].span.first);
	assert_in_range(event->deadline_ms, 1, 60000);
}

static void no_more_is_asked_for_than_is_wanted(void **state)
{
	struct brick_mapping *m = map(0, 0, 4), *other = map(1, 10, 4);

	map(2, 20, 4);
	assert_true(ask(5));
	asked(0, 1, m);
	asked(1, 1, other);
	asked(2, 0, NULL);
	/* What has been asked for counts. */
	assert_true(ask(8));
	asked(0, 1, NULL);
	asked(1, 1, NULL);
	asked(2, 0, NULL);
}

static void nobody_is_asked_again_before_its_time(void **state)
{
	struct brick_mapping *m = map(0, 0, 1), *next = map(0, 10, 1);

	assert_true(ask(100));
	asked(0, 1, m);
	rig_ack(&rigs[0], KFB_OP_PING, 1);
	assert_true(ask(100));
	asked(0, 1, m);
	/* Then for another mapping; and in the end for the first one again. */
	time_passes();
	assert_true(ask(100));
	asked(0, 2, next);
	time_passes();
	assert_true(ask(100));
	asked(0, 3, m);
	/* It is given back: at once for the next one. */
	unmap(m);
	assert_true(ask(100));
	asked(0, 4, next);
	unmap(next);
	assert_false(ask(100));
	asked(0, 4, NULL);
}

static void all_have_their_turn(void **state)
{
	map(0, 0, 1);
	map(1, 10, 1);
	map(2, 20, 1);
	for (unsigned int i = 0; i < 2 * SESSIONS; i++) {
		time_passes();
		assert_true(ask(1));
		asked(i % SESSIONS, i / SESSIONS + 1, NULL);
	}
}

static void who_waits_is_asked_last_and_not_waited_for(void **state)
{
	struct brick_mapping *m = map(0, 0, 1), *other = map(1, 10, 1);

	assert_true(brick_recall_ask(&tier, 9, &rigs[0].s));
	asked(0, 0, NULL);
	asked(1, 1, other);
	unmap(other);
	assert_false(brick_recall_ask(&tier, 9, &rigs[0].s));
	asked(0, 1, m);
	asked(1, 1, NULL);
	/* What it was asked for itself is no reason to wait. */
	assert_false(brick_recall_ask(&tier, 9, &rigs[0].s));
	asked(0, 1, NULL);
}

static void who_cannot_help_is_not_asked(void **state)
{
	map(0, 0, 4);
	map(1, 10, 4);
	map(2, 20, 4);
	rigs[0].s.features = 0;
	assert_int_equal(brick_tier_pin(&tier, (struct brick_span){ 8, 14 }),
			 0);
	rigs[2].s.state = KFB_SESSION_OPENING;
	assert_false(ask(1));
	/* One block that is not pinned is of use. */
	assert_int_equal(brick_tier_unpin(&tier, (struct brick_span){ 13, 14 }),
			 0);
	assert_true(ask(1));
	asked(0, 0, NULL);
	asked(1, 1, NULL);
	asked(2, 0, NULL);
}

static void one_that_ends_is_waited_for(void **state)
{
	map(0, 0, 4);
	rigs[0].s.state = KFB_SESSION_FENCING;
	assert_true(ask(1));
	asked(0, 0, NULL);
	rigs[1].s.state = KFB_SESSION_FENCING;
	unmap(sessions.mappings.by_block.root->owner);
	assert_false(ask(1));
}

static void on_another_connection_it_is_asked_for_what_is_left(void **state)
{
	struct brick_mapping *m = map(0, 0, 1);

	assert_true(ask(1));
	rig_connect(&rigs[0]);
	brick_events_again(&rigs[0].s);
	asked(0, 2, m);
	/* An acknowledgement is no answer. */
	rig_ack(&rigs[0], KFB_OP_PING, 2);
	rig_connect(&rigs[0]);
	brick_events_again(&rigs[0].s);
	asked(0, 3, m);
	time_passes();
	brick_events_again(&rigs[0].s);
	asked(0, 3, NULL);
	assert_true(ask(1));
	asked(0, 4, m);
	unmap(m);
	rig_connect(&rigs[0]);
	brick_events_again(&rigs[0].s);
	asked(0, 4, NULL);
}

static void one_that_is_away_is_asked_when_it_comes_back(void **state)
{
	struct brick_mapping *m = map(0, 0, 1);

	rigs[0].s.state = KFB_SESSION_DETACHED;
	rigs[0].s.queues[0]->conn = NULL;
	assert_true(ask(1));
	asked(0, 0, NULL);
	rigs[0].s.state = KFB_SESSION_LIVE;
	rig_connect(&rigs[0]);
	brick_events_again(&rigs[0].s);
	asked(0, 1, m);
}

static void without_a_wait_there_is_time_all_the_same(void **state)
{
	map(0, 0, 1);
	config.limits.promote_wait_ms = 0;
	assert_true(ask(1));
	asked(0, 1, NULL);
	assert_in_range(rigs[0].last.u.event.deadline_ms, 1,
			BRICK_RECALL_MIN_MS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(no_more_is_asked_for_than_is_wanted),
		CASE(nobody_is_asked_again_before_its_time),
		CASE(all_have_their_turn),
		CASE(who_waits_is_asked_last_and_not_waited_for),
		CASE(who_cannot_help_is_not_asked),
		CASE(one_that_ends_is_waited_for),
		CASE(on_another_connection_it_is_asked_for_what_is_left),
		CASE(one_that_is_away_is_asked_when_it_comes_back),
		CASE(without_a_wait_there_is_time_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
