/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations: what there is to know of each, in one table.
 *
 * Whoever treats ops differently asks here, so that an op is added by a row.
 * Only what an op does has a place of its own: the brick's handler, the
 * client's call.
 *
 * Context: any.
 */
#ifndef KFB_OPS_H
#define KFB_OPS_H

#include <linux/types.h>
#include "../kfb_wire.h"

struct kfb_request;
struct kfb_request_form;
struct kfb_reply_form;

/**
 * enum kfb_op_trait - what is true of some ops, as bits
 * @KFB_OP_OPENS: the op is a connection's, not a session's: the only one before
 *	the session, and not allowed in it; it takes a credit and no slot, and its
 *	answer is not recorded
 * @KFB_OP_URGENT: the op may take the reserved credits and slots
 * @KFB_OP_RECOMPUTED: executing the op once more does no harm, and its reply is
 *	large or tells of the present: resent, it is executed again instead of
 *	answered from the record. A MAP finds the mapping that its first
 *	execution made, by the cookie
 * @KFB_OP_NOT_STOPPING: a brick that is stopping refuses the op
 */
enum kfb_op_trait {
	KFB_OP_OPENS = 1 << 0,
	KFB_OP_URGENT = 1 << 1,
	KFB_OP_RECOMPUTED = 1 << 2,
	KFB_OP_NOT_STOPPING = 1 << 3,
};

/**
 * struct kfb_op - one operation
 * @name: for logs and people
 * @label: for counters and metrics
 * @traits: enum kfb_op_trait
 * @request: how its body travels; NULL: no client sends it
 * @reply: how the body of its good reply travels, or of the EVENT
 */
struct kfb_op {
	const char *name;
	const char *label;
	__u16 traits;
	const struct kfb_request_form *request;
	const struct kfb_reply_form *reply;
};

/**
 * kfb_op - what there is to know of an op
 * @op: KFB_OP_*, without KFB_OP_REPLY
 *
 * Context: any.
 * Return: its row, or NULL for an op that this version does not know.
 */
const struct kfb_op *kfb_op(__u16 op);

/**
 * kfb_op_is - is this true of an op?
 * @op: KFB_OP_*
 * @trait: one of &enum kfb_op_trait
 *
 * Context: any.
 * Return: true or false; false for an unknown op.
 */
_Bool kfb_op_is(__u16 op, enum kfb_op_trait trait);

/**
 * kfb_op_name - an op's name for logs and tables
 * @op: KFB_OP_*
 *
 * Context: any.
 * Return: a constant string, "?" for an unknown op.
 */
const char *kfb_op_name(__u16 op);

/**
 * kfb_op_label - an op's name for counters and metrics
 * @op: KFB_OP_*
 *
 * Context: any.
 * Return: a constant string, "unknown" for an unknown op.
 */
const char *kfb_op_label(__u16 op);

/**
 * kfb_op_has_reply_body - is there more than a status in a good reply?
 * @op: KFB_OP_*
 *
 * Context: any.
 * Return: true or false; false for an unknown op.
 */
_Bool kfb_op_has_reply_body(__u16 op);

#endif
