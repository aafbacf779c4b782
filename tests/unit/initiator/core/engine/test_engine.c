// SPDX-License-Identifier: BSD-2-Clause
/*
 * The client engine without a fabric: this file is the brick.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "engine/kfb_engine.h"
#include "kfb_err.h"
#include "tests/unit/initiator/core/toy_hmac.h"

#define CREDITS	   6
#define TIMEOUT_MS 1000

static struct kfb_engine e;
static uint8_t tx[KFB_ENGINE_TX_BYTES];
static const uint8_t key[KFB_KEY_BYTES] = "0123456789abcdef0123456789abcde";
static uint8_t hello_raw[KFB_HELLO_BYTES];
static uint8_t accept_raw[KFB_ACCEPT_BYTES];
static struct kfb_reply reply;
static struct kfb_outcome outcome;
static int owner;

static struct kfb_engine_config config_of(const char *name)
{
	struct kfb_engine_config config = {
		.hmac.compute = toy_hmac,
		.client_name = name,
		.key = key,
		.nonce = { 1, 2, 3 },
		.features = KFB_FEATURE_EVENT,
	};

	return config;
}

static int setup(void **state)
{
	struct kfb_engine_config config = config_of("alice");

	memset(&outcome, 0, sizeof(outcome));
	return kfb_engine_init(&e, &config, tx);
}

static struct kfb_accept good_accept(void)
{
	struct kfb_accept accept = {
		.version = KFB_VERSION,
		.credits = CREDITS,
		.features = KFB_FEATURE_EVENT,
		.req_max_bytes = KFB_REQ_MAX_BYTES,
		.reply_max_bytes = KFB_REPLY_MAX_BYTES,
		.session_id = 5,
		.instance_id = 6,
	};

	return accept;
}

static int accept_raw_bytes(void)
{
	const uint8_t *hello;
	uint32_t len;

	assert_int_equal(kfb_engine_hello(&e, &hello, &len), 0);
	assert_int_equal(len, KFB_HELLO_BYTES);
	memcpy(hello_raw, hello, len);
	return kfb_engine_accepted(&e, accept_raw, sizeof(accept_raw));
}

static int accept_with(const struct kfb_accept *accept)
{
	int rc = kfb_encode_accept(accept, accept_raw, sizeof(accept_raw));

	assert_int_equal(rc, KFB_ACCEPT_BYTES);
	return accept_raw_bytes();
}

/* Encode @r and give it to the engine. */
static int feed(const struct kfb_reply *r)
{
	static uint8_t data[KFB_REPLY_MAX_BYTES];
	int len = kfb_encode_reply(r, data, sizeof(data));

	assert_true(len > 0);
	return kfb_engine_receive(&e, data, (uint32_t)len, &reply, &outcome);
}

static struct kfb_reply auth_reply(void)
{
	const struct kfb_hmac hmac = { .compute = toy_hmac };
	struct kfb_transcript t = {
		.hello = hello_raw,
		.accept = accept_raw,
		.name = "alice",
		.name_len = 5,
	};
	struct kfb_reply r = { .op = KFB_OP_AUTH, .credits = 1 };

	memset(r.u.auth.brick_uuid, 7, KFB_UUID_BYTES);
	r.u.auth.power_epoch = 9;
	kfb_auth_brick_proof(&hmac, key, &t, r.u.auth.brick_uuid, 9,
			     r.u.auth.proof);
	return r;
}

static void start_auth(void)
{
	struct kfb_accept accept = good_accept();
	struct kfb_message message;

	assert_int_equal(accept_with(&accept), 0);
	assert_int_equal(kfb_engine_state(&e), KFB_CONN_AUTH);
	assert_int_equal(kfb_engine_auth(&e, 0, TIMEOUT_MS, &owner, &message),
			 0);
	kfb_engine_sent(&e, message.tx);
}

static void get_ready(void)
{
	struct kfb_reply r;

	start_auth();
	r = auth_reply();
	assert_int_equal(feed(&r), 0);
	assert_int_equal(outcome.kind, KFB_OUTCOME_READY);
	assert_int_equal(kfb_engine_state(&e), KFB_CONN_READY);
}

