// SPDX-License-Identifier: BSD-2-Clause
/* Connection requests and other events of a fabric. */
#include "brickd/session/listen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/counters.h"
#include "brickd/base/stop.h"
#include "brickd/net/devices.h"
#include "brickd/net/net.h"
#include "brickd/session/session.h"
#include "kfabric/user/peer.h"
#include "proto/kfb_err.h"

#define RETRY_LIMIT_MS 1000
#define CM_DATA_BYTES  256
/* In a row, before others get their turn; and for so long. */
#define EVENTS_MAX 4
#define EVENTS_NS  100000ULL

union cm_event {
	struct fi_eq_cm_entry entry;
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + CM_DATA_BYTES];
};

/* A connection request; who: its peer and the session it names, for the log. */
struct request {
	struct brick_fabric *fabric;
	struct fi_info *info;
	const void *raw;
	size_t len;
	struct kfb_hello hello;
	char who[BRICK_WHO_BYTES];
};

/* Its peer has not proven a key, neither by AUTH nor as a join does. */
static bool is_stranger(const struct brick_conn *c)
{
	return c->session->state == KFB_SESSION_OPENING &&
	       c->state != KFB_CONN_CLOSING;
}

/* Whose place a newcomer from @peer takes; NULL: there is one left. */
static struct brick_conn *find_displaced(const struct brick_sessions *all,
					 const struct sockaddr_storage *peer)
{
	const struct brick_limits *limits = &all->config->limits;
	struct brick_conn *c, *oldest = NULL, *oldest_here = NULL;
	uint64_t n = 0, n_here = 0;

	/* All that have not authenticated have a deadline, in their order. */
	TAILQ_FOREACH(c, &all->net->hurried, hurry_link)
	{
		if (!is_stranger(c))
			continue;
		if (!n++)
			oldest = c;
		if (stcp_same_peer(&c->peer, peer) && !n_here++)
			oldest_here = c;
	}
	if (n_here >= limits->unauthenticated_per_address)
		return oldest_here;
	return n >= limits->unauthenticated ? oldest : NULL;
}

/*
 * Who has come before and has not said who it is goes. An AUTH that has come and
 * was not read yet is read first.
 */
static void displace_strangers(struct brick_sessions *all,
			       const struct fi_info *info)
{
	struct sockaddr_storage peer = { 0 };
	struct brick_conn *c;

	if (info->dest_addr && info->dest_addrlen <= sizeof(peer))
		memcpy(&peer, info->dest_addr, info->dest_addrlen);
	while ((c = find_displaced(all, &peer))) {
		brick_conn_service(c);
		if (is_stranger(c))
			brick_conn_fail(c, LOG_NOTICE,
					"it has not authenticated, and others "
					"want its place");
	}
}

static enum kfb_status validate_hello(struct request *r,
				      struct brick_session **joins)
{
	struct brick_sessions *all = r->fabric->listener;
	const struct brick_limits *limits = &all->config->limits;
	bool malformed = kfb_decode_hello(r->raw, (uint32_t)r->len, &r->hello);
	char peer[BRICK_PEER_BYTES];

	brick_peer_format(r->fabric->address->scheme, r->info->dest_addr,
			  r->info->dest_addrlen, peer);
	if (r->hello.session_id)
		snprintf(r->who, sizeof(r->who), "session %016llx queue %u %s",
			 (unsigned long long)r->hello.session_id,
			 r->hello.queue, peer);
	else
		snprintf(r->who, sizeof(r->who), "%s", peer);
	if (all->stop->is_stopping)
		return KFB_ST_SHUTDOWN;
	if (malformed)
		return KFB_ST_MALFORMED;
	if (kfb_version_choose(r->hello.version_min, r->hello.version_max) < 0)
		return KFB_ST_VERSION;
	if (!brick_device_is_tested(r->fabric, r->info)) {
		brick_log_limited(&all->net->lines[BRICK_LINES_REQUESTS],
				  LOG_WARNING, r->who,
				  "%s has not passed the self-test: "
				  "it had no address then; restart brickd",
				  r->info->domain_attr->name);
		return KFB_ST_NOT_SUPPORTED;
	}
	if (r->hello.session_id)
		return brick_session_validate_join(r->fabric, r->info,
						   &r->hello, r->raw, joins);
	/* Strangers that are ending are waited for if there are too many of them. */
	if (all->n_admitted >= limits->sessions ||
	    all->n - all->n_admitted >= 2 * limits->unauthenticated)
		return KFB_ST_LIMIT;
	displace_strangers(all, r->info);
	return KFB_ST_OK;
}

