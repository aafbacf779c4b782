// SPDX-License-Identifier: BSD-2-Clause
/*
 * The end of a session: endpoints, requests, registrations, flush, blocks.
 *
 * The order is what keeps late bytes out. Nothing may be taken out of it, and
 * nothing moved.
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

#include "brickd/base/counters.h"
#include "brickd/base/util.h"
#include "brickd/session/event.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/session.h"
#include "brickd/session/sessions.h"
#include "brickd/session/usage.h"
#include "brickd/storage/storage.h"
#include "brickd/storage/storage_failure.h"

void brick_session_fence(struct brick_session *s, const char *why)
{
	bool was_open = s->state != KFB_SESSION_OPENING;

	if (brick_session_is_ending(s))
		return;
	brick_log_limited(&s->all->lines, was_open ? LOG_INFO : LOG_DEBUG,
			  s->who, "ends: %s", why);
	brick_lease_stop(&s->all->leases, &s->lease);
	if (s->client)
		s->holdings->n_ending++;
	brick_session_move(s,
			   was_open ? KFB_SESSION_FENCING : KFB_SESSION_ENDED);
	brick_session_disconnect(s, LOG_DEBUG, why);
	brick_session_progress(s);
}

void brick_session_replace(struct brick_session *s)
{
	brick_session_fence(s, "its client begins another one");
	/* A connection that is disconnecting goes, too: nobody hears it. */
	for (size_t i = 0; i < BRICK_QUEUES_MAX; i++) {
		struct brick_queue *q = s->queues[i];

		if (q && q->conn)
			brick_session_lost(q->conn);
	}
}

static const char *const eviction_texts[KFB_EVICTED_LAST + 1] = {
	[KFB_EVICTED_CLIENT] = "its client was removed",
	[KFB_EVICTED_KEY] = "its client has no longer the key it used",
	[KFB_EVICTED_GRANT] = "a grant it uses was taken",
	[KFB_EVICTED_FENCED] = "its client is fenced",
	[KFB_EVICTED_RESERVED] = "a reservation forbids what it has mapped",
};

void brick_session_evict(struct brick_session *s, uint32_t cause, uint32_t uid)
{
	if (brick_session_is_ending(s))
		return;
	if (cause == KFB_EVICTED_ORDER)
		brick_log(LOG_NOTICE, s->who, "evicted: by uid %" PRIu32, uid);
	else
		brick_log(LOG_NOTICE, s->who, "evicted: %s",
			  eviction_texts[cause]);
	brick_count(&s->all->counters->evictions);
	brick_event_evicted(s, cause, uid);
	brick_session_fence(s, "evicted");
}

/*
 * Registrar: the endpoints are closed, so nothing uses the domain any more, and no
 * request changes the mappings. What they are is looked at here, not in the loop.
 */
static void revoke_all(struct brick_work *work)
{
	struct brick_session *s =
		brick_container_of(work, struct brick_session, teardown);
	struct brick_mapping *m;
	int rc;

	TAILQ_FOREACH(m, &s->mappings, session_link)
	{
		/* One that does not close has no endpoints any more. */
		for (size_t i = 0; i < m->n; i++)
			(void)brick_fabric_dereg(&m->handles[i].region, s->who);
		/*
		 * A clean stop must have flushed all that was mapped for writing, also
		 * what was unmapped before; on PAGE media the last drain does it for
		 * everything.
		 */
		if (!s->flush.error && m->flags & KFB_MAP_RW &&
		    brick_flush_is_needed(s->all->storage))
			s->flush.error = brick_flush_add_handles(
				&s->flush, m->handles, m->n);
	}
	rc = fi_close(&s->domain->fid);
	if (rc)
		brick_log(LOG_ERR, s->who, "its domain does not close: %s",
			  fi_strerror(-rc));
}

