/* SPDX-License-Identifier: BSD-2-Clause */
/* Time that also counts while suspended: deadlines, and how long things took. */
#ifndef BRICKD_BASE_CLOCK_H
#define BRICKD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t brick_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static inline uint64_t brick_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

#endif
