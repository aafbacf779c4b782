// SPDX-License-Identifier: BSD-2-Clause
/*
 * Feeds anything to the receive machine in one piece, byte by byte, and in
 * pieces that the input chooses: what comes out must be the same. What decodes
 * must encode to the same bytes. The same for connection messages.
 *
 * The first byte says the order and what is owed, the second the pieces.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "owner.h"
#include "tcpw_cm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int truth)
{
	if (!truth)
		abort();
}

static void begin(struct owner *o, uint8_t how)
{
	static const uint64_t reads[] = { 8, 0, 16, 1 };

	owner_init(o, how & 1 ? TCPW_BIG : TCPW_LITTLE, how >> 1 & 3, reads,
		   how >> 3 & 3);
}

static void same(const struct owner *a, const struct owner *b)
{
	expect(a->log_len == b->log_len);
	expect(!memcmp(a->log, b->log, a->log_len));
	expect(a->rx.kind == b->rx.kind);
	expect(a->rx.violation == b->rx.violation);
	expect(a->left == b->left && a->offset == b->offset);
	expect(a->tracker.acks.n == b->tracker.acks.n);
	expect(a->tracker.reads.n == b->tracker.reads.n);
}

static void operations(uint8_t how, uint8_t chunk, const uint8_t *data,
		       size_t size)
{
	static struct owner once, bytes, pieces;

	begin(&once, how);
	begin(&bytes, how);
	begin(&pieces, how);
	owner_feed(&once, data, size, size);
	owner_feed(&bytes, data, size, 1);
	owner_feed(&pieces, data, size, chunk ? chunk : 1);
	same(&once, &bytes);
	same(&once, &pieces);
}

static void headers(uint8_t how, const uint8_t *data, size_t size)
{
	enum tcpw_order order = how & 1 ? TCPW_BIG : TCPW_LITTLE;
	uint8_t encoded[TCPW_HDR_MAX];
	struct tcpw_hdr hdr;
	uint32_t bytes;

	if (size < TCPW_HDR_MIN || tcpw_hdr_begin(data, order, &bytes))
		return;
	expect(bytes >= TCPW_HDR_MIN && bytes <= TCPW_HDR_MAX);
	if (size < bytes || tcpw_hdr_decode(data, order, &hdr))
		return;
	expect(tcpw_hdr_encode(&hdr, order, encoded) == (int)bytes);
	if (!hdr.n_segs)
		encoded[5] = data[5];
	encoded[7] = data[7];
	expect(!memcmp(encoded, data, bytes));
}

/* Returns how many bytes it took. */
static size_t feed_cm(struct tcpw_cm_rx *rx, const uint8_t *data, size_t size,
		      size_t chunk)
{
	size_t at = 0;
	uint8_t *to;

	while (at < size) {
		size_t n = tcpw_cm_rx_want(rx, &to);

		if (!n)
			break;
		n = n < chunk ? n : chunk;
		n = n < size - at ? n : size - at;
		memcpy(to, data + at, n);
		tcpw_cm_rx_fed(rx, (uint32_t)n);
		at += n;
	}
	return at;
}

static void connection(uint8_t how, const uint8_t *data, size_t size)
{
	uint8_t encoded[TCPW_CM_MAX];
	struct tcpw_cm_rx once, bytes;
	const uint8_t *private;
	uint8_t *to;
	uint32_t n;
	size_t took;

	tcpw_cm_rx_init(&once, how >> 1 & 1);
	tcpw_cm_rx_init(&bytes, how >> 1 & 1);
	took = feed_cm(&once, data, size, size);
	expect(took == feed_cm(&bytes, data, size, 1));
	expect(took <= TCPW_CM_MAX && !memcmp(&once, &bytes, sizeof(once)));
	if (once.violation || tcpw_cm_rx_want(&once, &to))
		return;
	private = tcpw_cm_rx_data(&once, &n);
	expect(took == TCPW_CM_HEADER_BYTES + n);
	expect(tcpw_cm_encode(tcpw_cm_rx_type(&once), tcpw_cm_rx_order(&once),
			      private, n, encoded) == (int)took);
	if (tcpw_cm_rx_type(&once) == TCPW_CM_REJECT)
		memcpy(encoded + 24, data + 24, 8);
	expect(!memcmp(encoded, data, took));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size < 3)
		return 0;
	/* Exactly as long as it is, so that a read beyond it is seen. */
	copy = malloc(size - 2);
	if (!copy)
		return 0;
	memcpy(copy, data + 2, size - 2);
	operations(data[0], data[1], copy, size - 2);
	headers(data[0], copy, size - 2);
	connection(data[0], copy, size - 2);
	free(copy);
	return 0;
}
