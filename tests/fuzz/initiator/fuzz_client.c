// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whoever has the brick's port talks to a client that has lost it.
 *
 * A session is made with a brick that has the key. Then its connections are
 * lost, and what answers has no key: the input says what, byte by byte. Nothing
 * it says may make a queue READY, end the client, have it send anything but
 * AUTH, or tell a caller that a request of his has an outcome.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kfb_err.h"
#include "session/kfb_client.h"

#define QUEUES	   2
#define TIMEOUT_MS 100
#define LEASE_MS   60000
#define STEPS_MAX  300
#define SESSION_ID 5
#define INSTANCE   6
#define UUID_BYTE  7
#define EPOCH	   3
#define CREDITS	   8

#define CHECK(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

struct script {
	const uint8_t *data;
	size_t left;
};

static struct kfb_client c;
static uint8_t tx[KFB_CLIENT_TX_BYTES(QUEUES)];
static const uint8_t key[KFB_KEY_BYTES] = "what only the brick has";
static uint8_t session_key[KFB_KEY_BYTES];
static uint8_t hello[QUEUES][KFB_HELLO_BYTES];
static uint8_t accepted[QUEUES][KFB_ACCEPT_BYTES];
static bool open_ep[QUEUES];
static bool is_hostile;
static uint64_t now_ms;
static struct kfb_reply reply;
static int owner;
static uint64_t seed;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t take8(struct script *s)
{
	if (!s->left)
		return 0;
	s->left--;
	return *s->data++;
}

/* No HMAC, but none that an input gets right by chance or by mutation. */
static int keyed_sum(void *ctx, const __u8 *with, const struct kfb_iov *parts,
		     unsigned int n, __u8 mac[KFB_MAC_BYTES])
{
	uint64_t h = 14695981039346656037ULL;
	unsigned int i, j;

	for (i = 0; i < n + 2; i++) {
		const uint8_t *at = i && i <= n ? parts[i - 1].base : with;
		uint32_t len = i && i <= n ? parts[i - 1].len : KFB_KEY_BYTES;

		for (j = 0; j < len; j++)
			h = (h ^ at[j]) * 1099511628211ULL;
	}
	for (j = 0; j < KFB_MAC_BYTES; j++) {
		h = h * 6364136223846793005ULL + 1442695040888963407ULL;
		mac[j] = (uint8_t)(h >> 56);
	}
	return 0;
}

static const struct kfb_hmac hmac = { .compute = keyed_sum };

static void random_bytes(void *ctx, void *buf, __u32 len)
{
	uint8_t *at = buf;

	while (len--) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		*at++ = (uint8_t)(seed >> 56);
	}
}

static int make_accept(uint32_t queue, uint8_t *out)
{
	struct kfb_accept accept = {
		.version = KFB_VERSION,
		.credits = CREDITS,
		.req_max_bytes = KFB_REQ_MAX_BYTES,
		.reply_max_bytes = KFB_REPLY_MAX_BYTES,
		.session_id = SESSION_ID,
		.instance_id = INSTANCE,
	};

	kfb_encode_accept(&accept, out, KFB_ACCEPT_BYTES);
	if (!queue)
		return KFB_ACCEPT_BYTES;
	kfb_auth_accept_proof(&hmac, session_key, hello[queue], out,
			      accept.proof);
	return kfb_encode_accept(&accept, out, KFB_ACCEPT_BYTES);
}

static void give(uint32_t queue, const void *data, uint32_t len)
{
	struct kfb_outcome outcome;
	int news = kfb_client_receive(&c, queue, data, len, now_ms, &reply,
				      &outcome);

	CHECK(!is_hostile || news != 1);
}

/* The brick's own answers, until the session is there. */
static void answer(uint32_t queue, const struct kfb_message *message)
{
	struct kfb_transcript t = { hello[0], accepted[0], "alice", 5 };
	uint8_t data[KFB_REPLY_MAX_BYTES];
	struct kfb_reply r = { .credits = 1 };
	struct kfb_request req;

	CHECK(!kfb_decode_request(message->data, message->len, &req));
	r.op = req.op;
	r.cookie = req.cookie;
	if (req.op == KFB_OP_AUTH) {
		memset(r.u.auth.brick_uuid, UUID_BYTE, KFB_UUID_BYTES);
		r.u.auth.power_epoch = EPOCH;
		kfb_auth_brick_proof(&hmac, key, &t, r.u.auth.brick_uuid, EPOCH,
				     r.u.auth.proof);
		kfb_auth_session_key(&hmac, key, &t, r.u.auth.brick_uuid, EPOCH,
				     session_key);
	} else if (req.op == KFB_OP_INFO) {
		memset(r.u.info.brick_uuid, UUID_BYTE, KFB_UUID_BYTES);
		r.u.info.instance_id = INSTANCE;
		r.u.info.power_epoch = EPOCH;
		r.u.info.block_shift = KFB_BLOCK_SHIFT;
		r.u.info.flush_mode = KFB_FLUSH_MESSAGE;
		r.u.info.flush_modes = KFB_FLUSH_MESSAGE;
		r.u.info.flush_why = KFB_WHY_FILE;
		r.u.info.medium = KFB_MEDIUM_FILE;
		r.u.info.lease_ms = LEASE_MS;
	}
	give(queue, data, (uint32_t)kfb_encode_reply(&r, data, sizeof(data)));
}

/* Bytes that are none, or the brick's own of before, changed or not. */
static uint32_t twisted(struct script *s, uint8_t *data, uint32_t cap,
			const uint8_t *known, uint32_t known_len)
{
	uint32_t len = known_len, i;
	uint8_t twist = take8(s);

	memcpy(data, known, known_len);
	for (i = 0; i < (twist & 3U); i++)
		data[take8(s) % known_len] ^= take8(s);
	if (twist & 4)
		for (len = 0; len < take8(s) && len < cap; len++)
			data[len] = take8(s);
	return len;
}