static int start(uint16_t op, uint64_t now_ms, struct kfb_request *sent)
{
	struct kfb_request req = { .op = op };
	struct kfb_message message;
	int rc;

	if (op == KFB_OP_LIST)
		req.u.list.what = KFB_LIST_ALLOCATED;
	rc = kfb_engine_start(&e, &req, now_ms, TIMEOUT_MS, &owner, &message);
	if (rc)
		return rc;
	assert_int_equal(kfb_decode_request(message.data, message.len, sent),
			 0);
	kfb_engine_sent(&e, message.tx);
	return 0;
}

static int answer(const struct kfb_request *req, uint16_t status)
{
	struct kfb_reply r = {
		.op = req->op,
		.status = status,
		.credits = 1,
		.cookie = req->cookie,
	};

	if (req->op == KFB_OP_INFO) {
		r.u.info.block_shift = KFB_BLOCK_SHIFT;
		r.u.info.flush_mode = KFB_FLUSH_MESSAGE;
		r.u.info.flush_modes = KFB_FLUSH_MESSAGE;
		r.u.info.flush_why = KFB_WHY_FILE;
		r.u.info.medium = KFB_MEDIUM_FILE;
		r.u.info.lease_ms = 9000;
	}
	return feed(&r);
}

static int answer_with_quota(uint32_t features)
{
	struct kfb_engine_config config = config_of(NULL);
	struct kfb_accept accept = good_accept();
	struct kfb_reply r = { .op = KFB_OP_INFO, .credits = 1 };
	struct kfb_request sent;

	config.features |= KFB_FEATURE_QUOTA;
	assert_int_equal(kfb_engine_init(&e, &config, tx), 0);
	accept.features |= features;
	assert_int_equal(accept_with(&accept), 0);
	assert_int_equal(start(KFB_OP_INFO, 0, &sent), 0);
	r.cookie = sent.cookie;
	r.u.info = (struct kfb_info){
		.block_shift = KFB_BLOCK_SHIFT,
		.flags = KFB_INFO_QUOTA,
		.flush_mode = KFB_FLUSH_MESSAGE,
		.flush_modes = KFB_FLUSH_MESSAGE,
		.flush_why = KFB_WHY_FILE,
		.medium = KFB_MEDIUM_FILE,
		.quota_blocks = 50,
		.owned_blocks = 48,
	};
	return feed(&r);
}

static void a_quota_comes_to_who_has_asked_for_it(void **state)
{
	assert_int_equal(answer_with_quota(0), -EPROTO);
	assert_int_equal(kfb_engine_state(&e), KFB_CONN_CLOSING);
	assert_int_equal(answer_with_quota(KFB_FEATURE_QUOTA), 0);
	assert_int_equal(reply.u.info.quota_blocks, 50);
	assert_int_equal(reply.u.info.owned_blocks, 48);
}

static void a_configuration_without_its_key_is_refused(void **state)
{
	struct kfb_engine_config config = config_of("alice");

	config.key = NULL;
	assert_int_equal(kfb_engine_init(&e, &config, tx), -EINVAL);
	config = config_of("");
	assert_int_equal(kfb_engine_init(&e, &config, tx), -EINVAL);
	config = config_of("a-name-of-more-than-the-forty-characters-allowed");
	assert_int_equal(kfb_engine_init(&e, &config, tx), -EINVAL);
	config = config_of("alice");
	config.hmac.compute = NULL;
	assert_int_equal(kfb_engine_init(&e, &config, tx), -EINVAL);
	assert_int_equal(kfb_engine_init(&e, &config, NULL), -EINVAL);
}

static void the_way_to_ready_is_hello_accept_auth(void **state)
{
	get_ready();
	assert_int_equal(e.power_epoch, 9);
	assert_int_equal(e.brick_uuid[0], 7);
	assert_ptr_equal(outcome.owner, &owner);
}

