/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue: one of a session's connections, and what must outlive it.
 *
 * Credits belong to the connection and begin anew with each one. Slots and
 * recorded replies belong to the queue: a request that is sent again on the
 * next connection is answered from them and not executed twice.
 *
 * Context: the loop thread.
 * Lifetime: made with its first connection, owned by its session, freed with
 * it.
 */
#ifndef BRICKD_SESSION_QUEUE_H
#define BRICKD_SESSION_QUEUE_H

#include <stdint.h>

#include "brickd/session/state.h"

/**
 * brick_queue_new - a queue without a connection
 * @session: whose
 * @index: its number
 * @credits: requests in flight
 *
 * Return: the queue, or NULL without memory.
 */
struct brick_queue *brick_queue_new(struct brick_session *session,
				    uint16_t index, uint16_t credits);

/**
 * brick_queue_attach - a connection takes over
 * @queue: without a connection
 * @conn: its next one; credits begin anew
 */
void brick_queue_attach(struct brick_queue *queue, struct brick_conn *conn);

#endif
