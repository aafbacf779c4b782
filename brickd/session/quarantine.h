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

#include "brickd/session/state.h"

/**
 * brick_quarantine_add - a mapping was closed
 * @session: the session that had the mapping
 * @span: blocks of the mapping
 *
 * Return: 0, or -ENOMEM: end the session instead.
 */
int brick_quarantine_add(struct brick_session *session, struct brick_span span);

/**
 * brick_quarantine_blocks - are blocks another session's?
 * @all: all sessions
 * @span: blocks
 * @but: a session that does not count, or NULL
 */
bool brick_quarantine_blocks(const struct brick_sessions *all,
			     struct brick_span span,
			     const struct brick_session *but);

/* Does a session hold any of some blocks back? */
bool brick_quarantine_is_of(const struct brick_session *session,
			    struct brick_span span);

/**
 * brick_quarantine_next - the next blocks that a session holds back
 * @session: whose
 * @block: at or behind this one
 * @out: the blocks
 *
 * Return: false: there are none.
 */
bool brick_quarantine_next(const struct brick_session *session, uint64_t block,
			   struct brick_span *out);

/**
 * brick_quarantine_token - who holds freed slots back?
 * @all: all sessions
 * @span: blocks about to be freed
 * @token: for the store; 0 when nobody does
 *
 * Return: 0, or -EAGAIN when too many sessions do: it passes.
 */
int brick_quarantine_token(struct brick_sessions *all, struct brick_span span,
			   uint64_t *token);

/**
 * brick_quarantine_settle - a FREE with a token has ended
 * @all: all sessions
 * @token: from brick_quarantine_token()
 * @freed: the FREE has succeeded
 *
 * Releases the slots when all who held them back went while it ran.
 */
void brick_quarantine_settle(struct brick_sessions *all, uint64_t token,
			     bool freed);

/* The blocks are freed: their slots are the store's to hold back now. */
void brick_quarantine_forget(struct brick_sessions *all,
			     struct brick_span span);

/* The session's last endpoint is closed; a new quarantine may begin. */
void brick_quarantine_end(struct brick_session *session);

#endif