static void without_a_name_accept_is_enough(void **state)
{
	struct kfb_engine_config config = config_of(NULL);
	struct kfb_accept accept = good_accept();

	assert_int_equal(kfb_engine_init(&e, &config, tx), 0);
	assert_int_equal(accept_with(&accept), 0);
	assert_int_equal(kfb_engine_state(&e), KFB_CONN_READY);
}

static void steps_out_of_order_are_refused(void **state)
{
	struct kfb_accept accept = good_accept();
	struct kfb_request req = { .op = KFB_OP_PING };
	struct kfb_message message;
	const uint8_t *hello;
	uint32_t len;

	assert_int_equal(kfb_engine_accepted(&e, accept_raw, 48), -EISCONN);
	assert_int_equal(kfb_engine_auth(&e, 0, 1, NULL, &message), -ENOTCONN);
	assert_int_equal(accept_with(&accept), 0);
	assert_int_equal(kfb_engine_hello(&e, &hello, &len), -EISCONN);
	assert_int_equal(kfb_engine_start(&e, &req, 0, 1, NULL, &message),
			 -ENOTCONN);
	assert_int_equal(kfb_engine_auth(&e, 0, 1, NULL, &message), 0);
	assert_int_equal(kfb_engine_auth(&e, 0, 1, NULL, &message), -EALREADY);
	setup(NULL);
	get_ready();
	req.op = KFB_OP_AUTH;
	assert_int_equal(kfb_engine_start(&e, &req, 0, 1, NULL, &message),
			 -EINVAL);
}

static void an_accept_that_was_not_asked_for_is_refused(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} spoilt[] = {
		{ offsetof(struct kfb_wire_accept, magic), 0 },
		{ offsetof(struct kfb_wire_accept, version), KFB_VERSION + 1 },
		{ offsetof(struct kfb_wire_accept, reserved0), 1 },
		{ offsetof(struct kfb_wire_accept, credits), 0 },
		{ offsetof(struct kfb_wire_accept, credits) + 1, 1 },
		{ offsetof(struct kfb_wire_accept, features), 3 },
		{ offsetof(struct kfb_wire_accept, req_max_bytes) + 1, 1 },
		{ offsetof(struct kfb_wire_accept, reply_max_bytes), 1 },
	};
	struct kfb_accept accept = good_accept();
	size_t i;

	for (i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		setup(NULL);
		kfb_encode_accept(&accept, accept_raw, sizeof(accept_raw));
		accept_raw[spoilt[i].offset] = spoilt[i].value;
		assert_int_equal(accept_raw_bytes(), -EPROTO);
		assert_int_equal(kfb_engine_state(&e), KFB_CONN_CLOSING);
	}
	setup(NULL);
	assert_int_equal(accept_with(&accept), 0);
}

static void a_rejection_says_why(void **state)
{
	struct kfb_reject reject = { .status = KFB_ST_LIMIT,
				     .version_min = KFB_VERSION,
				     .version_max = KFB_VERSION };
	uint8_t data[KFB_REJECT_BYTES];
	const uint8_t *hello;
	uint32_t len;

	kfb_encode_reject(&reject, data, sizeof(data));
	kfb_engine_hello(&e, &hello, &len);
	assert_int_equal(kfb_engine_rejected(&e, data, sizeof(data), &reject),
			 -EDQUOT);
	setup(NULL);
	kfb_engine_hello(&e, &hello, &len);
	assert_int_equal(kfb_engine_rejected(&e, NULL, 0, &reject),
			 -ECONNREFUSED);
	assert_int_equal(reject.status, 0);
}

static void a_brick_without_the_key_is_refused(void **state)
{
	struct kfb_reply r;

	start_auth();
	r = auth_reply();
	r.u.auth.power_epoch++; /* covered by the proof */
	assert_int_equal(feed(&r), -EKEYREJECTED);
	assert_int_equal(kfb_engine_state(&e), KFB_CONN_CLOSING);
}

static void another_brick_than_expected_is_refused(void **state)
{
	struct kfb_engine_config config = config_of("alice");
	struct kfb_reply r;

	memset(config.expect_uuid, 8, KFB_UUID_BYTES);
	kfb_engine_init(&e, &config, tx);
	start_auth();
	r = auth_reply();
	assert_int_equal(feed(&r), -ESTALE);
}

