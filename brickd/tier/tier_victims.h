/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which blocks are demoted next.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_TIER_TIER_VICTIMS_H
#define BRICKD_TIER_TIER_VICTIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/tier/tier_state.h"

enum brick_tier_excuse {
	BRICK_TIER_NONE_LEFT, /* all are mapped or pinned */
	BRICK_TIER_LOOK_ON, /* there are more than one search looks at */
	BRICK_TIER_WAIT, /* some are busy, or wait for a connection's end */
};

/**
 * brick_tier_victims - the blocks to demote next
 * @tier: the tier
 * @va: filled
 * @max: at most so many
 * @job: who waits: quarantines are ended for it, if nothing else helps; its own
 *	blocks are none; NULL: nobody
 * @excuse: why there are none
 *
 * Return: how many.
 */
unsigned int brick_tier_victims(struct brick_tier *tier, uint64_t *va,
				unsigned int max,
				const struct brick_tier_job *job,
				enum brick_tier_excuse *excuse);

/* May a block be moved by somebody who has no range lock on it? */
bool brick_tier_is_movable(const struct brick_tier *tier, uint64_t va,
			   bool to_slow);

#endif
