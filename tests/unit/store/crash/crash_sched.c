// SPDX-License-Identifier: BSD-2-Clause
/* The baton and the wrappers of the locks. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "crash_medium.h"
#include "crash_sched.h"

#define SWITCH_ONE_IN 3U
#define BLOCKED_MAX   1000000U /* turns in a row that a lock may cost */

struct sched_thread {
	pthread_t id;
	sem_t turn;
	crash_thread_fn fn;
	void *arg;
	unsigned int number;
	bool alive;
};

static struct sched_thread threads[CRASH_THREADS];
static unsigned int n_threads; /* 0: no run */
static sem_t all_ended;
static uint64_t *seed;
static bool frozen;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

static void wait_turn(sem_t *turn)
{
	while (sem_wait(turn))
		;
}

/* A living thread, or n_threads when there is none. */
static unsigned int choose(void)
{
	unsigned int first = (unsigned int)(crash_random(seed) % n_threads), i;

	for (i = 0; i < n_threads; i++)
		if (threads[(first + i) % n_threads].alive)
			return (first + i) % n_threads;
	return n_threads;
}

static void pass_on(void)
{
	unsigned int to = choose();

	if (to == crash_thread)
		return;
	(void)sem_post(&threads[to].turn);
	wait_turn(&threads[crash_thread].turn);
}

void crash_sched_yield(void)
{
	if (n_threads && !frozen && crash_random(seed) % SWITCH_ONE_IN == 0)
		pass_on();
}

void crash_sched_freeze(bool freeze)
{
	frozen = freeze;
}

static void *thread_main(void *arg)
{
	struct sched_thread *t = arg;
	unsigned int next;

	crash_thread = t->number;
	wait_turn(&t->turn);
	t->fn(t->arg);
	t->alive = false;
	next = choose();
	(void)sem_post(next == n_threads ? &all_ended : &threads[next].turn);
	return NULL;
}

void crash_sched_run(uint64_t *run_seed, const crash_thread_fn *fns,
		     unsigned int n, void *arg)
{
	unsigned int i;

	if (n > CRASH_THREADS || sem_init(&all_ended, 0, 0))
		abort();
	seed = run_seed;
	frozen = false;
	for (i = 0; i < n; i++) {
		threads[i].fn = fns[i];
		threads[i].arg = arg;
		threads[i].number = i;
		threads[i].alive = true;
		if (sem_init(&threads[i].turn, 0, 0) ||
		    pthread_create(&threads[i].id, NULL, thread_main,
				   &threads[i]))
			abort();
	}
	n_threads = n;
	(void)sem_post(&threads[choose()].turn);
	wait_turn(&all_ended);
	for (i = 0; i < n; i++) {
		(void)pthread_join(threads[i].id, NULL);
		(void)sem_destroy(&threads[i].turn);
	}
	n_threads = 0;
	(void)sem_destroy(&all_ended);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	unsigned int turns = 0;

	if (!n_threads || frozen)
		return __real_pthread_mutex_lock(mutex);
	crash_sched_yield();
	while (pthread_mutex_trylock(mutex)) {
		if (turns++ == BLOCKED_MAX)
			abort(); /* no one will ever let go of it */
		pass_on();
	}
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int ret = __real_pthread_mutex_unlock(mutex);

	crash_sched_yield();
	return ret;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (!n_threads || frozen)
		return __real_pthread_cond_wait(cond, mutex);
	(void)__real_pthread_mutex_unlock(mutex);
	pass_on();
	return __wrap_pthread_mutex_lock(mutex);
}
