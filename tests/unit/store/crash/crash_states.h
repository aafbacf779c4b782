/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states that a power failure might leave.
 *
 * A state gives each word that is not durable its durable value or one of
 * those stored after it, independently of all other words.
 */
#ifndef TESTS_STORE_CRASH_STATES_H
#define TESTS_STORE_CRASH_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "crash_medium.h"

struct crash_states {
	/* in */
	uint64_t exhaustive; /* all states if there are no more */
	uint64_t random; /* else so many random ones, and the usual suspects */
	bool few; /* only none, all and the random ones */
	uint64_t *seed;
	bool (*fn)(struct crash_medium *next, void *arg);
	void *arg;
	/* out */
	uint64_t n_states;
	bool all; /* there are no others */
};

/*
 * Load each state into cm->next, call fn and put everything back. Stops when
 * fn returns false.
 */
void crash_states(struct crash_medium *cm, struct crash_states *states);

#endif
