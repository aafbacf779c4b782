/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operation headers of the OFI tcp wire <-> checked host structs.
 *
 * 16 bytes, then what the first 16 promise:
 *
 *    0 u8  version 3
 *    1 u8  operation
 *    2 u16 flags
 *    4 u8  operation data; 2 in a message: it is an acknowledgement
 *    5 u8  number of segments
 *    6 u8  size of the header
 *    7 u8  ignored: a libfabric built for debugging numbers its operations here
 *    8 u64 size of header and payload
 *   16 u64 data for the completion queue, if flag 1
 *      {u64 address, u64 length, u64 key} for each segment
 *
 * libfabric takes the number of segments in messages and read responses over
 * from whatever its memory was used for before: there it is 0 to 4 and means
 * nothing.
 *
 * Context: any.
 */
#ifndef TCPW_HDR_H
#define TCPW_HDR_H

#include <linux/types.h>
#include "tcpw_bytes.h"
#include "tcpw_err.h"

#define TCPW_HDR_MIN  16
#define TCPW_SEGS_MAX 4
#define TCPW_HDR_MAX  (TCPW_HDR_MIN + 8 + TCPW_SEGS_MAX * 24)

/* Flags: data for the peer's completion queue; an ACK when placed, durable. */
#define TCPW_F_CQ_DATA	0x1
#define TCPW_F_DELIVERY 0x4
#define TCPW_F_COMMIT	0x8
#define TCPW_F_ACKED	(TCPW_F_DELIVERY | TCPW_F_COMMIT)

enum tcpw_op {
	TCPW_MSG,
	TCPW_ACK,
	TCPW_READ_REQUEST,
	TCPW_READ_RESPONSE,
	TCPW_WRITE,
};

/**
 * struct tcpw_seg - a piece of remote memory
 * @addr: its offset in the registration
 * @bytes: its length
 * @key: of the registration
 */
struct tcpw_seg {
	__u64 addr;
	__u64 bytes;
	__u64 key;
};

/**
 * struct tcpw_hdr - an operation header
 * @op: the operation
 * @n_segs: segments; 0 unless @op is a read request or a write
 * @header_bytes: how long it is on the wire
 * @flags: TCPW_F_*
 * @cq_data: with TCPW_F_CQ_DATA
 * @payload_bytes: what follows the header
 * @rma_bytes: all segments together
 * @segs: where the payload goes, or what is read
 */
struct tcpw_hdr {
	enum tcpw_op op;
	__u8 n_segs;
	__u8 header_bytes;
	__u16 flags;
	__u64 cq_data;
	__u64 payload_bytes;
	__u64 rma_bytes;
	struct tcpw_seg segs[TCPW_SEGS_MAX];
};

/**
 * tcpw_hdr_begin - check what the first 16 bytes say
 * @bytes: TCPW_HDR_MIN of them
 * @order: of this connection
 * @header_bytes: set to the size of the whole header, at most TCPW_HDR_MAX
 *
 * Context: any.
 * Return: TCPW_OK, or what is wrong; @header_bytes is then untouched.
 */
enum tcpw_violation tcpw_hdr_begin(const __u8 *bytes, enum tcpw_order order,
				   __u32 *header_bytes);

/**
 * tcpw_hdr_decode - read a whole header
 * @bytes: as many as tcpw_hdr_begin() said
 * @order: of this connection
 * @out: filled when all is well
 *
 * Context: any.
 * Return: TCPW_OK, or what is wrong.
 */
enum tcpw_violation tcpw_hdr_decode(const __u8 *bytes, enum tcpw_order order,
				    struct tcpw_hdr *out);

/**
 * tcpw_hdr_encode - write a header
 * @hdr: op, flags, cq_data, payload_bytes (of a read request: 0) and segments
 * @order: of this connection
 * @out: TCPW_HDR_MAX bytes
 *
 * Context: any.
 * Return: bytes written, or -EINVAL for what tcpw_hdr_decode() would refuse.
 */
int tcpw_hdr_encode(const struct tcpw_hdr *hdr, enum tcpw_order order,
		    __u8 *out);

#endif
