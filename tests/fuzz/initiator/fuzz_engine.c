// SPDX-License-Identifier: BSD-2-Clause
/*
 * A hostile brick talks to the client engine.
 *
 * The input is a script: one byte says what happens next, its arguments
 * follow. Replies can be raw bytes, or well-formed ones whose fields come from
 * the script, so that the fuzzer gets behind the codec. After each step the
 * engine is compared with a model: every request has exactly one outcome, and
 * no count leaves its bounds. Handles of MAP replies go on into the block map,
 * which must stay sorted and disjoint.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "blocks/kfb_blockmap.h"
#include "engine/kfb_engine.h"

#define TIMEOUT_MS  100
#define STEPS_MAX   400
#define MAP_ENTRIES 64
#define MAP_BLOCKS  16

#define CHECK(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

enum call_state {
	CALL_NONE,
	CALL_OPEN,
	CALL_ABANDONED,
};

struct script {
	const uint8_t *data;
	size_t left;
};

static struct kfb_engine e;
static uint8_t tx[KFB_ENGINE_TX_BYTES];
static const uint8_t key[KFB_KEY_BYTES];
static struct kfb_reply reply;
static enum call_state calls[KFB_ENGINE_CALLS];
static struct kfb_request sent[KFB_ENGINE_CALLS];
static struct kfb_blockmap_entry entries[MAP_ENTRIES];
static struct kfb_blockmap map;
static uint64_t now_ms;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t take8(struct script *s)
{
	if (!s->left)
		return 0;
	s->left--;
	return *s->data++;
}

static uint64_t take64(struct script *s)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < 8; i++)
		v = v << 8 | take8(s);
	return v;
}

/* Every proof is zero, so that any brick has the key. */
static int no_hmac(void *ctx, const __u8 *with, const struct kfb_iov *parts,
		   unsigned int n, __u8 mac[KFB_MAC_BYTES])
{
	memset(mac, 0, KFB_MAC_BYTES);
	return 0;
}

static void finish(uint16_t slot, enum call_state from)
{
	CHECK(slot < KFB_ENGINE_CALLS);
	CHECK(calls[slot] == from);
	calls[slot] = CALL_NONE;
}

static void check_engine(void)
{
	unsigned int busy = 0;
	unsigned int i;

	CHECK(e.n_events <= KFB_ENGINE_EVENTS_MAX);
	CHECK(e.events_unacked <= KFB_EVENTS_UNACKED_MAX);
	if (e.state != KFB_CONN_READY && e.state != KFB_CONN_AUTH)
		return;
	for (i = 0; i < KFB_ENGINE_CALLS; i++) {
		CHECK(e.calls[i].waiting == (calls[i] != CALL_NONE));
		busy += e.calls[i].waiting && i != KFB_ENGINE_AUTH;
	}
	CHECK(e.credits.limit <= KFB_CREDITS_MAX);
	CHECK(e.credits.available <= e.credits.limit);
	CHECK(e.slots.n_busy == busy);
}

/* The connection is gone: every open call is listed, once. */
static void check_lost(void)
{
	struct kfb_outcome outcome;
	unsigned int i;

	while (kfb_engine_next_lost(&e, &outcome)) {
		CHECK(outcome.kind == KFB_OUTCOME_LOST);
		finish(outcome.slot, CALL_OPEN);
	}
	for (i = 0; i < KFB_ENGINE_CALLS; i++) {
		CHECK(calls[i] != CALL_OPEN);
		calls[i] = CALL_NONE;
	}
}

static void check_map(void)
{
	uint32_t i;

	CHECK(map.n <= MAP_ENTRIES);
	for (i = 0; i + 1 < map.n; i++) {
		const struct kfb_handle *a = &map.entries[i].handle;
		const struct kfb_handle *b = &map.entries[i + 1].handle;

		CHECK((a->va >> KFB_BLOCK_SHIFT) + a->n_blocks <= b->va >>
		      KFB_BLOCK_SHIFT);
	}
}

static void use_handles(const struct kfb_request *req)
{
	const struct kfb_map_reply *m = &reply.u.map;
	struct kfb_range rest = req->u.map.range;

	CHECK(m->n_handles <= KFB_HANDLES_MAX);
	if (kfb_blockmap_take_page(m, m->mapping_id, &rest))
		return;
	CHECK(rest.n_blocks < req->u.map.range.n_blocks);
	if (kfb_blockmap_add(&map, m->handles, m->n_handles, m->mapping_id, 1))
		kfb_blockmap_del(&map, m->mapping_id);
	check_map();
}

