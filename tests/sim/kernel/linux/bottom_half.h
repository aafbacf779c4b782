/* SPDX-License-Identifier: BSD-2-Clause */
/* Softirqs that do not come. */
#ifndef SIM_LINUX_BOTTOM_HALF_H
#define SIM_LINUX_BOTTOM_HALF_H

#include "../machine.h"

static inline void local_bh_disable(void)
{
	km_current()->bh_off++;
	km_current()->atomic++;
}

static inline void local_bh_enable(void)
{
	km_current()->atomic--;
	km_current()->bh_off--;
}

#endif
