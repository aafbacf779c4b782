/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose job comes next: the clients have turns, and so have their jobs.
 *
 * A turn is a job. Who has had one comes behind all that were waiting then, with
 * all its jobs, and so does who comes anew: to have many jobs, or one after the
 * other, takes nothing from the others.
 */
#ifndef BRICKD_TIER_TIER_TURNS_H
#define BRICKD_TIER_TIER_TURNS_H

#include <stdint.h>

#include "brickd/tier/tier_state.h"

/* The last one. */
void brick_tier_turns_add(struct brick_tier *tier, struct brick_tier_jobs *jobs,
			  struct brick_tier_job *job);

/* A client has had its turn: its job has ended. */
void brick_tier_turns_end(struct brick_tier *tier, struct brick_tier_jobs *jobs,
			  const void *whose);

/* The first job of the client whose turn it is; NULL: there is none. */
struct brick_tier_job *
brick_tier_turns_next(const struct brick_tier_jobs *jobs);

#endif