static void a_refused_auth_ends_the_connection(void **state)
{
	struct kfb_reply r = { .op = KFB_OP_AUTH,
			       .credits = 1,
			       .status = KFB_ST_KEY_REJECTED };

	start_auth();
	assert_int_equal(feed(&r), -EKEYREJECTED);
	assert_int_equal(outcome.status, KFB_ST_KEY_REJECTED);
	assert_false(kfb_engine_next_lost(&e, &outcome));
}

static void a_reply_finds_its_call(void **state)
{
	struct kfb_request first = { 0 };
	struct kfb_request second = { 0 };

	get_ready();
	assert_int_equal(start(KFB_OP_LIST, 0, &first), 0);
	assert_int_equal(start(KFB_OP_PING, 0, &second), 0);
	assert_int_not_equal(first.cookie.slot, second.cookie.slot);
	assert_int_equal(answer(&second, KFB_ST_OK), 0);
	assert_int_equal(outcome.op, KFB_OP_PING);
	assert_int_equal(outcome.error, 0);
	assert_int_equal(answer(&first, KFB_ST_BUSY), 0);
	assert_int_equal(outcome.op, KFB_OP_LIST);
	assert_int_equal(outcome.error, -EBUSY);
	assert_int_equal(outcome.status, KFB_ST_BUSY);
}

static void a_reply_to_nothing_ends_the_connection(void **state)
{
	struct kfb_request req = { 0 };
	int i;

	for (i = 0; i < 5; i++) {
		setup(NULL);
		get_ready();
		assert_int_equal(start(KFB_OP_PING, 0, &req), 0);
		switch (i) {
		case 0:
			req.cookie.seq++;
			break;
		case 1:
			req.cookie.slot++;
			break;
		case 2:
			req.cookie.slot = KFB_CREDITS_MAX;
			break;
		case 3:
			req.op = KFB_OP_UNMAP;
			break;
		default:
			assert_int_equal(answer(&req, KFB_ST_OK), 0);
			break;
		}
		assert_int_equal(answer(&req, KFB_ST_OK), -EPROTO);
		assert_int_equal(kfb_engine_state(&e), KFB_CONN_CLOSING);
	}
}

static void more_credits_than_taken_end_the_connection(void **state)
{
	struct kfb_reply r = { .op = KFB_OP_PING, .credits = 2 };
	struct kfb_request req = { 0 };

	get_ready();
	start(KFB_OP_PING, 0, &req);
	r.cookie = req.cookie;
	assert_int_equal(feed(&r), -EPROTO);
}

static void garbage_ends_the_connection(void **state)
{
	uint8_t garbage[64];

	memset(garbage, 0xff, sizeof(garbage));
	get_ready();
	assert_int_equal(kfb_engine_receive(&e, garbage, sizeof(garbage),
					    &reply, &outcome),
			 -EPROTO);
	assert_int_equal(kfb_engine_receive(&e, garbage, 0, &reply, &outcome),
			 -EPROTO);
}

static void urgent_requests_have_credits_of_their_own(void **state)
{
	struct kfb_request req = { 0 };
	int i;

	get_ready();
	for (i = 0; i < CREDITS - KFB_CREDITS_RESERVED - 1; i++)
		assert_int_equal(start(KFB_OP_LIST, 0, &req), 0);
	assert_int_equal(start(KFB_OP_LIST, 0, &req), -EAGAIN);
	assert_int_equal(start(KFB_OP_FLUSH, 0, &req), 0);
	assert_int_equal(start(KFB_OP_FLUSH, 0, &req), -EAGAIN);
	assert_int_equal(start(KFB_OP_UNMAP, 0, &req), 0);
	assert_int_equal(start(KFB_OP_UNMAP, 0, &req), -EAGAIN);
	assert_int_equal(start(KFB_OP_PING, 0, &req), 0);
	assert_int_equal(start(KFB_OP_PING, 0, &req), -EAGAIN);
	assert_int_equal(answer(&req, KFB_ST_OK), 0);
	assert_int_equal(start(KFB_OP_LIST, 0, &req), -EAGAIN);
	assert_int_equal(start(KFB_OP_UNMAP, 0, &req), -EAGAIN);
	assert_int_equal(start(KFB_OP_PING, 0, &req), 0);
}

