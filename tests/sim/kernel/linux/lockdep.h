/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks that have to be held, and how they may be taken. */
#ifndef SIM_LINUX_LOCKDEP_H
#define SIM_LINUX_LOCKDEP_H

#include "../machine.h"

#define lockdep_assert_held(lock)                                         \
	do {                                                              \
		if ((lock)->owner != km_current())                        \
			km_broken("%s: %s is not held", __func__, #lock); \
	} while (0)

#endif
