// SPDX-License-Identifier: BSD-2-Clause
#include "brickd/tier/tier_turns.h"

#include <stddef.h>

void brick_tier_turns_add(struct brick_tier *tier, struct brick_tier_jobs *jobs,
			  struct brick_tier_job *job)
{
	job->turn = ++tier->last_turn;
	TAILQ_INSERT_TAIL(jobs, job, link);
}

void brick_tier_turns_end(struct brick_tier *tier, struct brick_tier_jobs *jobs,
			  const void *whose)
{
	struct brick_tier_job *job;

	tier->last_turn++;
	TAILQ_FOREACH(job, jobs, link)
	if (job->whose == whose)
		job->turn = tier->last_turn;
}

struct brick_tier_job *brick_tier_turns_next(const struct brick_tier_jobs *jobs)
{
	struct brick_tier_job *job, *next = NULL;

	TAILQ_FOREACH(job, jobs, link)
	if (!next || job->turn < next->turn)
		next = job;
	return next;
}
