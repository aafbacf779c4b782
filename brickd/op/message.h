/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a message to a request.
 *
 * Credits belong to the connection; slots and recorded replies belong to the
 * queue: a request that is sent again on the next connection is answered from
 * them and not executed twice.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_OP_MESSAGE_H
#define BRICKD_OP_MESSAGE_H

#include <stdint.h>

struct brick_conn;

/**
 * brick_op_receive - a message came
 * @conn: its queue's
 * @buf: bytes
 * @len: how many
 */
void brick_op_receive(struct brick_conn *conn, const void *buf, uint32_t len);

#endif