static void finish_end(struct brick_session *s)
{
	const struct brick_client *client = s->client;
	struct brick_sessions *all = s->all;

	brick_quarantine_end(s);
	brick_usage_end(s);
	if (s->client) {
		s->holdings->n_sessions--;
		s->holdings->n_ending--;
		if (!s->fabric->mr_fences)
			TAILQ_REMOVE(&s->holdings->late, s, late_link);
		brick_count(&all->counters->sessions_fenced);
		all->n_admitted--;
	}
	if (!s->holdings->n_sessions) {
		if (s->client)
			*brick_sessions_holdings(all, s->client) = NULL;
		free(s->holdings);
	}
	if (s->state == KFB_SESSION_FENCING)
		brick_session_move(s, KFB_SESSION_ENDED);
	brick_log_limited(&all->lines, LOG_DEBUG, s->who, "ended");
	brick_sessions_del(all, s);
	for (size_t i = 0; i < BRICK_QUEUES_MAX; i++)
		free(s->queues[i]);
	sodium_memzero(s->key, sizeof(s->key));
	free(s);
	if (client)
		all->ops->ended(all, client);
}

/* Its handles leave the table a few at a time, with turns of others in between. */
static void end_some(struct brick_work *work)
{
	struct brick_session *s =
		brick_container_of(work, struct brick_session, teardown);
	struct brick_mapping *m = TAILQ_FIRST(&s->mappings);
	size_t n;

	brick_busy_with(s->all->busy, BRICK_BUSY_SESSION);
	if (!m) {
		finish_end(s);
		return;
	}
	n = m->n < BRICK_MAPPING_STEP ? m->n : BRICK_MAPPING_STEP;
	s->all->ops->rest(s->all, &m->handles[m->n - n], n);
	brick_mappings_shorten(&s->all->mappings, m);
	if (!m->n) {
		TAILQ_REMOVE(&s->mappings, m, session_link);
		free(m->handles);
		free(m);
	}
	brick_work_go_on_behind(s->all->registrar.box->flows, &s->teardown);
}

static void end_mappings(struct brick_session *s)
{
	s->teardown.done = end_some;
	end_some(&s->teardown);
}

static void end_flushed(struct brick_flush *flush)
{
	struct brick_session *s =
		brick_container_of(flush, struct brick_session, flush);

	brick_failure_look(s->all->storage);
	brick_busy_with(s->all->busy, BRICK_BUSY_SESSION);
	end_mappings(s);
}

static void end_revoked(struct brick_work *work)
{
	struct brick_session *s =
		brick_container_of(work, struct brick_session, teardown);

	brick_busy_with(s->all->busy, BRICK_BUSY_SESSION);
	if (s->flush.error)
		s->all->storage->has_unflushed = true;
	if (s->flush.error || !s->flush.n) {
		brick_flush_drop(&s->flush);
		end_mappings(s);
		return;
	}
	s->flush.done = end_flushed;
	brick_flush_submit(s->all->storage, &s->flushes, &s->flush);
}

/* One at a time: there may be thousands, each with as many behind it. */
static void cancel_one(struct brick_work *work)
{
	struct brick_session *s =
		brick_container_of(work, struct brick_session, teardown);

	brick_busy_with(s->all->busy, BRICK_BUSY_SESSION);
	if (s->all->ops->cancel(s)) {
		brick_work_go_on_behind(s->all->registrar.box->flows,
					&s->teardown);
		return;
	}
	s->is_cancelling = false;
	brick_session_progress(s);
}

void brick_session_progress(struct brick_session *s)
{
	if (!brick_session_is_ending(s) || s->n_conns || s->is_cancelling ||
	    s->is_torn_down)
		return;
	s->teardown.flow = s->flow;
	if (s->n_ops) {
		/* Those that wait; the others finish by themselves. */
		if (!TAILQ_EMPTY(&s->waiting)) {
			s->is_cancelling = true;
			s->teardown.done = cancel_one;
			cancel_one(&s->teardown);
		}
		return;
	}
	s->is_torn_down = true;
	s->teardown.whose = s->client;
	s->teardown.run = revoke_all;
	s->teardown.done = end_revoked;
	brick_worker_submit(&s->all->registrar, &s->teardown);
}
