/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RCU: who reads and who waits for them. A section is on the processor where it
 * began, and others go on meanwhile.
 */
#ifndef SIM_LINUX_RCUPDATE_H
#define SIM_LINUX_RCUPDATE_H

#include "../machine.h"

void rcu_read_lock(void);
void rcu_read_unlock(void);
void synchronize_rcu(void);

#endif
