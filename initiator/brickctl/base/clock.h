/* SPDX-License-Identifier: BSD-2-Clause */
/* The monotonic clock of what is timed. */
#ifndef BRICKCTL_CLOCK_H
#define BRICKCTL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CTL_NS_PER_S  1000000000ULL
#define CTL_NS_PER_MS 1000000ULL

static inline uint64_t ctl_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CTL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline uint64_t ctl_now_ms(void)
{
	return ctl_now_ns() / CTL_NS_PER_MS;
}

#endif
