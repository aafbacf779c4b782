// SPDX-License-Identifier: BSD-2-Clause
/* EVENTs: sent once, within credits, and again on a new connection. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "brickd/base/clock.h"
#include "brickd/base/stop.h"
#include "brickd/net/net.h"
#include "brickd/session/event.h"
#include "event_rig.h"

static struct brick_stop stop;
static struct brick_sessions sessions;
static struct event_rig rig;

static int begin(void **state)
{
	memset(&stop, 0, sizeof(stop));
	memset(&sessions, 0, sizeof(sessions));
	sessions.stop = &stop;
	brick_leases_init(&sessions.leases, 1000);
	return rig_begin(&rig, &sessions);
}

static int end(void **state)
{
	rig_end(&rig);
	return 0;
}

static void ack(uint16_t op, uint32_t seq)
{
	rig_ack(&rig, op, seq);
}

static void what_holds_is_told_once(void **state)
{
	assert_true(brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN));
	assert_int_equal(rig.n_sent, 1);
	assert_int_equal(rig.last.u.event.kind, KFB_EVENT_SHUTDOWN);
	assert_int_equal(rig.last.u.event.event_seq, 1);
	assert_true(brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN));
	ack(KFB_OP_INFO, 0);
	assert_int_equal(rig.n_sent, 1);
	assert_true(brick_event_raise(&rig.s, KFB_EVENT_LEASE));
	assert_int_equal(rig.last.u.event.event_seq, 2);
}

static void what_is_not_acknowledged_is_told_again(void **state)
{
	brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN);
	brick_event_raise(&rig.s, KFB_EVENT_LEASE);
	brick_event_drop(&rig.s, KFB_EVENT_LEASE);
	rig.s.queues[0]->conn = NULL;
	rig_connect(&rig);
	brick_events_again(&rig.s);
	assert_int_equal(rig.n_sent, 3);
	assert_int_equal(rig.last.u.event.kind, KFB_EVENT_SHUTDOWN);
	assert_int_equal(rig.last.u.event.event_seq, 3);
	ack(KFB_OP_UNMAP, 3);
	brick_events_again(&rig.s);
	assert_int_equal(rig.n_sent, 3);
}

static void nothing_is_sent_without_feature_credit_or_connection(void **state)
{
	rig.conn.features = 0;
	assert_false(brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN));
	rig.conn.features = KFB_FEATURE_EVENT;
	rig.conn.state = KFB_CONN_CONNECTING;
	assert_false(brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN));
	rig.conn.state = KFB_CONN_READY;
	rig.conn.event_credits = 0;
	assert_false(brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN));
	rig.s.queues[0]->conn = NULL;
	assert_false(brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN));
	rig.s.queues[0]->conn = &rig.conn;
	assert_int_equal(rig.n_sent, 0);
	/* It is sent as soon as a request brings a credit. */
	rig.conn.event_credits = 1;
	ack(KFB_OP_INFO, 0);
	assert_int_equal(rig.n_sent, 1);
	assert_int_equal(rig.conn.event_credits, 0);
}

static void no_more_than_four_are_unacknowledged(void **state)
{
	unsigned int i;

	for (i = 0; i < KFB_EVENTS_UNACKED_MAX + 2; i++) {
		rig.conn.event_credits = KFB_EVENTS_UNACKED_MAX;
		brick_event_raise(&rig.s, KFB_EVENT_LEASE);
		brick_event_drop(&rig.s, KFB_EVENT_LEASE);
	}
	assert_int_equal(rig.n_sent, KFB_EVENTS_UNACKED_MAX);
	/* Numbers that were never sent acknowledge nothing. */
	ack(KFB_OP_PING, KFB_EVENTS_UNACKED_MAX + 1);
	assert_false(brick_event_raise(&rig.s, KFB_EVENT_LEASE));
	ack(KFB_OP_PING, 1);
	assert_int_equal(rig.n_sent, KFB_EVENTS_UNACKED_MAX + 1);
	/* An old one acknowledges nothing a second time. */
	brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN);
	ack(KFB_OP_PING, 1);
	assert_int_equal(rig.n_sent, KFB_EVENTS_UNACKED_MAX + 1);
	ack(KFB_OP_PING, 5);
	assert_int_equal(rig.n_sent, KFB_EVENTS_UNACKED_MAX + 2);
}

/* A brick that is asked to stop says when; a medium has no time. */
static void only_what_has_a_time_is_told_with_one(void **state)
{
	stop.deadline_ms = brick_now_ms() + 3600000;
	assert_true(brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN));
	assert_true(rig.last.u.event.deadline_ms > 0);
	assert_true(brick_event_raise(&rig.s, KFB_EVENT_MEDIA_ERROR));
	assert_int_equal(rig.last.u.event.deadline_ms, 0);
	assert_int_equal(rig.last.u.event.n_blocks, 0);
}

static void what_waits_for_a_request_comes_with_it(void **state)
{
	brick_event_hold(&rig.s, KFB_EVENT_MEDIA_ERROR);
	assert_int_equal(rig.n_sent, 0);
	ack(KFB_OP_INFO, 0);
	assert_int_equal(rig.n_sent, 1);
	assert_int_equal(rig.last.u.event.kind, KFB_EVENT_MEDIA_ERROR);
}

