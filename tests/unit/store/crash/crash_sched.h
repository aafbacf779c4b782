/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A seeded scheduler: threads that run one at a time and take turns where the
 * seed says so: at each media operation, lock and unlock.
 *
 * The store's locks are taken through it: a program that uses it is linked
 * with CRASH_SCHED_LINK of meson.build, which puts wrappers before
 * pthread_mutex_lock() and its like. A wait for a condition returns at once,
 * as POSIX allows; who waits must look again.
 */
#ifndef TESTS_STORE_CRASH_SCHED_H
#define TESTS_STORE_CRASH_SCHED_H

#include <stdbool.h>
#include <stdint.h>

typedef void (*crash_thread_fn)(void *arg);

/* Run n functions, each in its own thread, until all have returned. */
void crash_sched_run(uint64_t *seed, const crash_thread_fn *fns, unsigned int n,
		     void *arg);

/* Whoever runs may lose its turn here. No effect outside a run. */
void crash_sched_yield(void);

/* No one loses its turn until it is taken back: the checks run undisturbed. */
void crash_sched_freeze(bool freeze);

#endif
