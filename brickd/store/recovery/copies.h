/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two copies of a record mean, given the last committed batch. */
#ifndef BRICKD_STORE_JUDGE_H
#define BRICKD_STORE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/store/format/record.h"

/**
 * struct brick_verdict - the truth about a slot
 * @state: BRICK_CLEAN, BRICK_DIRTY, BRICK_ALLOC or BRICK_BAD
 * @payload: of BRICK_ALLOC
 * @damaged: bit 0: copy 0 was damaged; bit 1: the mirror was
 * @settled: both copies say this already
 */
struct brick_verdict {
	enum brick_state state;
	struct brick_payload payload;
	unsigned int damaged;
	bool settled;
};

/**
 * brick_copies_validate - read both copies and decide
 * @m: the medium
 * @sb: its superblock
 * @tx: the last committed batch
 * @slot: which
 * @v: the verdict
 *
 * Writes nothing.
 *
 * Context: any.
 */
void brick_copies_validate(const struct brick_media *m,
			   const struct brick_super *sb, uint32_t tx,
			   uint64_t slot, struct brick_verdict *v);

#endif
