/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which blocks have been at rest for how long: a list of slots, coldest first.
 *
 * Eight bytes a slot, and only where there is a slow tier. A slot is in the
 * list or not; who puts it there decides what that means.
 *
 * Locking: the caller's.
 */
#ifndef BRICKD_STORE_LRU_H
#define BRICKD_STORE_LRU_H

#include <stdbool.h>
#include <stdint.h>

#define BRICK_LRU_NONE UINT32_MAX

struct brick_lru_link {
	uint32_t before;
	uint32_t after;
};

/**
 * struct brick_lru - the list
 * @links: one a slot, NULL: there is no list, and nothing is ever in it
 * @first: the coldest, or BRICK_LRU_NONE
 * @last: the warmest
 * @n: in the list
 */
struct brick_lru {
	struct brick_lru_link *links;
	uint32_t first;
	uint32_t last;
	uint64_t n;
};

/* For @slots slots; 0: there is no list. 0 or -ENOMEM. */
int brick_lru_init(struct brick_lru *lru, uint64_t slots);
void brick_lru_fini(struct brick_lru *lru);

/* Make a slot the warmest; it may be in the list already. */
void brick_lru_touch(struct brick_lru *lru, uint64_t slot);

/* Take a slot out; it may be out already. */
void brick_lru_del(struct brick_lru *lru, uint64_t slot);

/* Take the coldest out. Return: false when there is none. */
bool brick_lru_take(struct brick_lru *lru, uint64_t *slot);

#endif
