/* SPDX-License-Identifier: BSD-2-Clause */
/* Semaphores for readers and a writer: only writers are here. */
#ifndef SIM_LINUX_RWSEM_H
#define SIM_LINUX_RWSEM_H

#include <linux/mutex.h>

struct rw_semaphore {
	struct mutex mutex;
};

static inline void init_rwsem(struct rw_semaphore *sem)
{
	mutex_init(&sem->mutex);
}

static inline void down_read(struct rw_semaphore *sem)
{
	mutex_lock(&sem->mutex);
}

static inline void up_read(struct rw_semaphore *sem)
{
	mutex_unlock(&sem->mutex);
}

#endif
