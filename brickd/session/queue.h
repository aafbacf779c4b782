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

#include "proto/kfb_codec.h"
#include "proto/kfb_err.h"
#include "proto/kfb_slot.h"

struct brick_conn;
struct brick_op;
struct brick_session;

/*
 * struct brick_record - a slot's last request
 * @op: KFB_OP_*
 * @status: of its reply
 * @mapping_id: MAP: what it made
 * @running: the request while it is executed
 */
struct brick_record {
	uint16_t op;
	uint16_t status;
	uint64_t mapping_id;
	struct brick_op *running;
};

/*
 * struct brick_queue - a queue
 * @session: whose
 * @index: as HELLO names it
 * @generation: connections so far
 * @conn: NULL while there is none
 * @credits: what the client may still send on @conn
 * @slots: cookies
 * @records: one for each slot
 */
struct brick_queue {
	struct brick_session *session;
	uint16_t index;
	uint32_t generation;
	struct brick_conn *conn;
	struct kfb_credits credits;
	struct kfb_slots slots;
	struct brick_record records[];
};

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

/**
 * brick_queue_message - a message came
 * @queue: with a connection
 * @buf: bytes
 * @len: how many
 */
void brick_queue_message(struct brick_queue *queue, const void *buf,
			 uint32_t len);

/**
 * brick_queue_answer - record a reply, and send it where it is waited for
 * @op: executed; its reply has the body
 * @status: KFB_ST_*
 *
 * It is sent when the request came, or came again, on the connection that the
 * queue has now. Else the client asks once more, or has gone.
 */
void brick_queue_answer(struct brick_op *op, enum kfb_status status);

#endif
