// SPDX-License-Identifier: BSD-2-Clause
/* Range locks on blocks: first come, first served where they overlap. */
#include "brickd/mapping/range_locks.h"

void brick_range_locks_init(struct brick_range_locks *locks)
{
	TAILQ_INIT(&locks->list);
	locks->is_granting = false;
}

/* Does anything that came before @end (NULL: all) overlap? */
static bool is_blocked(const struct brick_range_locks *locks,
		       struct brick_span span,
		       const struct brick_range_lock *end)
{
	const struct brick_range_lock *c;

	TAILQ_FOREACH(c, &locks->list, link)
	{
		if (c == end)
			return false;
		if (brick_spans_overlap(c->span, span))
			return true;
	}
	return false;
}

bool brick_range_locks_would_wait(const struct brick_range_locks *locks,
				  struct brick_span span)
{
	return is_blocked(locks, span, NULL);
}

bool brick_range_locks_take(struct brick_range_locks *locks,
			    struct brick_range_lock *lock)
{
	lock->held = !is_blocked(locks, lock->span, NULL);
	TAILQ_INSERT_TAIL(&locks->list, lock, link);
	return lock->held;
}

/* The first waiting lock that overlaps @gap and may go. */
static struct brick_range_lock *next_free(struct brick_range_locks *locks,
					  struct brick_span gap)
{
	struct brick_range_lock *c;

	TAILQ_FOREACH(c, &locks->list, link)
	if (!c->held && brick_spans_overlap(c->span, gap) &&
	    !is_blocked(locks, c->span, c))
		return c;
	return NULL;
}

void brick_range_locks_drop(struct brick_range_locks *locks,
			    struct brick_range_lock *lock)
{
	struct brick_span gap = lock->span;
	struct brick_range_lock *next;

	TAILQ_REMOVE(&locks->list, lock, link);
	lock->held = false;
	/* granted() may drop its lock again: whoever is in the loop goes on. */
	if (locks->is_granting) {
		brick_span_widen(&locks->gap, gap);
		return;
	}
	locks->is_granting = true;
	locks->gap = gap;
	while ((next = next_free(locks, locks->gap))) {
		next->held = true;
		next->granted(next);
	}
	locks->is_granting = false;
}
