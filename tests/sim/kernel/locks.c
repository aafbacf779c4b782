// SPDX-License-Identifier: BSD-2-Clause
/* Locks, completions, wait queues, RCU. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>

static struct srcu_struct sim_rcu;

/* ---- spinlocks ----------------------------------------------------------- */

static void check_softirqs(spinlock_t *lock)
{
	const struct km_task *task = km_current();

	if (task->is_softirq)
		lock->in_softirq = true;
	else if (!task->bh_off)
		lock->with_softirqs = true;
	if (lock->in_softirq && lock->with_softirqs)
		km_broken("a lock of softirqs is taken while they may come");
}

void spin_lock(spinlock_t *lock)
{
	struct km_task *task = km_current();

	if (lock->owner == task)
		km_broken("a spinlock is taken twice");
	check_softirqs(lock);
	km_may_yield();
	while (lock->owner) {
		lock->n_waiting++;
		km_wait(lock);
		lock->n_waiting--;
	}
	lock->owner = task;
	task->atomic++;
}

void spin_unlock(spinlock_t *lock)
{
	struct km_task *task = km_current();

	if (lock->owner != task)
		km_broken("a spinlock is dropped that is another's");
	lock->owner = NULL;
	task->atomic--;
	if (lock->n_waiting)
		km_wake(lock);
	km_may_yield();
}

/* ---- mutexes --------------------------------------------------------------- */

void mutex_lock(struct mutex *mutex)
{
	might_sleep();
	if (mutex->owner == km_current())
		km_broken("a mutex is taken twice");
	km_may_yield();
	while (mutex->owner) {
		mutex->n_waiting++;
		km_wait(mutex);
		mutex->n_waiting--;
	}
	mutex->owner = km_current();
}

void mutex_unlock(struct mutex *mutex)
{
	if (mutex->owner != km_current())
		km_broken("a mutex is dropped that is another's");
	mutex->owner = NULL;
	if (mutex->n_waiting)
		km_wake(mutex);
	km_may_yield();
}

/* ---- waiting ---------------------------------------------------------------- */

void wake_up(wait_queue_head_t *wq)
{
	wq->n_wakes++;
	km_wake(wq);
	km_may_yield();
}

void complete(struct completion *c)
{
	if (c->done != SIM_COMPLETED_ALL)
		c->done++;
	km_wake_one(c);
	km_may_yield();
}

void complete_all(struct completion *c)
{
	c->done = SIM_COMPLETED_ALL;
	km_wake(c);
	km_may_yield();
}

void wait_for_completion(struct completion *c)
{
	might_sleep();
	while (!c->done)
		km_wait(c);
	if (c->done != SIM_COMPLETED_ALL)
		c->done--;
}

void msleep(unsigned int ms)
{
	might_sleep();
	km_sleep_until(km_now_ns() + (u64)ms * 1000000);
}

/* ---- RCU -------------------------------------------------------------------- */

int srcu_read_lock(struct srcu_struct *domain)
{
	int phase = (int)(domain->phase & 1);

	domain->n_readers[phase]++;
	km_may_yield();
	return phase;
}

void srcu_read_unlock(struct srcu_struct *domain, int phase)
{
	if (!--domain->n_readers[phase])
		km_wake(domain);
	km_may_yield();
}

void synchronize_srcu(struct srcu_struct *domain)
{
	u32 phase;

	might_sleep();
	mutex_lock(&domain->one);
	phase = domain->phase++ & 1;
	while (domain->n_readers[phase])
		km_wait(domain);
	mutex_unlock(&domain->one);
}

void rcu_read_lock(void)
{
	struct km_task *task = km_current();

	if (!task->rcu_depth++)
		task->rcu_phase = srcu_read_lock(&sim_rcu);
}

void rcu_read_unlock(void)
{
	struct km_task *task = km_current();

	if (!--task->rcu_depth)
		srcu_read_unlock(&sim_rcu, task->rcu_phase);
}

void synchronize_rcu(void)
{
	synchronize_srcu(&sim_rcu);
}
