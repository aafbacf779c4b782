/* SPDX-License-Identifier: BSD-2-Clause */
/* Ticks of the clock. */
#ifndef SIM_LINUX_JIFFIES_H
#define SIM_LINUX_JIFFIES_H

#include "../machine.h"

#define HZ		     250
#define SIM_JIFFY_NS	     (UINT64_C(1000000000) / HZ)
#define jiffies		     ((unsigned long)(km_now_ns() / SIM_JIFFY_NS))
#define MAX_SCHEDULE_TIMEOUT ((long)(1UL << 40))
#define MSEC_PER_SEC	     1000L

static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return ((unsigned long)ms * HZ + 999) / 1000;
}

#endif
