/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers of unconnected endpoints: sends that fi_cancel() can end until
 * something of them has been handed over.
 *
 * Such a provider puts a struct kfi_send into its operation. The rest of it decides
 * whether a send has begun; a canceled one is ended by kfi_op_end() when the
 * provider comes to it, whatever it ends with.
 *
 * Context: posting.
 * Locking: &kfi_post_ep.lock protects the list of sends. Beginning and cancelling
 *	meet in &kfi_send.state, which changes without it.
 */
#ifndef KFABRIC_KFI_CANCEL_H
#define KFABRIC_KFI_CANCEL_H

#include <linux/atomic.h>

#include <kfabric/kfi_post.h>

/**
 * enum kfi_send_state - whether a send can be canceled
 * @KFI_SEND_WAITS: not begun: the send can be canceled
 * @KFI_SEND_BEGUN: the send has begun, and cannot be canceled
 * @KFI_SEND_CANCELED: the send is canceled, and is to be ended
 */
enum kfi_send_state {
	KFI_SEND_WAITS,
	KFI_SEND_BEGUN,
	KFI_SEND_CANCELED,
};

/**
 * struct kfi_send - what fi_cancel() knows of a send
 * @node: of the list of all sends of an endpoint that are not over
 * @op: the operation
 * @state: whether it can be canceled
 */
struct kfi_send {
	struct list_head node;
	struct kfi_op *op;
	enum kfi_send_state state;
};

/**
 * kfi_send_add() - a send is queued
 * @send: of its operation
 * @op: the operation
 * @sends: all sends of the endpoint
 *
 * Locking: held.
 */
static inline void kfi_send_add(struct kfi_send *send, struct kfi_op *op,
				struct list_head *sends)
{
	send->op = op;
	send->state = KFI_SEND_WAITS;
	list_add_tail(&send->node, sends);
}

/**
 * kfi_send_cancel() - the part of &kfi_post_ops.cancel for sends
 * @sends: all sends of the endpoint
 * @op: as there
 *
 * Locking: held.
 * Return: 0; -ENOENT it has begun, or is none of them.
 */
int kfi_send_cancel(struct list_head *sends, const struct kfi_op *op);

/**
 * kfi_send_begin() - it cannot be canceled from here on
 * @send: of the operation; it may have begun before
 *
 * Return: false: it was canceled.
 */
static inline bool kfi_send_begin(struct kfi_send *send)
{
	return cmpxchg(&send->state, KFI_SEND_WAITS, KFI_SEND_BEGUN) !=
	       KFI_SEND_CANCELED;
}

/**
 * kfi_send_begin_undo() - nothing of it was handed over, after all
 * @send: of an operation that has begun
 */
static inline void kfi_send_begin_undo(struct kfi_send *send)
{
	cmpxchg(&send->state, KFI_SEND_BEGUN, KFI_SEND_WAITS);
}

/**
 * kfi_send_is_canceled() - is it to be ended?
 * @send: of the operation
 *
 * Return: it is.
 */
static inline bool kfi_send_is_canceled(const struct kfi_send *send)
{
	return READ_ONCE(send->state) == KFI_SEND_CANCELED;
}

/**
 * kfi_send_revoke() - it ends as a canceled one, also if it has begun
 * @send: of the operation
 */
static inline void kfi_send_revoke(struct kfi_send *send)
{
	WRITE_ONCE(send->state, KFI_SEND_CANCELED);
}

/**
 * kfi_op_end() - it is over: kfi_post_done() with what it ends with
 * @post: endpoint
 * @op: on a list of the provider's
 * @send: of the operation, if it is a send; or NULL
 * @err: what it ends with, positive or 0; ECANCELED if fi_cancel() has said so
 * @prov_errno: of its completion
 *
 * Context: as kfi_post_done().
 */
void kfi_op_end(struct kfi_post_ep *post, struct kfi_op *op,
		struct kfi_send *send, int err, int prov_errno);

#endif /* KFABRIC_KFI_CANCEL_H */
