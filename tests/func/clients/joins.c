// SPDX-License-Identifier: BSD-2-Clause
/*
 * Further queues and resumed sessions: joins BRICK CLIENT KEYFILE CLIENT2 KEYFILE2
 *
 * Joins that prove what they must, and those that do not: a session's live
 * queues must not notice the latter. What a lost connection leaves unanswered
 * is asked for once more and must not have happened twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "key_file.h"
#include "proto/kfb_err.h"
#include "raw_session.h"

#define VA	 (UINT64_C(64) << 30)
#define MISSES	 60000 /* or milliseconds */
#define PAUSE_NS 1000000

static struct raw_identity id, other_id;

static void expect(struct raw_session *s, struct kfb_request *req,
		   unsigned int status)
{
	assert_int_equal(raw_call(s, req), RAW_ACCEPTED);
	assert_int_equal(s->reply.op, req->op);
	assert_int_equal(s->reply.status, status);
}

static void ping(struct raw_session *s)
{
	struct kfb_request req = { .op = KFB_OP_PING };

	expect(s, &req, KFB_ST_OK);
}

static void range(struct raw_session *s, uint16_t op, unsigned int status)
{
	struct kfb_request req = { .op = op };

	req.u.range.va = VA;
	req.u.range.n_blocks = 1;
	expect(s, &req, status);
}

static uint64_t map(struct raw_session *s, unsigned int status)
{
	struct kfb_request req = { .op = KFB_OP_MAP };

	req.u.map.range.va = VA;
	req.u.map.range.n_blocks = 1;
	req.u.map.flags = KFB_MAP_RW | KFB_MAP_EXCLUSIVE;
	expect(s, &req, status);
	return s->reply.u.map.mapping_id;
}

static void disconnect(struct raw_session *s)
{
	struct kfb_request req = { .op = KFB_OP_PING };

	req.u.ping.flags = KFB_PING_END;
	expect(s, &req, KFB_ST_OK);
	raw_session_close(s);
}

/* Disconnect is answered before the session is fenced: wait for the latter. */
static void free_when_fenced(struct raw_session *s)
{
	int i;

	for (i = 0; i < MISSES; i++) {
		struct kfb_request req = { .op = KFB_OP_FREE };

		req.u.range.va = VA;
		req.u.range.n_blocks = 1;
		assert_int_equal(raw_call(s, &req), RAW_ACCEPTED);
		if (s->reply.status != KFB_ST_AGAIN)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	assert_int_equal(s->reply.status, KFB_ST_OK);
}

static void end_of(struct raw_session *s)
{
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);

	assert_int_equal(raw_receive(s->c, buf, &len, MISSES), RAW_ENDED);
	raw_session_close(s);
}

static void refused(const uint8_t *raw, const struct raw_identity *who,
		    unsigned int expected)
{
	struct raw_session q;
	uint16_t status = KFB_ST_OK;

	assert_int_equal(raw_hello_connect(&q, who, raw, &status),
			 RAW_REJECTED);
	assert_int_equal(status, expected);
}

static int open_session(void **state)
{
	static struct raw_session s;

	*state = &s;
	return raw_session_open(&s, &id) ? 0 : -1;
}

static int close_session(void **state)
{
	struct raw_session *s = *state;

	if (s->c)
		disconnect(s);
	return 0;
}

static void a_further_queue_serves_the_same_session(void **state)
{
	struct raw_session *s = *state, q;
	struct kfb_request req = { .op = KFB_OP_UNMAP };

	assert_true(raw_session_join(&q, s, &id, 1, 1));
	assert_int_equal(q.accepted.session_id, s->accepted.session_id);
	assert_int_equal(q.accepted.instance_id, s->accepted.instance_id);
	range(&q, KFB_OP_ALLOC, KFB_ST_OK);
	req.u.unmap.mapping_id = map(s, KFB_ST_OK);
	expect(&q, &req, KFB_ST_OK);
	range(s, KFB_OP_FREE, KFB_ST_OK);
	/* A queue that goes takes nothing with it. */
	raw_session_close(&q);
	ping(s);
}

