/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One step: a few blocks are copied, and where they lie is committed.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_TIER_TIER_STEP_H
#define BRICKD_TIER_TIER_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/tier/tier_state.h"

/**
 * brick_tier_step_begin - move blocks
 * @tier: no step is under way
 * @job: for whom, or NULL
 * @va: blocks that may be locked, or are by the job
 * @n: at most what brick_move_max() says
 * @to_slow: where to
 */
void brick_tier_step_begin(struct brick_tier *tier, struct brick_tier_job *job,
			   const uint64_t *va, unsigned int n, bool to_slow);

#endif
