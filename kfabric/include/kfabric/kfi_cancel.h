/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers of unconnected endpoints: sends that fi_cancel() can end until
 * something of them has been handed over.
 *
 * Such a provider puts a struct kfi_send into its operation. The rest of it decides
 * whether a send has begun; a canceled one is ended by kfi_send_end() when the
 * provider comes to it, whatever it ends with.
 *
 * Context: posting.
 * Locking: &kfi_post_ep.lock, which is taken here where it is not said to be held.
 */
#ifndef KFABRIC_KFI_CANCEL_H
#define KFABRIC_KFI_CANCEL_H

#include <kfabric/kfi_post.h>

/**
 * struct kfi_send - what fi_cancel() knows of a send
 * @node: of the list of all sends of an endpoint that are not over
 * @op: the operation
 * @begun: cannot be canceled
 * @canceled: is to be ended
 */
struct kfi_send {
	struct list_head node;
	const struct kfi_op *op;
	bool begun;
	bool canceled;
};

/**
 * kfi_send_add() - a send is queued
 * @send: of its operation
 * @op: the operation
 * @sends: all of the endpoint's
 *
 * Locking: held.
 */
void kfi_send_add(struct kfi_send *send, const struct kfi_op *op,
		  struct list_head *sends);

/**
 * kfi_send_cancel() - the part of &kfi_post_ops.cancel for sends
 * @sends: all of the endpoint's
 * @op: as there
 *
 * Locking: held.
 * Return: 0; -ENOENT it has begun, or is none of them.
 */
int kfi_send_cancel(struct list_head *sends, const struct kfi_op *op);

/**
 * kfi_send_begin() - it cannot be canceled from here on
 * @post: endpoint
 * @send: of the operation
 *
 * Return: false: it was canceled.
 */
bool kfi_send_begin(struct kfi_post_ep *post, struct kfi_send *send);

/**
 * kfi_send_begin_undo() - nothing of it was handed over, after all
 * @post: endpoint
 * @send: of the operation
 */
void kfi_send_begin_undo(struct kfi_post_ep *post, struct kfi_send *send);

/**
 * kfi_send_is_canceled() - is it to be ended?
 * @post: endpoint
 * @send: of the operation
 *
 * Return: it is.
 */
bool kfi_send_is_canceled(struct kfi_post_ep *post,
			  const struct kfi_send *send);

/**
 * kfi_send_end() - it is over, and cannot be canceled any more
 * @post: endpoint
 * @send: of the operation, which kfi_post_done() ends next
 * @err: what it ends with, positive or 0
 *
 * Return: @err; ECANCELED if fi_cancel() has said so.
 */
int kfi_send_end(struct kfi_post_ep *post, struct kfi_send *send, int err);

#endif /* KFABRIC_KFI_CANCEL_H */
