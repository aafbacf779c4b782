/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for a condition. A wake between the look at it and the sleep is not lost:
 * each is counted.
 */
#ifndef SIM_LINUX_WAIT_H
#define SIM_LINUX_WAIT_H

#include <linux/kernel.h>
#include <linux/spinlock.h>

typedef struct wait_queue_head {
	u64 n_wakes;
} wait_queue_head_t;

void wake_up(wait_queue_head_t *wq);
#define wake_up_all(wq) wake_up(wq)

static inline void init_waitqueue_head(wait_queue_head_t *wq)
{
	wq->n_wakes = 0;
}

#define wait_event(wq, cond)                       \
	do {                                       \
		might_sleep();                     \
		for (;;) {                         \
			u64 seen_ = (wq).n_wakes;  \
			if (cond)                  \
				break;             \
			if (seen_ == (wq).n_wakes) \
				km_wait(&(wq));    \
		}                                  \
	} while (0)

/* Nobody is killed here. */
#define wait_event_killable(wq, cond) \
	({                            \
		wait_event(wq, cond); \
		0;                    \
	})

#define wait_event_lock_irq(wq, cond, lock)        \
	do {                                       \
		while (!(cond)) {                  \
			u64 seen_ = (wq).n_wakes;  \
			spin_unlock_irq(&(lock));  \
			if (seen_ == (wq).n_wakes) \
				km_wait(&(wq));    \
			spin_lock_irq(&(lock));    \
		}                                  \
	} while (0)

/* Jiffies that are left, at least 1; 0: none, and it is not so. */
#define wait_event_interruptible_timeout(wq, cond, timeout)             \
	({                                                              \
		u64 until_ = km_now_ns() + (u64)(timeout)*SIM_JIFFY_NS; \
		long left_ = 1;                                         \
		for (;;) {                                              \
			u64 seen_ = (wq).n_wakes;                       \
			if (cond)                                       \
				break;                                  \
			if (km_now_ns() >= until_) {                    \
				left_ = 0;                              \
				break;                                  \
			}                                               \
			if (seen_ == (wq).n_wakes)                      \
				km_wait_until(&(wq), until_);           \
		}                                                       \
		left_;                                                  \
	})

#endif
