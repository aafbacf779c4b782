// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tables of legal moves, and what a connection's start must satisfy.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include "codec/kfb_ops.h"
#include "kfb_session.h"

#define CLIENT KFB_ROLE_CLIENT
#define BOTH   (KFB_ROLE_CLIENT | KFB_ROLE_BRICK)

struct conn_move {
	enum kfb_conn_state from;
	enum kfb_conn_state to;
	unsigned int roles;
};

static const struct conn_move kfb_conn_moves[] = {
	{ KFB_CONN_IDLE, KFB_CONN_CONNECTING, BOTH },
	{ KFB_CONN_IDLE, KFB_CONN_CLOSED, BOTH },
	{ KFB_CONN_CONNECTING, KFB_CONN_AUTH, BOTH },
	{ KFB_CONN_CONNECTING, KFB_CONN_READY, BOTH },
	{ KFB_CONN_CONNECTING, KFB_CONN_CLOSING, BOTH },
	{ KFB_CONN_AUTH, KFB_CONN_READY, BOTH },
	{ KFB_CONN_AUTH, KFB_CONN_CLOSING, BOTH },
	{ KFB_CONN_READY, KFB_CONN_CLOSING, BOTH },
	{ KFB_CONN_CLOSING, KFB_CONN_CLOSED, BOTH },
	{ KFB_CONN_CLOSING, KFB_CONN_BACKOFF, CLIENT },
	{ KFB_CONN_BACKOFF, KFB_CONN_CONNECTING, CLIENT },
	{ KFB_CONN_BACKOFF, KFB_CONN_CLOSED, CLIENT },
};

struct session_move {
	enum kfb_session_state from;
	enum kfb_session_state to;
};

static const struct session_move kfb_session_moves[] = {
	{ KFB_SESSION_OPENING, KFB_SESSION_LIVE },
	{ KFB_SESSION_OPENING, KFB_SESSION_ENDED },
	{ KFB_SESSION_LIVE, KFB_SESSION_DETACHED },
	{ KFB_SESSION_LIVE, KFB_SESSION_FENCING },
	{ KFB_SESSION_DETACHED, KFB_SESSION_LIVE },
	{ KFB_SESSION_DETACHED, KFB_SESSION_FENCING },
	{ KFB_SESSION_FENCING, KFB_SESSION_ENDED },
};

#define N_CONN_MOVES \
	((unsigned int)(sizeof(kfb_conn_moves) / sizeof(kfb_conn_moves[0])))
#define N_SESSION_MOVES                             \
	((unsigned int)(sizeof(kfb_session_moves) / \
			sizeof(kfb_session_moves[0])))

int kfb_conn_move(enum kfb_conn_state *state, enum kfb_role role,
		  enum kfb_conn_state to)
{
	unsigned int i;

	for (i = 0; i < N_CONN_MOVES; i++) {
		const struct conn_move *move = &kfb_conn_moves[i];

		if (move->from == *state && move->to == to &&
		    move->roles & role) {
			*state = to;
			return 0;
		}
	}
	return -EINVAL;
}

int kfb_session_move(enum kfb_session_state *state, enum kfb_session_state to)
{
	unsigned int i;

	for (i = 0; i < N_SESSION_MOVES; i++) {
		const struct session_move *move = &kfb_session_moves[i];

		if (move->from == *state && move->to == to) {
			*state = to;
			return 0;
		}
	}
	return -EINVAL;
}

const char *kfb_conn_state_name(enum kfb_conn_state state)
{
	static const char *const names[KFB_CONN_STATES] = {
		[KFB_CONN_IDLE] = "IDLE",
		[KFB_CONN_CONNECTING] = "CONNECTING",
		[KFB_CONN_AUTH] = "AUTH",
		[KFB_CONN_READY] = "READY",
		[KFB_CONN_CLOSING] = "CLOSING",
		[KFB_CONN_BACKOFF] = "BACKOFF",
		[KFB_CONN_CLOSED] = "CLOSED",
	};

	return (unsigned int)state < KFB_CONN_STATES ? names[state] : "?";
}

const char *kfb_session_state_name(enum kfb_session_state state)
{
	static const char *const names[KFB_SESSION_STATES] = {
		[KFB_SESSION_OPENING] = "OPENING",
		[KFB_SESSION_LIVE] = "LIVE",
		[KFB_SESSION_DETACHED] = "DETACHED",
		[KFB_SESSION_FENCING] = "FENCING",
		[KFB_SESSION_ENDED] = "ENDED",
	};

	return (unsigned int)state < KFB_SESSION_STATES ? names[state] : "?";
}

int kfb_conn_admit(enum kfb_conn_state state, __u16 op)
{
	switch (state) {
	case KFB_CONN_AUTH:
		return kfb_op_is(op, KFB_OP_OPENS) ? 0 : -EACCES;
	case KFB_CONN_READY:
		return kfb_op_is(op, KFB_OP_OPENS) ? -EINVAL : 0;
	default:
		return -ENOTCONN;
	}
}

int kfb_version_choose(__u8 peer_min, __u8 peer_max)
{
	if (peer_min > KFB_VERSION || peer_max < KFB_VERSION)
		return -EPROTONOSUPPORT;
	return KFB_VERSION;
}

int kfb_accept_check(const struct kfb_hello *hello,
		     const struct kfb_accept *accept)
{
	if (accept->version < hello->version_min ||
	    accept->version > hello->version_max)
		return -EPROTO;
	if (accept->features & ~hello->features)
		return -EPROTO;
	if (hello->session_id && accept->session_id != hello->session_id)
		return -EPROTO;
	return 0;
}

int kfb_join_counter_check(__u32 last, __u32 counter)
{
	return counter > last ? 0 : -EKEYREJECTED;
}
