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

#include "brickd/net/conn.h"
#include "brickd/session/state.h"

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
 * brick_session_validate_join - may a connection request join its session?
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
enum kfb_status brick_session_validate_join(struct brick_fabric *fabric,
					    const struct fi_info *info,
					    const struct kfb_hello *hello,
					    const void *raw_hello,
					    struct brick_session **out);

/**
 * brick_session_join - give a queue the connection that asks to join
 * @session: from brick_session_validate_join()
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

/*
 * Renews the lease as of the last byte that came on any of its connections, also
 * of a write that is not over: a client on a slow link that moves its data is
 * there. Only brickd's own tcp knows. True when it did.
 */
bool brick_session_hear(struct brick_session *session);

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
 * disconnect gets its last reply out.
 */
void brick_session_fence(struct brick_session *session, const char *why);

/* The same, at once: its client is about to begin another one. */
void brick_session_replace(struct brick_session *session);

/**
 * brick_session_evict - end a session that its client would have go on
 * @session: in any state
 * @cause: KFB_EVICTED_*
 * @uid: with KFB_EVICTED_ORDER: whose order it is; else 0
 *
 * The client is told, if it understands that: its connection ends when the
 * EVENT is out, or after a second, and the others at once.
 */
void brick_session_evict(struct brick_session *session, uint32_t cause,
			 uint32_t uid);

/* Goes on ending a session that is: its last connection is closed, a request
 * has finished.
 */
void brick_session_progress(struct brick_session *session);

#endif
