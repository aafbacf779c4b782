// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer of the LNet-like driver: states, incarnations, and where a message belongs.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "lndw_peer_priv.h"

static const __u8 lndw_table[LNDW_STATES][LNDW_EVENTS] = {
	[LNDW_DOWN ... LNDW_GREETING] = {
		[LNDW_WANTED] = LNDW_GREETING,
		[LNDW_SPOKEN] = LNDW_UP,
		[LNDW_IDLE] = LNDW_DOWN,
		[LNDW_TOLD_OLD] = LNDW_OLD_HERE,
	},
	[LNDW_UP] = {
		[LNDW_WANTED] = LNDW_UP,
		[LNDW_SPOKEN] = LNDW_UP,
		[LNDW_IDLE] = LNDW_UP,
		[LNDW_TOLD_OLD] = LNDW_OLD_HERE,
	},
	[LNDW_OLD_HERE] = {
		[LNDW_WANTED ... LNDW_TOLD_OLD] = LNDW_OLD_HERE,
	},
};

enum lndw_state lndw_state_after(enum lndw_state state, enum lndw_event event)
{
	return (enum lndw_state)lndw_table[state][event];
}

void lndw_move(struct lndw_peer *peer, enum lndw_event event)
{
	enum lndw_state before = peer->state;

	peer->state = lndw_state_after(before, event);
	if (peer->state == LNDW_GREETING && before != LNDW_GREETING) {
		peer->hello_ms = 0;
		peer->hellos = 0;
	}
	if (peer->state == LNDW_OLD_HERE && before != LNDW_OLD_HERE)
		lndw_tx_end_all(peer, LNDW_OUTDATED);
}

void lndw_peer_init(struct lndw_peer *peer, const struct lndw_node *node,
		    __u64 nid)
{
	memset(peer, 0, sizeof(*peer));
	peer->node = node;
	peer->nid = nid;
	peer->next_seq = 1;
	peer->floor = 1;
	peer->credits = 1;
}

static void lndw_refuse(struct lndw_peer *peer, const struct lndw_msg *msg,
			enum lndw_reason reason)
{
	/* Two nodes must not refuse each other's refusals for ever. */
	if (msg->kind == LNDW_NACK)
		return;
	peer->is_nack_due = 1;
	peer->nack_reason = (__u8)reason;
	peer->nack_to = msg->src_incarnation;
}

enum lndw_verdict lndw_arrived(struct lndw_peer *peer,
			       const struct lndw_msg *msg, __u64 now_ms)
{
	const struct lndw_node *node = peer->node;

	if (msg->src_nid != peer->nid || msg->dst_nid != node->nid)
		return LNDW_WRONG;
	if (msg->src_incarnation < peer->incarnation) {
		lndw_refuse(peer, msg, LNDW_NOT_YOU);
		return LNDW_OLD;
	}
	if (msg->kind != LNDW_HELLO &&
	    msg->dst_incarnation != node->incarnation) {
		lndw_refuse(peer, msg, LNDW_NOT_ME);
		return LNDW_OTHER;
	}
	/* A sound message tells which incarnation the peer has. */
	if (msg->src_incarnation != peer->incarnation) {
		peer->incarnation = msg->src_incarnation;
		peer->rx_floor = 0;
		lndw_rx_restarted(peer);
		lndw_tx_restarted(peer, now_ms);
	}
	if (msg->floor > peer->rx_floor)
		peer->rx_floor = msg->floor;
	peer->credits = msg->credits;
	lndw_move(peer, LNDW_SPOKEN);
	if (msg->kind == LNDW_HELLO)
		peer->is_welcome_due = 1;
	if (msg->kind == LNDW_NACK && msg->status == LNDW_NOT_YOU)
		lndw_move(peer, LNDW_TOLD_OLD);
	if (lndw_is_request(msg->kind))
		return lndw_rx_request(peer, msg);
	if (lndw_is_answer(msg->kind))
		return lndw_tx_answered(peer, msg);
	return LNDW_TAKEN;
}

void lndw_tick(struct lndw_peer *peer, __u64 now_ms)
{
	if (peer->outstanding)
		lndw_tx_tick(peer, now_ms);
	if (!peer->outstanding)
		lndw_move(peer, LNDW_IDLE);
}

/* What needs neither a transaction nor a known incarnation. */
static _Bool lndw_control_next(struct lndw_peer *peer, __u64 now_ms,
			       struct lndw_msg *msg)
{
	/* Who sends much and reads nothing has one of each under way nevertheless. */
	if (peer->is_nack_due && !peer->is_nacking) {
		peer->is_nack_due = 0;
		peer->is_nacking = 1;
		msg->kind = LNDW_NACK;
		msg->status = peer->nack_reason;
		msg->dst_incarnation = peer->nack_to;
		return 1;
	}
	if (peer->is_welcome_due && !peer->is_welcoming) {
		peer->is_welcome_due = 0;
		peer->is_welcoming = 1;
		msg->kind = LNDW_WELCOME;
		return 1;
	}
	if (peer->state == LNDW_GREETING && !peer->is_greeting &&
	    now_ms >= peer->hello_ms) {
		peer->is_greeting = 1;
		msg->kind = LNDW_HELLO;
		return 1;
	}
	return 0;
}

_Bool lndw_next(struct lndw_peer *peer, __u64 now_ms, struct lndw_msg *msg)
{
	*msg = (struct lndw_msg){
		.src_nid = peer->node->nid,
		.dst_nid = peer->nid,
		.src_incarnation = peer->node->incarnation,
		.dst_incarnation = peer->incarnation,
		.floor = peer->floor,
		.credits = peer->node->credits,
	};
	return lndw_control_next(peer, now_ms, msg) ||
	       lndw_rx_next(peer, msg) || lndw_tx_next(peer, now_ms, msg);
}

void lndw_sent(struct lndw_peer *peer, enum lndw_kind kind, __u64 seq,
	       _Bool is_sent, __u64 now_ms)
{
	if (kind == LNDW_HELLO) {
		peer->is_greeting = 0;
		peer->hello_ms =
			now_ms + (is_sent ? lndw_resend_ms(peer->hellos)
					  : LNDW_AGAIN_MS);
		if (peer->hellos < 255)
			peer->hellos++;
	} else if (kind == LNDW_WELCOME) {
		peer->is_welcoming = 0;
	} else if (kind == LNDW_NACK) {
		peer->is_nacking = 0;
	} else if (lndw_is_request(kind)) {
		lndw_tx_sent(peer, seq, is_sent, now_ms);
	} else if (lndw_is_answer(kind)) {
		lndw_rx_sent(peer, seq);
	}
}
