/* SPDX-License-Identifier: BSD-2-Clause */
/* Bits. */
#ifndef SIM_LINUX_BITS_H
#define SIM_LINUX_BITS_H

#include <linux/types.h>

#define BIT(n)	      (1UL << (n))
#define BIT_ULL(n)    (1ULL << (n))
#define BITS_PER_LONG 64

#endif
