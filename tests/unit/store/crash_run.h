/* SPDX-License-Identifier: BSD-2-Clause */
/* A random load on a store with power failing at every possible moment. */
#ifndef TESTS_STORE_CRASH_RUN_H
#define TESTS_STORE_CRASH_RUN_H

#include <stdint.h>

#include "crash_medium.h"

struct crash_run {
	/* in */
	uint64_t seed;
	unsigned int n_slots;
	unsigned int n_steps;
	uint64_t exhaustive; /* see struct crash_limits */
	uint64_t random;
	unsigned int nest_every; /* crash inside every n-th recovery */
	uint32_t first_tx; /* the commit word to begin with */
	struct crash_sabotage sabotage;
	/* out */
	uint64_t n_states;
	uint64_t n_nested;
	unsigned int step; /* where the first violation was */
	const char *violation; /* NULL: none */
};

void crash_run(struct crash_run *run);

#endif
