// SPDX-License-Identifier: BSD-2-Clause
/* A machine with a kernel, over the simulator's processes: see machine.h. */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/machine/memory.h"
#include "tests/sim/oracle.h"
#include "tests/sim/machine/process.h"

/* A look at the clock takes so long. */
#define LOOK_NS 30

/* Where the linker puts what the modules have in static memory. */
extern char sim_static_begin[], sim_static_end[];
static char *as_linked;
/* Of machines that do not run, by process; and which does. */
static char *kept[SIM_PROCESSES_MAX];
static uint32_t running = SIM_PROCESSES_MAX;

/* ---- threads ----------------------------------------------------------- */

struct km_task *km_current(void)
{
	return sim_current->arg;
}

void *km_run(void *arg)
{
	struct km_task *task = arg;

	task->main(task->arg);
	return NULL;
}

void km_start(const char *name, void (*main)(void *arg), void *arg)
{
	struct km_task *task = calloc(1, sizeof(*task));

	if (!task)
		sim_die("no memory for a kernel's thread");
	task->name = name;
	task->main = main;
	task->arg = arg;
	sim_thread_start(sim_current->process, km_run, task);
}

void km_may_yield(void)
{
	sim_may_yield();
}

size_t km_memory_room(const void *at)
{
	return sim_memory_room(at);
}

void km_yield(void)
{
	sim_yield();
}

void km_wait(const void *what)
{
	sim_current->waits_for = what;
	while (sim_current->waits_for == what)
		sim_sleep(SIM_NEVER);
}

bool km_wait_until(const void *what, uint64_t until_ns)
{
	sim_current->waits_for = what;
	while (sim_current->waits_for == what && sim.now_ns < until_ns)
		sim_sleep(until_ns);
	if (sim_current->waits_for != what)
		return true;
	sim_current->waits_for = NULL;
	return false;
}

void km_sleep_until(uint64_t until_ns)
{
	while (sim.now_ns < until_ns)
		sim_sleep(until_ns);
}

void km_wake(const void *what)
{
	sim_wake_waiting(what, false);
}

void km_wake_one(const void *what)
{
	sim_wake_waiting(what, true);
}

/* ---- time and chance ------------------------------------------------------- */

uint64_t km_now_ns(void)
{
	sim.now_ns += LOOK_NS;
	return sim.now_ns;
}

uint64_t km_below(uint64_t bound)
{
	return sim_below(bound);
}

bool km_chance(uint32_t permille)
{
	return sim_chance(permille);
}

void km_random(void *buf, size_t len)
{
	uint8_t *to = buf;

	while (len--)
		*to++ = (uint8_t)sim_below(256);
}

/* ---- the log, and the rules -------------------------------------------------- */

void km_log(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	size_t len;

	if (!sim_is_traced)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	len = strlen(line);
	if (len && line[len - 1] == '\n')
		line[len - 1] = '\0';
	sim_say(sim_current->process->name, "%s", line);
}

void km_broken(const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	sim_violated("%s: %s (%s)", sim_current->process->name, line,
		     km_current()->name);
}

void km_check_may_sleep(const char *where)
{
	const struct km_task *task = km_current();

	if (task->atomic || task->rcu_depth)
		km_broken("%s sleeps where it must not", where);
}

/* ---- static memory ---------------------------------------------------------- */

static size_t static_bytes(void)
{
	return (uintptr_t)sim_static_end - (uintptr_t)sim_static_begin;
}

static void keep_as_linked(void)
{
	if (as_linked)
		return;
	as_linked = sim_alloc(static_bytes());
	memcpy(as_linked, sim_static_begin, static_bytes());
}

/* There is one place for it; one that has not started yet finds anything there. */
void km_static_memory_enter(uint32_t process)
{
	if (process == running)
		return;
	keep_as_linked();
	if (!kept[process])
		kept[process] = sim_alloc(static_bytes());
	if (running < SIM_PROCESSES_MAX)
		memcpy(kept[running], sim_static_begin, static_bytes());
	memcpy(sim_static_begin, kept[process], static_bytes());
	running = process;
}

void km_static_memory_reset(void)
{
	keep_as_linked();
	memcpy(sim_static_begin, as_linked, static_bytes());
}
