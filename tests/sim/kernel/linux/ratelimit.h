/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of the log that come too often: all are let through. */
#ifndef SIM_LINUX_RATELIMIT_H
#define SIM_LINUX_RATELIMIT_H

#include <linux/types.h>

#define DEFAULT_RATELIMIT_INTERVAL 5
#define DEFAULT_RATELIMIT_BURST	   10

struct ratelimit_state {
	int interval;
};

static inline void ratelimit_state_init(struct ratelimit_state *rs,
					int interval, int burst)
{
	rs->interval = interval;
}

static inline bool __ratelimit(struct ratelimit_state *rs)
{
	return true;
}

#endif