/* Its credit is kept until there is a FLUSH: others need not wait for a second one. */
static void a_flush_that_is_under_way_keeps_no_credit(void **state)
{
	struct kfb_request flush = { 0 };
	struct kfb_request req = { 0 };
	int i;

	get_ready();
	assert_int_equal(start(KFB_OP_FLUSH, 0, &flush), 0);
	for (i = 0; i < CREDITS - KFB_CREDITS_RESERVED - 1; i++)
		assert_int_equal(start(KFB_OP_LIST, 0, &req), 0);
	assert_int_equal(start(KFB_OP_LIST, 0, &req), -EAGAIN);
	assert_int_equal(answer(&flush, KFB_ST_OK), 0);
	assert_int_equal(start(KFB_OP_LIST, 0, &req), -EAGAIN);
	assert_int_equal(start(KFB_OP_FLUSH, 0, &flush), 0);
}

/* A new request would take the credit of one that has its slot. */
static void nothing_overtakes_what_is_sent_again(void **state)
{
	struct kfb_request req = { 0 };
	struct kfb_message message;

	get_ready();
	assert_int_equal(start(KFB_OP_LIST, 0, &req), 0);
	e.calls[req.cookie.slot].resend = 1;
	assert_int_equal(start(KFB_OP_UNMAP, 0, &req), -EAGAIN);
	assert_int_equal(start(KFB_OP_PING, 0, &req), -EAGAIN);
	assert_true(kfb_engine_resend(&e, 0, TIMEOUT_MS, &message));
	assert_int_equal(start(KFB_OP_UNMAP, 0, &req), 0);
}

/* Without a credit no PING can be sent: nobody is to wake for it. */
static void a_ping_without_a_credit_has_no_time(void **state)
{
	struct kfb_request req = { 0 };
	struct kfb_message message;
	uint64_t at_ms = 5500;

	get_ready();
	start(KFB_OP_INFO, 1000, &req);
	assert_int_equal(answer(&req, KFB_ST_OK), 0);
	req.op = KFB_OP_PING;
	while (!kfb_engine_start(&e, &req, at_ms, KFB_ENGINE_NO_TIMEOUT, NULL,
				 &message))
		at_ms += 4500;
	assert_false(kfb_engine_wants_ping(&e, at_ms + 100000));
	assert_int_equal(kfb_engine_next_ms(&e), KFB_TIME_NEVER);
}

static void a_buffer_is_not_used_again_before_it_is_sent(void **state)
{
	struct kfb_request req = { .op = KFB_OP_PING };
	struct kfb_message message;
	int i;

	get_ready();
	for (i = 0; i < KFB_ENGINE_TX_MAX; i++) {
		assert_int_equal(kfb_engine_start(&e, &req, 0, TIMEOUT_MS, NULL,
						  &message),
				 0);
		assert_int_equal(message.tx, i);
		assert_int_equal(
			kfb_decode_request(message.data, message.len, &req), 0);
		assert_int_equal(answer(&req, KFB_ST_OK), 0);
		memset(&req, 0, sizeof(req));
		req.op = KFB_OP_PING;
	}
	assert_int_equal(kfb_engine_start(&e, &req, 0, TIMEOUT_MS, NULL,
					  &message),
			 -EAGAIN);
	kfb_engine_sent(&e, 3);
	assert_int_equal(
		kfb_engine_start(&e, &req, 0, TIMEOUT_MS, NULL, &message), 0);
	assert_int_equal(message.tx, 3);
	kfb_engine_sent(&e, KFB_ENGINE_TX_MAX);
}

