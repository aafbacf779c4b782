// SPDX-License-Identifier: BSD-2-Clause
/*
 * Feeds anything to a node of the LNet-like driver as a peer's messages: what decodes is
 * within its bounds and encodes to the same bytes, what was encoded decodes to the same
 * message or is refused. Of each kind and place one message is being sent to the peer, no
 * more is done for it than it has credits, and each transaction of ours ends once.
 *
 * Before each message there is a byte that says what is done after it. A message is as
 * long as it says, or what is left.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lndw_peer.h"

#define US	 1
#define PEER	 2
#define OURS	 100 /* incarnation */
#define CREDITS	 4
#define BYTES_AT 6
/* Of the byte before a message. */
#define SENT  1 /* what is being sent is off this node's hands */
#define MOVED 2 /* what goes on is over */
#define BEGIN 4 /* a transaction of ours */
#define LATE  8 /* time has passed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lndw_msg sending[LNDW_SENDING_MAX];
static unsigned int nr_sending, doing, begun, ended;
static uint64_t now;

static void expect(int truth)
{
	if (!truth)
		abort();
}

static void on_begin(struct lndw_peer *peer, unsigned int place,
		     const struct lndw_msg *msg)
{
	(void)peer;
	expect(place < LNDW_CREDITS_MAX && !(doing & 1U << place));
	expect(msg->seq - msg->floor < CREDITS);
	doing |= 1U << place;
}

static void on_end(struct lndw_peer *peer, __u64 cookie,
		   enum lndw_status status, __u32 bytes)
{
	(void)peer;
	expect(cookie < begun && status < LNDW_STATUSES && bytes <= 9);
	ended++;
}

static const struct lndw_ops ops = { .begin = on_begin, .end = on_end };
static const struct lndw_node node = { .nid = US,
				       .incarnation = OURS,
				       .credits = CREDITS,
				       .ops = &ops };

/* All fields that travel. */
static int is_same(const struct lndw_msg *a, const struct lndw_msg *b)
{
	return a->kind == b->kind && a->src_nid == b->src_nid &&
	       a->dst_nid == b->dst_nid &&
	       a->src_incarnation == b->src_incarnation &&
	       a->dst_incarnation == b->dst_incarnation && a->seq == b->seq &&
	       a->floor == b->floor && a->credits == b->credits &&
	       a->status == b->status && a->match == b->match &&
	       a->word == b->word && a->key == b->key && a->bytes == b->bytes &&
	       a->left_ms == b->left_ms;
}

static void check_decoded(const uint8_t *bytes, uint32_t n,
			  const struct lndw_msg *msg)
{
	uint8_t again[LNDW_HEAD_MAX];
	uint32_t head = lndw_head_bytes(msg->kind);
	int has_bytes = msg->kind == LNDW_IMMEDIATE;

	expect(msg->kind >= LNDW_HELLO && msg->kind < LNDW_KINDS);
	expect(msg->src_nid && msg->dst_nid && msg->src_incarnation);
	expect(msg->dst_incarnation || msg->kind == LNDW_HELLO);
	expect(msg->credits && msg->credits <= LNDW_CREDITS_MAX);
	expect(!lndw_is_request(msg->kind) ||
	       msg->seq - msg->floor < LNDW_CREDITS_MAX);
	expect(msg->bytes <= (has_bytes ? LNDW_IMMEDIATE_MAX : LNDW_BYTES_MAX));
	expect(n <= LNDW_MESSAGE_MAX && n == head + has_bytes * msg->bytes);
	lndw_encode(msg, again);
	expect(!memcmp(again, bytes, head));
}

