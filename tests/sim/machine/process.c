// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads as fibers, and what a process leaves when it ends.
 *
 * A fiber is entered by makecontext() once and then by longjmp(), which takes
 * no system call.
 */
#include "process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../kernel/machine.h"
#include "memory.h"

#define STACK_BYTES (256U << 10)
#define STACKS_KEPT 64

struct sim_thread *sim_current;

static jmp_buf outside;
static void *stacks[STACKS_KEPT];
static uint32_t n_stacks;

static void *stack_get(void)
{
	void *stack;

	if (n_stacks)
		return stacks[--n_stacks];
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
		     -1, 0);
	if (stack == MAP_FAILED)
		sim_die("no memory for a stack");
	return stack;
}

static void stack_put(void *stack)
{
	if (n_stacks < STACKS_KEPT)
		stacks[n_stacks++] = stack;
	else
		munmap(stack, STACK_BYTES);
}

/* ---- switching --------------------------------------------------------- */

static void leave(void)
{
	struct sim_thread *thread = sim_current;

	if (!_setjmp(thread->at))
		_longjmp(outside, 1);
}

static void begin(void)
{
	struct sim_thread *thread = sim_current;

	thread->main(thread->arg);
	thread->has_ended = true;
	_longjmp(outside, 1);
}

static void enter_first(struct sim_thread *thread)
{
	ucontext_t context;

	thread->has_begun = true;
	thread->stack = stack_get();
	/* Threads of the system would run when they like. */
	/* cppcheck-suppress getcontextCalled */
	if (getcontext(&context))
		sim_die("no context for a thread");
	context.uc_stack.ss_sp = thread->stack;
	context.uc_stack.ss_size = STACK_BYTES;
	context.uc_link = NULL;
	/* cppcheck-suppress makecontextCalled */
	makecontext(&context, begin, 0);
	setcontext(&context);
}

static void enter(struct sim_thread *thread)
{
	sim_current = thread;
	if (thread->process->has_kernel)
		km_static_memory_enter(thread->process->number);
	if (!_setjmp(outside)) {
		if (thread->has_begun)
			_longjmp(thread->at, 1);
		enter_first(thread);
	}
	sim_current = NULL;
}

/* ---- threads ----------------------------------------------------------- */

static void thread_free(struct sim_thread *thread)
{
	sim_cancel(&thread->wake);
	LIST_REMOVE(thread, link);
	if (thread->stack)
		stack_put(thread->stack);
	sim_free(thread);
}

/* Whoever joins it finds it ended, and frees it. */
static void thread_ended(struct sim_thread *thread)
{
	struct sim_process *process = thread->process;
	struct sim_thread *other;

	if (!LIST_NEXT(thread, link)) {
		sim_process_kill(process);
		if (process->ended)
			process->ended(process);
		return;
	}
	if (thread->is_detached) {
		thread_free(thread);
		return;
	}
	stack_put(thread->stack);
	thread->stack = NULL;
	LIST_FOREACH(other, &process->threads, link)
	if (other->waits_for == thread)
		sim_wake(other);
}

static void thread_runs(struct sim_event *event)
{
	struct sim_thread *thread =
		(struct sim_thread *)((char *)event -
				      offsetof(struct sim_thread, wake));

	enter(thread);
	if (thread->has_ended)
		thread_ended(thread);
}

struct sim_thread *sim_thread_start(struct sim_process *process,
				    void *(*main)(void *arg), void *arg)
{
	struct sim_thread *thread = sim_alloc(sizeof(*thread));

	thread->process = process;
	thread->main = main;
	thread->arg = arg;
	thread->wake.fire = thread_runs;
	/* The first of a process is the last of the list. */
	LIST_INSERT_HEAD(&process->threads, thread, link);
	sim_schedule(&thread->wake, sim.now_ns + sim_delay());
	return thread;
}

bool sim_sleep(uint64_t until_ns)
{
	struct sim_thread *thread = sim_current;

	thread->was_woken = false;
	if (until_ns != SIM_NEVER)
		sim_schedule(&thread->wake, until_ns);
	else
		sim_cancel(&thread->wake);
	leave();
	return thread->was_woken;
}

void sim_yield(void)
{
	sim_sleep(sim.now_ns + sim_delay());
}

void sim_may_yield(void)
{
	struct sim_thread *thread = sim_current;
	const struct sim_process *process;

	if (!thread)
		return;
	process = thread->process;
	if (thread->until_stop && !--thread->until_stop)
		sim_sleep(sim.now_ns + thread->stop_ns);
	else if (sim.now_ns < process->slow_until_ns)
		sim_sleep(sim.now_ns + 1 + sim_below(process->slow_ns));
	else if (sim_chance(sim.pace.yield_permille))
		sim_yield();
}

void sim_wake(struct sim_thread *thread)
{
	if (thread->was_woken)
		return;
	thread->was_woken = true;
	sim_schedule(&thread->wake, sim.now_ns + sim_delay());
}

void sim_wake_waiting(const void *what, bool one)
{
	struct sim_thread *other;

	LIST_FOREACH(other, &sim_current->process->threads, link)
	{
		if (other->waits_for != what)
			continue;
		other->waits_for = NULL;
		sim_wake(other);
		if (one)
			return;
	}
}

/* ---- processes --------------------------------------------------------- */

void sim_process_start(struct sim_process *process, void *(*main)(void *arg),
		       void *arg)
{
	if (process->is_alive)
		sim_die("%s runs already", process->name);
	LIST_INIT(&process->threads);
	LIST_INIT(&process->belongings);
	process->is_alive = true;
	process->slow_until_ns = 0;
	sim_memory_forget(process->number);
	sim_thread_start(process, main, arg);
}

void sim_process_kill(struct sim_process *process)
{
	struct sim_belonging *belonging;
	struct sim_thread *thread;

	if (!process->is_alive)
		return;
	process->is_alive = false;
	while ((thread = LIST_FIRST(&process->threads)))
		thread_free(thread);
	while ((belonging = LIST_FIRST(&process->belongings))) {
		LIST_REMOVE(belonging, link);
		belonging->drop(belonging);
	}
	sim_memory_look(process->number);
}
