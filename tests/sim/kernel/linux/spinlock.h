/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spinlocks. Other processors run meanwhile, and wait. What a softirq takes must
 * be taken with softirqs off everywhere else.
 */
#ifndef SIM_LINUX_SPINLOCK_H
#define SIM_LINUX_SPINLOCK_H

#include <linux/bottom_half.h>
#include <linux/lockdep.h>
#include <linux/types.h>

/*
 * struct spinlock - one
 * @owner: who has it
 * @n_waiting: who wait for it
 * @in_softirq: a softirq has taken it
 * @with_softirqs: somebody has taken it while softirqs could come
 */
typedef struct spinlock {
	struct km_task *owner;
	u32 n_waiting;
	bool in_softirq;
	bool with_softirqs;
} spinlock_t;

void spin_lock(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);

static inline void spin_lock_init(spinlock_t *lock)
{
	*lock = (spinlock_t){ 0 };
}

static inline void spin_lock_bh(spinlock_t *lock)
{
	local_bh_disable();
	spin_lock(lock);
}

static inline void spin_unlock_bh(spinlock_t *lock)
{
	spin_unlock(lock);
	local_bh_enable();
}

#define spin_lock_irq(lock)   spin_lock_bh(lock)
#define spin_unlock_irq(lock) spin_unlock_bh(lock)
#define spin_lock_irqsave(lock, flags) \
	do {                           \
		(flags) = 0;           \
		spin_lock_bh(lock);    \
	} while (0)
#define spin_unlock_irqrestore(lock, flags) \
	do {                                \
		(void)(flags);              \
		spin_unlock_bh(lock);       \
	} while (0)

#endif
