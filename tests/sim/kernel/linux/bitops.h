/* SPDX-License-Identifier: BSD-2-Clause */
/* Bits that several processors set. */
#ifndef SIM_LINUX_BITOPS_H
#define SIM_LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/compiler.h>

static inline bool test_bit(long n, const volatile unsigned long *at)
{
	km_may_yield();
	return at[n / BITS_PER_LONG] >> (n % BITS_PER_LONG) & 1;
}

static inline void set_bit(long n, volatile unsigned long *at)
{
	km_may_yield();
	at[n / BITS_PER_LONG] |= BIT(n % BITS_PER_LONG);
}

static inline void clear_bit(long n, volatile unsigned long *at)
{
	km_may_yield();
	at[n / BITS_PER_LONG] &= ~BIT(n % BITS_PER_LONG);
}

static inline bool test_and_set_bit(long n, volatile unsigned long *at)
{
	bool was = test_bit(n, at);

	at[n / BITS_PER_LONG] |= BIT(n % BITS_PER_LONG);
	return was;
}

static inline bool test_and_clear_bit(long n, volatile unsigned long *at)
{
	bool was = test_bit(n, at);

	at[n / BITS_PER_LONG] &= ~BIT(n % BITS_PER_LONG);
	return was;
}

static inline unsigned int hweight32(u32 w)
{
	return (unsigned int)__builtin_popcount(w);
}

static inline unsigned int hweight64(u64 w)
{
	return (unsigned int)__builtin_popcountll(w);
}

#endif
