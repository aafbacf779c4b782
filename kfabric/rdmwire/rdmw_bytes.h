/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers on the reliable datagrams' wire: little endian, byte by byte, so that
 * neither alignment nor the machine's order matters.
 *
 * Context: any.
 */
#ifndef RDMW_BYTES_H
#define RDMW_BYTES_H

#include <linux/types.h>

static inline __u64 rdmw_get(const __u8 *b, unsigned int n)
{
	__u64 value = 0;

	while (n)
		value = value << 8 | b[--n];
	return value;
}

static inline void rdmw_put(__u8 *b, unsigned int n, __u64 value)
{
	unsigned int i;

	for (i = 0; i < n; i++, value >>= 8)
		b[i] = value & 0xff;
}

static inline _Bool rdmw_is_zero(const __u8 *b, unsigned int n)
{
	while (n)
		if (b[--n])
			return 0;
	return 1;
}

#endif
