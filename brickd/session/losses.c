// SPDX-License-Identifier: BSD-2-Clause
/* Losses of the medium, for whom they concern. */
#include "brickd/session/losses.h"

#include "brickd/base/clock.h"
#include "brickd/net/conn.h"
#include "brickd/session/event.h"
#include "brickd/storage/storage.h"

/* Sessions that begin so long after it are told of a page that could not be had. */
#define FOUND_MS 60000

/* The next lost blocks that this client may read. */
static bool find_lost(const struct brick_session *s, struct brick_span *out)
{
	const struct brick_grants *g = &s->client->grants;
	const struct brick_losses *l = &s->events.losses;

	for (uint32_t i = 0; i < g->n_ro; i++) {
		struct brick_span grant = g->ro[i], lost;
		uint64_t va, n;

		if (grant.end <= l->next)
			continue;
		if (grant.first < l->next)
			grant.first = l->next;
		n = brick_store_lost(s->all->storage->store,
				     grant.first << KFB_BLOCK_SHIFT, &va);
		if (!n)
			return false;
		lost = brick_span_of(va, n);
		if (lost.first >= grant.end)
			continue;
		out->first = lost.first;
		out->end = lost.end < grant.end ? lost.end : grant.end;
		return true;
	}
	return false;
}

bool brick_losses_next(struct brick_session *s)
{
	struct brick_losses *l = &s->events.losses;
	struct brick_span lost;

	if (l->n_told <= BRICK_LOSSES_MAX && find_lost(s, &lost)) {
		if (l->n_told++ < BRICK_LOSSES_MAX) {
			l->now = lost;
			l->next = lost.end;
			return true;
		}
		l->has_unnamed = true; /* one more than are named */
	}
	/* Behind what is lost for good, of which there is an end. */
	l->now = l->found;
	l->found = (struct brick_span){ 0 };
	if (l->now.end)
		return true;
	if (!l->has_unnamed)
		return false;
	l->has_unnamed = false;
	return true;
}

void brick_losses_begin(struct brick_session *s)
{
	const struct brick_store_recovery *r =
		brick_store_recovery(s->all->storage->store);
	const struct brick_found_block *found = &s->all->found;

	s->events.losses.has_unnamed =
		s->all->storage->medium_failed || r->records_bad;
	/* The session before may have ended with the connection. */
	if (found->block.end && brick_now_ms() - found->at_ms < FOUND_MS &&
	    brick_grants_allow(&s->client->grants, found->block, false))
		s->events.losses.found = found->block;
	if (brick_losses_next(s))
		brick_event_hold(s, KFB_EVENT_MEDIA_ERROR);
}

/* One that is not told meets it again, and then is. */
void brick_losses_found(struct brick_sessions *all, struct brick_span block)
{
	struct brick_session *s;

	all->found.block = block;
	all->found.at_ms = brick_now_ms();
	TAILQ_FOREACH(s, &all->list, link)
	{
		struct brick_losses *l = &s->events.losses;
		bool holds = s->events.holds[KFB_EVENT_MEDIA_ERROR];

		if ((s->state != KFB_SESSION_LIVE &&
		     s->state != KFB_SESSION_DETACHED) ||
		    !brick_grants_allow(&s->client->grants, block, false) ||
		    (holds && brick_spans_overlap(l->now, block)))
			continue;
		l->found = block;
		if (!holds && brick_losses_next(s))
			brick_event_raise(s, KFB_EVENT_MEDIA_ERROR);
	}
}

void brick_losses_look(struct brick_conn *c)
{
	struct brick_storage *storage = c->session->all->storage;
	const void *addr = c->stcp ? c->stcp->fault(c->ep) : NULL;
	uint64_t slot, va;

	if (!addr || !brick_store_slot_of(storage->store, addr, &slot))
		return;
	if (!brick_store_block_of(storage->store, slot, &va)) {
		brick_log_limited(&storage->fault_lines, LOG_ERR, c->who,
				  "the medium failed in slot %llu, which holds "
				  "no block any more",
				  (unsigned long long)slot);
		return;
	}
	brick_log_limited(
		&storage->fault_lines, LOG_ERR, c->who,
		"the medium failed in slot %llu: a page of the block "
		"at 0x%llx cannot be had, which has ended the "
		"connection; look for errors of the disk, and for room "
		"on the file system, below %s",
		(unsigned long long)slot, (unsigned long long)va,
		storage->media->path);
	brick_losses_found(c->session->all, brick_span_of(va, 1));
}

void brick_losses_tell(struct brick_sessions *all)
{
	struct brick_session *s;

	TAILQ_FOREACH(s, &all->list, link)
	{
		if (s->state != KFB_SESSION_LIVE &&
		    s->state != KFB_SESSION_DETACHED)
			continue;
		s->events.losses.has_unnamed = true;
		/* Something is being told already: this comes after it. */
		if (!s->events.holds[KFB_EVENT_MEDIA_ERROR] &&
		    brick_losses_next(s))
			brick_event_raise(s, KFB_EVENT_MEDIA_ERROR);
	}
}
