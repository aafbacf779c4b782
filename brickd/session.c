// SPDX-License-Identifier: BSD-2-Clause
/* Sessions: from the connection request to the last registration. */
#include "brickd/session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/clock.h"
#include "brickd/op.h"
#include "brickd/server.h"
#include "brickd/util.h"

static void move(struct brick_session *s, enum kfb_session_state to)
{
	if (s->state != to && kfb_session_move(&s->state, to))
		brick_log(LOG_ERR, NULL,
			  "session %016llx: illegal move from %s to %s",
			  (unsigned long long)s->id,
			  kfb_session_state_name(s->state),
			  kfb_session_state_name(to));
}

static void describe(struct brick_conn *c)
{
	const struct brick_session *s = c->session;
	const char *name = s->client ? s->client->name : "";
	char host[INET6_ADDRSTRLEN] = "?";
	unsigned int port = 0;

	if (c->peer.ss_family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)&c->peer;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		port = ntohs(in->sin_port);
	} else if (c->peer.ss_family == AF_INET6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&c->peer;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		port = ntohs(in6->sin6_port);
	}
	snprintf(c->who, sizeof(c->who), "session %016llx %s[%s]:%u%s%s",
		 (unsigned long long)s->id,
		 brick_provider_name(s->fabric->address->provider), host, port,
		 *name ? " client " : "", name);
}

static int accept_peer(struct brick_conn *c, const struct kfb_hello *hello)
{
	const struct brick_session *s = c->session;
	struct kfb_accept accept = {
		.version = (uint8_t)kfb_version_choose(hello->version_min,
						       hello->version_max),
		.credits = c->queue->slots.n,
		.features = s->features,
		.req_max_bytes = KFB_REQ_MAX_BYTES,
		.reply_max_bytes = KFB_REPLY_MAX_BYTES,
		.session_id = s->id,
		.instance_id = s->server->instance_id,
	};
	int rc;

	randombytes_buf(accept.nonce, sizeof(accept.nonce));
	rc = kfb_encode_accept(&accept, c->accept, sizeof(c->accept));
	if (rc < 0)
		return rc;
	return fi_accept(c->ep, c->accept, (size_t)rc);
}

static struct brick_conn *conn_new(struct brick_queue *q, struct fi_info *info,
				   const struct kfb_hello *hello,
				   const void *raw_hello)
{
	struct brick_session *s = q->session;
	struct brick_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->server = s->server;
	c->session = s;
	c->queue = q;
	c->fabric = s->fabric;
	c->event_credits = hello->credits < KFB_EVENTS_UNACKED_MAX
				   ? hello->credits
				   : KFB_EVENTS_UNACKED_MAX;
	c->deadline_ms =
		brick_now_ms() + s->server->config->limits.auth_timeout_ms;
	memcpy(c->hello, raw_hello, KFB_HELLO_BYTES);
	if (info->dest_addr && info->dest_addrlen <= sizeof(c->peer))
		memcpy(&c->peer, info->dest_addr, info->dest_addrlen);
	describe(c);
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
	rc = brick_conn_open(c, info);
	if (rc)
		return rc;
	rc = accept_peer(c, hello);
	if (rc) {
		brick_conn_close(c);
		return rc;
	}
	brick_queue_attach(q, c);
	q->session->n_conns++;
	brick_log(LOG_DEBUG, c->who, "accepted");
	return 0;
}

static struct brick_session *session_new(struct brick_fabric *fabric,
					 const struct kfb_hello *hello)
{
	struct brick_server *server = fabric->server;
	struct brick_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->queues[0] =
		brick_queue_new(s, 0, (uint16_t)server->config->limits.credits);
	if (!s->queues[0]) {
		free(s);
		return NULL;
	}
	s->server = server;
	s->fabric = fabric;
	s->features = hello->features & KFB_FEATURES_V1;
	TAILQ_INIT(&s->mappings);
	while (!s->id)
		randombytes_buf(&s->id, sizeof(s->id));
	return s;
}

static void session_free(struct brick_session *s)
{
	for (size_t i = 0; i < BRICK_QUEUES_MAX; i++)
		free(s->queues[i]);
	free(s);
}

