/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One handler for each request, in op_NAME.c.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_OP_HANDLERS_H
#define BRICKD_OP_HANDLERS_H

#include <stdint.h>

struct brick_client;
struct brick_op;
struct brick_ops;
struct brick_reserves;
struct brick_sessions;

void brick_op_auth(struct brick_op *op);
void brick_op_info(struct brick_op *op);
void brick_op_alloc(struct brick_op *op);
void brick_op_free(struct brick_op *op);
void brick_op_map(struct brick_op *op);
void brick_op_unmap(struct brick_op *op);
void brick_op_list(struct brick_op *op);
void brick_op_flush(struct brick_op *op);
void brick_op_ping(struct brick_op *op);
void brick_op_fence(struct brick_op *op);
void brick_op_client(struct brick_op *op);
void brick_op_reserve(struct brick_op *op);
void brick_op_reservation(struct brick_op *op);

/* Disconnects sessions whose keys a device does not let go of. */
void brick_unmaps_due(struct brick_ops *ops);
uint64_t brick_unmaps_next_ms(const struct brick_ops *ops);

/* A session of a client has ended: it may have been the last that a FENCE waits for. */
void brick_fences_ended(struct brick_sessions *all,
			const struct brick_client *client);

void brick_reserves_init(struct brick_reserves *reserves);

/* A session has ended: it may have been the last that a RESERVE waits for. */
void brick_reserves_ended(struct brick_sessions *all);

#endif
