/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers on the OFI tcp wire, in the byte order that a pair has agreed on.
 *
 * A host says its own order by a probe; a pair of different orders speaks big
 * endian. Byte by byte, so that the order of the machine does not matter: a
 * big-endian machine that announces little endian is as good a peer.
 *
 * Context: any.
 */
#ifndef TCPW_BYTES_H
#define TCPW_BYTES_H

#include <linux/types.h>

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

static inline __u64 tcpw_get(const __u8 *b, unsigned int n,
			     enum tcpw_order order)
{
	__u64 value = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		value = value << 8 | b[order == TCPW_BIG ? i : n - 1 - i];
	return value;
}

static inline void tcpw_put(__u8 *b, unsigned int n, enum tcpw_order order,
			    __u64 value)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		b[order == TCPW_BIG ? n - 1 - i : i] = value & 0xff;
		value >>= 8;
	}
}

#endif
