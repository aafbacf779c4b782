/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers on the wires of kfabric: little endian, whatever the machine's order is.
 *
 * Context: any.
 */
#ifndef KFABRIC_WIRE_BYTES_H
#define KFABRIC_WIRE_BYTES_H

#include <linux/types.h>

/*
 * By shifts, of which compilers make one instruction where there is one: else the
 * built-in function is a call of libgcc, which kernels do not have.
 */
static inline __u64 wire_swap(__u64 value)
{
	value = (value & 0x00ff00ff00ff00ff) << 8 |
		(value >> 8 & 0x00ff00ff00ff00ff);
	value = (value & 0x0000ffff0000ffff) << 16 |
		(value >> 16 & 0x0000ffff0000ffff);
	return value << 32 | value >> 32;
}

/* Of a little-endian number the machine's, and the other way round. */
static inline __u64 wire_little(__u64 value)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? wire_swap(value)
						      : value;
}

/* Of @n bytes, 1 to 8, that need not be aligned. */
static inline __u64 wire_get(const void *at, unsigned int n)
{
	__u64 value = 0;

	__builtin_memcpy(&value, at, n);
	return wire_little(value);
}

static inline void wire_put(void *at, unsigned int n, __u64 value)
{
	value = wire_little(value);
	__builtin_memcpy(at, &value, n);
}

static inline _Bool wire_is_zero(const __u8 *b, unsigned int n)
{
	while (n)
		if (b[--n])
			return 0;
	return 1;
}

/* A field of a struct of the wire. */
#define WIRE_GET(field)	       wire_get(&(field), sizeof(field))
#define WIRE_PUT(field, value) wire_put(&(field), sizeof(field), value)

#endif
