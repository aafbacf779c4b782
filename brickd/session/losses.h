/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the medium has lost, as a session is told: one range of its blocks after
 * the other, each once the one before was acknowledged. What cannot be named,
 * because a drain has failed or a record is gone, comes last, without blocks.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_LOSSES_H
#define BRICKD_SESSION_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/session/state.h"

/* A session begins: hold an EVENT for its next request, if there is cause. */
void brick_losses_begin(struct brick_session *session);

/**
 * brick_losses_next - go on to what is to be told next
 * @session: whose
 *
 * Return: true when there is something, in now.
 */
bool brick_losses_next(struct brick_session *session);

/**
 * brick_losses_look - see whether a page that cannot be had has ended a connection
 * @conn: it has ended; its endpoint is open
 *
 * Logs it, and tells all sessions that may read the block: a client over tcp sees that
 * its connections end, and nothing else says which operation is at fault.
 */
void brick_losses_look(struct brick_conn *conn);

/**
 * brick_losses_found - a page of a block could not be had
 * @all: sessions: those that may read it are told, as are those that begin soon
 * @block: it
 */
void brick_losses_found(struct brick_sessions *all, struct brick_span block);

/* The medium has failed: nobody can say which blocks it concerns. */
void brick_losses_tell(struct brick_sessions *all);

#endif
