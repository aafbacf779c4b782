/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of connections and sessions, for client and brick.
 *
 * A connection is one queue: it is made, proves itself, works, and is torn
 * down through CLOSING, whatever went wrong. A session is what the client is
 * to the brick: it outlives its connections until its lease ends, and ends
 * through FENCING, after which no byte of it can land any more. All moves are
 * in two tables, which docs/protocol.md draws; a move that is not there is
 * refused and is an error of the caller.
 *
 * Context: any; a state is guarded by whoever owns it.
 */
#ifndef KFB_SESSION_H
#define KFB_SESSION_H

#include <linux/types.h>
#include "codec/kfb_codec.h"

/* Bits, so that a move can be for both. */
enum kfb_role {
	KFB_ROLE_CLIENT = 1,
	KFB_ROLE_BRICK = 2,
};

/**
 * enum kfb_conn_state - what a connection may carry
 * @KFB_CONN_IDLE: nothing: there is no endpoint yet
 * @KFB_CONN_CONNECTING: HELLO is under way or being validated; no messages
 * @KFB_CONN_AUTH: accepted; AUTH only, and a deadline runs
 * @KFB_CONN_READY: all but AUTH, and one-sided operations
 * @KFB_CONN_CLOSING: nothing new; completions drain, then the endpoint goes
 * @KFB_CONN_BACKOFF: client only: nothing, until the next try
 * @KFB_CONN_CLOSED: nothing, for ever
 * @KFB_CONN_STATES: how many states there are
 */
enum kfb_conn_state {
	KFB_CONN_IDLE,
	KFB_CONN_CONNECTING,
	KFB_CONN_AUTH,
	KFB_CONN_READY,
	KFB_CONN_CLOSING,
	KFB_CONN_BACKOFF,
	KFB_CONN_CLOSED,
	KFB_CONN_STATES
};

/**
 * enum kfb_session_state - what a session's handles are good for
 * @KFB_SESSION_OPENING: there are no handles; the client has not proven itself
 * @KFB_SESSION_LIVE: handles may be used, while the lease lasts
 * @KFB_SESSION_DETACHED: no connection; handles last as long as the lease does
 * @KFB_SESSION_FENCING: no handle may be used; all are being revoked
 * @KFB_SESSION_ENDED: all handles are revoked
 * @KFB_SESSION_STATES: how many states there are
 */
enum kfb_session_state {
	KFB_SESSION_OPENING,
	KFB_SESSION_LIVE,
	KFB_SESSION_DETACHED,
	KFB_SESSION_FENCING,
	KFB_SESSION_ENDED,
	KFB_SESSION_STATES
};

/**
 * kfb_conn_move - the only way a connection changes its state
 * @state: changed when the move is legal
 * @role: whose state it is
 * @to: the next state
 *
 * Context: under the lock that guards @state.
 * Return: 0, or -EINVAL for a move that is not in the table.
 */
int kfb_conn_move(enum kfb_conn_state *state, enum kfb_role role,
		  enum kfb_conn_state to);

/**
 * kfb_session_move - the only way a session changes its state
 * @state: changed when the move is legal
 * @to: the next state
 *
 * Context: under the lock that guards @state.
 * Return: 0, or -EINVAL for a move that is not in the table.
 */
int kfb_session_move(enum kfb_session_state *state, enum kfb_session_state to);

/**
 * kfb_conn_state_name - for logs and traces
 * @state: any value
 *
 * Context: any.
 * Return: a constant string, "?" for a value that is no state.
 */
const char *kfb_conn_state_name(enum kfb_conn_state state);

/**
 * kfb_session_state_name - for logs and traces
 * @state: any value
 *
 * Context: any.
 * Return: a constant string, "?" for a value that is no state.
 */
const char *kfb_session_state_name(enum kfb_session_state state);

/**
 * kfb_conn_admit - may a request pass in this state?
 * @state: of the connection
 * @op: KFB_OP_* of a request
 *
 * Context: any.
 * Return: 0; -EACCES before AUTH has succeeded; -EINVAL for AUTH after it
 * has; -ENOTCONN when the connection carries no messages.
 */
int kfb_conn_admit(enum kfb_conn_state state, __u16 op);

/**
 * kfb_version_choose - the version to speak with a client
 * @peer_min: lowest the HELLO offers
 * @peer_max: highest the HELLO offers
 *
 * Context: any.
 * Return: the highest version both know, or -EPROTONOSUPPORT.
 */
int kfb_version_choose(__u8 peer_min, __u8 peer_max);

/**
 * kfb_accept_check - does an ACCEPT answer this HELLO?
 * @hello: as sent
 * @accept: as decoded
 *
 * Version and features must have been offered; a queue that joins must have
 * joined the session it named.
 *
 * Context: any.
 * Return: 0, or -EPROTO: end the connection.
 */
int kfb_accept_check(const struct kfb_hello *hello,
		     const struct kfb_accept *accept);

/**
 * kfb_join_counter_check - has this join been seen before?
 * @last: the highest counter that the session has accepted, 0 at first
 * @counter: of the HELLO
 *
 * The counter rises with every join of a session and does not wrap: a session
 * that has used 2^32 - 1 is replaced by a new one.
 *
 * Context: any.
 * Return: 0, or -EKEYREJECTED for a counter that does not rise.
 */
int kfb_join_counter_check(__u32 last, __u32 counter);

#endif
