/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a MAP had promoted when its time was over is reserved for its next try.
 *
 * Its blocks are at rest then, and would be demoted for whoever wants slots: two
 * MAPs that take longer than they may wait, and want more slots than there are,
 * would undo each other's work for ever, and so would the background with one that
 * needs nearly all memory. There is one reservation at a time, for two might keep
 * each other out; it lasts as long as a MAP waits, at least a second, and ends
 * when the MAP has what it wants.
 */
#ifndef BRICKD_TIER_TIER_RESERVE_H
#define BRICKD_TIER_TIER_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/tier/tier_state.h"

/* A MAP has ended, and job->error says how. */
void brick_tier_reserve(struct brick_tier *tier,
			const struct brick_tier_job *job);

/* A MAP begins. What is reserved for it stays for as long as it waits. */
void brick_tier_resume_reserved(struct brick_tier *tier,
				const struct brick_tier_job *job);

/* Must a block stay for somebody else than this job (NULL: the background)? */
bool brick_tier_is_reserved(const struct brick_tier *tier, uint64_t va,
			    const struct brick_tier_job *job);

#endif
