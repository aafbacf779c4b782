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

/*
 * By shifts, of which compilers make one instruction where there is one: else the
 * built-in function is a call of libgcc, which kernels do not have.
 */
static inline __u64 tcpw_swap(__u64 value)
{
	value = (value & 0x00ff00ff00ff00ff) << 8 |
		(value >> 8 & 0x00ff00ff00ff00ff);
	value = (value & 0x0000ffff0000ffff) << 16 |
		(value >> 16 & 0x0000ffff0000ffff);
	return value << 32 | value >> 32;
}

/* Of a little-endian number the machine's, and the other way round. */
static inline __u64 tcpw_little(__u64 value)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? tcpw_swap(value)
						      : value;
}

/* Of @n bytes, 1 to 8, that need not be aligned. */
static inline __u64 tcpw_get(const __u8 *b, unsigned int n,
			     enum tcpw_order order)
{
	__u64 value = 0;

	__builtin_memcpy(&value, b, n);
	value = tcpw_little(value);
	return order == TCPW_BIG ? tcpw_swap(value) >> (64 - 8 * n) : value;
}

static inline void tcpw_put(__u8 *b, unsigned int n, enum tcpw_order order,
			    __u64 value)
{
	if (order == TCPW_BIG)
		value = tcpw_swap(value << (64 - 8 * n));
	value = tcpw_little(value);
	__builtin_memcpy(b, &value, n);
}

#endif