static void reject_request(struct request *r, enum kfb_status status)
{
	struct brick_sessions *all = r->fabric->listener;
	struct kfb_reject reject = {
		.status = (uint16_t)status,
		.version_min = KFB_VERSION,
		.version_max = KFB_VERSION,
		.retry_after_ms =
			status == KFB_ST_LIMIT || status == KFB_ST_NO_MEMORY
				? RETRY_LIMIT_MS
				: 0,
	};
	uint8_t raw[KFB_REJECT_BYTES];
	int n = kfb_encode_reject(&reject, raw, sizeof(raw));

	brick_log_limited(&all->net->lines[BRICK_LINES_REQUESTS], LOG_NOTICE,
			  r->who, "connection request refused: %s",
			  kfb_status_text((uint16_t)status));
	brick_count_refused(all->counters, status);
	/* One that was read when nobody listens any more went with the endpoint. */
	if (n > 0 && r->fabric->pep)
		fi_reject(r->fabric->pep, r->info->handle, raw, (size_t)n);
}

static void connection_request(struct brick_fabric *f, union cm_event *event,
			       size_t data_len)
{
	struct request r = {
		.fabric = f,
		.info = event->entry.info,
		.raw = event->entry.data,
		.len = data_len,
	};
	struct brick_session *joins = NULL;
	enum kfb_status status;
	int rc;

	status = validate_hello(&r, &joins);
	if (!status) {
		rc = joins ? brick_session_join(joins, r.info, &r.hello, r.raw)
			   : brick_session_open(f, r.info, &r.hello, r.raw);
		if (rc) {
			brick_log_limited(&f->net->lines[BRICK_LINES_REQUESTS],
					  LOG_ERR, r.who,
					  "no endpoint for a connection: %s",
					  fi_strerror(-rc));
			status = KFB_ST_NO_MEMORY;
		}
	}
	if (status)
		reject_request(&r, status);
	fi_freeinfo(r.info);
}

static void handle_event(struct brick_fabric *f, uint32_t kind,
			 union cm_event *event, size_t len)
{
	struct brick_conn *c;

	if (len < sizeof(event->entry))
		return;
	if (kind == FI_CONNREQ) {
		connection_request(f, event, len - sizeof(event->entry));
		return;
	}
	/* It may be about an endpoint that is gone. */
	c = brick_conn_find(f->net, event->entry.fid);
	if (!c)
		return;
	if (kind == FI_CONNECTED)
		brick_session_connected(c);
	else if (kind == FI_SHUTDOWN)
		brick_conn_fail(c, LOG_DEBUG, "closed by the peer");
}

static void handle_error(struct brick_fabric *f)
{
	struct fi_eq_err_entry err = { 0 };
	struct brick_conn *c;

	if (fi_eq_readerr(f->eq, &err, 0) < 0)
		return;
	c = brick_conn_find(f->net, err.fid);
	if (err.prov_errno && f->address->scheme->is_strict) {
		if (c)
			brick_conn_violated(c, err.prov_errno);
		else
			brick_violation_log(f->net, NULL, err.prov_errno);
		return;
	}
	if (c)
		brick_conn_fail(c, LOG_INFO, fi_strerror(err.err));
	else
		brick_log_limited(&f->net->lines[BRICK_LINES_REQUESTS],
				  LOG_INFO, NULL,
				  "a connection request failed: %s",
				  fi_strerror(err.err));
}

void brick_listen_service(struct brick_fabric *f)
{
	struct brick_busy *busy = f->net->flows->busy;
	struct fid *fids[1] = { &f->eq->fid };
	uint64_t begun_ns = brick_busy_end(busy);
	union cm_event event;
	uint32_t kind;

	for (int i = 0; i < EVENTS_MAX; i++) {
		ssize_t n = fi_eq_read(f->eq, &kind, &event, sizeof(event), 0);

		if (n == -FI_EAVAIL)
			handle_error(f);
		else if (n >= 0)
			handle_event(f, kind, &event, (size_t)n);
		else if (fi_trywait(f->fabric, fids, 1) != -FI_EAGAIN)
			return;
		brick_busy_with(busy, BRICK_BUSY_CONNECT);
		if (brick_busy_end(busy) - begun_ns >= EVENTS_NS)
			return;
	}
}