static void receive(const void *data, uint32_t len)
{
	enum call_state from = CALL_OPEN;
	struct kfb_outcome outcome;
	struct kfb_request req;
	int rc;

	rc = kfb_engine_receive(&e, data, len, &reply, &outcome);
	if (rc) {
		CHECK(kfb_engine_state(&e) != KFB_CONN_READY);
		/* AUTH's refusal is its outcome. */
		if (calls[KFB_ENGINE_AUTH] == CALL_OPEN &&
		    !e.calls[KFB_ENGINE_AUTH].lost)
			calls[KFB_ENGINE_AUTH] = CALL_NONE;
		check_lost();
		return;
	}
	if (outcome.kind == KFB_OUTCOME_EVENT)
		return;
	CHECK(outcome.slot < KFB_ENGINE_CALLS);
	req = sent[outcome.slot];
	CHECK(outcome.op == req.op);
	/* The brick's proof counts, also when it comes late. */
	if (outcome.kind == KFB_OUTCOME_READY)
		from = calls[outcome.slot];
	else if (outcome.kind == KFB_OUTCOME_LATE)
		from = CALL_ABANDONED;
	finish(outcome.slot, from);
	if (outcome.op == KFB_OP_MAP && !outcome.error)
		use_handles(&req);
	if (outcome.op == KFB_OP_LIST && !outcome.error)
		CHECK(reply.u.list.n_extents <= KFB_LIST_EXTENTS_MAX);
}

static void raw_message(struct script *s)
{
	uint8_t data[KFB_REPLY_MAX_BYTES + 16];
	uint32_t len = ((uint32_t)take8(s) << 8 | take8(s)) % sizeof(data);
	uint32_t i;

	for (i = 0; i < len; i++)
		data[i] = take8(s);
	receive(data, len);
}

static void fill_map(struct script *s, struct kfb_map_reply *m)
{
	uint64_t va = 0;
	uint32_t i;

	m->mapping_id = 1 + take8(s) % 8;
	m->cursor = take8(s) % 4;
	m->n_handles = take8(s) % 8;
	for (i = 0; i < m->n_handles; i++) {
		uint8_t how = take8(s);

		m->handles[i].va = va;
		m->handles[i].n_blocks = 1 + how % 4;
		if (how & 0x40)
			m->handles[i].va = take64(s);
		if (how & 0x80)
			m->handles[i].n_blocks = take64(s);
		m->handles[i].raddr = how & 0x20 ? take64(s) : va;
		va = m->handles[i].va +
		     m->handles[i].n_blocks * KFB_BLOCK_BYTES;
	}
}

/* A reply that the codec likes, to a call that may exist. */
static void formed_message(struct script *s)
{
	static struct kfb_reply r;
	uint8_t data[KFB_REPLY_MAX_BYTES];
	uint16_t slot = take8(s) % KFB_ENGINE_CALLS;
	uint8_t twist = take8(s);
	int len;

	memset(&r, 0, sizeof(r));
	r.op = sent[slot].op;
	r.cookie = sent[slot].cookie;
	r.credits = 1;
	if (twist & 1)
		r.credits = take8(s);
	if (twist & 2)
		r.status = take8(s) % 20;
	if (twist & 4)
		r.cookie.seq += take8(s);
	if (twist & 8)
		r.op = take8(s) % (KFB_OP_LAST + 1);
	if (r.op == KFB_OP_EVENT) {
		memset(&r.cookie, 0, sizeof(r.cookie));
		r.credits = 0;
		r.status = 0;
		r.u.event.kind = take8(s) % 6;
		r.u.event.event_seq = take8(s);
	} else if (r.op == KFB_OP_MAP) {
		fill_map(s, &r.u.map);
	} else if (r.op == KFB_OP_INFO) {
		r.u.info.block_shift = KFB_BLOCK_SHIFT;
		r.u.info.flush_mode = KFB_FLUSH_MESSAGE;
		r.u.info.flush_modes = KFB_FLUSH_MESSAGE;
		r.u.info.flush_why = KFB_WHY_FILE;
		r.u.info.medium = KFB_MEDIUM_FILE;
		r.u.info.lease_ms = take8(s);
	}
	len = kfb_encode_reply(&r, data, sizeof(data));
	if (len > 0)
		receive(data, (uint32_t)len);
}

