/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many blocks each owner has, in DRAM. An owner is the hash of a client's
 * name, as records have it; 0 is nobody, and nothing is counted for it.
 *
 * An owner that has been seen keeps its entry: there are no more of them than
 * clients that the medium or the settings have named since the start.
 *
 * Locking: the caller's.
 */
#ifndef BRICKD_STORE_OWNERS_H
#define BRICKD_STORE_OWNERS_H

#include <stdint.h>

#include "brickd/store/dram/index.h"

struct brick_owners {
	struct brick_index counts;
};

void brick_owners_init(struct brick_owners *o);
void brick_owners_fini(struct brick_owners *o);

/* An entry, so that brick_owners_add() takes no memory. 0 or -ENOMEM. */
int brick_owners_reserve(struct brick_owners *o, uint32_t owner);

/* The owner has an entry. */
void brick_owners_add(struct brick_owners *o, uint32_t owner, uint64_t n);

/* Never below 0, whatever damaged records say; an unknown owner is ignored. */
void brick_owners_sub(struct brick_owners *o, uint32_t owner, uint64_t n);

uint64_t brick_owners_count(const struct brick_owners *o, uint32_t owner);

#endif
