/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receiving end of a connection: bytes in any split, operations out.
 *
 * It moves no bytes and owns no memory but a header's. Its owner asks what it
 * wants, does that, says so, and asks again:
 *
 *   HEADER   receive into want.buf                       tcpw_rx_header()
 *   TARGET   the header is whole and sound: look keys,
 *            ranges, a posted receive, room for a
 *            response up; then let it go on, or refuse    tcpw_rx_target()
 *   PAYLOAD  receive at want.offset of segment want.seg   tcpw_rx_payload()
 *   FINISH   the operation is over: act upon it           tcpw_rx_finish()
 *   END      nothing, for ever: rx.violation says why
 *
 * Each operation has one TARGET (an acknowledgement has none) and one FINISH.
 * An owner that has no room waits at TARGET and receives nothing meanwhile.
 * Messages and read responses have one segment, number 0. No byte is ever
 * skipped: what may not be placed ends the connection.
 *
 * Context: any. Locking: the owner's lock of the connection.
 */
#ifndef TCPW_RX_H
#define TCPW_RX_H

#include <linux/types.h>
#include "tcpw_hdr.h"
#include "tcpw_tracker.h"

enum tcpw_want_kind {
	TCPW_WANT_HEADER,
	TCPW_WANT_TARGET,
	TCPW_WANT_PAYLOAD,
	TCPW_WANT_FINISH,
	TCPW_WANT_END,
};

/**
 * struct tcpw_want - what must happen next
 * @kind: see above
 * @buf: HEADER: where the bytes go
 * @bytes: HEADER, PAYLOAD: how many at most, never 0
 * @seg: PAYLOAD: index into rx.hdr.segs, or 0
 * @offset: PAYLOAD: within the segment
 */
struct tcpw_want {
	enum tcpw_want_kind kind;
	__u8 *buf;
	__u64 bytes;
	__u32 seg;
	__u64 offset;
};

/**
 * struct tcpw_rx - an operation that is arriving
 * @buf: its header's bytes
 * @have: how many
 * @need: how many until the next look
 * @order: of the connection
 * @kind: what is wanted
 * @hdr: from TARGET on
 * @seg: segment that is being filled
 * @offset: bytes of it that have come
 * @due: ACK at FINISH: what it acknowledges; read response from TARGET on:
 *	which read it answers
 * @tracker: what the peer owes
 * @violation: at END
 */
struct tcpw_rx {
	__u8 buf[TCPW_HDR_MAX];
	__u8 have;
	__u8 need;
	enum tcpw_order order;
	enum tcpw_want_kind kind;
	struct tcpw_hdr hdr;
	__u32 seg;
	__u64 offset;
	struct tcpw_due *due;
	struct tcpw_tracker *tracker;
	enum tcpw_violation violation;
};

void tcpw_rx_init(struct tcpw_rx *rx, enum tcpw_order order,
		  struct tcpw_tracker *tracker);

void tcpw_rx_want(struct tcpw_rx *rx, struct tcpw_want *want);

/**
 * tcpw_rx_header - header bytes have been put at want.buf
 * @rx: wants HEADER
 * @n: how many, at most want.bytes
 *
 * Context: under the connection's lock.
 * Return: TCPW_OK, or why the connection must end.
 */
enum tcpw_violation tcpw_rx_header(struct tcpw_rx *rx, __u32 n);

/**
 * tcpw_rx_target - the owner has decided on an operation
 * @rx: wants TARGET
 * @refusal: TCPW_OK: let it come; else why the connection must end
 *
 * Context: under the connection's lock.
 */
void tcpw_rx_target(struct tcpw_rx *rx, enum tcpw_violation refusal);

/**
 * tcpw_rx_payload - payload bytes have been placed
 * @rx: wants PAYLOAD
 * @n: how many, at most want.bytes
 *
 * Context: under the connection's lock.
 */
void tcpw_rx_payload(struct tcpw_rx *rx, __u64 n);

/**
 * tcpw_rx_finish - the owner has acted upon an operation
 * @rx: wants FINISH
 *
 * A read that was answered is struck out of the tracker; its entry is the
 * owner's again.
 *
 * Context: under the connection's lock.
 */
void tcpw_rx_finish(struct tcpw_rx *rx);

#endif
