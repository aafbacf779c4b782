/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quarantine: blocks that a session's late one-sided operations may reach.
 *
 * Closing a registration on stock tcp stops new operations only: one that is
 * under way lands its rest later. Until the session's endpoints are closed, its
 * former blocks are therefore not mapped for others, and slots freed meanwhile
 * are neither zeroed nor given out again.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_QUARANTINE_H
#define BRICKD_SESSION_QUARANTINE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/config/grants.h"
#include "brickd/store/store.h"
#include "proto/kfb_extent.h"

/* Separate extents of one session; more are merged into their hull. */
#define BRICK_QUARANTINE_MAX 4096
/* Frees of blocks that several sessions hold back, at a time. */
#define BRICK_HOLDS_MAX 256
/* Sessions that can hold one of them back. */
#define BRICK_HOLDERS_MAX 16

struct brick_server;
struct brick_session;

/**
 * struct brick_hold - freed slots that more than one session holds back
 * @token: names them to the store; 0: not in use
 * @n: quarantines
 * @ids: theirs; the last one to end releases the slots
 */
struct brick_hold {
	uint64_t token;
	uint32_t n;
	uint64_t ids[BRICK_HOLDERS_MAX];
};

/**
 * struct brick_quarantine - of one session
 * @n: spans in use
 * @spans: sorted, disjoint; NULL until needed
 * @id: random, never used twice; 0 until needed
 * @is_token: @id names freed slots to the store
 */
struct brick_quarantine {
	uint32_t n;
	struct brick_span *spans;
	uint64_t id;
	bool is_token;
};

/**
 * brick_quarantine_add - a mapping was closed
 * @session: whose
 * @span: its blocks
 *
 * Return: 0, or -ENOMEM: end the session instead.
 */
int brick_quarantine_add(struct brick_session *session, struct brick_span span);

/**
 * brick_quarantine_blocks - are blocks another session's?
 * @server: the server
 * @span: blocks
 * @but: a session that does not count, or NULL
 */
bool brick_quarantine_blocks(const struct brick_server *server,
			     struct brick_span span,
			     const struct brick_session *but);

/* Does a session hold any of some blocks back? */
bool brick_quarantine_is_of(const struct brick_session *session,
			    struct brick_span span);

/**
 * brick_quarantine_token - who holds freed slots back?
 * @server: the server
 * @span: blocks about to be freed
 * @token: for the store; 0 when nobody does
 *
 * Return: 0, or -EAGAIN when too many sessions do: it passes.
 */
int brick_quarantine_token(struct brick_server *server, struct brick_span span,
			   uint64_t *token);

/**
 * brick_quarantine_settle - a FREE with a token has ended
 * @server: the server
 * @token: from brick_quarantine_token()
 * @freed: it succeeded
 *
 * Releases the slots when all who held them back went while it ran.
 */
void brick_quarantine_settle(struct brick_server *server, uint64_t token,
			     bool freed);

/* The blocks are freed: their slots are the store's to hold back now. */
void brick_quarantine_forget(struct brick_server *server,
			     struct brick_span span);

/* The session's last endpoint is closed; a new quarantine may begin. */
void brick_quarantine_end(struct brick_session *session);

#endif
