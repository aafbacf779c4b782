// SPDX-License-Identifier: BSD-2-Clause
#include "brickd/tier/tier_reserve.h"

#include <errno.h>

#include "brickd/base/clock.h"
#include "brickd/config/config.h"
#include "brickd/session/state.h"

static bool has_reserved(const struct brick_tier *tier,
			 const struct brick_tier_job *job)
{
	return brick_now_ms() < tier->reserved.until_ms && job->is_locked &&
	       job->whose == tier->reserved.whose &&
	       brick_spans_overlap(job->span, tier->reserved.span);
}

void brick_tier_resume_reserved(struct brick_tier *tier,
				const struct brick_tier_job *job)
{
	if (has_reserved(tier, job) && tier->reserved.until_ms <= job->until_ms)
		tier->reserved.until_ms = job->until_ms + 1;
}

bool brick_tier_is_reserved(const struct brick_tier *tier, uint64_t va,
			    const struct brick_tier_job *job)
{
	return brick_now_ms() < tier->reserved.until_ms &&
	       brick_spans_overlap(tier->reserved.span, brick_span_of(va, 1)) &&
	       !(job && has_reserved(tier, job));
}

void brick_tier_reserve(struct brick_tier *tier,
			const struct brick_tier_job *job)
{
	uint64_t now_ms = brick_now_ms();
	uint64_t ms = tier->config->limits.promote_wait_ms;
	bool is_own = has_reserved(tier, job);

	if (job->error != -EAGAIN) {
		if (is_own)
			tier->reserved.until_ms = 0;
		return;
	}
	if (!job->n_moved || (!is_own && now_ms < tier->reserved.until_ms) ||
	    (job->is_unwanted && job->is_unwanted(job)))
		return;
	tier->reserved = (struct brick_tier_reservation){
		.whose = job->whose,
		.span = job->span,
		.until_ms =
			now_ms +
			(ms < BRICK_RECALL_MIN_MS ? BRICK_RECALL_MIN_MS : ms),
	};
}
