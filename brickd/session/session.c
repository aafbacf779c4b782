// SPDX-License-Identifier: BSD-2-Clause
/* A session's connections: the first one, its client, their loss. */
#include "brickd/session/session.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/util.h"
#include "brickd/net/net.h"
#include "brickd/session/auth.h"
#include "brickd/session/event.h"
#include "brickd/session/losses.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/queue.h"
#include "brickd/session/sessions.h"
#include "brickd/session/usage.h"
#include "brickd/storage/durable_write.h"
#include "brickd/storage/storage.h"
#include "proto/kfb_auth.h"

void brick_session_move(struct brick_session *s, enum kfb_session_state to)
{
	enum kfb_session_state from = s->state;

	if (kfb_session_move(&s->state, to)) {
		brick_log(LOG_ERR, s->who, "illegal move from %s to %s",
			  kfb_session_state_name(from),
			  kfb_session_state_name(to));
		return;
	}
	s->all->n_in[from]--;
	s->all->n_in[to]++;
}

static void describe_session(struct brick_session *s)
{
	const char *name = s->client ? s->client->name : "";

	snprintf(s->who, sizeof(s->who), "session %016llx%s%s",
		 (unsigned long long)s->id, *name ? " client " : "", name);
}

static void describe_conn(struct brick_conn *c)
{
	snprintf(c->who, sizeof(c->who), "%s queue %u %s", c->session->who,
		 c->queue->index, c->session->peer);
}

static int accept_peer(struct brick_conn *c, const struct kfb_hello *hello)
{
	const struct brick_session *s = c->session;
	struct kfb_accept accept = {
		.version = (uint8_t)kfb_version_choose(hello->version_min,
						       hello->version_max),
		.credits = c->queue->slots.n,
		.features = c->features,
		.req_max_bytes = KFB_REQ_MAX_BYTES,
		.reply_max_bytes = KFB_REPLY_MAX_BYTES,
		.session_id = s->id,
		.instance_id = s->all->storage->instance_id,
	};
	int len, rc = 0;

	randombytes_buf(accept.proof, sizeof(accept.proof));
	len = kfb_encode_accept(&accept, c->accept, sizeof(c->accept));
	if (len < 0)
		return len;
	if (hello->session_id)
		rc = brick_auth_prove_join(s, c->hello, c->accept);
	return rc ? rc : fi_accept(c->ep, c->accept, (size_t)len);
}

static struct brick_conn *conn_new(struct brick_queue *q, struct fi_info *info,
				   const struct kfb_hello *hello,
				   const void *raw_hello)
{
	struct brick_session *s = q->session;
	struct brick_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->net = s->all->net;
	c->domain = s->domain;
	c->session = s;
	c->queue = q;
	c->fabric = s->fabric;
	c->flow = s->flow;
	c->features = s->features & hello->features;
	c->event_credits = hello->credits < KFB_EVENTS_UNACKED_MAX
				   ? hello->credits
				   : KFB_EVENTS_UNACKED_MAX;
	brick_conn_set_deadline(
		c, brick_now_ms() + s->all->config->limits.auth_timeout_ms);
	memcpy(c->hello, raw_hello, KFB_HELLO_BYTES);
	if (info->dest_addr && info->dest_addrlen <= sizeof(c->peer))
		memcpy(&c->peer, info->dest_addr, info->dest_addrlen);
	brick_peer_format(c->fabric->address->scheme, &c->peer, sizeof(c->peer),
			  s->peer);
	describe_conn(c);
	return c;
}

/* Gives a queue the endpoint of a connection request and accepts it. */
static int connect_queue(struct brick_queue *q, struct fi_info *info,
			 const struct kfb_hello *hello, const void *raw_hello)
{
	struct brick_conn *c = conn_new(q, info, hello, raw_hello);
	int rc;

	if (!c)
		return -ENOMEM;
	rc = brick_conn_open(c, info, q->slots.n);
	if (rc)
		return rc;
	rc = accept_peer(c, hello);
	if (rc) {
		brick_conn_close(c);
		return rc;
	}
	brick_queue_attach(q, c);
	q->session->n_conns++;
	brick_count(&c->session->all->counters->accepted);
	brick_log_limited(&c->session->all->lines, LOG_DEBUG, c->who,
			  "accepted");
	return 0;
}

