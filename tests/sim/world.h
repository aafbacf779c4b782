/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time and chance of the simulated world: everything that happens is an event
 * of one queue, ordered by a counted clock, and every choice comes from a seed.
 *
 * Context: the one thread of the program. Nothing here is ever waited for: the
 * next event happens when the last one has returned.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_US UINT64_C(1000)
#define SIM_MS (UINT64_C(1000) * SIM_US)
#define SIM_S  (UINT64_C(1000) * SIM_MS)

#define SIM_NEVER UINT64_MAX

/*
 * struct sim_event - something that will happen; embedded in its owner
 * @fire: what happens; the event may be scheduled again from it
 * @at_ns: when
 * @order: among those of one moment
 * @place: in the queue, counted from 1; 0: it is not scheduled
 */
struct sim_event {
	void (*fire)(struct sim_event *event);
	uint64_t at_ns;
	uint64_t order;
	uint32_t place;
};

/*
 * struct sim_pace - how long things take in this world, chosen by its seed
 * @short_ns: nearly everything takes up to so long
 * @long_ns: now and then something takes up to so long
 * @long_permille: how often that is
 * @yield_permille: how often a thread is held up where it need not wait
 * @gap_ns: at least so long after one operation of a client its next one arrives
 */
struct sim_pace {
	uint64_t short_ns;
	uint64_t long_ns;
	uint32_t long_permille;
	uint32_t yield_permille;
	uint64_t gap_ns;
};

/*
 * struct sim_world - the world
 * @seed: of which it is
 * @now_ns: its clock
 * @wall_ns: by so much the clock on the wall is ahead of it
 * @chance: state of the generator that orders events
 * @pace: how long they take
 * @n_events: that have happened
 * @n_keys: that registrations of memory have had
 * @newest_number: of a descriptor
 * @is_over: nothing happens any more
 */
struct sim_world {
	uint64_t seed;
	uint64_t now_ns;
	uint64_t wall_ns;
	uint64_t chance;
	struct sim_pace pace;
	uint64_t n_events;
	uint64_t n_keys;
	uint32_t newest_number;
	bool is_over;
};

extern struct sim_world sim;

/* A new world, empty, at the beginning of its time. */
void sim_world_init(uint64_t seed);

/* Lets it happen at a time, or at another one than before. */
void sim_schedule(struct sim_event *event, uint64_t at_ns);
void sim_cancel(struct sim_event *event);

/* Called after each event; NULL: nobody is. */
void sim_watch(void (*watch)(void *arg), void *arg);

/* Lets things happen until the world is over, or nothing is left. */
void sim_world_run(void);

/* A number below a bound, from the generator that orders events. */
uint64_t sim_below(uint64_t bound);
bool sim_chance(uint32_t permille);

/* The same from a generator of one's own. */
uint64_t sim_below_of(uint64_t *state, uint64_t bound);
bool sim_chance_of(uint64_t *state, uint32_t permille);

/* How long something takes. */
uint64_t sim_delay(void);

/* A line of the story, when somebody reads it. */
extern bool sim_is_traced;
void sim_say(const char *who, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
#define sim_trace(...)                                  \
	do {                                            \
		if (__builtin_expect(sim_is_traced, 0)) \
			sim_say(__VA_ARGS__);           \
	} while (0)

/* The simulator itself is broken: says so and ends the program. */
void sim_die(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

#endif
