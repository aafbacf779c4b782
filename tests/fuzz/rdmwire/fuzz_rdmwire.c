// SPDX-License-Identifier: BSD-2-Clause
/*
 * Feeds anything to one end of a connection of reliable datagrams: what is taken
 * stays within what was offered or granted, and what decodes encodes to the same bytes.
 *
 * First a hello's bytes, then messages, each with a byte in front that says how
 * long it is and what is done after it; or, with all of BARE in it, that completion
 * data and bytes without a header follow.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rdmw_atomic.h"
#include "rdmw_grant.h"

#define BARE 14 /* of a byte in front */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rdmw_offer ours = { .instance = 77,
					.serial = 1,
					.features = RDMW_FEATURES,
					.window = 4,
					.piece_bytes = 256,
					.last_ctx = 2 };

static void expect(int truth)
{
	if (!truth)
		abort();
}

static void check_hello(const uint8_t *data, const struct rdmw_hello *hello)
{
	uint8_t again[RDMW_HELLO_BYTES];

	rdmw_hello_pack(hello, again);
	expect(!memcmp(again, data, sizeof(again)));
}

static void check_answers(const uint8_t *data, uint32_t size)
{
	uint8_t again[RDMW_WELCOME_BYTES];
	enum rdmw_reason reason;
	struct rdmw_offer offer;

	if (!rdmw_welcome_parse(data, size, &ours, &offer)) {
		expect(!(offer.features & ~ours.features));
		rdmw_welcome_pack(&offer, again);
		expect(!memcmp(again, data, RDMW_WELCOME_BYTES));
	}
	if (!rdmw_refuse_parse(data, size, &reason)) {
		rdmw_refuse_pack(reason, again);
		expect(!memcmp(again, data, RDMW_REFUSE_BYTES));
	}
}

static void check_flow(const struct rdmw_flow *flow)
{
	expect(flow->held + flow->owed <= flow->window_in);
	expect(flow->credits <= flow->window_out);
	expect(flow->got <= flow->total &&
	       flow->total <= (__u64)RDMW_MESSAGE_MAX + RDMW_HEAD_MAX);
	expect(flow->asked <= RDMW_ASKED_MAX && flow->due <= RDMW_ASKED_MAX);
	expect(!flow->in_message || flow->got < flow->total);
}

/* What the other half of this end does meanwhile. */
static void act(struct rdmw_flow *flow, uint8_t what)
{
	const struct rdmw_message read = { .kind = RDMW_READ, .total = 32 };
	struct rdmw_message answer = { .kind = RDMW_ANSWER };
	uint8_t out[RDMW_HEADER_BYTES];

	if ((what & 1) && flow->held)
		rdmw_flow_freed(flow);
	if ((what & 6) == 6 && rdmw_flow_may_grow(flow))
		rdmw_flow_grow(flow, 1);
	if (what & 2)
		rdmw_flow_credit(flow, out);
	if ((what & 4) && rdmw_flow_may_send(flow, RDMW_DATA))
		rdmw_flow_data(flow,
			       &(struct rdmw_message){ .kind = RDMW_DATA,
						       .total = 1 },
			       0, 1, out);
	if ((what & 24) == 24)
		rdmw_flow_bye(flow, out);
	/* One that is revoked goes back sooner or later; ours is, again and again. */
	if ((what & 25) == 25 && (flow->features & RDMW_FEATURE_GRANT))
		rdmw_flow_revoke(flow, what, out);
	/* Ask for what may be answered, answer what was asked. */
	if ((what & 24) == 8 && (flow->features & RDMW_FEATURE_RMA) &&
	    rdmw_flow_may_send(flow, RDMW_READ))
		rdmw_flow_data(flow, &read, 0, (__u16)read.total, out);
	if ((what & 24) == 16 && flow->due &&
	    rdmw_flow_may_send(flow, RDMW_ANSWER)) {
		if (flow->features & RDMW_FEATURE_JOINT)
			answer.tag = flow->due - 1U;
		rdmw_flow_data(flow, &answer, 0, 0, out);
	}
	check_flow(flow);
}

/* What a request is for encodes to the same bytes, and has no byte twice. */
static void check_head(const struct rdmw_piece *piece, const uint8_t *bytes)
{
	uint8_t again[RDMW_HEAD_MAX];
	struct rdmw_range range;
	struct rdmw_head head;
	__u64 len, at = 0, n;

	if (rdmw_head_parse(piece, bytes, &head, &len))
		return;
	expect(head.count <= RDMW_RANGES_MAX && len <= RDMW_MESSAGE_MAX);
	expect(!memcmp(again, bytes, rdmw_head_pack(&head, again)));
	for (n = len; rdmw_head_at(&head, at, &n, &range); n = len - at) {
		expect(n && n == range.len);
		at += n;
	}
	expect(at == len);
}

/* An atomic operation is one that there is, of elements that have addresses. */
static void check_atomic(const struct rdmw_piece *piece, const uint8_t *bytes)
{
	uint8_t again[RDMW_ATOMIC_MAX];
	struct rdmw_atomic a;
	uint32_t n;

	if (rdmw_atomic_parse(piece, bytes, &a))
		return;
	n = rdmw_elements_bytes(&a);
	expect(a.type < RDMW_TYPES && a.op < RDMW_OPS && n &&
	       n <= RDMW_ELEMENTS_MAX && a.addr + n >= a.addr);
	expect(rdmw_atomic_bytes(&a) == piece->bytes);
	rdmw_atomic_pack(&a, again);
	expect(!memcmp(again, bytes, piece->bytes));
}