static void hostile_connection(struct script *s, uint32_t queue)
{
	uint8_t data[256] = { 0 };
	uint8_t known[KFB_ACCEPT_BYTES];
	struct kfb_reject reject = { .status = take8(s) % 20 + 1,
				     .version_min = KFB_VERSION,
				     .version_max = KFB_VERSION,
				     .retry_after_ms = take8(s) };
	uint8_t how = take8(s);
	uint32_t len;

	if (how & 1) {
		kfb_encode_reject(&reject, known, sizeof(known));
		len = twisted(s, data, sizeof(data), known, KFB_REJECT_BYTES);
		kfb_client_rejected(&c, queue, data, len, now_ms, &reject);
		return;
	}
	memcpy(known, accepted[queue], sizeof(known));
	len = twisted(s, data, sizeof(data), known, sizeof(known));
	kfb_client_accepted(&c, queue, data, len, now_ms);
}

static void hostile_message(struct script *s, uint32_t queue)
{
	uint8_t data[512], known[KFB_REPLY_MAX_BYTES];
	struct kfb_reply r = { .op = take8(s) % (KFB_OP_LAST + 1),
			       .credits = take8(s) & 1,
			       .status = take8(s) % 20,
			       .cookie = { take8(s), take8(s) } };
	int n = kfb_encode_reply(&r, known, sizeof(known));

	if (n > 0 && n <= 256)
		give(queue, data,
		     twisted(s, data, sizeof(data), known, (uint32_t)n));
}

static void connect_queue(struct script *s,
			  const struct kfb_client_action *action)
{
	uint32_t queue = action->queue;

	CHECK(!open_ep[queue]);
	open_ep[queue] = true;
	if (is_hostile) {
		hostile_connection(s, queue);
		return;
	}
	memcpy(hello[queue], action->hello, KFB_HELLO_BYTES);
	make_accept(queue, accepted[queue]);
	CHECK(!kfb_client_accepted(&c, queue, accepted[queue], KFB_ACCEPT_BYTES,
				   now_ms));
}

static void send_message(struct script *s,
			 const struct kfb_client_action *action)
{
	struct kfb_request req;

	kfb_engine_sent(&c.queues[action->queue].engine, action->message.tx);
	if (!is_hostile) {
		answer(action->queue, &action->message);
		return;
	}
	CHECK(!kfb_decode_request(action->message.data, action->message.len,
				  &req));
	CHECK(req.op == KFB_OP_AUTH && !action->queue);
	if (take8(s) & 1)
		hostile_message(s, action->queue);
}

static void check(void)
{
	uint32_t i;

	CHECK(kfb_client_state(&c) == KFB_CLIENT_DETACHED);
	for (i = 0; i < QUEUES; i++) {
		CHECK(c.queues[i].engine.state != KFB_CONN_READY);
		CHECK(!kfb_client_usable(&c, i, now_ms));
		CHECK(!kfb_client_can_call(&c, i));
	}
}

static void run(struct script *s)
{
	struct kfb_client_action action;
	int n = 0;

	while (kfb_client_next(&c, now_ms, &action)) {
		CHECK(n++ < STEPS_MAX);
		CHECK(!is_hostile || action.what != KFB_DO_OUTCOME);
		switch (action.what) {
		case KFB_DO_CONNECT:
			connect_queue(s, &action);
			break;
		case KFB_DO_CLOSE:
			open_ep[action.queue] = false;
			kfb_client_closed(&c, action.queue);
			break;
		case KFB_DO_SEND:
			send_message(s, &action);
			break;
		case KFB_DO_MAP:
			CHECK(!kfb_client_mapped(&c));
			break;
		default:
			break;
		}
		if (is_hostile)
			check();
	}
}

static void begin(struct script *s)
{
	struct kfb_client_config config = {
		.engine = { .hmac = hmac, .client_name = "alice", .key = key },
		.random = random_bytes,
		.n_queues = QUEUES,
		.timeout_ms = TIMEOUT_MS,
		.reconnect_ms = KFB_CLIENT_FOREVER,
	};
	struct kfb_request req = { .op = KFB_OP_ALLOC, .u.range = { 0, 1 } };
	struct kfb_message message;

	memset(open_ep, 0, sizeof(open_ep));
	is_hostile = false;
	now_ms = 1000;
	seed = 1;
	CHECK(!kfb_client_init(&c, &config, tx));
	CHECK(!kfb_client_start(&c));
	run(s);
	CHECK(kfb_client_state(&c) == KFB_CLIENT_LIVE);
	/* It has no answer when the connection goes. */
	CHECK(!kfb_engine_start(&c.queues[0].engine, &req, now_ms, TIMEOUT_MS,
				&owner, &message));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { .data = data, .left = size };
	uint32_t queue;
	int i;

	begin(&s);
	is_hostile = true;
	for (queue = 0; queue < QUEUES; queue++)
		kfb_client_lost(&c, queue, now_ms, -1);
	for (i = 0; i < STEPS_MAX && s.left; i++) {
		uint8_t what = take8(&s);

		run(&s);
		check();
		queue = what & 1;
		if (what & 2 && open_ep[queue])
			hostile_message(&s, queue);
		else if (what & 4 && open_ep[queue])
			kfb_client_lost(&c, queue, now_ms, -1);
		else
			now_ms += take8(&s) * 8U;
	}
	kfb_client_close(&c);
	is_hostile = false;
	run(&s);
	return 0;
}