static void a_request_that_cannot_be_encoded_takes_nothing(void **state)
{
	struct kfb_request req = { .op = KFB_OP_FLUSH };
	struct kfb_message message;

	get_ready();
	req.u.flush.n_ranges = KFB_FLUSH_RANGES_MAX + 1;
	assert_int_equal(kfb_engine_start(&e, &req, 0, 1, NULL, &message),
			 -EINVAL);
	assert_int_equal(e.credits.available, CREDITS);
	assert_int_equal(e.slots.n_busy, 0);
	assert_int_equal(e.tx_busy[0], 0);
}

static void a_call_without_answer_is_abandoned(void **state)
{
	struct kfb_request req = { 0 };

	get_ready();
	start(KFB_OP_LIST, 100, &req);
	assert_int_equal(kfb_engine_next_ms(&e), 100 + TIMEOUT_MS);
	assert_false(kfb_engine_expire(&e, 99 + TIMEOUT_MS, &outcome));
	assert_true(kfb_engine_expire(&e, 100 + TIMEOUT_MS, &outcome));
	assert_int_equal(outcome.kind, KFB_OUTCOME_TIMEOUT);
	assert_int_equal(outcome.error, -ETIMEDOUT);
	assert_false(kfb_engine_expire(&e, 100 + TIMEOUT_MS, &outcome));
	/* Its slot is still taken: the brick may yet use it. */
	assert_int_equal(e.slots.n_busy, 1);
	assert_int_equal(answer(&req, KFB_ST_OK), 0);
	assert_int_equal(outcome.kind, KFB_OUTCOME_LATE);
	assert_int_equal(e.slots.n_busy, 0);
	assert_int_equal(e.credits.available, CREDITS);
}

static void a_lost_connection_leaves_outcomes_unknown(void **state)
{
	uint8_t nonce[KFB_NONCE_BYTES] = { 4 };
	struct kfb_request req = { 0 };

	get_ready();
	start(KFB_OP_LIST, 0, &req);
	start(KFB_OP_PING, 0, &req);
	kfb_engine_expire(&e, TIMEOUT_MS, &outcome);
	kfb_engine_lost(&e);
	kfb_engine_lost(&e);
	assert_int_equal(kfb_engine_again(&e, nonce), -EBUSY);
	assert_true(kfb_engine_next_lost(&e, &outcome));
	assert_int_equal(outcome.kind, KFB_OUTCOME_LOST);
	assert_int_equal(outcome.error, -ECONNRESET);
	assert_int_equal(outcome.op, KFB_OP_PING);
	assert_false(kfb_engine_next_lost(&e, &outcome));
	assert_int_equal(start(KFB_OP_PING, 0, &req), -ENOTCONN);
	assert_int_equal(kfb_engine_again(&e, nonce), 0);
	assert_int_equal(kfb_engine_state(&e), KFB_CONN_BACKOFF);
	/* The next AUTH tells what was last seen. */
	assert_int_equal(e.config.last_instance_id, 6);
	assert_int_equal(e.config.last_power_epoch, 9);
	get_ready();
}

/* Joins the session that get_ready() made; the ACCEPT proves it. */
static void join(uint32_t counter, uint8_t *out)
{
	static const uint8_t session_key[KFB_KEY_BYTES] = "the session's";
	const struct kfb_hmac hmac = { .compute = toy_hmac };
	struct kfb_join want = { .queue = 1,
				 .session_id = 5,
				 .instance_id = 6,
				 .counter = counter,
				 .key = session_key };
	struct kfb_accept accept = good_accept();
	const uint8_t *hello;
	uint32_t len;

	assert_int_equal(kfb_engine_join(&e, &want, &hello, &len), 0);
	kfb_encode_accept(&accept, out, KFB_ACCEPT_BYTES);
	kfb_auth_accept_proof(&hmac, session_key, hello, out, accept.proof);
	kfb_encode_accept(&accept, out, KFB_ACCEPT_BYTES);
}

