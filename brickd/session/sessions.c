// SPDX-License-Identifier: BSD-2-Clause
/* All sessions: leases that end, keys that stay, what can be said of them. */
#include "brickd/session/sessions.h"

#include <string.h>

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/stop.h"
#include "brickd/base/util.h"
#include "brickd/net/net.h"
#include "brickd/session/event.h"
#include "brickd/session/session.h"

/* Sessions that are told that their leases are old, before others are served. */
#define OLD_MAX 16

static struct brick_session_bucket *id_bucket(struct brick_sessions *all,
					      uint64_t id)
{
	return &all->by_id[id % BRICK_SESSION_BUCKETS];
}

void brick_sessions_add(struct brick_sessions *all, struct brick_session *s)
{
	TAILQ_INSERT_TAIL(&all->list, s, link);
	LIST_INSERT_HEAD(id_bucket(all, s->id), s, id_link);
	all->n++;
	all->n_in[s->state]++;
}

void brick_sessions_del(struct brick_sessions *all, struct brick_session *s)
{
	TAILQ_REMOVE(&all->list, s, link);
	LIST_REMOVE(s, id_link);
	all->n--;
	all->n_in[s->state]--;
}

struct brick_session *brick_sessions_find(struct brick_sessions *all,
					  uint64_t id)
{
	struct brick_session *s;

	LIST_FOREACH(s, id_bucket(all, id), id_link)
	if (s->id == id)
		return s;
	return NULL;
}

static uint32_t client_place(const struct brick_sessions *all,
			     const struct brick_client *client)
{
	return client == &all->anonymous ? BRICK_CLIENTS_MAX : client->number;
}

struct brick_holdings **
brick_sessions_holdings(struct brick_sessions *all,
			const struct brick_client *client)
{
	return &all->holdings[client_place(all, client)];
}

bool brick_sessions_is_full(const struct brick_sessions *all,
			    const struct brick_client *client)
{
	uint64_t max = all->config->limits.sessions_per_client;
	const struct brick_holdings *h =
		all->holdings[client_place(all, client)];
	uint64_t n = h ? h->n_sessions : 0;
	uint64_t n_ending = h ? h->n_ending : 0;

	return n - n_ending >= max || n >= 2 * max ||
	       all->n_admitted >= all->config->limits.sessions;
}

uint64_t brick_sessions_evict(struct brick_sessions *all, const char *client,
			      uint32_t cause, uint32_t uid)
{
	struct brick_session *s;
	uint64_t n = 0;

	TAILQ_FOREACH(s, &all->list, link)
	{
		if (!s->client || brick_session_is_ending(s) ||
		    strcmp(s->client->name, client) != 0)
			continue;
		brick_session_evict(s, cause, uid);
		n++;
	}
	return n;
}

struct brick_flow *brick_sessions_flow(struct brick_sessions *all,
				       const struct brick_client *client)
{
	return &all->flows[client_place(all, client)];
}

struct brick_client_counters *
brick_sessions_counters(struct brick_sessions *all,
			const struct brick_client *client)
{
	return &all->of_clients[client_place(all, client)];
}

void brick_session_report(const struct brick_session *s,
			  struct brick_session_report *out)
{
	out->id = s->id;
	out->client = s->client ? s->client->name : "";
	out->peer = s->peer;
	out->state = s->state;
	out->lease_left_ms =
		brick_lease_left_ms(&s->all->leases, &s->lease, brick_now_ms());
	out->n_queues = s->n_conns;
	out->n_mappings = s->n_mappings;
	out->n_handles = s->n_handles;
	out->n_running = s->n_ops;
	out->n_pending = s->n_pending;
	out->n_failed = s->n_failed;
	out->key_number =
		s->key_id ? brick_client_key(s->client, s->key_id) : 0;
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

		if (q && q->conn)
			brick_conn_service(q->conn);
	}
	if (!s->lease.is_old || brick_session_hear(s))
		return;
	brick_count(&s->all->counters->leases_expired);
	brick_session_fence(s, "its lease is over");
}

bool brick_sessions_due(struct brick_sessions *all)
{
	/* Read when the loop woke up: what is due then is due. */
	uint64_t now_ms = all->net->loop->now_ms;
	struct brick_lease *lease;
	struct brick_session *s;

	for (unsigned int n = 0; n < OLD_MAX; n++) {
		switch (brick_leases_due(&all->leases, now_ms, &lease)) {
		case BRICK_LEASE_NONE_DUE:
			return false;
		case BRICK_LEASE_OLD:
			s = brick_container_of(lease, struct brick_session,
					       lease);
			if (!brick_session_hear(s))
				brick_event_raise(s, KFB_EVENT_LEASE);
			break;
		case BRICK_LEASE_OVER:
			lease_over(brick_container_of(
				lease, struct brick_session, lease));
			return true;
		}
	}
	return true;
}

uint64_t brick_sessions_next_ms(const struct brick_sessions *all)
{
	return brick_leases_next_ms(&all->leases);
}

void brick_sessions_stop(struct brick_sessions *all)
{
	struct brick_session *s;

	TAILQ_FOREACH(s, &all->list, link)
	{
		if (s->state == KFB_SESSION_DETACHED)
			brick_session_fence(s, "the brick is stopping");
		else if (s->state == KFB_SESSION_LIVE)
			s->is_told = brick_event_raise(s, KFB_EVENT_SHUTDOWN);
	}
}
