/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The message that makes a connection: request, accept or reject, with up to
 * 256 bytes of private data.
 *
 * 32 bytes and the data: version 3, type, be16 data length, 20 zero bytes, a
 * 64-bit 1 in the sender's byte order, data. A reject has no probe (0).
 *
 * Context: any; a struct tcpw_cm_rx belongs to one thread at a time.
 */
#ifndef TCPW_CM_H
#define TCPW_CM_H

#include <linux/types.h>
#include "tcpw_bytes.h"
#include "tcpw_err.h"

#define TCPW_CM_HEADER_BYTES 32
#define TCPW_CM_DATA_MAX     256
#define TCPW_CM_MAX	     (TCPW_CM_HEADER_BYTES + TCPW_CM_DATA_MAX)

enum tcpw_cm_type {
	TCPW_CM_REQUEST = 0,
	TCPW_CM_ACCEPT = 1,
	TCPW_CM_REJECT = 6,
};

/**
 * struct tcpw_cm_rx - a connection message that is arriving
 * @bytes: what has arrived
 * @have: bytes of it
 * @need: bytes until the next look: the header, then all
 * @active: we sent the request and wait for the answer
 * @violation: why it is none
 */
struct tcpw_cm_rx {
	__u8 bytes[TCPW_CM_MAX];
	__u16 have;
	__u16 need;
	_Bool active;
	enum tcpw_violation violation;
};

/**
 * tcpw_cm_encode - write a connection message
 * @type: of the message
 * @order: that we announce
 * @data: private data, may be NULL when there is none
 * @data_bytes: how much
 * @out: TCPW_CM_MAX bytes
 *
 * Context: any.
 * Return: bytes written, or -EMSGSIZE for more data than fits.
 */
int tcpw_cm_encode(enum tcpw_cm_type type, enum tcpw_order order,
		   const void *data, __u32 data_bytes, __u8 *out);

/**
 * tcpw_cm_rx_init - begin to receive a connection message
 * @rx: to set up
 * @active: we sent the request: accept or reject is due, else a request
 *
 * Context: any.
 */
void tcpw_cm_rx_init(struct tcpw_cm_rx *rx, _Bool active);

/**
 * tcpw_cm_rx_want - where the next bytes go
 * @rx: the message
 * @to: set to where they go
 *
 * Never more than the message has: what follows it is not ours.
 *
 * Context: any.
 * Return: how many bytes at most; 0 when the message is whole or violates.
 */
__u32 tcpw_cm_rx_want(struct tcpw_cm_rx *rx, __u8 **to);

/**
 * tcpw_cm_rx_fed - bytes have been put where tcpw_cm_rx_want() said
 * @rx: the message
 * @n: how many, at most what was wanted
 *
 * Context: any.
 * Return: TCPW_OK, or why the connection must end.
 */
enum tcpw_violation tcpw_cm_rx_fed(struct tcpw_cm_rx *rx, __u32 n);

/* What follows is asked of a whole message. */
enum tcpw_cm_type tcpw_cm_rx_type(const struct tcpw_cm_rx *rx);
enum tcpw_order tcpw_cm_rx_order(const struct tcpw_cm_rx *rx);
const __u8 *tcpw_cm_rx_data(const struct tcpw_cm_rx *rx, __u32 *data_bytes);

#endif
