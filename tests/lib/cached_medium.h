/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A medium below a CPU's caches, for tests: what brickd and its clients see is
 * base; what is below it gets the lines that are written back, and no other.
 *
 * Locking: one line is written back at a time, so that it is never as it was.
 */
#ifndef TESTS_LIB_CACHED_MEDIUM_H
#define TESTS_LIB_CACHED_MEDIUM_H

#include <stdint.h>

#include "brickd/media/media.h"

/**
 * struct cached_medium - such a medium
 * @m: for brickd; base, size and the like are the user's to set
 * @below: as large as base; NULL: the caches survive, nothing need be written back
 * @close: ends it and frees it
 */
struct cached_medium {
	struct brick_media m;
	uint8_t *below;
	void (*close)(struct cached_medium *c);
};

/* Gives @c->m the ops, and the granularity that goes with @c->below. */
void cached_medium_init(struct cached_medium *c);

#endif
