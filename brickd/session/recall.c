// SPDX-License-Identifier: BSD-2-Clause
/* What a session has been asked to give back. */
#include "brickd/session/recall.h"

#include "brickd/base/clock.h"

/* What a session is asked for and has not given back; NULL: nothing. */
struct brick_mapping *brick_recall_asked(const struct brick_session *s,
					 uint64_t now_ms)
{
	const struct brick_recall *g = &s->events.recall;
	struct brick_mapping *m;

	if (!s->events.holds[KFB_EVENT_RECALL] || now_ms >= g->until_ms ||
	    brick_mappings_find(&s->all->mappings, s->holdings, g->mapping_id,
				&m))
		return NULL;
	return m;
}

bool brick_recall_describe(const struct brick_session *s,
			   struct kfb_event *event)
{
	uint64_t now_ms = brick_now_ms();
	const struct brick_mapping *m = brick_recall_asked(s, now_ms);
	struct brick_span hull;
	uint64_t left_ms;

	if (!m)
		return false;
	hull = brick_mapping_hull(m);
	event->va = hull.first << KFB_BLOCK_SHIFT;
	event->n_blocks = hull.end - hull.first;
	event->mapping_id = m->id;
	left_ms = s->events.recall.until_ms - now_ms;
	event->deadline_ms =
		left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX;
	return true;
}