static struct brick_session *session_new(struct brick_fabric *fabric,
					 const struct kfb_hello *hello)
{
	struct brick_sessions *all = fabric->listener;
	struct brick_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->queues[0] =
		brick_queue_new(s, 0, (uint16_t)all->config->limits.credits);
	s->holdings = calloc(1, sizeof(*s->holdings));
	if (!s->queues[0] || !s->holdings) {
		free(s->holdings);
		free(s->queues[0]);
		free(s);
		return NULL;
	}
	TAILQ_INIT(&s->holdings->late);
	s->all = all;
	s->fabric = fabric;
	s->flow = &all->strangers;
	s->features = hello->features & KFB_FEATURES_V1;
	TAILQ_INIT(&s->mappings);
	TAILQ_INIT(&s->waiting);
	brick_flush_queue_init(&s->flushes);
	while (!s->id)
		randombytes_buf(&s->id, sizeof(s->id));
	describe_session(s);
	return s;
}

static const char *device_of(const struct fi_info *info)
{
	return info->domain_attr && info->domain_attr->name
		       ? info->domain_attr->name
		       : "";
}

/* No authentication: whoever connects is served. */
static void admit_anybody(struct brick_conn *c)
{
	static const uint8_t zero[KFB_KEY_BYTES];
	const struct kfb_transcript transcript = {
		.hello = c->hello,
		.accept = c->accept,
		.name = "",
	};
	uint8_t key[KFB_KEY_BYTES];

	_Static_assert(KFB_UUID_BYTES <= KFB_KEY_BYTES, "zero is a uuid too");
	(void)kfb_auth_session_key(&brick_hmac, zero, &transcript, zero, 0,
				   key);
	brick_session_admit(c->session, &c->session->all->anonymous, key);
	sodium_memzero(key, sizeof(key));
}

int brick_session_open(struct brick_fabric *fabric, struct fi_info *info,
		       const struct kfb_hello *hello, const void *raw_hello)
{
	struct brick_sessions *all = fabric->listener;
	struct brick_session *s = session_new(fabric, hello);
	int rc;

	if (!s)
		return -ENOMEM;
	snprintf(s->device, sizeof(s->device), "%s", device_of(info));
	rc = fi_domain(fabric->fabric, info, &s->domain, NULL);
	if (rc)
		goto free_session;
	s->commits =
		brick_durable_write_enable(all->storage, fabric, s->domain);
	rc = connect_queue(s->queues[0], info, hello, raw_hello);
	if (rc)
		goto close_domain;
	brick_sessions_add(all, s);
	if (all->config->auth == BRICK_AUTH_NONE)
		admit_anybody(s->queues[0]->conn);
	return 0;

close_domain:
	fi_close(&s->domain->fid);
free_session:
	free(s->holdings);
	free(s->queues[0]);
	free(s);
	return rc;
}

static void conn_ready(struct brick_conn *c)
{
	brick_conn_set_deadline(c, 0);
	brick_conn_move(c, KFB_CONN_READY);
	if (!c->queue->index)
		brick_events_again(c->session);
}

void brick_session_connected(struct brick_conn *c)
{
	if (c->state != KFB_CONN_CONNECTING)
		return;
	if (c->session->state == KFB_SESSION_OPENING)
		brick_conn_move(c, KFB_CONN_AUTH);
	else
		conn_ready(c);
	brick_conn_kick(c);
}

void brick_session_admit(struct brick_session *s,
			 const struct brick_client *client,
			 const uint8_t key[KFB_KEY_BYTES])
{
	struct brick_conn *c = s->queues[0]->conn;
	struct brick_holdings **has;

	s->client = client;
	s->flow = brick_sessions_flow(s->all, client);
	brick_conn_join_flow(c, s->flow);
	s->flushes.flow = s->flow;
	s->counters = brick_sessions_counters(s->all, client);
	s->flushes.flushed_bytes = &s->counters->flushed_bytes;
	brick_usage_begin(s);
	s->all->n_admitted++;
	/* All sessions of a client have the same, also those that are ending. */
	has = brick_sessions_holdings(s->all, client);
	if (*has) {
		free(s->holdings);
		s->holdings = *has;
	}
	*has = s->holdings;
	s->holdings->n_sessions++;
	if (!s->fabric->mr_fences)
		TAILQ_INSERT_TAIL(&s->holdings->late, s, late_link);
	brick_count(&s->all->counters->sessions_opened);
	memcpy(s->key, key, sizeof(s->key));
	describe_session(s);
	describe_conn(c);
	brick_session_move(s, KFB_SESSION_LIVE);
	brick_session_renew(s);
	if (c->state == KFB_CONN_AUTH)
		conn_ready(c);
	/* Its first message is the reply to AUTH. */
	brick_losses_begin(s);
	if (client->n_keys > 1)
		brick_log_limited(&s->all->lines, LOG_INFO, c->who,
				  "authenticated by key %u of %u",
				  brick_client_key(client, s->key_id),
				  client->n_keys);
	else
		brick_log_limited(&s->all->lines, LOG_INFO, c->who, "%s",
				  *client->name
					  ? "authenticated"
					  : "served without authentication");
}

