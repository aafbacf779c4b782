/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks that stay where they can be mapped.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_TIER_TIER_PINS_H
#define BRICKD_TIER_TIER_PINS_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/tier/tier_state.h"

/**
 * brick_tier_pin - keep blocks where they can be mapped
 * @tier: the tier
 * @span: blocks
 *
 * Those that are in the slow tier stay there until they are promoted.
 *
 * Return: 0 or -ENOSPC (too many separate ranges).
 */
int brick_tier_pin(struct brick_tier *tier, struct brick_span span);
int brick_tier_unpin(struct brick_tier *tier, struct brick_span span);
bool brick_tier_is_pinned(const struct brick_tier *tier, uint64_t block);
/* Are all of these blocks pinned? */
bool brick_tier_pins_cover(const struct brick_tier *tier,
			   struct brick_span span);
uint64_t brick_tier_pinned_blocks(const struct brick_tier *tier);

#endif
