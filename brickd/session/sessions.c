// SPDX-License-Identifier: BSD-2-Clause
/* All sessions: leases that end, keys that stay, what can be said of them. */
#include "brickd/session/sessions.h"

#include <string.h>

#include "brickd/base/clock.h"
#include "brickd/op/op.h"
#include "brickd/server.h"
#include "brickd/base/util.h"

struct brick_session *brick_sessions_find(struct brick_server *server,
					  uint64_t id)
{
	struct brick_session *s;

	TAILQ_FOREACH(s, &server->sessions, link)
	if (s->id == id)
		return s;
	return NULL;
}

struct brick_session *brick_sessions_next(struct brick_server *server,
					  struct brick_session *s)
{
	return s ? TAILQ_NEXT(s, link) : TAILQ_FIRST(&server->sessions);
}

uint64_t brick_sessions_of(const struct brick_server *server,
			   const struct brick_client *client)
{
	const struct brick_session *s;
	uint64_t n = 0;

	TAILQ_FOREACH(s, &server->sessions, link)
	n += s->client == client && !brick_session_is_ending(s);
	return n;
}

void brick_session_report(const struct brick_session *s,
			  struct brick_session_report *out)
{
	out->id = s->id;
	out->client = s->client ? s->client->name : "";
	out->peer = s->peer;
	out->state = s->state;
	out->lease_left_ms = brick_lease_left_ms(&s->server->leases, &s->lease,
						 brick_now_ms());
	out->n_queues = s->n_conns;
	out->n_mappings = s->n_mappings;
	out->n_handles = s->n_handles;
	out->n_running = s->n_ops;
	out->n_pending = s->n_pending;
	out->n_failed = s->n_failed;
	memcpy(out->counts, s->counts, sizeof(out->counts));
}

/*
 * A brick that was held up itself finds leases over whose messages wait to be
 * read: it looks at their connections once more.
 */
static void lease_over(struct brick_session *s)
{
	for (size_t i = 0; i < BRICK_QUEUES_MAX; i++) {
		struct brick_queue *q = s->queues[i];

		if (q && q->conn && q->conn->state != KFB_CONN_CLOSING &&
		    brick_conn_service(q->conn))
			brick_conn_kick(q->conn);
	}
	if (!s->lease.is_old)
		return;
	brick_count(&s->server->counters.leases_expired);
	brick_session_fence(s, "its lease is over");
}

static void leases_due(struct brick_server *server)
{
	/* Read when the loop woke up: what is due then is due. */
	uint64_t now_ms = server->loop.now_ms;
	struct brick_lease *lease;

	for (;;) {
		switch (brick_leases_due(&server->leases, now_ms, &lease)) {
		case BRICK_LEASE_NONE_DUE:
			return;
		case BRICK_LEASE_OLD:
			brick_event_raise(
				brick_container_of(lease, struct brick_session,
						   lease),
				KFB_EVENT_LEASE);
			break;
		case BRICK_LEASE_OVER:
			lease_over(brick_container_of(
				lease, struct brick_session, lease));
			break;
		}
	}
}

void brick_sessions_due(struct brick_server *server)
{
	leases_due(server);
	brick_unmaps_due(server);
}

uint64_t brick_sessions_next_ms(const struct brick_server *server)
{
	uint64_t lease_ms = brick_leases_next_ms(&server->leases);
	uint64_t unmap_ms = brick_unmaps_next_ms(server);

	return lease_ms < unmap_ms ? lease_ms : unmap_ms;
}

void brick_sessions_stop(struct brick_server *server)
{
	struct brick_session *s;

	TAILQ_FOREACH(s, &server->sessions, link)
	{
		if (s->state == KFB_SESSION_DETACHED)
			brick_session_fence(s, "the brick is stopping");
		else if (s->state == KFB_SESSION_LIVE)
			s->is_told = brick_event_raise(s, KFB_EVENT_SHUTDOWN);
	}
}
