/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums that are too large. */
#ifndef SIM_LINUX_OVERFLOW_H
#define SIM_LINUX_OVERFLOW_H

#include <linux/limits.h>

#define check_add_overflow(a, b, to) __builtin_add_overflow(a, b, to)
#define check_mul_overflow(a, b, to) __builtin_mul_overflow(a, b, to)

#endif