static void an_accept_of_a_join_is_believed_when_it_is_proven(void **state)
{
	uint8_t accept[KFB_ACCEPT_BYTES];
	uint8_t former[KFB_ACCEPT_BYTES];
	struct kfb_request req = { 0 };
	size_t i;

	for (i = 0; i < sizeof(accept); i++) {
		setup(NULL);
		join(1, accept);
		accept[i] ^= 2;
		assert_true(kfb_engine_accepted(&e, accept, sizeof(accept)) <
			    0);
		assert_int_equal(kfb_engine_state(&e), KFB_CONN_CLOSING);
		assert_int_equal(start(KFB_OP_PING, 0, &req), -ENOTCONN);
	}
	setup(NULL);
	join(1, former);
	assert_int_equal(kfb_engine_accepted(&e, former, sizeof(former)), 0);
	assert_int_equal(kfb_engine_state(&e), KFB_CONN_READY);
	/* What proved one join proves no other. */
	setup(NULL);
	join(2, accept);
	assert_int_equal(kfb_engine_accepted(&e, former, sizeof(former)),
			 -EKEYREJECTED);
	setup(NULL);
	join(2, accept);
	assert_int_equal(kfb_engine_accepted(&e, accept, sizeof(accept)), 0);
}

static int event(uint32_t seq)
{
	struct kfb_reply r = { .op = KFB_OP_EVENT };

	r.u.event.kind = KFB_EVENT_RECALL;
	r.u.event.event_seq = seq;
	r.u.event.mapping_id = seq * 10;
	return feed(&r);
}

static void events_are_taken_in_order_and_acknowledged(void **state)
{
	struct kfb_event taken;
	struct kfb_request req = { 0 };

	get_ready();
	assert_false(kfb_engine_wants_ping(&e, 0));
	assert_int_equal(event(1), 0);
	assert_int_equal(outcome.kind, KFB_OUTCOME_EVENT);
	assert_int_equal(event(2), 0);
	assert_true(kfb_engine_wants_ping(&e, 0));
	assert_int_equal(start(KFB_OP_PING, 0, &req), 0);
	assert_int_equal(req.u.ping.event_seq, 2);
	/* The receives that the EVENTs used are there again. */
	assert_int_equal(req.credits, 2);
	assert_false(kfb_engine_wants_ping(&e, 0));
	assert_true(kfb_engine_take_event(&e, &taken));
	assert_int_equal(taken.mapping_id, 10);
	assert_true(kfb_engine_take_event(&e, &taken));
	assert_int_equal(taken.mapping_id, 20);
	assert_false(kfb_engine_take_event(&e, &taken));
	assert_int_equal(event(7), 0);
	assert_int_equal(start(KFB_OP_UNMAP, 0, &req), 0);
	assert_int_equal(req.u.unmap.event_seq, 7);
	assert_int_equal(req.credits, 1);
}

static void events_beyond_the_limit_end_the_connection(void **state)
{
	uint32_t seq;

	get_ready();
	for (seq = 1; seq <= KFB_EVENTS_UNACKED_MAX; seq++)
		assert_int_equal(event(seq), 0);
	assert_int_equal(event(seq), -EPROTO);
}

static void an_event_that_goes_back_ends_the_connection(void **state)
{
	get_ready();
	assert_int_equal(event(5), 0);
	assert_int_equal(event(5), -EPROTO);
	setup(NULL);
	start_auth();
	assert_int_equal(event(1), -EPROTO);
}

static int evicted(uint32_t features)
{
	struct kfb_engine_config config = config_of("alice");
	struct kfb_accept accept = good_accept();
	struct kfb_reply r = { .op = KFB_OP_EVENT };
	struct kfb_message message;
	struct kfb_reply auth;

	config.features |= features;
	assert_int_equal(kfb_engine_init(&e, &config, tx), 0);
	accept.features |= features;
	assert_int_equal(accept_with(&accept), 0);
	assert_int_equal(kfb_engine_auth(&e, 0, TIMEOUT_MS, &owner, &message),
			 0);
	kfb_engine_sent(&e, message.tx);
	auth = auth_reply();
	assert_int_equal(feed(&auth), 0);
	r.u.event.kind = KFB_EVENT_EVICTED;
	r.u.event.event_seq = 1;
	r.u.event.cause = KFB_EVICTED_KEY;
	return feed(&r);
}

