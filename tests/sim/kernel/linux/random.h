/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers: the seed's. */
#ifndef SIM_LINUX_RANDOM_H
#define SIM_LINUX_RANDOM_H

#include "../machine.h"

#include <linux/types.h>

static inline void get_random_bytes(void *buf, size_t len)
{
	km_random(buf, len);
}

static inline u64 get_random_u64(void)
{
	u64 number;

	km_random(&number, sizeof(number));
	return number;
}

#endif
