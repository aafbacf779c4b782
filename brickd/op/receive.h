/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a message to a request, and from its end to the reply.
 *
 * Credits belong to the connection; slots and recorded replies belong to the
 * queue: a request that is sent again on the next connection is answered from
 * them and not executed twice.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_OP_RECEIVE_H
#define BRICKD_OP_RECEIVE_H

#include <stdint.h>

#include "proto/kfb_err.h"

struct brick_conn;
struct brick_op;

/**
 * brick_op_receive - a message came
 * @conn: its queue's
 * @buf: bytes
 * @len: how many
 */
void brick_op_receive(struct brick_conn *conn, const void *buf, uint32_t len);

/**
 * brick_op_answer - record a reply, and send it where it is waited for
 * @op: executed; its reply has the body
 * @status: KFB_ST_*
 *
 * It is sent when the request came, or came again, on the connection that the
 * queue has now. Else the client asks once more, or has gone.
 */
void brick_op_answer(struct brick_op *op, enum kfb_status status);

#endif
