/* SPDX-License-Identifier: BSD-2-Clause */
/* RCU whose readers may sleep: each domain has those who read and who waits. */
#ifndef SIM_LINUX_SRCU_H
#define SIM_LINUX_SRCU_H

#include <linux/mutex.h>
#include <linux/types.h>

/*
 * struct srcu_struct - a domain
 * @phase: readers that begin are counted in @n_readers of it
 * @one: who waits for one phase lets the others go on
 */
struct srcu_struct {
	u32 phase;
	u32 n_readers[2];
	struct mutex one;
};

/* Return: the phase, for the end of the section. */
int srcu_read_lock(struct srcu_struct *domain);
void srcu_read_unlock(struct srcu_struct *domain, int phase);
/* Waits for whoever has begun to read before. */
void synchronize_srcu(struct srcu_struct *domain);

#endif