static void a_disconnect_ends_all_queues_and_frees_the_blocks(void **state)
{
	struct raw_session *s = *state, q, other;

	assert_true(raw_session_open(&other, &id));
	assert_true(raw_session_join(&q, s, &id, 3, 7));
	range(s, KFB_OP_ALLOC, KFB_ST_OK);
	map(s, KFB_ST_OK);
	range(&other, KFB_OP_FREE, KFB_ST_BUSY);
	disconnect(s);
	end_of(&q);
	free_when_fenced(&other);
	disconnect(&other);
}

static void a_session_is_resumed_with_its_mappings(void **state)
{
	struct raw_session *s = *state, again, other;
	struct kfb_request req = { .op = KFB_OP_UNMAP };

	assert_true(raw_session_open(&other, &id));
	range(s, KFB_OP_ALLOC, KFB_ST_OK);
	req.u.unmap.mapping_id = map(s, KFB_ST_OK);
	raw_session_close(s);
	map(&other, KFB_ST_BUSY);
	assert_true(raw_session_join(&again, s, &id, 0, 1));
	expect(&again, &req, KFB_ST_OK);
	range(&again, KFB_OP_FREE, KFB_ST_OK);
	disconnect(&again);
	disconnect(&other);
}

static void a_join_of_a_connected_queue_replaces_it(void **state)
{
	struct raw_session *s = *state, again;

	ping(s);
	assert_true(raw_session_join(&again, s, &id, 0, 1));
	ping(&again);
	end_of(s);
	disconnect(&again);
}

/* The reply was lost with the connection; the client asks once more. */
static void a_resent_request_is_answered_on_the_new_connection(void **state)
{
	struct raw_session *s = *state, again;

	range(s, KFB_OP_ALLOC, KFB_ST_OK);
	raw_session_close(s);
	assert_true(raw_session_join(&again, s, &id, 0, 1));
	again.seq--;
	/* Executed again it would be refused: there is one already. */
	range(&again, KFB_OP_ALLOC, KFB_ST_OK);
	range(&again, KFB_OP_FREE, KFB_ST_OK);
	raw_session_close(&again);
	assert_true(raw_session_join(s, &again, &id, 0, 2));
	s->seq--;
	range(s, KFB_OP_FREE, KFB_ST_OK);
	range(s, KFB_OP_FREE, KFB_ST_NOT_FOUND);
}

static void a_resent_map_finds_its_mapping(void **state)
{
	struct raw_session *s = *state, again;
	struct kfb_request req = { .op = KFB_OP_UNMAP };
	uint64_t mapping_id;

	range(s, KFB_OP_ALLOC, KFB_ST_OK);
	mapping_id = map(s, KFB_ST_OK);
	raw_session_close(s);
	assert_true(raw_session_join(&again, s, &id, 0, 1));
	again.seq--;
	assert_int_equal(map(&again, KFB_ST_OK), mapping_id);
	req.u.unmap.mapping_id = mapping_id;
	expect(&again, &req, KFB_ST_OK);
	range(&again, KFB_OP_FREE, KFB_ST_OK);
	disconnect(&again);
}

/* Sends a request and takes its connection away at once. */
static void send_and_replace(struct raw_session *s, struct raw_session *again,
			     struct kfb_request *req, uint32_t counter)
{
	uint8_t buf[KFB_REQ_MAX_BYTES];
	int n = raw_encode(s, req, buf, sizeof(buf));

	assert_true(n > 0);
	assert_int_equal(raw_send(s->c, buf, n), 0);
	assert_true(raw_session_join(again, s, &id, 0, counter));
	raw_session_close(s);
}

/*
 * Whether it has arrived, runs, or has been executed when its connection ends
 * is chance: whatever it is, it happens once, and gets one reply.
 */