static void note_sent(const struct kfb_message *message, uint8_t keep)
{
	CHECK(message->slot < KFB_ENGINE_CALLS);
	CHECK(message->len <= KFB_REQ_MAX_BYTES);
	CHECK(calls[message->slot] == CALL_NONE);
	CHECK(!kfb_decode_request(message->data, message->len,
				  &sent[message->slot]));
	calls[message->slot] = CALL_OPEN;
	if (!(keep & 1))
		kfb_engine_sent(&e, message->tx);
}

static void start_request(struct script *s)
{
	struct kfb_request req = { .op = take8(s) % (KFB_OP_LAST + 2) };
	struct kfb_message message;
	uint8_t keep = take8(s);

	if (req.op == KFB_OP_MAP) {
		req.u.map.range.n_blocks = MAP_BLOCKS;
		req.u.map.flags = KFB_MAP_RW | KFB_MAP_EXCLUSIVE;
	} else if (req.op == KFB_OP_LIST) {
		req.u.list.what = KFB_LIST_ALLOCATED;
	}
	if (!kfb_engine_start(&e, &req, now_ms, TIMEOUT_MS, NULL, &message))
		note_sent(&message, keep);
}

static void time_passes(struct script *s)
{
	struct kfb_outcome outcome;
	struct kfb_event event;

	now_ms += take8(s);
	while (kfb_engine_expire(&e, now_ms, &outcome)) {
		finish(outcome.slot, CALL_OPEN);
		calls[outcome.slot] = CALL_ABANDONED;
	}
	kfb_engine_wants_ping(&e, now_ms);
	kfb_engine_next_ms(&e);
	kfb_engine_take_event(&e, &event);
}

static void send_auth(void)
{
	struct kfb_message message;

	if (!kfb_engine_auth(&e, now_ms, TIMEOUT_MS, NULL, &message))
		note_sent(&message, 0);
}

static void accept_arrives(struct script *s)
{
	uint8_t data[KFB_ACCEPT_BYTES + 8];
	struct kfb_accept accept = {
		.version = KFB_VERSION,
		.credits = KFB_CREDITS_MIN + take8(s) % 8,
		.features = KFB_FEATURE_EVENT,
		.req_max_bytes = KFB_REQ_MAX_BYTES,
		.reply_max_bytes = KFB_REPLY_MAX_BYTES,
		.session_id = 1,
		.instance_id = 1,
	};
	struct kfb_reject reject;
	uint8_t twist = take8(s);
	const uint8_t *hello;
	uint32_t len;

	kfb_engine_hello(&e, &hello, &len);
	memset(data, 0, sizeof(data));
	kfb_encode_accept(&accept, data, sizeof(data));
	if (twist & 1)
		data[take8(s) % sizeof(data)] ^= take8(s);
	if (twist & 2)
		kfb_engine_rejected(&e, data, twist % sizeof(data), &reject);
	else if (!kfb_engine_accepted(&e, data, sizeof(data)))
		send_auth();
}

static void connection_ends(void)
{
	static const uint8_t nonce[KFB_NONCE_BYTES] = { 1 };

	kfb_engine_lost(&e);
	check_lost();
	if (e.state == KFB_CONN_CLOSING)
		CHECK(!kfb_engine_again(&e, nonce));
}

static void step(struct script *s)
{
	switch (take8(s) % 8) {
	case 0:
	case 1:
		start_request(s);
		break;
	case 2:
	case 3:
		formed_message(s);
		break;
	case 4:
		raw_message(s);
		break;
	case 5:
		time_passes(s);
		break;
	case 6:
		accept_arrives(s);
		break;
	default:
		if (take8(s) & 1)
			connection_ends();
		else
			kfb_engine_sent(&e, take8(s));
		break;
	}
	check_engine();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { .data = data, .left = size };
	struct kfb_engine_config config = {
		.hmac.compute = no_hmac,
		.client_name = take8(&s) & 1 ? "alice" : NULL,
		.key = key,
		.features = KFB_FEATURE_EVENT,
	};
	int i;

	memset(calls, 0, sizeof(calls));
	memset(sent, 0, sizeof(sent));
	now_ms = 0;
	kfb_blockmap_init(&map, entries, MAP_ENTRIES);
	CHECK(!kfb_engine_init(&e, &config, tx));
	for (i = 0; i < STEPS_MAX && s.left; i++)
		step(&s);
	connection_ends();
	return 0;
}