/* A message that is of the fuzzer's numbers: what it has that its kind has not is 0. */
static void check_encoded(const uint8_t *data, size_t size)
{
	uint8_t bytes[LNDW_MESSAGE_MAX] = { 0 };
	struct lndw_msg msg = { 0 }, again;
	uint32_t n;

	if (size < sizeof(msg))
		return;
	memcpy(&msg, data, sizeof(msg));
	msg.kind = (enum lndw_kind)(LNDW_HELLO + data[0] % (LNDW_KINDS - 1));
	if (!lndw_is_request(msg.kind) || msg.kind == LNDW_PING) {
		msg.match = msg.word = msg.key = msg.left_ms = 0;
		if (!lndw_is_answer(msg.kind))
			msg.bytes = 0;
	}
	n = lndw_head_bytes(msg.kind);
	expect(n <= LNDW_HEAD_MAX);
	if (msg.kind == LNDW_IMMEDIATE) {
		msg.bytes %= LNDW_IMMEDIATE_MAX + 1;
		msg.key = 0;
		n += msg.bytes;
	}
	lndw_encode(&msg, bytes);
	expect(lndw_decode(bytes, n, &again) || is_same(&msg, &again));
	/* What is sound but for that has bounds that every message may reach. */
	msg.src_nid |= 1;
	msg.dst_nid |= 1;
	msg.src_incarnation |= 1;
	msg.dst_incarnation |= 1;
	msg.left_ms |= lndw_is_request(msg.kind) && msg.kind != LNDW_PING;
	msg.credits = 1 + msg.credits % LNDW_CREDITS_MAX;
	msg.floor >>= 1;
	if (lndw_is_request(msg.kind))
		msg.seq = msg.floor + msg.seq % LNDW_CREDITS_MAX;
	else if (!lndw_is_answer(msg.kind))
		msg.seq = 0;
	msg.status %= lndw_is_answer(msg.kind) ? LNDW_WIRE_STATUSES
		      : msg.kind == LNDW_NACK  ? LNDW_REASONS
					       : 1;
	if (msg.kind == LNDW_PUT || msg.kind == LNDW_GET)
		msg.bytes = 1 + msg.bytes % LNDW_BYTES_MAX;
	else if (lndw_is_answer(msg.kind))
		msg.bytes %= LNDW_BYTES_MAX + 1;
	lndw_encode(&msg, bytes);
	expect(!lndw_decode(bytes, n, &again) && is_same(&msg, &again));
}

/* Are they for the same thing, so that only one may be under way? */
static int is_beside(const struct lndw_msg *a, const struct lndw_msg *b)
{
	if ((lndw_is_request(a->kind) && lndw_is_request(b->kind)) ||
	    (lndw_is_answer(a->kind) && lndw_is_answer(b->kind)))
		return !((a->seq ^ b->seq) & (LNDW_CREDITS_MAX - 1));
	return a->kind == b->kind;
}

static void pump(struct lndw_peer *peer)
{
	struct lndw_msg msg;
	uint8_t bytes[LNDW_HEAD_MAX];
	unsigned int i;

	while (lndw_next(peer, now, &msg)) {
		expect(nr_sending < LNDW_SENDING_MAX);
		expect(!lndw_is_request(msg.kind) ||
		       msg.seq - msg.floor < peer->credits);
		for (i = 0; i < nr_sending; i++)
			expect(!is_beside(&sending[i], &msg));
		lndw_encode(&msg, bytes);
		sending[nr_sending++] = msg;
	}
}

static void act(struct lndw_peer *peer, uint8_t what)
{
	struct lndw_want want = { .kind = LNDW_PUT + (what >> 4 & 3),
				  .bytes = 9,
				  .deadline_ms = now + 700,
				  .cookie = begun };
	unsigned int place;

	/* The last one or the first, which is of whoever had its place. */
	if ((what & SENT) && nr_sending) {
		place = what & 128 ? 0 : nr_sending - 1;
		lndw_sent(peer, sending[place].kind, sending[place].seq,
			  what >> 6 & 1, now);
		sending[place] = sending[--nr_sending];
	}
	for (place = 0; (what & MOVED) && place < LNDW_CREDITS_MAX; place++)
		if (doing & 1U << place) {
			doing &= ~(1U << place);
			lndw_rx_done(peer, place, LNDW_DONE, 9);
		}
	/* Its end may come at once. */
	if (what & BEGIN) {
		begun++;
		if (lndw_tx_begin(peer, &want, now))
			begun--;
	}
	if (what & LATE) {
		now += 600;
		lndw_tick(peer, now);
	}
	pump(peer);
	expect(begun - ended == peer->outstanding);
	expect(peer->outstanding <= LNDW_CREDITS_MAX);
}

static size_t message_bytes(const uint8_t *data, size_t size)
{
	size_t n = size;

	if (size >= BYTES_AT + 2)
		n = (size_t)data[BYTES_AT] | (size_t)data[BYTES_AT + 1] << 8;
	return n < size ? n : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lndw_peer peer;
	struct lndw_msg msg;
	size_t n;

	check_encoded(data, size);
	nr_sending = doing = begun = ended = 0;
	now = 1;
	lndw_peer_init(&peer, &node, PEER);
	for (; size > 1; data += 1 + n, size -= 1 + n) {
		n = message_bytes(data + 1, size - 1);
		if (!lndw_decode(data + 1, (uint32_t)n, &msg)) {
			check_decoded(data + 1, (uint32_t)n, &msg);
			/* All of an immediate put's bytes can be read. */
			if (msg.kind == LNDW_IMMEDIATE)
				expect(lndw_head_bytes(msg.kind) + msg.bytes ==
				       n);
			expect(lndw_arrived(&peer, &msg, now) < LNDW_VERDICTS);
		}
		act(&peer, data[0]);
	}
	lndw_tx_end_all(&peer, LNDW_CLOSED);
	expect(begun == ended && !peer.outstanding);
	return 0;
}
