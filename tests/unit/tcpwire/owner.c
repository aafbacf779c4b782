// SPDX-License-Identifier: BSD-2-Clause
/* Feeding a receive machine, and its diary. */
#include "owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[] = {
	[TCPW_MSG] = "message",	      [TCPW_ACK] = "ack",
	[TCPW_READ_REQUEST] = "read", [TCPW_READ_RESPONSE] = "response",
	[TCPW_WRITE] = "write",
};

static void note(struct owner *o, const char *text)
{
	size_t n = strlen(text);

	if (n >= sizeof(o->log) - o->log_len)
		return;
	memcpy(o->log + o->log_len, text, n + 1);
	o->log_len += n;
}

static void note_number(struct owner *o, const char *before, uint64_t value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%llx", before,
		 (unsigned long long)value);
	note(o, text);
}

/* By hand: the fuzzer writes a lot of them. */
static void note_byte(struct owner *o, uint8_t byte)
{
	if (sizeof(o->log) - o->log_len < 3)
		return;
	o->log[o->log_len++] = "0123456789abcdef"[byte >> 4];
	o->log[o->log_len++] = "0123456789abcdef"[byte & 15];
	o->log[o->log_len] = '\0';
}

/* Against what the header promises, not what the machine says of itself. */
static void expect(int truth)
{
	if (!truth)
		abort();
}

void owner_init(struct owner *o, enum tcpw_order order, unsigned int n_acks,
		const uint64_t *reads, unsigned int n_reads)
{
	unsigned int i;

	memset(o, 0, offsetof(struct owner, log));
	o->log[0] = '\0';
	o->log_len = 0;
	tcpw_tracker_init(&o->tracker, OWNER_DUES);
	for (i = 0; i < n_acks; i++)
		expect(!tcpw_tracker_add_ack(&o->tracker, &o->acks[i]));
	for (i = 0; i < n_reads; i++)
		expect(!tcpw_tracker_add_read(&o->tracker, &o->reads[i],
					      reads[i]));
	tcpw_rx_init(&o->rx, order, &o->tracker);
}

static void note_header(struct owner *o)
{
	const struct tcpw_hdr *hdr = &o->rx.hdr;
	unsigned int i;

	note(o, op_names[hdr->op]);
	if (hdr->flags)
		note_number(o, " flags ", hdr->flags);
	if (hdr->flags & TCPW_F_CQ_DATA)
		note_number(o, " data ", hdr->cq_data);
	for (i = 0; i < hdr->n_segs; i++) {
		note_number(o, " ", hdr->segs[i].addr);
		note_number(o, "+", hdr->segs[i].bytes);
		note_number(o, "@", hdr->segs[i].key);
	}
	note(o, ":");
}

static void target(struct owner *o)
{
	const struct tcpw_hdr *hdr = &o->rx.hdr;

	note_header(o);
	o->targets++;
	o->seg = 0;
	o->offset = 0;
	o->left = hdr->payload_bytes;
	if (hdr->op == TCPW_READ_RESPONSE)
		expect(o->rx.due && o->rx.due->bytes == o->left);
	tcpw_rx_target(&o->rx, TCPW_OK);
}

static void payload(struct owner *o, const struct tcpw_want *want,
		    const uint8_t *bytes, size_t n)
{
	const struct tcpw_hdr *hdr = &o->rx.hdr;
	size_t i;

	while (hdr->n_segs && o->offset == hdr->segs[o->seg].bytes) {
		o->seg++;
		o->offset = 0;
		expect(o->seg < hdr->n_segs);
	}
	expect(want->seg == o->seg && want->offset == o->offset);
	expect(want->bytes <= o->left);
	if (hdr->n_segs)
		expect(want->bytes == hdr->segs[o->seg].bytes - o->offset);
	for (i = 0; i < n; i++)
		note_byte(o, bytes[i]);
	o->offset += n;
	o->left -= n;
	tcpw_rx_payload(&o->rx, n);
}

static void finish(struct owner *o)
{
	if (o->rx.hdr.op == TCPW_ACK) {
		expect(o->rx.due != NULL);
		note_number(o, "ack ", (uint64_t)(o->rx.due - o->acks));
		note(o, ":");
	} else {
		expect(o->left == 0);
	}
	note(o, "\n");
	tcpw_rx_finish(&o->rx);
}

/* One step; returns how many bytes it took, or -1 when there is no more. */
static long step(struct owner *o, const uint8_t *bytes, size_t len)
{
	struct tcpw_want want;
	size_t n;

	tcpw_rx_want(&o->rx, &want);
	n = want.bytes < len ? (size_t)want.bytes : len;
	switch (want.kind) {
	case TCPW_WANT_HEADER:
		expect(want.bytes > 0 && want.bytes <= TCPW_HDR_MAX);
		if (!n)
			return -1;
		memcpy(want.buf, bytes, n);
		if (tcpw_rx_header(&o->rx, (uint32_t)n)) {
			note(o, tcpw_violation_text(o->rx.violation));
			note(o, "\n");
		}
		return (long)n;
	case TCPW_WANT_TARGET:
		target(o);
		return 0;
	case TCPW_WANT_PAYLOAD:
		expect(want.bytes > 0);
		if (!n)
			return -1;
		payload(o, &want, bytes, n);
		return (long)n;
	case TCPW_WANT_FINISH:
		finish(o);
		return 0;
	default:
		expect(o->rx.violation != TCPW_OK);
		return -1;
	}
}

void owner_feed(struct owner *o, const uint8_t *bytes, size_t len, size_t chunk)
{
	while (len) {
		size_t n = len < chunk ? len : chunk;
		size_t at = 0;
		long took;

		do {
			took = step(o, bytes + at, n - at);
			if (took > 0)
				at += (size_t)took;
		} while (took >= 0);
		if (at < n)
			return;
		bytes += n;
		len -= n;
	}
}