static void a_request_under_way_is_executed_once(void **state)
{
	struct raw_session *s = *state, again, *now = s, *next = &again;
	uint32_t i;

	for (i = 1; i <= 50; i++) {
		uint16_t op = i % 2 ? KFB_OP_ALLOC : KFB_OP_FREE;
		struct kfb_request req = { .op = op };
		struct raw_session *before = now;

		req.u.range.va = VA;
		req.u.range.n_blocks = 1;
		send_and_replace(now, next, &req, i);
		next->seq--;
		range(next, op, KFB_ST_OK);
		ping(next);
		now = next;
		next = before;
	}
	assert_int_equal(now->c != NULL, 1);
	if (now != s)
		*s = *now;
}

static void a_join_must_be_proven(void **state)
{
	struct raw_session *s = *state;
	uint8_t raw[KFB_HELLO_BYTES];
	uint16_t queue;
	unsigned int i;

	/* Every byte of it counts, on a new queue and on a connected one. */
	for (queue = 0; queue < 2; queue++) {
		for (i = 5; i < sizeof(raw); i++) {
			assert_true(raw_join_hello(s, queue, 9, raw));
			if (i >= 6 && i < 8)
				continue; /* the queue: below */
			if (i >= 12 && i < 20)
				continue; /* another session: not there */
			if (i == 26 || i == 27)
				continue; /* reserved: malformed */
			raw[i] ^= 4;
			refused(raw, &id, KFB_ST_KEY_REJECTED);
		}
		assert_true(raw_join_hello(s, queue, 9, raw));
		raw[6] ^= 2;
		refused(raw, &id, KFB_ST_KEY_REJECTED);
	}
	ping(s);
}

/* raw_session_join() looks at the proof; no two are the same. */
static void a_brick_proves_each_accept_of_a_join(void **state)
{
	struct raw_session *s = *state, q, again;

	assert_true(raw_session_join(&q, s, &id, 1, 1));
	raw_session_close(&q);
	assert_true(raw_session_join(&again, s, &id, 1, 2));
	assert_memory_not_equal(q.accepted.proof, again.accepted.proof,
				sizeof(q.accepted.proof));
	ping(&again);
	raw_session_close(&again);
}

static bool open_after(struct raw_session *s, const struct raw_identity *who,
		       uint64_t former)
{
	struct kfb_hello hello;
	struct kfb_request req;
	uint16_t status;

	raw_hello(&hello);
	return raw_session_connect(s, who, &hello, &status) == RAW_ACCEPTED &&
	       raw_auth_request_after(s, who, former, &req) &&
	       raw_call(s, &req) == RAW_ACCEPTED &&
	       s->reply.status == KFB_ST_OK;
}

/* It has connections, a mapping, and nobody has disconnected. */
static void a_session_ends_before_the_one_in_its_place_begins(void **state)
{
	struct raw_session *s = *state, q, next;
	uint8_t raw[KFB_HELLO_BYTES];

	assert_true(raw_session_join(&q, s, &id, 1, 1));
	range(s, KFB_OP_ALLOC, KFB_ST_OK);
	map(s, KFB_ST_OK);
	assert_true(open_after(&next, &id, s->accepted.session_id));
	end_of(&q);
	end_of(s);
	assert_true(raw_join_hello(s, 0, 2, raw));
	refused(raw, &id, KFB_ST_STALE);
	free_when_fenced(&next);
	*s = next;
}

static void another_clients_session_cannot_be_replaced(void **state)
{
	struct raw_session *s = *state, other, own;

	assert_true(open_after(&other, &other_id, s->accepted.session_id));
	ping(s);
	disconnect(&other);
	/* Nor one that is not there, nor by who cannot prove the client. */
	assert_true(open_after(&own, &id, ~s->accepted.session_id));
	disconnect(&own);
	ping(s);
}

static void who_is_not_proven_replaces_nothing(void **state)
{
	struct raw_session *s = *state, new;
	struct raw_identity wrong = id;

	wrong.key[0] ^= 1;
	assert_false(open_after(&new, &wrong, s->accepted.session_id));
	raw_session_close(&new);
	ping(s);
}

