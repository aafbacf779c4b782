/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adding slots at the end of a store whose medium or slow tier has become
 * larger.
 *
 * What is there stays where it is. The new slots' records go into room that
 * the superblock does not point to; then the superblock is replaced. A crash
 * leaves the old store or the grown one.
 *
 * Context: one thread; the store is not open.
 */
#ifndef BRICKD_STORE_GROW_H
#define BRICKD_STORE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "brickd/store/slow/slow.h"

/**
 * struct brick_grow - how, and what came of it
 * @boot_id: of this host, 16 bytes
 * @zero_from: the medium is zero from this byte on: the new part of a file
 * @tail: put tables behind the data though there is room before; for tests
 * @slow: the slow tier, open, if it is to grow; else NULL
 * @slow_size: make its file as large as this first, bytes; 0: take what it has
 * @n_before: slots
 * @n_after: slots
 * @slow_before: slots of the slow tier
 * @slow_after: slots of the slow tier
 */
struct brick_grow {
	uint8_t boot_id[16];
	uint64_t zero_from;
	bool tail;
	struct brick_slow *slow;
	uint64_t slow_size;
	uint64_t n_before;
	uint64_t n_after;
	uint64_t slow_before;
	uint64_t slow_after;
};

/**
 * brick_store_grow - take all the room that the medium and the slow tier have
 * @m: the medium, open and locked
 * @g: how
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Checks the store first, and repairs what a check repairs.
 *
 * Context: may block for long.
 * Return: 0, -ENOSPC (no room for another slot, or for its record), -EUCLEAN
 * (the store is beyond repair), -EOPNOTSUPP (it has no slow tier), or what
 * brick_store_check(), brick_slow_check() or brick_slow_extend() returns.
 */
int brick_store_grow(struct brick_media *m, struct brick_grow *g, char *err,
		     size_t err_len);

#endif