int brick_session_open(struct brick_fabric *fabric, struct fi_info *info,
		       const struct kfb_hello *hello, const void *raw_hello)
{
	struct brick_session *s = session_new(fabric, hello);
	int rc;

	if (!s)
		return -ENOMEM;
	rc = fi_domain(fabric->fabric, info, &s->domain, NULL);
	if (rc)
		goto free_session;
	rc = connect_queue(s->queues[0], info, hello, raw_hello);
	if (rc)
		goto close_domain;
	TAILQ_INSERT_TAIL(&s->server->sessions, s, link);
	s->server->n_sessions++;
	return 0;

close_domain:
	fi_close(&s->domain->fid);
free_session:
	session_free(s);
	return rc;
}

void brick_session_connected(struct brick_conn *c)
{
	if (c->state != KFB_CONN_CONNECTING)
		return;
	brick_conn_move(c, KFB_CONN_AUTH);
	if (c->server->config->auth == BRICK_AUTH_NONE)
		c->deadline_ms = 0;
	brick_conn_kick(c);
}

void brick_session_admit(struct brick_conn *c,
			 const struct brick_client *client)
{
	struct brick_session *s = c->session;

	s->client = client;
	c->deadline_ms = 0;
	describe(c);
	move(s, KFB_SESSION_LIVE);
	brick_conn_move(c, KFB_CONN_READY);
	brick_log(LOG_INFO, c->who, "%s",
		  *client->name ? "authenticated"
				: "served without authentication");
}

void brick_session_lost(struct brick_conn *c)
{
	struct brick_session *s = c->session;

	if (s->state == KFB_SESSION_LIVE)
		brick_log(LOG_INFO, c->who, "gone");
	c->queue->conn = NULL;
	s->n_conns--;
	brick_conn_close(c);
	move(s, s->state == KFB_SESSION_OPENING ? KFB_SESSION_ENDED
						: KFB_SESSION_FENCING);
	brick_ops_cancel(s);
	brick_session_progress(s);
}

/* Registrar: the endpoint is closed, so nothing uses the domain any more. */
static void revoke_all(struct brick_work *work)
{
	struct brick_session *s =
		brick_container_of(work, struct brick_session, teardown);
	struct brick_mapping *m;

	TAILQ_FOREACH(m, &s->mappings, session_link)
	for (size_t i = 0; i < m->n; i++)
		brick_fabric_dereg(&m->handles[i].region);
	fi_close(&s->domain->fid);
}

static void forget_mappings(struct brick_session *s)
{
	struct brick_mapping *m;

	while ((m = TAILQ_FIRST(&s->mappings))) {
		TAILQ_REMOVE(&s->mappings, m, session_link);
		brick_mappings_del(&s->server->mappings, m);
		free(m->handles);
		free(m);
	}
}

static void finish(struct brick_session *s)
{
	struct brick_server *server = s->server;

	forget_mappings(s);
	brick_quarantine_end(s);
	move(s, KFB_SESSION_ENDED);
	TAILQ_REMOVE(&server->sessions, s, link);
	server->n_sessions--;
	session_free(s);
}

static void flushed(struct brick_flush *flush)
{
	struct brick_session *s =
		brick_container_of(flush, struct brick_session, flush);

	if (flush->error)
		brick_server_drain_failed(s->server);
	finish(s);
}

static size_t count_handles(const struct brick_session *s)
{
	const struct brick_mapping *m;
	size_t n = 0;

	TAILQ_FOREACH(m, &s->mappings, session_link)
	n += m->flags & KFB_MAP_RW ? m->n : 0;
	return n;
}

/*
 * A clean stop must have flushed all that was mapped for writing, also what
 * was unmapped before; on PAGE media the last drain does it for everything.
 */
static void revoked(struct brick_work *work)
{
	struct brick_session *s =
		brick_container_of(work, struct brick_session, teardown);
	const struct brick_mapping *m;
	size_t n = count_handles(s);

	if (!n || !brick_flush_is_needed(s->server)) {
		finish(s);
		return;
	}
	s->flush.done = flushed;
	if (brick_flush_alloc(&s->flush, n)) {
		brick_server_drain_failed(s->server);
		finish(s);
		return;
	}
	TAILQ_FOREACH(m, &s->mappings, session_link)
	if (m->flags & KFB_MAP_RW)
		brick_flush_add_handles(&s->flush, m->handles, m->n);
	brick_flush_submit(s->server, &s->flush);
}

void brick_session_progress(struct brick_session *s)
{
	if (!brick_session_is_ending(s) || s->n_conns || s->n_ops ||
	    s->is_torn_down)
		return;
	s->is_torn_down = true;
	s->teardown.run = revoke_all;
	s->teardown.done = revoked;
	brick_worker_submit(&s->server->registrar, &s->teardown);
}
