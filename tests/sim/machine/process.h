/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of the simulated world: their threads, their memory, their
 * descriptors; and the end of one at any moment.
 *
 * A thread is a fiber: it runs until it waits. What it waits for wakes it, or
 * its time comes.
 */
#ifndef TESTS_SIM_PROCESS_H
#define TESTS_SIM_PROCESS_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "../world.h"

struct sim_process;

/*
 * struct sim_thread - a thread
 * @process: whose
 * @wake: when it runs again
 * @waits_for: a condition or a mutex, or another thread's end; NULL: nothing that has
 *	an address
 * @has_ended: its function has returned
 * @is_detached: nobody joins it
 * @was_woken: by somebody, and not by its time
 * @until_stop: it is held up once, where it may be held up for that many times more
 *	by then; 0: nowhere
 * @stop_ns: for how long
 */
struct sim_thread {
	LIST_ENTRY(sim_thread) link;
	struct sim_process *process;
	struct sim_event wake;
	void *(*main)(void *arg);
	void *arg;
	const void *waits_for;
	bool has_ended;
	bool is_detached;
	bool was_woken;
	bool has_begun;
	uint32_t until_stop;
	uint64_t stop_ns;
	jmp_buf at;
	void *stack;
};

LIST_HEAD(sim_thread_list, sim_thread);

/* Something of the world's that has to go with the process. */
struct sim_belonging {
	LIST_ENTRY(sim_belonging) link;
	void (*drop)(struct sim_belonging *belonging);
};

LIST_HEAD(sim_belonging_list, sim_belonging);

/*
 * struct sim_process - a process
 * @name: for the story
 * @number: its place; memory is told apart by it
 * @is_alive: it has been started and has not ended
 * @slow_until_ns: until then its threads are held up wherever they may be, for up to
 * @slow_ns
 * @has_kernel: it is a machine whose kernel is simulated: kernel/machine.h
 * @ended: called when its first thread has returned; NULL: nobody waits
 */
struct sim_process {
	const char *name;
	uint32_t number;
	bool is_alive;
	uint64_t slow_until_ns;
	uint64_t slow_ns;
	bool has_kernel;
	struct sim_thread_list threads;
	struct sim_belonging_list belongings;
	void (*ended)(struct sim_process *process);
};

/* Whose code runs; NULL: the world's own. */
extern struct sim_thread *sim_current;

/**
 * sim_process_start - begin a process
 * @process: name and ended are set
 * @main: of its first thread; the process ends when it returns
 * @arg: its
 */
void sim_process_start(struct sim_process *process, void *(*main)(void *arg),
		       void *arg);

/* Ends it here and now, as SIGKILL does. Context: not one of its threads. */
void sim_process_kill(struct sim_process *process);

struct sim_thread *sim_thread_start(struct sim_process *process,
				    void *(*main)(void *arg), void *arg);

/* Waits until somebody wakes it or the time has come; true: somebody did. */
bool sim_sleep(uint64_t until_ns);
/* Something holds the thread up for a while. */
void sim_yield(void);
/* The same now and then, or where it is to be. */
void sim_may_yield(void);
void sim_wake(struct sim_thread *thread);
/* Those of this process whose waits_for it is: one of them, or all. */
void sim_wake_waiting(const void *what, bool one);

/* Memory of the world's own, zeroed, which no process takes with it. */
void *sim_alloc(size_t len);
void sim_free(void *at);

#endif
