/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for something to be done. */
#ifndef SIM_LINUX_COMPLETION_H
#define SIM_LINUX_COMPLETION_H

#include <linux/types.h>

struct completion {
	u32 done;
};

#define SIM_COMPLETED_ALL U32_MAX

static inline void init_completion(struct completion *c)
{
	c->done = 0;
}

void complete(struct completion *c);
void complete_all(struct completion *c);
void wait_for_completion(struct completion *c);

static inline int wait_for_completion_killable(struct completion *c)
{
	wait_for_completion(c);
	return 0;
}

#endif
