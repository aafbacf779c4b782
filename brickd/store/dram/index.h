/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ordered map from block number (address / 2 MiB) to slot, in DRAM.
 *
 * Locking: the caller's.
 */
#ifndef BRICKD_STORE_INDEX_H
#define BRICKD_STORE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

/* Never a value: an entry that could not be taken out for want of memory. */
#define BRICK_INDEX_ABSENT UINT64_MAX

struct brick_index {
	void *judy;
};

void brick_index_init(struct brick_index *ix);
void brick_index_fini(struct brick_index *ix);

/* Whether key is there; *value is set if so. */
bool brick_index_get(const struct brick_index *ix, uint64_t key,
		     uint64_t *value);

/* Add or replace. 0 or -ENOMEM; replacing never fails. */
int brick_index_put(struct brick_index *ix, uint64_t key, uint64_t value);

void brick_index_del(struct brick_index *ix, uint64_t key);

/* The first entry at *key or after it, if there is one. */
bool brick_index_next(const struct brick_index *ix, uint64_t *key,
		      uint64_t *value);

#endif
