/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which request goes to whom.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_OP_DISPATCH_H
#define BRICKD_OP_DISPATCH_H

#include <stdbool.h>

struct brick_op;

/**
 * brick_op_begin - execute a request
 * @op: from brick_op_receive(), with the queue's connection
 * @again: it was answered before
 */
void brick_op_begin(struct brick_op *op, bool again);

#endif