static void an_eviction_comes_to_who_has_asked_for_it(void **state)
{
	struct kfb_event taken;

	assert_int_equal(evicted(0), -EPROTO);
	assert_int_equal(kfb_engine_state(&e), KFB_CONN_CLOSING);
	assert_int_equal(evicted(KFB_FEATURE_EVICTED), 0);
	assert_int_equal(outcome.kind, KFB_OUTCOME_EVENT);
	assert_int_equal(reply.u.event.cause, KFB_EVICTED_KEY);
	/* It outlives the connection elsewhere. */
	assert_false(kfb_engine_take_event(&e, &taken));
}

static void untaken_events_push_out_the_oldest(void **state)
{
	struct kfb_event taken;
	struct kfb_request req = { 0 };
	uint32_t seq;

	get_ready();
	for (seq = 1; seq <= KFB_ENGINE_EVENTS_MAX + 1; seq++) {
		assert_int_equal(event(seq), 0);
		assert_int_equal(start(KFB_OP_PING, 0, &req), 0);
		assert_int_equal(answer(&req, KFB_ST_OK), 0);
	}
	assert_true(kfb_engine_take_event(&e, &taken));
	assert_int_equal(taken.event_seq, 2);
}

static void a_lease_counts_from_the_request_that_renewed_it(void **state)
{
	struct kfb_request req = { 0 };

	get_ready();
	assert_int_equal(e.lease_ms, 0);
	start(KFB_OP_INFO, 1000, &req);
	assert_int_equal(answer(&req, KFB_ST_OK), 0);
	assert_int_equal(e.lease_ms, 9000);
	/* Less a margin of an eighth. */
	assert_int_equal(e.lease.until_ms, 1000 + 7875);
	assert_false(kfb_engine_wants_ping(&e, 5499));
	assert_true(kfb_engine_wants_ping(&e, 5500));
	assert_int_equal(kfb_engine_next_ms(&e), 5500);
	start(KFB_OP_PING, 5500, &req);
	assert_false(kfb_engine_wants_ping(&e, 5501));
	assert_int_equal(answer(&req, KFB_ST_OK), 0);
	assert_int_equal(e.lease.until_ms, 5500 + 7875);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_quota_comes_to_who_has_asked_for_it),
		CASE(a_configuration_without_its_key_is_refused),
		CASE(the_way_to_ready_is_hello_accept_auth),
		CASE(without_a_name_accept_is_enough),
		CASE(steps_out_of_order_are_refused),
		CASE(an_accept_that_was_not_asked_for_is_refused),
		CASE(a_rejection_says_why),
		CASE(a_brick_without_the_key_is_refused),
		CASE(another_brick_than_expected_is_refused),
		CASE(an_accept_of_a_join_is_believed_when_it_is_proven),
		CASE(a_refused_auth_ends_the_connection),
		CASE(a_reply_finds_its_call),
		CASE(a_reply_to_nothing_ends_the_connection),
		CASE(more_credits_than_taken_end_the_connection),
		CASE(garbage_ends_the_connection),
		CASE(urgent_requests_have_credits_of_their_own),
		CASE(a_flush_that_is_under_way_keeps_no_credit),
		CASE(nothing_overtakes_what_is_sent_again),
		CASE(a_ping_without_a_credit_has_no_time),
		CASE(a_buffer_is_not_used_again_before_it_is_sent),
		CASE(a_request_that_cannot_be_encoded_takes_nothing),
		CASE(a_call_without_answer_is_abandoned),
		CASE(a_lost_connection_leaves_outcomes_unknown),
		CASE(events_are_taken_in_order_and_acknowledged),
		CASE(events_beyond_the_limit_end_the_connection),
		CASE(an_event_that_goes_back_ends_the_connection),
		CASE(an_eviction_comes_to_who_has_asked_for_it),
		CASE(untaken_events_push_out_the_oldest),
		CASE(a_lease_counts_from_the_request_that_renewed_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
