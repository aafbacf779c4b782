// SPDX-License-Identifier: BSD-2-Clause
/*
 * What sessions move, held against their rates: who keeps to one is never counted,
 * whenever somebody looks, and who does not always is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "brickd/net/conn.h"
#include "brickd/net/net.h"
#include "brickd/session/event.h"
#include "brickd/session/usage.h"
#include "event_rig.h"

#define MIB	   (1ULL << 20)
#define MS_PER_S   1000
#define RATE_BYTES (10 * MIB)
#define RATE_OPS   100
#define HOUR_S	   3600
/* Of each number that a session may have at first, and a little less. */
#define BURST_S	   10
#define OTHER_CONN 3

static uint64_t now_ms;
static struct brick_loop loop;
static struct brick_net net = { .loop = &loop };
static struct brick_counters counters;
static struct brick_client_counters of_client;
static struct brick_sessions sessions;
static struct brick_client client;
static struct event_rig rig;
static struct fid_ep other_ep;
static struct brick_conn other;
static struct stcp_moved moved[2]; /* of the rig's connection, and of the other */

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_BOOTTIME)
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = (time_t)(now_ms / MS_PER_S);
	ts->tv_nsec = (long)(now_ms % MS_PER_S) * 1000000;
	return 0;
}

static void tell_moved(struct fid_ep *ep, struct stcp_moved *out)
{
	*out = moved[ep == &other_ep];
}

static const struct stcp_ep_ops stcp = {
	.size = sizeof(stcp),
	.moved = tell_moved,
};

static int begin(void **state)
{
	now_ms = 1000000;
	memset(&counters, 0, sizeof(counters));
	memset(&of_client, 0, sizeof(of_client));
	memset(&sessions, 0, sizeof(sessions));
	memset(moved, 0, sizeof(moved));
	memset(&other, 0, sizeof(other));
	sessions.net = &net;
	sessions.counters = &counters;
	TAILQ_INIT(&sessions.rated);
	if (rig_begin(&rig, &sessions))
		return -1;
	rig.conn.stcp = &stcp;
	rig.s.client = &client;
	rig.s.counters = &of_client;
	rig.s.n_conns = 1;
	client.rate = (struct kfb_rate){ RATE_BYTES, RATE_OPS };
	brick_usage_begin(&rig.s);
	return 0;
}

static int end(void **state)
{
	brick_usage_end(&rig.s);
	rig_end(&rig);
	return TAILQ_EMPTY(&sessions.rated) ? 0 : -1;
}

static void move_bytes(uint64_t written, uint64_t read)
{
	moved[0].written_bytes += written;
	moved[0].read_bytes += read;
}

static uint64_t n_exceeded(void)
{
	brick_usage_look(&rig.s);
	assert_int_equal(brick_counted(&counters.rate_exceeded),
			 brick_counted(&of_client.rate_exceeded));
	return brick_counted(&counters.rate_exceeded);
}

static void what_is_moved_is_the_clients_to_the_byte(void **state)
{
	move_bytes(1000, 24);
	moved[0].n_ops = 3;
	brick_usage_look(&rig.s);
	brick_usage_look(&rig.s);
	move_bytes(1, 0);
	brick_usage_look(&rig.s);
	assert_int_equal(brick_counted(&of_client.written_bytes), 1001);
	assert_int_equal(brick_counted(&of_client.read_bytes), 24);
	assert_int_equal(brick_counted(&of_client.data_ops), 3);
}

static void all_connections_of_a_session_count_together(void **state)
{
	struct brick_queue queue = { .conn = &other };

	other.stcp = &stcp;
	other.ep = &other_ep;
	other.session = &rig.s;
	rig.s.queues[OTHER_CONN] = &queue;
	rig.s.n_conns = 2;
	move_bytes(6 * RATE_BYTES, 0);
	moved[1].read_bytes = 6 * RATE_BYTES;
	assert_int_equal(n_exceeded(), 1);
	assert_int_equal(brick_counted(&of_client.read_bytes), 6 * RATE_BYTES);
	rig.s.queues[OTHER_CONN] = NULL;
}

static void where_nobody_counts_nobody_is_counted(void **state)
{
	rig.conn.stcp = NULL;
	move_bytes(100 * RATE_BYTES, 0);
	assert_int_equal(n_exceeded(), 0);
	assert_int_equal(brick_counted(&of_client.written_bytes), 0);
}

static void before_its_client_is_known_nothing_is_counted(void **state)
{
	rig.s.counters = NULL;
	move_bytes(1, 0);
	brick_usage_look(&rig.s);
	rig.s.counters = &of_client;
	assert_int_equal(brick_counted(&of_client.written_bytes), 0);
}

