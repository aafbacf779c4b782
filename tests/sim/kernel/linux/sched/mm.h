/* SPDX-License-Identifier: BSD-2-Clause */
/* Scopes of allocations: nothing here writes to a disk for memory. */
#ifndef SIM_LINUX_SCHED_MM_H
#define SIM_LINUX_SCHED_MM_H

static inline unsigned int memalloc_noio_save(void)
{
	return 0;
}

static inline void memalloc_noio_restore(unsigned int flags)
{
}

#endif
