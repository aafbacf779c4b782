/* SPDX-License-Identifier: BSD-2-Clause */
/* Powers of two. */
#ifndef SIM_LINUX_LOG2_H
#define SIM_LINUX_LOG2_H

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	unsigned long to = 1;

	while (to < n)
		to <<= 1;
	return to;
}

static inline unsigned long rounddown_pow_of_two(unsigned long n)
{
	unsigned long to = 1;

	while (to <= n / 2)
		to <<= 1;
	return to;
}

#endif
