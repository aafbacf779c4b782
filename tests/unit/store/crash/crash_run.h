/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A random load on a store with power failing at every possible moment.
 *
 * The same parameters make the same run, state by state.
 */
#ifndef TESTS_STORE_CRASH_RUN_H
#define TESTS_STORE_CRASH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "crash_medium.h"

struct crash_run {
	/* in */
	uint64_t seed;
	unsigned int n_slots;
	unsigned int n_slow; /* of a slow tier, or 0 */
	unsigned int n_steps;
	uint64_t max_states; /* stop after so many; 0: only after n_steps */
	uint64_t exhaustive; /* see struct crash_states */
	uint64_t random;
	unsigned int open_every; /* states opened in full; others: records */
	unsigned int nest_every; /* crash inside every n-th recovery, or 0 */
	uint32_t first_tx; /* the commit word to begin with */
	bool poison; /* lines of the metadata are lost as well */
	bool threads; /* store, cleaner, mover and client take turns */
	struct crash_sabotage sabotage;
	/* out */
	uint64_t n_states;
	uint64_t n_nested; /* states inside recovery, not counted above */
	uint64_t n_points_all; /* moments of which each state was seen */
	uint64_t n_points_some;
	uint64_t fingerprint; /* of the states chosen and what they showed */
	unsigned int step; /* where the first violation was */
	const char *violation; /* NULL: none */
};

void crash_run(struct crash_run *run);

#endif