static void a_narrowed_version_range_is_no_proof(void **state)
{
	struct raw_session *s = *state;
	uint8_t raw[KFB_HELLO_BYTES];
	struct kfb_hello hello;
	struct raw_session new;
	struct kfb_request req;
	uint16_t status;

	assert_true(raw_join_hello(s, 1, 1, raw));
	raw[5] = KFB_VERSION + 1;
	refused(raw, &id, KFB_ST_KEY_REJECTED);
	ping(s);
	/* A new session: AUTH covers what the client has really said. */
	raw_hello(&hello);
	assert_int_equal(raw_session_connect(&new, &id, &hello, &status),
			 RAW_ACCEPTED);
	new.hello[5] = KFB_VERSION + 1;
	assert_true(raw_auth_request(&new, id.client, id.key, &req));
	expect(&new, &req, KFB_ST_KEY_REJECTED);
	raw_session_close(&new);
}

static void a_join_counter_is_used_up(void **state)
{
	struct raw_session *s = *state, q;
	uint8_t captured[KFB_HELLO_BYTES], lower[KFB_HELLO_BYTES];
	uint8_t zero[KFB_HELLO_BYTES];

	assert_true(raw_join_hello(s, 1, 0, zero));
	refused(zero, &id, KFB_ST_KEY_REJECTED);
	assert_true(raw_session_join(&q, s, &id, 1, 5));
	memcpy(captured, q.hello, sizeof(captured));
	refused(captured, &id, KFB_ST_KEY_REJECTED);
	assert_true(raw_join_hello(s, 2, 4, lower));
	refused(lower, &id, KFB_ST_KEY_REJECTED);
	assert_true(raw_join_hello(s, 0, 5, lower));
	refused(lower, &id, KFB_ST_KEY_REJECTED);
	/* The queues did not notice. */
	ping(s);
	ping(&q);
	raw_session_close(&q);
	refused(captured, &id, KFB_ST_KEY_REJECTED);
	ping(s);
}

static void another_clients_session_cannot_be_joined(void **state)
{
	struct raw_session *s = *state, mine;
	uint8_t raw[KFB_HELLO_BYTES];

	assert_true(raw_session_open(&mine, &other_id));
	/* With the key of one's own session. */
	mine.accepted.session_id = s->accepted.session_id;
	assert_true(raw_join_hello(&mine, 1, 1, raw));
	refused(raw, &other_id, KFB_ST_KEY_REJECTED);
	assert_true(raw_join_hello(&mine, 0, 1, raw));
	refused(raw, &other_id, KFB_ST_KEY_REJECTED);
	ping(s);
	ping(&mine);
	disconnect(&mine);
}

static void a_session_that_is_not_there_is_stale(void **state)
{
	struct raw_session *s = *state, ended, opening;
	uint8_t raw[KFB_HELLO_BYTES];
	struct kfb_hello hello;
	uint16_t status;

	assert_true(raw_session_open(&ended, &id));
	disconnect(&ended);
	assert_true(raw_join_hello(&ended, 0, 1, raw));
	refused(raw, &id, KFB_ST_STALE);
	/* One that has not authenticated is none yet. */
	raw_hello(&hello);
	assert_int_equal(raw_session_connect(&opening, &id, &hello, &status),
			 RAW_ACCEPTED);
	assert_true(raw_join_hello(&opening, 1, 1, raw));
	refused(raw, &id, KFB_ST_STALE);
	raw_session_close(&opening);
	ping(s);
}

static void a_queue_above_the_limit_is_refused(void **state)
{
	struct raw_session *s = *state, q;
	uint8_t raw[KFB_HELLO_BYTES];

	assert_true(raw_join_hello(s, 8, 1, raw));
	refused(raw, &id, KFB_ST_LIMIT);
	assert_true(raw_join_hello(s, 0xffff, 2, raw));
	refused(raw, &id, KFB_ST_LIMIT);
	assert_true(raw_session_join(&q, s, &id, 7, 3));
	ping(&q);
	raw_session_close(&q);
}

