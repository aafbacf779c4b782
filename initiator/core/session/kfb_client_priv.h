/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the client's files share.
 */
#ifndef KFB_CLIENT_PRIV_H
#define KFB_CLIENT_PRIV_H

#include "session/kfb_client.h"

/**
 * kfb_client_move - the only way a client changes its state
 * @c: the client
 * @to: the next state
 *
 * Return: 0, or -EINVAL for a move that is not in the table.
 */
int kfb_client_move(struct kfb_client *c, enum kfb_client_state to);

/* From now on it is counted how long a queue is away. */
void kfb_client_connecting(const struct kfb_client *c,
			   struct kfb_client_queue *q, __u64 now_ms);

/* When a queue is connected next; not before what a brick has asked for. */
void kfb_client_try_again(struct kfb_client *c, struct kfb_client_queue *q,
			  __u64 now_ms, __u32 asked_ms);

/* Somebody says that the session is gone: all queues end, and it is asked. */
void kfb_client_doubt(struct kfb_client *c, __u64 now_ms);

/* Every endpoint is closed: queue 0 becomes the one that asks; 0 or -EINVAL. */
int kfb_client_begin_asking(struct kfb_client *c);

/* The one that asked is closed without having met the brick. */
void kfb_client_asked_in_vain(struct kfb_client *c);

/* The old session is over, whatever comes: its calls have no outcome. */
void kfb_client_stop_asking(struct kfb_client *c);

/* Is the connection of any queue in a state? */
_Bool kfb_client_has_queue(const struct kfb_client *c,
			   enum kfb_conn_state state);

/* Is a call of the client's own waiting on a queue? Its number, or -1. */
int kfb_client_own_call(const struct kfb_client_queue *q, const void *own,
			__u16 op);

#endif
