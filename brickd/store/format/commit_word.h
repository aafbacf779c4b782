/* SPDX-License-Identifier: BSD-2-Clause */
/* The commit word: the number of the last committed batch. */
#ifndef BRICKD_STORE_COMMIT_WORD_H
#define BRICKD_STORE_COMMIT_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "brickd/store/format/super.h"

/* The first valid copy. 0, or -EUCLEAN; *damaged: they differ or one is bad. */
int brick_commit_read(const struct brick_media *m, const struct brick_super *sb,
		      uint32_t *tx, bool *damaged, bool *invalid);

/* Store and flush both copies; the caller drains. */
void brick_commit_write(struct brick_media *m, const struct brick_super *sb,
			uint32_t tx);

#endif
