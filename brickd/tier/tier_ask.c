// SPDX-License-Identifier: BSD-2-Clause
/* Whom to ask for mappings, and for which. */
#include "brickd/tier/tier_ask.h"

#include <syslog.h>

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/config/config.h"
#include "brickd/session/event.h"
#include "brickd/session/recall.h"
#include "brickd/session/state.h"
#include "brickd/storage/storage.h"
#include "brickd/tier/tier_pins.h"
#include "brickd/tier/tier_state.h"

static uint64_t blocks_of(const struct brick_mapping *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->handles[i].span.end - m->handles[i].span.first;
	return n;
}

/* Pinned blocks would stay in memory. */
static bool is_of_use(const struct brick_tier *tier,
		      const struct brick_mapping *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (!brick_tier_pins_cover(tier, m->handles[i].span))
			return true;
	return false;
}

/* Returns how many blocks it would be; 0: it has none to give. */
static uint64_t ask_session(struct brick_tier *tier, struct brick_session *s,
			    uint64_t now_ms)
{
	uint64_t n, hold_ms = tier->config->limits.promote_wait_ms;
	struct brick_mapping *m;

	if ((s->state != KFB_SESSION_LIVE &&
	     s->state != KFB_SESSION_DETACHED) ||
	    !(s->features & KFB_FEATURE_EVENT) || brick_recall_asked(s, now_ms))
		return 0;
	TAILQ_FOREACH(m, &s->mappings, session_link)
	if (is_of_use(tier, m))
		break;
	if (!m)
		return 0;
	if (hold_ms < BRICK_RECALL_MIN_MS)
		hold_ms = BRICK_RECALL_MIN_MS;
	/* The next time another one is named. */
	TAILQ_REMOVE(&s->mappings, m, session_link);
	TAILQ_INSERT_TAIL(&s->mappings, m, session_link);
	brick_event_drop(s, KFB_EVENT_RECALL);
	s->events.recall.mapping_id = m->id;
	s->events.recall.until_ms = now_ms + hold_ms;
	brick_event_raise(s, KFB_EVENT_RECALL);
	brick_count(&tier->counters->tier_recalls);
	n = blocks_of(m);
	brick_log_limited(&tier->storage->slow_lines, LOG_INFO, s->who,
			  "asked to give back %llu blocks at 0x%llx: memory "
			  "is short",
			  (unsigned long long)n,
			  (unsigned long long)brick_mapping_hull(m).first
				  << KFB_BLOCK_SHIFT);
	return n;
}

/* What others have been asked for, or give back because they end. */
static uint64_t count_outstanding(struct brick_tier *tier,
				  const struct brick_session *waits,
				  uint64_t now_ms)
{
	struct brick_session *s;
	uint64_t n = 0;

	TAILQ_FOREACH(s, &tier->sessions->list, link)
	{
		const struct brick_mapping *m = brick_recall_asked(s, now_ms);

		if (brick_session_is_ending(s))
			n += s->n_handles;
		else if (m && s != waits)
			n += blocks_of(m);
	}
	return n;
}

bool brick_recall_ask(struct brick_tier *tier, uint64_t n_blocks,
		      struct brick_session *waits)
{
	uint64_t now_ms = brick_now_ms();
	uint64_t n = count_outstanding(tier, waits, now_ms);
	struct brick_session *s, *next;
	struct brick_session *last =
		TAILQ_LAST(&tier->sessions->list, brick_session_list);

	/* Who is asked goes to the end, so that all have their turn. */
	for (s = TAILQ_FIRST(&tier->sessions->list); s && n < n_blocks;
	     s = next) {
		uint64_t more = s == waits ? 0 : ask_session(tier, s, now_ms);

		next = s == last ? NULL : TAILQ_NEXT(s, link);
		n += more;
		if (!more)
			continue;
		TAILQ_REMOVE(&tier->sessions->list, s, link);
		TAILQ_INSERT_TAIL(&tier->sessions->list, s, link);
	}
	if (!n && waits)
		(void)ask_session(tier, waits, now_ms);
	return n;
}
