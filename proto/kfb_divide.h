/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Division of 64 bits: a 32-bit kernel has none but its own, which others lack.
 *
 * Context: any.
 */
#ifndef KFB_DIVIDE_H
#define KFB_DIVIDE_H

#include <linux/types.h>

/**
 * kfb_divide - the whole part of a quotient
 * @dividend: any
 * @divisor: 1 to 2^63
 *
 * Return: @dividend / @divisor, rounded down.
 */
static inline __u64 kfb_divide(__u64 dividend, __u64 divisor)
{
	__u64 quotient = 0, rest = 0;
	int bit;

	for (bit = 63; bit >= 0; bit--) {
		rest = rest << 1 | (dividend >> bit & 1);
		if (rest >= divisor) {
			rest -= divisor;
			quotient |= 1ULL << bit;
		}
	}
	return quotient;
}

#endif
