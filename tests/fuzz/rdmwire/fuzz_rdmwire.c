// SPDX-License-Identifier: BSD-2-Clause
/*
 * Feeds anything to one end of a connection of reliable datagrams: what is taken
 * stays within what was offered, and what decodes encodes to the same bytes.
 *
 * First a hello's bytes, then messages, each with a byte in front that says how
 * long it is and what is done after it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rdmw_flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rdmw_offer ours = { .instance = 77,
					.serial = 1,
					.features = RDMW_FEATURES,
					.window = 4,
					.piece_bytes = 256 };

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
	expect(flow->got <= flow->total && flow->total <= RDMW_MESSAGE_MAX);
	expect(!flow->in_message || flow->got < flow->total);
}

/* What the other half of this end does meanwhile. */
static void act(struct rdmw_flow *flow, uint8_t what)
{
	uint8_t out[RDMW_HEADER_BYTES];

	if ((what & 1) && flow->held)
		rdmw_flow_freed(flow);
	if (what & 2)
		rdmw_flow_credit(flow, out);
	if ((what & 4) && rdmw_flow_may_send(flow))
		rdmw_flow_data(flow, &(struct rdmw_message){ .total = 1 }, 0, 1,
			       out);
	if ((what & 24) == 24)
		rdmw_flow_bye(flow, out);
	check_flow(flow);
}

static void messages(struct rdmw_flow *flow, const uint8_t *data, size_t size)
{
	struct rdmw_piece piece;
	uint32_t n;

	while (size > 1) {
		n = RDMW_HEADER_BYTES + (data[0] >> 5) * 37;
		n = n < size - 1 ? n : (uint32_t)(size - 1);
		if (rdmw_flow_arrived(flow, data + 1, n, &piece))
			return;
		expect(piece.bytes == n - RDMW_HEADER_BYTES);
		expect(!(piece.flags & RDMW_TAGGED) ||
		       (flow->features & RDMW_FEATURE_TAGS));
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
