/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers on the reliable datagrams' wire: little endian, whatever the
 * machine's order is.
 *
 * Context: any.
 */
#ifndef RDMW_BYTES_H
#define RDMW_BYTES_H

#include <linux/types.h>

/* Of a little-endian number the machine's, and the other way round. */
static inline __u64 rdmw_little(__u64 value)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(value)
						      : value;
}

/* Of @n bytes, 1 to 8, that need not be aligned. */
static inline __u64 rdmw_get(const __u8 *b, unsigned int n)
{
	__u64 value = 0;

	__builtin_memcpy(&value, b, n);
	return rdmw_little(value);
}

static inline void rdmw_put(__u8 *b, unsigned int n, __u64 value)
{
	value = rdmw_little(value);
	__builtin_memcpy(b, &value, n);
}

static inline _Bool rdmw_is_zero(const __u8 *b, unsigned int n)
{
	while (n)
		if (b[--n])
			return 0;
	return 1;
}

#endif
