// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receive machine's steps.
 *
 * Context: any. Locking: the owner's.
 */
#include <linux/string.h>
#include "tcpw_rx.h"

static void tcpw_rx_begin_header(struct tcpw_rx *rx)
{
	rx->have = 0;
	rx->need = TCPW_HDR_MIN;
	rx->seg = 0;
	rx->offset = 0;
	rx->due = NULL;
	rx->kind = TCPW_WANT_HEADER;
}

void tcpw_rx_init(struct tcpw_rx *rx, enum tcpw_order order,
		  struct tcpw_tracker *tracker)
{
	memset(rx, 0, sizeof(*rx));
	rx->order = order;
	rx->tracker = tracker;
	tcpw_rx_begin_header(rx);
}

static enum tcpw_violation tcpw_rx_end(struct tcpw_rx *rx,
				       enum tcpw_violation why)
{
	rx->violation = why;
	rx->kind = TCPW_WANT_END;
	return why;
}

static __u64 tcpw_rx_seg_bytes(const struct tcpw_rx *rx)
{
	return rx->hdr.n_segs ? rx->hdr.segs[rx->seg].bytes
			      : rx->hdr.payload_bytes;
}

void tcpw_rx_want(struct tcpw_rx *rx, struct tcpw_want *want)
{
	memset(want, 0, sizeof(*want));
	want->kind = rx->kind;
	if (rx->kind == TCPW_WANT_HEADER) {
		want->buf = rx->buf + rx->have;
		want->bytes = (__u64)(rx->need - rx->have);
	} else if (rx->kind == TCPW_WANT_PAYLOAD) {
		want->seg = rx->seg;
		want->offset = rx->offset;
		want->bytes = tcpw_rx_seg_bytes(rx) - rx->offset;
	}
}

/* The header is whole: is it one that may come now? */
static enum tcpw_violation tcpw_rx_validate_header(struct tcpw_rx *rx)
{
	rx->kind = TCPW_WANT_TARGET;
	switch (rx->hdr.op) {
	case TCPW_ACK:
		rx->due = tcpw_tracker_take_ack(rx->tracker);
		if (!rx->due)
			return tcpw_rx_end(rx, TCPW_UNASKED_ACK);
		rx->kind = TCPW_WANT_FINISH;
		return TCPW_OK;
	case TCPW_READ_RESPONSE:
		rx->due = tcpw_tracker_first_read(rx->tracker);
		if (!rx->due)
			return tcpw_rx_end(rx, TCPW_UNASKED_RESPONSE);
		if (rx->due->bytes != rx->hdr.payload_bytes)
			return tcpw_rx_end(rx, TCPW_RESPONSE_BYTES);
		return TCPW_OK;
	default:
		return TCPW_OK;
	}
}

enum tcpw_violation tcpw_rx_header(struct tcpw_rx *rx, __u32 n)
{
	enum tcpw_violation why;
	__u32 size;

	rx->have = (__u8)(rx->have + n);
	if (rx->have < rx->need)
		return TCPW_OK;
	if (rx->need == TCPW_HDR_MIN) {
		why = tcpw_hdr_begin(rx->buf, rx->order, &size);
		if (why)
			return tcpw_rx_end(rx, why);
		rx->need = (__u8)size;
		if (rx->have < rx->need)
			return TCPW_OK;
	}
	why = tcpw_hdr_decode(rx->buf, rx->order, &rx->hdr);
	if (why)
		return tcpw_rx_end(rx, why);
	return tcpw_rx_validate_header(rx);
}

/* Goes to the next byte that is wanted; empty segments have none. */
static void tcpw_rx_advance(struct tcpw_rx *rx)
{
	rx->kind = TCPW_WANT_PAYLOAD;
	while (rx->offset == tcpw_rx_seg_bytes(rx)) {
		rx->offset = 0;
		rx->seg++;
		if (rx->seg >= rx->hdr.n_segs) {
			rx->kind = TCPW_WANT_FINISH;
			break;
		}
	}
}

void tcpw_rx_target(struct tcpw_rx *rx, enum tcpw_violation refusal)
{
	if (refusal)
		tcpw_rx_end(rx, refusal);
	else if (rx->hdr.payload_bytes)
		tcpw_rx_advance(rx);
	else
		rx->kind = TCPW_WANT_FINISH;
}

void tcpw_rx_payload(struct tcpw_rx *rx, __u64 n)
{
	rx->offset += n;
	tcpw_rx_advance(rx);
}

void tcpw_rx_finish(struct tcpw_rx *rx)
{
	if (rx->hdr.op == TCPW_READ_RESPONSE)
		tcpw_tracker_take_read(rx->tracker);
	tcpw_rx_begin_header(rx);
}
