// SPDX-License-Identifier: BSD-2-Clause
#include "brickd/tier/tier_turns.h"

#include <stddef.h>

void brick_tier_turns_add(struct brick_tier *tier, struct brick_tier_jobs *jobs,
			  struct brick_tier_job *job)
{
	const struct brick_tier_job *other;

	TAILQ_FOREACH(other, jobs, link)
	if (other->whose == job->whose)
		break;
	job->turn = other ? other->turn : ++tier->last_turn;
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

static uint64_t blocks_left(const struct brick_tier_job *job)
{
	return job->span.end - job->at;
}

struct brick_tier_job *
brick_tier_turns_least(const struct brick_tier_jobs *jobs)
{
	struct brick_tier_job *job, *least = NULL;

	TAILQ_FOREACH(job, jobs, link)
	if (!least || blocks_left(job) < blocks_left(least))
		least = job;
	return least;
}

struct brick_tier_job *brick_tier_turns_most(const struct brick_tier_jobs *jobs,
					     const struct brick_tier_job *but)
{
	struct brick_tier_job *job, *most = NULL;

	TAILQ_FOREACH(job, jobs, link)
	if (job != but && job->n_moved &&
	    (!most || blocks_left(job) > blocks_left(most)))
		most = job;
	return most;
}