/* At its rate for hours, with 100 ms of it at a time as clients have it. */
static void keep_to_rate(uint64_t look_each_ms, uint64_t for_s)
{
	uint64_t until_ms = now_ms + for_s * MS_PER_S;
	uint64_t looked_ms = now_ms;

	move_bytes(RATE_BYTES / 10, 0);
	while (now_ms < until_ms) {
		now_ms += 100;
		move_bytes(RATE_BYTES / 20, RATE_BYTES / 20);
		moved[0].n_ops += RATE_OPS / 10;
		/* A read behind each write makes it durable. */
		move_bytes(0, 8 * RATE_OPS / 10);
		moved[0].n_ops += RATE_OPS / 10;
		if (now_ms - looked_ms < look_each_ms)
			continue;
		looked_ms = now_ms;
		assert_int_equal(n_exceeded(), 0);
	}
	assert_int_equal(n_exceeded(), 0);
}

static void
who_keeps_to_it_is_not_counted_however_seldom_one_looks(void **state)
{
	keep_to_rate(100, 10 * HOUR_S);
	keep_to_rate(30 * MS_PER_S, HOUR_S);
	keep_to_rate(600 * MS_PER_S, HOUR_S);
}

/* Its clock is 1 percent ahead of ours. */
static void a_clock_that_is_ahead_is_no_excess(void **state)
{
	unsigned int i;

	for (i = 0; i < 10 * HOUR_S; i++) {
		now_ms += MS_PER_S;
		move_bytes(RATE_BYTES + RATE_BYTES / 100, 0);
		moved[0].n_ops += 2 * (RATE_OPS + RATE_OPS / 100);
		assert_int_equal(n_exceeded(), 0);
	}
}

/* What a network holds back comes all at once. */
static void ten_seconds_at_once_are_no_excess(void **state)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		move_bytes(BURST_S * RATE_BYTES, 0);
		moved[0].n_ops += (uint64_t)BURST_S * RATE_OPS;
		assert_int_equal(n_exceeded(), 0);
		now_ms += BURST_S * MS_PER_S;
	}
}

static void who_moves_more_is_counted_once_for_each_ten_seconds(void **state)
{
	move_bytes(11 * RATE_BYTES, 0);
	assert_int_equal(n_exceeded(), 1);
	assert_int_equal(n_exceeded(), 1);
	move_bytes(BURST_S * RATE_BYTES, 0);
	assert_int_equal(n_exceeded(), 1);
	move_bytes(0, RATE_BYTES);
	assert_int_equal(n_exceeded(), 2);
}

static void who_is_a_third_too_fast_is_found_within_a_minute(void **state)
{
	unsigned int i;

	for (i = 0; i < 60; i++) {
		now_ms += MS_PER_S;
		move_bytes(0, RATE_BYTES * 4 / 3);
		(void)n_exceeded();
	}
	assert_in_range(n_exceeded(), 1, 2);
}

static void operations_are_counted_twice_over(void **state)
{
	moved[0].n_ops = (uint64_t)2 * BURST_S * RATE_OPS;
	assert_int_equal(n_exceeded(), 0);
	moved[0].n_ops += (uint64_t)BURST_S * RATE_OPS;
	assert_int_equal(n_exceeded(), 1);
}

static void without_a_rate_nobody_moves_too_much(void **state)
{
	client.rate = (struct kfb_rate){ 0 };
	assert_true(brick_usage_take_rate(&rig.s));
	assert_true(TAILQ_EMPTY(&sessions.rated));
	now_ms += HOUR_S * MS_PER_S;
	move_bytes(1ULL << 50, 0);
	moved[0].n_ops = 1ULL << 40;
	assert_int_equal(n_exceeded(), 0);
	assert_int_equal(brick_counted(&of_client.written_bytes), 1ULL << 50);
}

static void the_highest_rate_is_none_of_another_kind(void **state)
{
	client.rate = (struct kfb_rate){ KFB_RATE_BYTES_MAX, UINT32_MAX };
	assert_true(brick_usage_take_rate(&rig.s));
	now_ms += HOUR_S * MS_PER_S;
	move_bytes(KFB_RATE_BYTES_MAX, 0);
	moved[0].n_ops = UINT32_MAX;
	assert_int_equal(n_exceeded(), 0);
}

static void another_rate_is_another_one_only(void **state)
{
	assert_false(brick_usage_take_rate(&rig.s));
	client.rate.ops_per_s++;
	assert_true(brick_usage_take_rate(&rig.s));
	assert_int_equal(rig.s.rate.ops_per_s, RATE_OPS + 1);
	assert_false(brick_usage_take_rate(&rig.s));
}

