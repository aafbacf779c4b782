/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session: a client, its connections, its requests, its mappings.
 *
 * A session has its own fabric domain, so that no key of another one means
 * anything on its connections. It outlives them until its lease is over. It
 * ends in this order: its endpoints are closed, the requests in flight finish,
 * the registrations are closed, what was written is flushed where that takes
 * more than one call for the whole medium, and only then may others have the
 * blocks.
 *
 *	session.c	connections: the first, further ones, their loss
 *	session_end.c	from the decision to end to the last registration
 *	sessions.c	all of them: by id, by time, for the administrator
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_SESSION_H
#define BRICKD_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/config/config.h"
#include "brickd/net/conn.h"
#include "brickd/session/event.h"
#include "brickd/storage/flush.h"
#include "brickd/session/lease.h"
#include "brickd/mapping/mapping.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/queue.h"
#include "brickd/base/work.h"
#include "proto/kfb_session.h"

#define BRICK_SESSION_WHO_BYTES 80
#define BRICK_DEVICE_BYTES	64

/*
 * struct brick_session - one client's session
 * @device: whose domain it is, as libfabric calls it
 * @commits: writes may ask to be durable when they are acknowledged
 * @state: changed by brick_session_move() only
 * @client: who it is, NULL before AUTH
 * @who: id and client, for the log
 * @peer: where its newest connection came from
 * @key: proves joins
 * @join_counter: of the newest join
 * @lease: runs while it is LIVE or DETACHED
 * @is_used: it has sent a request: there may be something to come back for
 * @is_told: a SHUTDOWN was sent
 * @events: what it is to be told
 * @n_conns: connections
 * @queues: by index, NULL where there was no connection yet
 * @n_ops: requests in flight
 * @n_pending: of these, waiting for their blocks
 * @n_handles: registrations
 * @counts: requests so far, by op
 * @n_failed: of these, answered with another status than OK
 * @quarantine: blocks that late writes of this session may still reach
 * @is_torn_down: @teardown or @flush is under way
 * @teardown: closes the registrations
 * @flush: then makes durable what was written
 */
struct brick_session {
	TAILQ_ENTRY(brick_session) link;
	struct brick_server *server;
	struct brick_fabric *fabric;
	struct fid_domain *domain;
	char device[BRICK_DEVICE_BYTES];
	bool commits;
	uint64_t id;
	uint32_t features;
	enum kfb_session_state state;
	const struct brick_client *client;
	char who[BRICK_SESSION_WHO_BYTES];
	char peer[BRICK_PEER_BYTES];
	uint8_t key[KFB_KEY_BYTES];
	uint32_t join_counter;
	struct brick_lease lease;
	bool is_used;
	bool is_told;
	struct brick_events events;
	uint32_t n_conns;
	struct brick_queue *queues[BRICK_QUEUES_MAX];
	uint32_t n_ops;
	uint32_t n_pending;
	uint64_t n_mappings;
	uint64_t n_handles;
	uint64_t counts[KFB_OP_LAST + 1];
	uint64_t n_failed;
	struct brick_mapping_list mappings;
	struct brick_quarantine quarantine;
	bool is_torn_down;
	struct brick_work teardown;
	struct brick_flush flush;
};

/* ---- session.c ---- */

/**
 * brick_session_open - a session for a connection request
 * @fabric: where it came in
 * @info: of the request
 * @hello: decoded
 * @raw_hello: KFB_HELLO_BYTES as they came
 *
 * Return: 0 (accepted) or -errno (nothing is left of it).
 */
int brick_session_open(struct brick_fabric *fabric, struct fi_info *info,
		       const struct kfb_hello *hello, const void *raw_hello);

/**
 * brick_session_judge_join - may a connection request join its session?
 * @fabric: where it came in
 * @info: of the request
 * @hello: decoded, with a session
 * @raw_hello: KFB_HELLO_BYTES as they came
 * @out: the session when it may
 *
 * Makes nothing and touches no connection. A counter that was proven is used
 * up, whatever comes after.
 *
 * Return: KFB_ST_OK; KFB_ST_STALE: no such session; KFB_ST_KEY_REJECTED: not
 * proven, or seen before; KFB_ST_LIMIT: no such queue.
 */
enum kfb_status brick_session_judge_join(struct brick_fabric *fabric,
					 const struct fi_info *info,
					 const struct kfb_hello *hello,
					 const void *raw_hello,
					 struct brick_session **out);

/**
 * brick_session_join - give a queue the connection that asks to join
 * @session: from brick_session_judge_join()
 * @info: of the request
 * @hello: decoded
 * @raw_hello: as it came
 *
 * The queue's former endpoint, if it still has one, is closed before.
 *
 * Return: 0 (accepted) or -errno (the queue has no connection).
 */
int brick_session_join(struct brick_session *session, struct fi_info *info,
		       const struct kfb_hello *hello, const void *raw_hello);

/* The endpoint is connected. */
void brick_session_connected(struct brick_conn *conn);

/**
 * brick_session_admit - the client is known: the session is LIVE
 * @session: OPENING
 * @client: who it is
 * @key: for its joins; copied
 */
void brick_session_admit(struct brick_session *session,
			 const struct brick_client *client,
			 const uint8_t key[KFB_KEY_BYTES]);

/* A message came: the lease begins anew. */
void brick_session_renew(struct brick_session *session);

/* Closes a connection that has failed; its session may end with it. */
void brick_session_lost(struct brick_conn *conn);

/* Has all connections closed; the session lives on. */
void brick_session_disconnect(struct brick_session *session, int priority,
			      const char *why);

/* Changes the state; an illegal move is logged and not made. */
void brick_session_move(struct brick_session *session,
			enum kfb_session_state to);

/* ---- session_end.c ---- */

/**
 * brick_session_fence - end a session, whatever it is doing
 * @session: in any state
 * @why: for the log
 *
 * Its endpoints are closed before the loop sleeps next, but one that is saying
 * goodbye gets its last reply out.
 */
void brick_session_fence(struct brick_session *session, const char *why);

/* The same, at once: its client is about to begin another one. */
void brick_session_replace(struct brick_session *session);

/* The same, for the administrator. */
void brick_session_evict(struct brick_session *session, const char *why);

/* Goes on ending a session that is: its last connection is closed, a request
 * has finished.
 */
void brick_session_progress(struct brick_session *session);

/* Is it to have nothing any more? */
static inline bool brick_session_is_ending(const struct brick_session *session)
{
	return session->state == KFB_SESSION_FENCING ||
	       session->state == KFB_SESSION_ENDED;
}

#endif