/* A third of a lease before its end; whoever answers keeps it. */
static void a_silent_client_is_told_that_its_lease_ends(void **state)
{
	struct raw_identity with_events = id;
	struct kfb_request req = { .op = KFB_OP_PING };
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);
	struct raw_session s;

	with_events.features = KFB_FEATURE_EVENT;
	assert_true(raw_session_open(&s, &with_events));
	assert_int_equal(s.accepted.features, KFB_FEATURE_EVENT);
	assert_int_equal(raw_receive(s.c, buf, &len, MISSES), RAW_ACCEPTED);
	assert_int_equal(kfb_decode_reply(buf, len, &s.reply), 0);
	assert_int_equal(s.reply.op, KFB_OP_EVENT);
	assert_int_equal(s.reply.u.event.kind, KFB_EVENT_LEASE);
	assert_true(s.reply.u.event.deadline_ms > 0);
	req.u.ping.event_seq = s.reply.u.event.event_seq;
	expect(&s, &req, KFB_ST_OK);
	disconnect(&s);
}

/* Older clients would take the flag for a violation. The quota is 4 blocks. */
static void a_quota_is_told_to_who_asks_for_it(void **state)
{
	struct kfb_request req = { .op = KFB_OP_INFO };
	struct raw_identity asking = id;
	const struct kfb_info *info;
	struct raw_session s;

	info = &s.reply.u.info;
	assert_true(raw_session_open(&s, &id));
	assert_int_equal(s.accepted.features & KFB_FEATURE_QUOTA, 0);
	expect(&s, &req, KFB_ST_OK);
	assert_int_equal(info->flags & KFB_INFO_QUOTA, 0);
	assert_int_equal(info->quota_blocks, 0);
	disconnect(&s);
	/* With a bit that nobody knows. */
	asking.features = KFB_FEATURE_QUOTA | 1U << 31;
	assert_true(raw_session_open(&s, &asking));
	assert_int_equal(s.accepted.features, KFB_FEATURE_QUOTA);
	expect(&s, &req, KFB_ST_OK);
	assert_int_equal(info->flags & KFB_INFO_QUOTA, KFB_INFO_QUOTA);
	assert_int_equal(info->quota_blocks, 4);
	disconnect(&s);
}

#define IN_SESSION(test) \
	cmocka_unit_test_setup_teardown(test, open_session, close_session)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_is_told_to_who_asks_for_it),
		IN_SESSION(a_further_queue_serves_the_same_session),
		IN_SESSION(a_disconnect_ends_all_queues_and_frees_the_blocks),
		IN_SESSION(a_session_is_resumed_with_its_mappings),
		IN_SESSION(a_join_of_a_connected_queue_replaces_it),
		IN_SESSION(a_resent_request_is_answered_on_the_new_connection),
		IN_SESSION(a_resent_map_finds_its_mapping),
		IN_SESSION(a_request_under_way_is_executed_once),
		IN_SESSION(a_join_must_be_proven),
		IN_SESSION(a_brick_proves_each_accept_of_a_join),
		IN_SESSION(a_session_ends_before_the_one_in_its_place_begins),
		IN_SESSION(another_clients_session_cannot_be_replaced),
		IN_SESSION(who_is_not_proven_replaces_nothing),
		IN_SESSION(a_narrowed_version_range_is_no_proof),
		IN_SESSION(a_join_counter_is_used_up),
		IN_SESSION(another_clients_session_cannot_be_joined),
		IN_SESSION(a_session_that_is_not_there_is_stale),
		IN_SESSION(a_queue_above_the_limit_is_refused),
		cmocka_unit_test(a_silent_client_is_told_that_its_lease_ends),
	};

	if (argc != 6 || key_file_read(argv[3], id.key) ||
	    key_file_read(argv[5], other_id.key) || sodium_init() < 0) {
		fprintf(stderr,
			"usage: %s BRICK CLIENT KEYFILE CLIENT2 KEYFILE2\n",
			argv[0]);
		return 2;
	}
	id.url = argv[1];
	id.client = argv[2];
	other_id.url = argv[1];
	other_id.client = argv[4];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
