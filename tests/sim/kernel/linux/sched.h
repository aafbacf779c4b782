/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads: see machine.h. */
#ifndef SIM_LINUX_SCHED_H
#define SIM_LINUX_SCHED_H

#include "../machine.h"

#endif
