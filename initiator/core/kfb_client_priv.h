/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the client's files share.
 */
#ifndef KFB_CLIENT_PRIV_H
#define KFB_CLIENT_PRIV_H

#include "kfb_client.h"

/**
 * kfb_client_move - the only way a client changes its state
 * @c: the client
 * @to: the next state
 *
 * Return: 0, or -EINVAL for a move that is not in the table.
 */
int kfb_client_move(struct kfb_client *c, enum kfb_client_state to);

/* It is over: every queue is to be closed, every call's outcome is told. */
void kfb_client_fail(struct kfb_client *c, int error);

/* The brick has no such session any more: all queues end, a new one begins. */
void kfb_client_session_gone(struct kfb_client *c, __u64 now_ms);

/* Queue 0 is READY: the session is made. */
void kfb_client_session_made(struct kfb_client *c, __u64 now_ms);

/* INFO has come, in a new session. */
void kfb_client_informed(struct kfb_client *c, const struct kfb_info *info,
			 __u64 now_ms);

/* Is a call of the client's own waiting on a queue? Its number, or -1. */
int kfb_client_own_call(const struct kfb_client_queue *q, const void *own,
			__u16 op);

#endif
