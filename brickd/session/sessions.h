/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All sessions: what time brings, and what an administrator sees.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_SESSIONS_H
#define BRICKD_SESSION_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/session/state.h"

/**
 * brick_sessions_add - put a session into the table
 * @all: all sessions
 * @session: with its id
 */
void brick_sessions_add(struct brick_sessions *all,
			struct brick_session *session);
void brick_sessions_del(struct brick_sessions *all,
			struct brick_session *session);

/**
 * brick_sessions_find - the session with an id
 * @all: all sessions
 * @id: from a peer or an administrator
 *
 * Return: the session, in whatever state, or NULL.
 */
struct brick_session *brick_sessions_find(struct brick_sessions *all,
					  uint64_t id);

/**
 * brick_sessions_is_full - has a client, or have all, as many sessions as may be?
 * @all: all sessions
 * @client: whose
 *
 * Those that are ending take room, too, until their flushes are through: there
 * may be as many of them again.
 */
bool brick_sessions_is_full(const struct brick_sessions *all,
			    const struct brick_client *client);

/**
 * brick_sessions_evict - end all sessions of a client
 * @all: all sessions
 * @client: its name
 * @cause: KFB_EVICTED_*
 * @uid: with KFB_EVICTED_ORDER: whose order it is; else 0
 *
 * Return: how many there were to end.
 */
uint64_t brick_sessions_evict(struct brick_sessions *all, const char *client,
			      uint32_t cause, uint32_t uid);

/* What a client has through its sessions; NULL in there: it has none. */
struct brick_holdings **
brick_sessions_holdings(struct brick_sessions *all,
			const struct brick_client *client);

/* In whose turns the loop does what a client wants. */
struct brick_flow *brick_sessions_flow(struct brick_sessions *all,
				       const struct brick_client *client);

/* What a client has had done, also by sessions that are gone. */
struct brick_client_counters *
brick_sessions_counters(struct brick_sessions *all,
			const struct brick_client *client);

/*
 * struct brick_session_report - what can be said of a session
 * @client: "" before AUTH and without authentication
 * @key_number: of the client's keys, from 1 on, the one that it has proven; 0: none
 * @peer: PROVIDER[HOST]:PORT of its newest connection
 * @lease_left_ms: KFB_TIME_NEVER: it does not end by time
 * @n_queues: connections
 * @n_running: requests in flight
 * @n_pending: of these, waiting for their blocks
 * @n_failed: requests answered with another status than OK
 * @counts: requests so far, by KFB_OP_*
 */
struct brick_session_report {
	uint64_t id;
	const char *client;
	unsigned int key_number;
	const char *peer;
	enum kfb_session_state state;
	uint64_t lease_left_ms;
	uint32_t n_queues;
	uint64_t n_mappings;
	uint64_t n_handles;
	uint32_t n_running;
	uint32_t n_pending;
	uint64_t n_failed;
	uint64_t counts[KFB_OP_LAST + 1];
};

/**
 * brick_session_report - what can be said of a session
 * @session: any
 * @out: filled; its strings are good until the loop goes on
 */
void brick_session_report(const struct brick_session *session,
			  struct brick_session_report *out);

/**
 * brick_sessions_due - end a lease that is over, or tell clients that theirs is old
 * @all: all sessions
 *
 * The leases of thousands may be over at a time, and all that a session has mapped
 * is hidden with it: others are served between.
 *
 * Return: are there more? Then the loop must not sleep.
 */
bool brick_sessions_due(struct brick_sessions *all);

/* When brick_sessions_due() has something next; KFB_TIME_NEVER: nothing. */
uint64_t brick_sessions_next_ms(const struct brick_sessions *all);

/* The server stops: clients are told; who is not connected is not waited for. */
void brick_sessions_stop(struct brick_sessions *all);

#endif