void brick_session_renew(struct brick_session *s)
{
	if (s->state != KFB_SESSION_LIVE)
		return;
	brick_lease_renew(&s->all->leases, &s->lease, brick_now_ms());
	brick_event_drop(s, KFB_EVENT_LEASE);
}

bool brick_session_hear(struct brick_session *s)
{
	uint64_t now_ms = brick_now_ms();
	bool renewed = false;

	for (size_t i = 0; i < BRICK_QUEUES_MAX; i++) {
		const struct brick_queue *q = s->queues[i];
		uint64_t idle_ms;

		if (!q || !q->conn || brick_conn_idle_ms(q->conn, &idle_ms) ||
		    idle_ms > now_ms)
			continue;
		renewed |= brick_lease_renew_at(&s->all->leases, &s->lease,
						now_ms - idle_ms);
	}
	return renewed;
}

void brick_session_disconnect(struct brick_session *s, int priority,
			      const char *why)
{
	for (size_t i = 0; i < BRICK_QUEUES_MAX; i++) {
		struct brick_queue *q = s->queues[i];

		if (q && q->conn && !q->conn->is_disconnecting)
			brick_conn_fail(q->conn, priority, why);
	}
}

/* Closes an endpoint: nothing of it lands any more. */
static void drop_conn(struct brick_conn *c)
{
	struct brick_session *s = c->session;

	brick_log_limited(&s->all->lines, LOG_DEBUG, c->who, "closed");
	/* Whose endpoint is closed tells nothing any more. */
	brick_usage_look(s);
	brick_losses_look(c);
	c->queue->conn = NULL;
	s->n_conns--;
	brick_conn_close(c);
	if (!s->n_conns)
		brick_quarantine_end(s);
}

/* Its last connection is closed. */
static void detach_session(struct brick_session *s)
{
	/* Is there anything that its client could come back for? */
	if (s->state == KFB_SESSION_LIVE && s->is_used && s->lease.is_running &&
	    !s->all->stop->is_stopping) {
		brick_session_move(s, KFB_SESSION_DETACHED);
		brick_log_limited(&s->all->lines, LOG_INFO, s->who,
				  "lost its last connection, to %s", s->peer);
		return;
	}
	brick_session_fence(s, "its connection is gone");
	brick_session_progress(s);
}

void brick_session_lost(struct brick_conn *c)
{
	struct brick_session *s = c->session;

	brick_session_hear(s);
	drop_conn(c);
	if (!s->n_conns)
		detach_session(s);
}

enum kfb_status brick_session_validate_join(struct brick_fabric *f,
					    const struct fi_info *info,
					    const struct kfb_hello *hello,
					    const void *raw_hello,
					    struct brick_session **out)
{
	struct brick_session *s =
		brick_sessions_find(f->listener, hello->session_id);

	if (!s || brick_session_is_ending(s) || s->state == KFB_SESSION_OPENING)
		return KFB_ST_STALE;
	/* Its domain is of no use to what came in elsewhere. */
	if (s->fabric != f || strcmp(s->device, device_of(info)) != 0)
		return KFB_ST_STALE;
	if (!brick_auth_join_is_proven(s, raw_hello) ||
	    kfb_join_counter_check(s->join_counter, hello->join_counter))
		return KFB_ST_KEY_REJECTED;
	s->join_counter = hello->join_counter;
	if (hello->queue >= s->all->config->limits.queues)
		return KFB_ST_LIMIT;
	*out = s;
	return KFB_ST_OK;
}

int brick_session_join(struct brick_session *s, struct fi_info *info,
		       const struct kfb_hello *hello, const void *raw_hello)
{
	struct brick_queue *q = s->queues[hello->queue];
	int rc;

	if (!q)
		q = brick_queue_new(s, hello->queue,
				    (uint16_t)s->all->config->limits.credits);
	if (!q)
		return -ENOMEM;
	s->queues[hello->queue] = q;
	if (q->conn)
		drop_conn(q->conn);
	rc = connect_queue(q, info, hello, raw_hello);
	if (rc) {
		if (!s->n_conns && s->state == KFB_SESSION_LIVE)
			detach_session(s);
		return rc;
	}
	if (s->state == KFB_SESSION_DETACHED)
		brick_session_move(s, KFB_SESSION_LIVE);
	brick_session_renew(s);
	brick_count(&s->all->counters->sessions_joined);
	brick_log_limited(&s->all->lines, LOG_INFO, q->conn->who, "joined");
	return 0;
}
