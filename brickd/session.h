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
#include "brickd/work.h"
#include "proto/kfb_session.h"
#include "proto/kfb_slot.h"

struct brick_op;

/* What is kept of a slot's last request. */
struct brick_record {
	uint16_t op;
	uint16_t status;
	uint64_t mapping_id;
};

/*
 * struct brick_session - one client's session
 * @conn: NULL once closed
 * @client: who it is, NULL before AUTH
 * @slots: cookies
 * @credits: what the client may still send
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
	struct brick_conn *conn;
	struct fid_domain *domain;
	uint64_t id;
	uint32_t features;
	enum kfb_session_state state;
	const struct brick_client *client;
	struct kfb_slots slots;
	struct kfb_credits credits;
	struct brick_record records[KFB_CREDITS_MAX];
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

/* Ends a session whose connection has failed; it is freed later. */
void brick_session_end(struct brick_session *session);

/* A request finished or a worker is done: go on ending, if it is. */
void brick_session_progress(struct brick_session *session);

bool brick_session_is_ending(const struct brick_session *session);

/**
 * brick_session_message - a message came
 * @session: whose
 * @buf: bytes
 * @len: how many
 */
void brick_session_message(struct brick_session *session, const void *buf,
			   uint32_t len);

/* The endpoint is connected. */
void brick_session_connected(struct brick_session *session);

/* Takes the session's client; the connection becomes READY. */
void brick_session_admit(struct brick_session *session,
			 const struct brick_client *client);

#endif
