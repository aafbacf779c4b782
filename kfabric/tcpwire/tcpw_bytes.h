/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers on the OFI tcp wire, in the byte order that a pair has agreed on.
 *
 * A host says its own order by a probe; a pair of different orders speaks big
 * endian. The order of the machine does not matter: a big-endian machine that
 * announces little endian is as good a peer.
 *
 * Context: any.
 */
#ifndef TCPW_BYTES_H
#define TCPW_BYTES_H

#include "../wire/wire_bytes.h"

enum tcpw_order {
	TCPW_LITTLE,
	TCPW_BIG,
};

/**
 * tcpw_order_of_pair - in which order two hosts speak
 * @ours: what we announced
 * @theirs: what the peer announced
 *
 * Context: any.
 * Return: the order of all operation headers, both ways.
 */
static inline enum tcpw_order tcpw_order_of_pair(enum tcpw_order ours,
						 enum tcpw_order theirs)
{
	return ours == theirs ? ours : TCPW_BIG;
}

/* Of @n bytes, 1 to 8, that need not be aligned. */
static inline __u64 tcpw_get(const __u8 *b, unsigned int n,
			     enum tcpw_order order)
{
	__u64 value = wire_get(b, n);

	return order == TCPW_BIG ? wire_swap(value) >> (64 - 8 * n) : value;
}

static inline void tcpw_put(__u8 *b, unsigned int n, enum tcpw_order order,
			    __u64 value)
{
	if (order == TCPW_BIG)
		value = wire_swap(value << (64 - 8 * n));
	wire_put(b, n, value);
}

#endif
