// SPDX-License-Identifier: BSD-2-Clause
/* EVENTs: sent once, within credits, and again on a new connection. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "brickd/clock.h"
#include "brickd/server.h"
#include "brickd/session.h"

#define N_BUFS 16

static struct brick_server server;
static struct brick_session s;
static struct brick_conn conn;
static struct brick_buf bufs[N_BUFS];
static uint8_t memory[N_BUFS][KFB_REPLY_MAX_BYTES];
static struct kfb_reply last;
static unsigned int n_sent;

static ssize_t keep(struct fid_ep *ep, const void *buf, size_t len, void *desc,
		    fi_addr_t to, void *context)
{
	assert_int_equal(kfb_decode_reply(buf, (uint32_t)len, &last), 0);
	assert_int_equal(last.op, KFB_OP_EVENT);
	n_sent++;
	return 0;
}

static struct fi_ops_msg msg = { .size = sizeof(msg), .send = keep };
static struct fid_ep ep = { .msg = &msg };

static void connect_queue(void)
{
	memset(&conn, 0, sizeof(conn));
	conn.server = &server;
	conn.session = &s;
	conn.queue = s.queues[0];
	conn.ep = &ep;
	conn.state = KFB_CONN_READY;
	conn.features = KFB_FEATURE_EVENT;
	conn.event_credits = KFB_EVENTS_UNACKED_MAX;
	conn.is_kicked = true;
	for (size_t i = 0; i < N_BUFS; i++) {
		bufs[i].data = memory[i];
		SLIST_INSERT_HEAD(&conn.free_sends, &bufs[i], free_link);
	}
	s.queues[0]->conn = &conn;
}

static int begin(void **state)
{
	memset(&server, 0, sizeof(server));
	memset(&s, 0, sizeof(s));
	n_sent = 0;
	brick_leases_init(&server.leases, 1000);
	s.server = &server;
	s.queues[0] = brick_queue_new(&s, 0, KFB_CREDITS_MIN);
	if (!s.queues[0])
		return -1;
	connect_queue();
	return 0;
}

static int end(void **state)
{
	free(s.queues[0]);
	return 0;
}

static void ack(uint16_t op, uint32_t seq)
{
	struct kfb_request req = { .op = op };

	if (op == KFB_OP_PING)
		req.u.ping.event_seq = seq;
	else
		req.u.unmap.event_seq = seq;
	brick_events_noted(&s, &req);
}

static void what_holds_is_told_once(void **state)
{
	assert_true(brick_event_raise(&s, KFB_EVENT_SHUTDOWN));
	assert_int_equal(n_sent, 1);
	assert_int_equal(last.u.event.kind, KFB_EVENT_SHUTDOWN);
	assert_int_equal(last.u.event.event_seq, 1);
	assert_true(brick_event_raise(&s, KFB_EVENT_SHUTDOWN));
	ack(KFB_OP_INFO, 0);
	assert_int_equal(n_sent, 1);
	assert_true(brick_event_raise(&s, KFB_EVENT_LEASE));
	assert_int_equal(last.u.event.event_seq, 2);
}

static void what_is_not_acknowledged_is_told_again(void **state)
{
	brick_event_raise(&s, KFB_EVENT_SHUTDOWN);
	brick_event_raise(&s, KFB_EVENT_LEASE);
	brick_event_drop(&s, KFB_EVENT_LEASE);
	s.queues[0]->conn = NULL;
	connect_queue();
	brick_events_again(&s);
	assert_int_equal(n_sent, 3);
	assert_int_equal(last.u.event.kind, KFB_EVENT_SHUTDOWN);
	assert_int_equal(last.u.event.event_seq, 3);
	ack(KFB_OP_UNMAP, 3);
	brick_events_again(&s);
	assert_int_equal(n_sent, 3);
}

static void nothing_is_sent_without_feature_credit_or_connection(void **state)
{
	conn.features = 0;
	assert_false(brick_event_raise(&s, KFB_EVENT_SHUTDOWN));
	conn.features = KFB_FEATURE_EVENT;
	conn.state = KFB_CONN_CONNECTING;
	assert_false(brick_event_raise(&s, KFB_EVENT_SHUTDOWN));
	conn.state = KFB_CONN_READY;
	conn.event_credits = 0;
	assert_false(brick_event_raise(&s, KFB_EVENT_SHUTDOWN));
	s.queues[0]->conn = NULL;
	assert_false(brick_event_raise(&s, KFB_EVENT_SHUTDOWN));
	s.queues[0]->conn = &conn;
	assert_int_equal(n_sent, 0);
	/* It is sent as soon as a request brings a credit. */
	conn.event_credits = 1;
	ack(KFB_OP_INFO, 0);
	assert_int_equal(n_sent, 1);
	assert_int_equal(conn.event_credits, 0);
}

static void no_more_than_four_are_unacknowledged(void **state)
{
	unsigned int i;

	for (i = 0; i < KFB_EVENTS_UNACKED_MAX + 2; i++) {
		conn.event_credits = KFB_EVENTS_UNACKED_MAX;
		brick_event_raise(&s, KFB_EVENT_LEASE);
		brick_event_drop(&s, KFB_EVENT_LEASE);
	}
	assert_int_equal(n_sent, KFB_EVENTS_UNACKED_MAX);
	/* Numbers that were never sent acknowledge nothing. */
	ack(KFB_OP_PING, KFB_EVENTS_UNACKED_MAX + 1);
	assert_false(brick_event_raise(&s, KFB_EVENT_LEASE));
	ack(KFB_OP_PING, 1);
	assert_int_equal(n_sent, KFB_EVENTS_UNACKED_MAX + 1);
	/* An old one acknowledges nothing a second time. */
	brick_event_raise(&s, KFB_EVENT_SHUTDOWN);
	ack(KFB_OP_PING, 1);
	assert_int_equal(n_sent, KFB_EVENTS_UNACKED_MAX + 1);
	ack(KFB_OP_PING, 5);
	assert_int_equal(n_sent, KFB_EVENTS_UNACKED_MAX + 2);
}

/* A brick that is asked to stop says when; a medium has no time. */
static void only_what_has_a_time_is_told_with_one(void **state)
{
	server.stop_deadline_ms = brick_now_ms() + 3600000;
	assert_true(brick_event_raise(&s, KFB_EVENT_SHUTDOWN));
	assert_true(last.u.event.deadline_ms > 0);
	assert_true(brick_event_raise(&s, KFB_EVENT_MEDIA_ERROR));
	assert_int_equal(last.u.event.deadline_ms, 0);
	assert_int_equal(last.u.event.n_blocks, 0);
}

static void what_waits_for_a_request_comes_with_it(void **state)
{
	brick_event_hold(&s, KFB_EVENT_MEDIA_ERROR);
	assert_int_equal(n_sent, 0);
	ack(KFB_OP_INFO, 0);
	assert_int_equal(n_sent, 1);
	assert_int_equal(last.u.event.kind, KFB_EVENT_MEDIA_ERROR);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
