// SPDX-License-Identifier: BSD-2-Clause
/* The queue of events, the clock and the dice. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "power.h"

#define EVENTS_MAX 16384
#define PERMILLE   1000

struct sim_world sim;
bool sim_is_traced;

/* A heap; place 0 stays empty. */
static struct sim_event *queue[EVENTS_MAX + 1];
static uint32_t n_queued;
static uint64_t n_scheduled;
static void (*watcher)(void *arg);
static void *watched;

void sim_world_init(uint64_t seed)
{
	while (n_queued)
		queue[n_queued--]->place = 0;
	n_scheduled = 0;
	memset(&sim, 0, sizeof(sim));
	sim.seed = seed;
	sim.chance = seed;
	sim.now_ns = SIM_S;
	sim.pace.short_ns = 2 * SIM_US;
}

/* ---- chance ------------------------------------------------------------ */

uint64_t sim_below_of(uint64_t *state, uint64_t bound)
{
	__u64 s = *state, r = fault_random(&s);

	*state = s;
	return (uint64_t)(((unsigned __int128)r * bound) >> 64);
}

bool sim_chance_of(uint64_t *state, uint32_t permille)
{
	return permille && sim_below_of(state, PERMILLE) < permille;
}

uint64_t sim_below(uint64_t bound)
{
	return sim_below_of(&sim.chance, bound);
}

bool sim_chance(uint32_t permille)
{
	return sim_chance_of(&sim.chance, permille);
}

uint64_t sim_delay(void)
{
	return 1 + sim_below(sim_chance(sim.pace.long_permille)
				     ? sim.pace.long_ns
				     : sim.pace.short_ns);
}

/* ---- events ------------------------------------------------------------ */

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ns < b->at_ns ||
	       (a->at_ns == b->at_ns && a->order < b->order);
}

static void put(struct sim_event *event, uint32_t place)
{
	queue[place] = event;
	event->place = place;
}

static void rise(struct sim_event *event, uint32_t place)
{
	while (place > 1 && is_before(event, queue[place / 2])) {
		put(queue[place / 2], place);
		place /= 2;
	}
	put(event, place);
}

static void sink(struct sim_event *event, uint32_t place)
{
	uint32_t child;

	while ((child = 2 * place) <= n_queued) {
		if (child < n_queued &&
		    is_before(queue[child + 1], queue[child]))
			child++;
		if (!is_before(queue[child], event))
			break;
		put(queue[child], place);
		place = child;
	}
	put(event, place);
}

void sim_cancel(struct sim_event *event)
{
	uint32_t place = event->place;
	struct sim_event *last;

	if (!place)
		return;
	event->place = 0;
	last = queue[n_queued--];
	if (last == event)
		return;
	if (place > 1 && is_before(last, queue[place / 2]))
		rise(last, place);
	else
		sink(last, place);
}

void sim_schedule(struct sim_event *event, uint64_t at_ns)
{
	sim_cancel(event);
	if (n_queued == EVENTS_MAX)
		sim_die("too many events at one time");
	event->at_ns = at_ns;
	event->order = n_scheduled++;
	rise(event, ++n_queued);
}

void sim_watch(void (*watch)(void *arg), void *arg)
{
	watcher = watch;
	watched = arg;
}

void sim_world_run(void)
{
	while (!sim.is_over && n_queued) {
		struct sim_event *event = queue[1];

		sim_cancel(event);
		if (event->at_ns > sim.now_ns)
			sim.now_ns = event->at_ns;
		sim.n_events++;
		event->fire(event);
		if (watcher)
			watcher(watched);
	}
}

/* ---- words ------------------------------------------------------------- */

void sim_say(const char *who, const char *fmt, ...)
{
	va_list ap;

	printf("%6llu.%06llu %-9s ", (unsigned long long)(sim.now_ns / SIM_MS),
	       (unsigned long long)(sim.now_ns % SIM_MS), who);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void sim_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr,
		"kfbrick-sim: seed %llu: ", (unsigned long long)sim.seed);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}