static void rate_again(uint64_t bytes_per_s)
{
	rig.s.rate = (struct kfb_rate){ .bytes_per_s = bytes_per_s };
	brick_event_rate(&rig.s);
}

/* What holds is told over a new connection, of who knows of rates. */
static void connect_again(void)
{
	rig_connect(&rig);
	rig.conn.features |= KFB_FEATURE_RATE;
	brick_events_again(&rig.s);
}

static void another_rate_is_told_with_its_numbers(void **state)
{
	rig.conn.features |= KFB_FEATURE_RATE;
	rig.s.rate = (struct kfb_rate){ KFB_RATE_BYTES_MIN, KFB_RATE_OPS_MIN };
	brick_event_rate(&rig.s);
	assert_int_equal(rig.n_sent, 1);
	assert_int_equal(rig.last.u.event.kind, KFB_EVENT_RATE);
	assert_int_equal(rig.last.u.event.deadline_ms, 0);
	assert_true(kfb_rate_equals(&rig.last.u.event.rate, &rig.s.rate));
	/* Others before that is acknowledged wait, and take no places. */
	rate_again(2 * KFB_RATE_BYTES_MIN);
	rate_again(0);
	assert_int_equal(rig.n_sent, 1);
	ack(KFB_OP_PING, 1);
	assert_int_equal(rig.n_sent, 2);
	assert_false(kfb_rate_is_set(&rig.last.u.event.rate));
	/* What is not acknowledged is told again, as it is then. */
	rate_again(3 * KFB_RATE_BYTES_MIN);
	connect_again();
	assert_int_equal(rig.n_sent, 3);
	assert_int_equal(rig.last.u.event.rate.bytes_per_s,
			 3 * KFB_RATE_BYTES_MIN);
	ack(KFB_OP_PING, 3);
	brick_events_again(&rig.s);
	assert_int_equal(rig.n_sent, 3);
}

static void
a_rate_waits_for_a_connection_and_is_told_as_it_is_then(void **state)
{
	rig.s.queues[0]->conn = NULL;
	rate_again(KFB_RATE_BYTES_MIN);
	rate_again(3 * KFB_RATE_BYTES_MIN);
	assert_int_equal(rig.n_sent, 0);
	connect_again();
	assert_int_equal(rig.n_sent, 1);
	assert_int_equal(rig.last.u.event.rate.bytes_per_s,
			 3 * KFB_RATE_BYTES_MIN);
}

static void a_rate_is_told_to_nobody_who_does_not_know_it(void **state)
{
	rate_again(KFB_RATE_BYTES_MIN);
	rig.conn.features = KFB_FEATURE_RATE;
	rate_again(2 * KFB_RATE_BYTES_MIN);
	assert_int_equal(rig.n_sent, 0);
}

/* It is the last word: the connection ends when it is out. */
static void who_is_evicted_is_told_by_whom(void **state)
{
	struct brick_net net = { 0 };

	TAILQ_INIT(&net.hurried);
	rig.conn.net = &net;
	rig.conn.features |= KFB_FEATURE_EVICTED;
	brick_event_evicted(&rig.s, KFB_EVICTED_ORDER, 1000);
	assert_int_equal(rig.n_sent, 1);
	assert_int_equal(rig.last.u.event.kind, KFB_EVENT_EVICTED);
	assert_int_equal(rig.last.u.event.cause, KFB_EVICTED_ORDER);
	assert_int_equal(rig.last.u.event.uid, 1000);
	assert_true(rig.conn.is_disconnecting);
	assert_true(rig.conn.n_sending);
	brick_event_raise(&rig.s, KFB_EVENT_SHUTDOWN);
	assert_int_equal(rig.n_sent, 1);
}

/* What a client of version 0.1 sees: its connections end. */
static void an_eviction_is_told_to_nobody_who_does_not_know_it(void **state)
{
	brick_event_evicted(&rig.s, KFB_EVICTED_ORDER, 1000);
	rig.conn.features = KFB_FEATURE_EVICTED;
	brick_event_evicted(&rig.s, KFB_EVICTED_ORDER, 1000);
	assert_int_equal(rig.n_sent, 0);
	assert_false(rig.conn.is_disconnecting);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_holds_is_told_once),
		CASE(what_is_not_acknowledged_is_told_again),
		CASE(nothing_is_sent_without_feature_credit_or_connection),
		CASE(no_more_than_four_are_unacknowledged),
		CASE(only_what_has_a_time_is_told_with_one),
		CASE(what_waits_for_a_request_comes_with_it),
		CASE(another_rate_is_told_with_its_numbers),
		CASE(a_rate_waits_for_a_connection_and_is_told_as_it_is_then),
		CASE(a_rate_is_told_to_nobody_who_does_not_know_it),
		CASE(who_is_evicted_is_told_by_whom),
		CASE(an_eviction_is_told_to_nobody_who_does_not_know_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
