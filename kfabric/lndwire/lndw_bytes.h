/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers on the LNet-like driver's wire: little endian, whatever the
 * machine's order is.
 *
 * Context: any.
 */
#ifndef LNDW_BYTES_H
#define LNDW_BYTES_H

#include <linux/types.h>

/* Of a little-endian number the machine's, and the other way round. */
static inline __u64 lndw_little(__u64 value)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(value)
						      : value;
}

/* Of @n bytes, 1 to 8, that need not be aligned. */
static inline __u64 lndw_get(const void *at, unsigned int n)
{
	__u64 value = 0;

	__builtin_memcpy(&value, at, n);
	return lndw_little(value);
}

static inline void lndw_put(void *at, unsigned int n, __u64 value)
{
	value = lndw_little(value);
	__builtin_memcpy(at, &value, n);
}

/* A field of a struct of the wire. */
#define LNDW_GET(field)	       lndw_get(&(field), sizeof(field))
#define LNDW_PUT(field, value) lndw_put(&(field), sizeof(field), value)

#endif
