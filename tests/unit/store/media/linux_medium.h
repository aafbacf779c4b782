/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file medium that fails as Linux fails.
 *
 * Stores go to the page cache. A sync writes back what is dirty; pages that
 * cannot be written are clean afterwards, and one sync is told, whichever asks
 * first. What was not written is gone once the page cache is dropped.
 */
#ifndef TESTS_STORE_LINUX_MEDIUM_H
#define TESTS_STORE_LINUX_MEDIUM_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "tests/unit/store/hold.h"

/**
 * struct linux_medium - one of them
 * @m: the medium; base is the page cache
 * @taken: what Linux takes for written: where base differs it is dirty
 * @disk: what is written
 * @fails: pages cannot be written; atomic
 * @fails_once: and it ends with the first time
 * @fails_at: the sync of this number fails; 0: none
 * @tears_from: so do this one and all later ones, and half of each page is
 *	written; 0: none
 * @is_recorded: an error that nobody was told; atomic
 * @n_syncs: that have begun; atomic
 * @hold: where a sync is held, or NULL
 */
struct linux_medium {
	struct brick_media m;
	uint8_t *taken;
	uint8_t *disk;
	bool fails;
	bool fails_once;
	unsigned int fails_at;
	unsigned int tears_from;
	bool is_recorded;
	unsigned int n_syncs;
	struct hold *hold;
};

/* A medium of zeros. */
struct linux_medium *linux_medium_new(uint64_t size);
void linux_medium_free(struct linux_medium *lm);

/* The flusher of the kernel writes back, and nobody is told. */
void linux_medium_flusher(struct linux_medium *lm);

/* The page cache is dropped: what is seen is what is on the disk. */
void linux_medium_drop(struct linux_medium *lm);

#endif
