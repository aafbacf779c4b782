/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads: see machine.h. */
#ifndef SIM_LINUX_SCHED_H
#define SIM_LINUX_SCHED_H

#include <linux/nsproxy.h>

#include "../machine.h"

/* Of a thread what is the same of all. */
struct task_struct {
	struct nsproxy *nsproxy;
};

extern struct task_struct sim_task;
#define current (&sim_task)

#endif
