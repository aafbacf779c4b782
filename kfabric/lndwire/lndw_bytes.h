/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers on the LNet-like driver's wire: little endian, byte by byte, so that the
 * machine's order does not matter.
 *
 * Context: any.
 */
#ifndef LNDW_BYTES_H
#define LNDW_BYTES_H

#include <linux/types.h>

static inline __u64 lndw_get(const void *at, unsigned int n)
{
	const __u8 *b = at;
	__u64 value = 0;

	while (n)
		value = value << 8 | b[--n];
	return value;
}

static inline void lndw_put(void *at, unsigned int n, __u64 value)
{
	__u8 *b = at;
	unsigned int i;

	for (i = 0; i < n; i++, value >>= 8)
		b[i] = value & 0xff;
}

/* A field of a struct of the wire. */
#define LNDW_GET(field)	       lndw_get(&(field), sizeof(field))
#define LNDW_PUT(field, value) lndw_put(&(field), sizeof(field), value)

#endif
