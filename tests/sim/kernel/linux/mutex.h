/* SPDX-License-Identifier: BSD-2-Clause */
/* Mutexes. */
#ifndef SIM_LINUX_MUTEX_H
#define SIM_LINUX_MUTEX_H

#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/types.h>

struct mutex {
	struct km_task *owner;
	u32 n_waiting;
};

#define DEFINE_MUTEX(name) struct mutex name = { 0 }

void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);

static inline void mutex_init(struct mutex *mutex)
{
	*mutex = (struct mutex){ 0 };
}

static inline void mutex_destroy(struct mutex *mutex)
{
}

/* Nobody sends signals. */
static inline int mutex_lock_killable(struct mutex *mutex)
{
	mutex_lock(mutex);
	return 0;
}

#endif
