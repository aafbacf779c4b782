/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slow tier in memory that loses what was not synced, and fails on demand, as
 * Linux does: what could not be written back is clean afterwards, and one sync
 * is told.
 *
 * What was written since the last sync is in the cache only; power loss keeps
 * or drops each sector of it at random.
 */
#ifndef TESTS_STORE_SLOW_FAKE_H
#define TESTS_STORE_SLOW_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/store/slow/slow.h"
#include "tests/unit/store/hold.h"

struct slow_fake {
	struct brick_slow slow;
	uint8_t *cache; /* what reads see */
	uint8_t *taken; /* what Linux takes for written */
	uint8_t *disk; /* what is durable */
	uint8_t *dirty; /* of each sector: written since */
	unsigned int n_syncs; /* atomic */
	struct hold *hold; /* where a sync is held, or NULL */
	bool fails; /* nothing can be written back; atomic */
	bool is_recorded; /* an error that nobody was told; atomic */
	bool skip_sync; /* sabotage: says it has, and has not */
	uint64_t bad_read; /* slot that cannot be read, plus one; 0: none */
	uint64_t bad_write;
	uint64_t bad_source; /* slot, plus one, for which poison is to be written */
	bool fail_write;
	bool fail_sync;
};

/* With room for so many slots; it says that it is zero. */
struct slow_fake *slow_fake_new(uint64_t n_slots);
void slow_fake_free(struct slow_fake *f);

/* Each sector that is not durable is kept with this chance, of 100. */
void slow_fake_lose_power(struct slow_fake *f, unsigned int keep,
			  uint64_t *seed);

/* The first byte of a slot, as reads see it. */
uint8_t *slow_fake_slot(struct slow_fake *f, uint64_t slot);

#endif
