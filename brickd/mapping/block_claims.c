// SPDX-License-Identifier: BSD-2-Clause
/* Claims on blocks: first come, first served where they overlap. */
#include "brickd/mapping/block_claims.h"

void brick_claims_init(struct brick_claims *claims)
{
	TAILQ_INIT(&claims->list);
}

/* Does anything that came before @end (NULL: all) overlap? */
static bool blocked(const struct brick_claims *claims, struct brick_span span,
		    const struct brick_claim *end)
{
	const struct brick_claim *c;

	TAILQ_FOREACH(c, &claims->list, link)
	{
		if (c == end)
			return false;
		if (brick_spans_overlap(c->span, span))
			return true;
	}
	return false;
}

bool brick_claims_would_wait(const struct brick_claims *claims,
			     struct brick_span span)
{
	return blocked(claims, span, NULL);
}

bool brick_claims_take(struct brick_claims *claims, struct brick_claim *claim)
{
	claim->held = !blocked(claims, claim->span, NULL);
	TAILQ_INSERT_TAIL(&claims->list, claim, link);
	return claim->held;
}

/* The first waiting claim that overlaps @gap and may go. */
static struct brick_claim *next_free(struct brick_claims *claims,
				     struct brick_span gap)
{
	struct brick_claim *c;

	TAILQ_FOREACH(c, &claims->list, link)
	if (!c->held && brick_spans_overlap(c->span, gap) &&
	    !blocked(claims, c->span, c))
		return c;
	return NULL;
}

void brick_claims_drop(struct brick_claims *claims, struct brick_claim *claim)
{
	struct brick_span gap = claim->span;
	struct brick_claim *next;

	TAILQ_REMOVE(&claims->list, claim, link);
	claim->held = false;
	/* granted() may drop its claim again: look afresh each time. */
	while ((next = next_free(claims, gap))) {
		next->held = true;
		next->granted(next);
	}
}
