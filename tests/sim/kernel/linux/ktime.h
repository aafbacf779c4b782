/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock, counted since the machine's world began; it goes on while it sleeps. */
#ifndef SIM_LINUX_KTIME_H
#define SIM_LINUX_KTIME_H

#include <linux/jiffies.h>
#include <linux/types.h>

typedef s64 ktime_t;

/* As it was at the last tick. */
static inline ktime_t ktime_get_coarse_boottime(void)
{
	u64 now_ns = km_now_ns();

	return (ktime_t)(now_ns - now_ns % SIM_JIFFY_NS);
}

static inline s64 ktime_to_ms(ktime_t t)
{
	return t / 1000000;
}

#endif
