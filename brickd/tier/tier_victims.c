// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who is demoted: what has been at rest for longest and may be moved.
 *
 * The store's list of blocks at rest need not be exact. A block that turns out
 * to be mapped or pinned leaves it, until it comes to rest again or is unpinned;
 * one that is busy for a moment goes to its end.
 *
 * Quarantined blocks are not moved: late bytes of a connection might land in
 * their slots after these hold another block. When nothing else is left and a
 * MAP waits, the connections that hold them back are closed, of those clients
 * that said that they resume their session by themselves.
 */
#include "brickd/tier/tier_victims.h"

#include <syslog.h>

#include "brickd/base/counters.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/session.h"
#include "brickd/storage/storage.h"
#include "brickd/tier/tier_pins.h"
#include "brickd/tier/tier_reserve.h"

enum verdict {
	MOVABLE,
	BUSY,
	QUARANTINED,
	KEPT,
};

static enum verdict classify_block(const struct brick_tier *tier, uint64_t va,
				   bool to_slow)
{
	struct brick_span span = brick_span_of(va, 1);

	if (to_slow && brick_tier_is_pinned(tier, span.first))
		return KEPT;
	/* First: what is being mapped is in the table, and may be undone. */
	if (brick_range_locks_would_wait(tier->range_locks, span))
		return BUSY;
	if (brick_mappings_conflict(&tier->sessions->mappings, span, false))
		return KEPT;
	if (to_slow && brick_quarantine_blocks(tier->sessions, span, NULL))
		return QUARANTINED;
	return MOVABLE;
}

bool brick_tier_is_movable(const struct brick_tier *tier, uint64_t va,
			   bool to_slow)
{
	return classify_block(tier, va, to_slow) == MOVABLE;
}

/* Without a lease a session ends with its connections: not for this. */
static void end_quarantine(struct brick_tier *tier, uint64_t va)
{
	struct brick_span span = brick_span_of(va, 1);
	struct brick_session *s;

	TAILQ_FOREACH(s, &tier->sessions->list, link)
	{
		if (!brick_quarantine_is_of(s, span) ||
		    !(s->features & KFB_FEATURE_RESUME) || !s->lease.is_running)
			continue;
		brick_count(&tier->counters->tier_disconnects);
		brick_session_disconnect(s, LOG_INFO,
					 "the slots of its former blocks are "
					 "needed");
	}
}

unsigned int brick_tier_victims(struct brick_tier *tier, uint64_t *va,
				unsigned int max,
				const struct brick_tier_job *job,
				enum brick_tier_excuse *excuse)
{
	uint64_t back[BRICK_TIER_LOOK_MAX], cold, quarantined = 0;
	bool any_quarantined = false;
	unsigned int n = 0, looked = 0, n_back = 0, i;

	*excuse = BRICK_TIER_NONE_LEFT;
	for (; n < max && looked < BRICK_TIER_LOOK_MAX; looked++) {
		if (!brick_store_coldest(tier->storage->store, &cold, 1))
			break;
		if (brick_tier_is_reserved(tier, cold, job)) {
			*excuse = BRICK_TIER_WAIT;
			back[n_back++] = cold;
			continue;
		}
		switch (classify_block(tier, cold, true)) {
		case MOVABLE:
			va[n++] = cold;
			break;
		case KEPT:
			break;
		case QUARANTINED:
			quarantined = cold;
			any_quarantined = true;
			back[n_back++] = cold;
			break;
		case BUSY:
			/* What the job has locked does not get free for it. */
			if (!job || !job->is_locked ||
			    !brick_spans_overlap(job->span,
						 brick_span_of(cold, 1)))
				*excuse = BRICK_TIER_WAIT;
			back[n_back++] = cold;
			break;
		}
	}
	for (i = 0; i < n_back; i++)
		brick_store_rest(tier->storage->store, back[i], 1);
	if (n)
		return n;
	if (any_quarantined) {
		/* They get free at some time: it is not for want of space. */
		*excuse = BRICK_TIER_WAIT;
		if (job)
			end_quarantine(tier, quarantined);
	}
	if (looked == BRICK_TIER_LOOK_MAX && *excuse != BRICK_TIER_WAIT)
		*excuse = BRICK_TIER_LOOK_ON;
	return 0;
}
