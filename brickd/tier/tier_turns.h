/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose job comes next: the clients have turns, and so has each of their jobs.
 *
 * A turn is one step, and what made room for it. Who has had one comes behind all that were waiting then,
 * with all its jobs, and so does who comes anew: to have many jobs, or one after
 * the other, takes nothing from the others.
 */
#ifndef BRICKD_TIER_TIER_TURNS_H
#define BRICKD_TIER_TIER_TURNS_H

#include <stdint.h>

#include "brickd/tier/tier_state.h"

/* In order of arrival; its turn is its client's, or the last one. */
void brick_tier_turns_add(struct brick_tier *tier, struct brick_tier_jobs *jobs,
			  struct brick_tier_job *job);

/* A client has had its turn. */
void brick_tier_turns_end(struct brick_tier *tier, struct brick_tier_jobs *jobs,
			  const void *whose);

/* The first job of the client whose turn it is; NULL: there is none. */
struct brick_tier_job *
brick_tier_turns_next(const struct brick_tier_jobs *jobs);

/* The job that wants the fewest blocks more; NULL: there is none. */
struct brick_tier_job *
brick_tier_turns_least(const struct brick_tier_jobs *jobs);

/* Of the jobs that have moved some, but for one, that which wants the most. */
struct brick_tier_job *brick_tier_turns_most(const struct brick_tier_jobs *jobs,
					     const struct brick_tier_job *but);

#endif
