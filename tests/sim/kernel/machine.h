/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine of the simulated world that runs a kernel: what the kernel's own
 * services (the folders linux/ and its like) ask of the simulator. It knows neither
 * what the simulator nor what the kernel calls things, so that both may include it.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../world.h"

struct sim_thread;

/*
 * struct km_task - what the kernel knows of a thread of its machine
 * @name: for the story
 * @main: what it runs
 * @arg: its
 * @atomic: locks that it holds, and the like: it must not sleep
 * @bh_off: softirqs do not come while it runs
 * @is_softirq: it stands for one
 * @frees_memory: it runs a work that others wait for when memory is short
 * @rcu_depth: of its sections
 * @rcu_phase: where the outermost has begun
 */
struct km_task {
	const char *name;
	void (*main)(void *arg);
	void *arg;
	uint32_t atomic;
	uint32_t bh_off;
	bool is_softirq;
	bool frees_memory;
	uint32_t rcu_depth;
	int rcu_phase;
};

struct km_task *km_current(void);
/* Begins a thread of the machine that this one is of. */
void km_start(const char *name, void (*main)(void *arg), void *arg);

/* Another processor may be faster here. */
void km_may_yield(void);
/* Of a piece of its memory: how many bytes it has at least. */
size_t km_memory_room(const void *at);
void km_yield(void);
/* Sleeps until somebody wakes those who wait for it. */
void km_wait(const void *what);
/* The same up to a time; true: somebody has. */
bool km_wait_until(const void *what, uint64_t until_ns);
void km_sleep_until(uint64_t until_ns);
void km_wake(const void *what);
void km_wake_one(const void *what);
/* It may not sleep where it is: the driver has broken the kernel's rules. */
void km_check_may_sleep(const char *where);

uint64_t km_now_ns(void);
/* The dice of the world. */
uint64_t km_below(uint64_t bound);
bool km_chance(uint32_t permille);
void km_random(void *buf, size_t len);

/* How often this machine has no memory. */
extern uint32_t sim_short_permille;

/* The kernel's log, and its rules. */
void km_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void km_broken(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What modules have in static memory becomes as it was linked. */
void km_static_memory_reset(void);
/* It is from now on that of a process, whose kernel is to run. */
void km_static_memory_enter(uint32_t process);
/* Runs a task, @arg, as a thread of a process: what it is started with. */
void *km_run(void *arg);

#endif
