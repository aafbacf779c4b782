/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorting what a start finds, so that the index is filled in order. */
#ifndef BRICKD_STORE_SORT_H
#define BRICKD_STORE_SORT_H

#include <stdint.h>

struct brick_id {
	uint32_t key_lo;
	uint32_t key_hi; /* its top bit, which is no part of it: a slow slot */
	uint32_t slot; /* its number */
};

#define BRICK_ID_SLOW (1U << 31)

static inline uint64_t brick_id_key(const struct brick_id *id)
{
	return (uint64_t)(id->key_hi & ~BRICK_ID_SLOW) << 32 | id->key_lo;
}

/* Sort by key; tmp has room for as many. */
void brick_id_sort(struct brick_id *ids, struct brick_id *tmp, uint64_t n);

#endif