/* What came before is held against what was allowed then. */
static void a_higher_rate_forgives_nothing(void **state)
{
	move_bytes(11 * RATE_BYTES, 0);
	client.rate.bytes_per_s = 100 * RATE_BYTES;
	assert_true(brick_usage_take_rate(&rig.s));
	assert_int_equal(brick_counted(&counters.rate_exceeded), 1);
}

/* The client goes on as fast as it might until it hears of it. */
static void a_lower_rate_holds_when_it_can_have_been_heard_of(void **state)
{
	client.rate.bytes_per_s = MIB;
	assert_true(brick_usage_take_rate(&rig.s));
	move_bytes(9 * RATE_BYTES, 0);
	now_ms += 9 * MS_PER_S;
	assert_int_equal(n_exceeded(), 0);
	/* This look is late: some of it may have come in time. */
	move_bytes(9 * RATE_BYTES, 0);
	now_ms += 3 * MS_PER_S;
	assert_int_equal(n_exceeded(), 0);
	move_bytes(9 * RATE_BYTES, 0);
	now_ms += MS_PER_S;
	assert_int_equal(n_exceeded(), 1);
}

static void who_is_not_heard_of_is_looked_at_by_the_clock(void **state)
{
	move_bytes(11 * RATE_BYTES, 0);
	brick_usage_tick(&sessions);
	assert_int_equal(brick_counted(&counters.rate_exceeded), 1);
	/* By its requests, but not by each. */
	now_ms += 50;
	loop.now_ms = now_ms;
	move_bytes(11 * RATE_BYTES, 0);
	brick_usage_noted(&rig.s);
	assert_int_equal(brick_counted(&counters.rate_exceeded), 1);
	now_ms += 50;
	loop.now_ms = now_ms;
	brick_usage_noted(&rig.s);
	assert_int_equal(brick_counted(&counters.rate_exceeded), 2);
}

/* The EVENT waits for a connection, or for a place among those that are out. */
static void what_it_has_not_been_told_is_not_held_against_it(void **state)
{
	rig.s.features = KFB_FEATURE_EVENT | KFB_FEATURE_RATE;
	rig.s.queues[0]->conn = NULL;
	client.rate.bytes_per_s = MIB;
	assert_true(brick_usage_take_rate(&rig.s));
	brick_event_rate(&rig.s);
	rig.s.queues[0]->conn = &rig.conn;
	now_ms += 60 * MS_PER_S;
	assert_int_equal(n_exceeded(), 0);
	move_bytes(60 * RATE_BYTES, 0);
	now_ms += MS_PER_S;
	assert_int_equal(n_exceeded(), 0);
	rig.conn.features = rig.s.features;
	brick_events_again(&rig.s);
	assert_int_equal(rig.last.u.event.kind, KFB_EVENT_RATE);
	move_bytes(60 * RATE_BYTES, 0);
	now_ms += 11 * MS_PER_S;
	assert_int_equal(n_exceeded(), 0);
	move_bytes(60 * RATE_BYTES, 0);
	now_ms += MS_PER_S;
	assert_int_equal(n_exceeded(), 1);
	/* One whose software knows of no EVENT is told of nothing, and held to it. */
	rig.s.features = KFB_FEATURE_RATE;
	client.rate.bytes_per_s = RATE_BYTES / 2;
	assert_true(brick_usage_take_rate(&rig.s));
	brick_event_rate(&rig.s);
	now_ms += 11 * MS_PER_S;
	assert_int_equal(n_exceeded(), 1);
	move_bytes(60 * RATE_BYTES, 0);
	assert_int_equal(n_exceeded(), 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_moved_is_the_clients_to_the_byte),
		CASE(all_connections_of_a_session_count_together),
		CASE(where_nobody_counts_nobody_is_counted),
		CASE(before_its_client_is_known_nothing_is_counted),
		CASE(who_keeps_to_it_is_not_counted_however_seldom_one_looks),
		CASE(a_clock_that_is_ahead_is_no_excess),
		CASE(ten_seconds_at_once_are_no_excess),
		CASE(who_moves_more_is_counted_once_for_each_ten_seconds),
		CASE(who_is_a_third_too_fast_is_found_within_a_minute),
		CASE(operations_are_counted_twice_over),
		CASE(without_a_rate_nobody_moves_too_much),
		CASE(the_highest_rate_is_none_of_another_kind),
		CASE(another_rate_is_another_one_only),
		CASE(a_higher_rate_forgives_nothing),
		CASE(a_lower_rate_holds_when_it_can_have_been_heard_of),
		CASE(who_is_not_heard_of_is_looked_at_by_the_clock),
		CASE(what_it_has_not_been_told_is_not_held_against_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