/* A grant, and what is done with it; 0: the connection is over. */
static int check_grant(struct rdmw_flow *flow, struct rdmw_grants *grants,
		       const struct rdmw_piece *piece, const uint8_t *bytes,
		       uint8_t what)
{
	const struct rdmw_range range = { .addr = piece->word,
					  .len = piece->bytes,
					  .key = piece->word };
	uint8_t again[RDMW_GRANT_BYTES], out[RDMW_HEADER_BYTES];
	struct rdmw_grant *grant;
	uint32_t i, n = 0;

	if (piece->kind == RDMW_GRANT && rdmw_grants_add(grants, piece, bytes))
		return 0;
	if (piece->kind == RDMW_REVOKE &&
	    rdmw_grants_revoke(grants, piece->word))
		return 0;
	for (i = 0; i < RDMW_GRANTS_MAX && piece->kind == RDMW_GRANT; i++) {
		grant = &grants->grants[i];
		rdmw_grant_pack(grant, again);
		n += grant->access && !memcmp(again, bytes, sizeof(again));
	}
	expect(piece->kind != RDMW_GRANT || n == 1);
	grant = rdmw_grants_find(grants, &range, RDMW_MAY_READ);
	expect(!grant || (!grant->is_revoked && range.addr <= grant->len &&
			  range.len <= grant->len - range.addr &&
			  grant->addr + range.addr >= grant->addr));
	if ((what & 1) && flow->is_revoked &&
	    rdmw_grants_drop(grants, flow->revoked)) {
		rdmw_flow_return(flow, out);
		expect(out[1] == RDMW_RETURN && !flow->is_revoked);
	}
	return 1;
}

/* The bytes that it used up; 0: the connection is over. */
static size_t bare(struct rdmw_flow *flow, const uint8_t *data, size_t size)
{
	const __u16 held = flow->held;
	struct rdmw_piece piece;
	uint32_t n = (data[0] >> 5) * 37 + 1, word;

	if (size < 1 + sizeof(word))
		return 0;
	memcpy(&word, data + 1, sizeof(word));
	if (rdmw_flow_bare_arrived(flow, word, n, &piece))
		return 0;
	expect(flow->features & RDMW_FEATURE_BARE);
	expect(piece.bytes == n && flow->held == held + 1);
	expect((piece.kind == RDMW_DATA && (piece.flags & RDMW_FIRST)) ||
	       !(piece.flags & ~RDMW_LAST));
	check_flow(flow);
	act(flow, data[0] & 1);
	return 1 + sizeof(word);
}

static void messages(struct rdmw_flow *flow, const uint8_t *data, size_t size)
{
	struct rdmw_grants grants = { 0 };
	struct rdmw_piece piece;
	uint32_t n;

	while (size > 1) {
		if ((data[0] & BARE) == BARE) {
			n = (uint32_t)bare(flow, data, size);
			if (!n)
				return;
			data += n;
			size -= n;
			continue;
		}
		n = RDMW_HEADER_BYTES + ((data[0] >> 5) == 7
						 ? RDMW_GRANT_BYTES
						 : (data[0] >> 5) * 37);
		n = n < size - 1 ? n : (uint32_t)(size - 1);
		if (rdmw_flow_arrived(flow, data + 1, n, &piece))
			return;
		expect(piece.bytes == n - RDMW_HEADER_BYTES);
		if ((piece.kind == RDMW_WRITE || piece.kind == RDMW_READ) &&
		    (piece.flags & RDMW_FIRST))
			check_head(&piece, data + 1 + RDMW_HEADER_BYTES);
		if (piece.kind == RDMW_ATOMIC) {
			expect(flow->features & RDMW_FEATURE_ATOMIC);
			check_atomic(&piece, data + 1 + RDMW_HEADER_BYTES);
		} else if (piece.kind >= RDMW_GRANT) {
			expect(flow->features & RDMW_FEATURE_GRANT);
			if (!check_grant(flow, &grants, &piece,
					 data + 1 + RDMW_HEADER_BYTES, data[0]))
				return;
		}
		expect(piece.kind != RDMW_CREDIT || !piece.at ||
		       ((flow->features & RDMW_FEATURE_GROW) &&
			flow->window_out <= RDMW_WINDOW_GROWN));
		/* To several requests. */
		expect(piece.kind != RDMW_ANSWER || !piece.tag ||
		       ((flow->features & RDMW_FEATURE_JOINT) && !piece.bytes &&
			(piece.flags & RDMW_FIRST)));
		expect(!(piece.flags & RDMW_TAGGED) ||
		       (flow->features & RDMW_FEATURE_TAGS));
		expect(!piece.ctx || ((flow->features & RDMW_FEATURE_CTX) &&
				      piece.ctx <= ours.last_ctx &&
				      (piece.flags & RDMW_FIRST)));
		check_flow(flow);
		act(flow, data[0]);
		data += 1 + n;
		size -= 1 + n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rdmw_peer peer = { .instance = 0 };
	struct rdmw_hello hello;
	struct rdmw_flow flow;

	check_answers(data, (uint32_t)size);
	if (rdmw_hello_parse(data, (uint32_t)size, &hello))
		return 0;
	check_hello(data, &hello);
	/* The second time it is the same one, and given up. */
	if (rdmw_decide(&peer, ours.instance, RDMW_NONE, &hello.offer) ==
		    RDMW_ACCEPT &&
	    hello.offer.serial != UINT64_MAX)
		expect(rdmw_decide(&peer, ours.instance, RDMW_LINKED,
				   &hello.offer) == RDMW_REFUSE_STALE);
	rdmw_flow_init(&flow, &ours, &hello.offer);
	messages(&flow, data + RDMW_HELLO_BYTES, size - RDMW_HELLO_BYTES);
	return 0;
}
