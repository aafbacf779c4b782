/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session: a client, its requests, its mappings.
 *
 * A session has its own fabric domain, so that no key of another one means
 * anything on its connection. It ends with its connection: the endpoint is
 * closed first, then the requests in flight finish, then the registrations are
 * closed, what was written is flushed where that takes more than one call for
 * the whole medium, and only then may others have the blocks.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_H
#define BRICKD_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/config.h"
#include "brickd/conn.h"
#include "brickd/flush.h"
#include "brickd/mapping.h"
#include "brickd/quarantine.h"
#include "brickd/queue.h"
#include "brickd/work.h"
#include "proto/kfb_session.h"

/* Connections that one session can have. */
#define BRICK_QUEUES_MAX 64

/*
 * struct brick_session - one client's session
 * @client: who it is, NULL before AUTH
 * @n_conns: connections
 * @queues: by index, NULL where there was no connection yet
 * @n_ops: requests in flight
 * @n_handles: registrations
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
	uint64_t id;
	uint32_t features;
	enum kfb_session_state state;
	const struct brick_client *client;
	uint32_t n_conns;
	struct brick_queue *queues[BRICK_QUEUES_MAX];
	uint32_t n_ops;
	uint64_t n_mappings;
	uint64_t n_handles;
	struct brick_mapping_list mappings;
	struct brick_quarantine quarantine;
	bool is_torn_down;
	struct brick_work teardown;
	struct brick_flush flush;
};

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

/* Closes a connection that has failed; its session may end with it. */
void brick_session_lost(struct brick_conn *conn);

/* A request finished or a worker is done: go on ending, if it is. */
void brick_session_progress(struct brick_session *session);

/* Is it to have nothing any more? */
static inline bool brick_session_is_ending(const struct brick_session *session)
{
	return session->state == KFB_SESSION_FENCING ||
	       session->state == KFB_SESSION_ENDED;
}

/* The endpoint is connected. */
void brick_session_connected(struct brick_conn *conn);

/* Takes the session's client; its first connection becomes READY. */
void brick_session_admit(struct brick_conn *conn,
			 const struct brick_client *client);

#endif
