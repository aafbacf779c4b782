/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that are given out. */
#ifndef SIM_LINUX_IDR_H
#define SIM_LINUX_IDR_H

#include <linux/types.h>

struct ida {
	u64 taken;
};

#define DEFINE_IDA(name) struct ida name = { 0 }

int ida_alloc(struct ida *ida, gfp_t flags);
void ida_free(struct ida *ida, unsigned int number);
void ida_destroy(struct ida *ida);

#endif
