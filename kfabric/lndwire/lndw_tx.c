// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Transactions of this node: each has a place from its begin to its one end.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include "lndw_peer_priv.h"

/* The only way out of a place. */
static void lndw_tx_end(struct lndw_peer *peer, struct lndw_tx *tx,
			enum lndw_status status, __u32 bytes)
{
	__u64 cookie = tx->cookie;

	tx->kind = 0;
	peer->outstanding--;
	while (peer->floor != peer->next_seq &&
	       !peer->tx[LNDW_PLACE(peer->floor)].kind)
		peer->floor++;
	peer->node->ops->end(peer, cookie, status, bytes);
}

int lndw_tx_begin(struct lndw_peer *peer, const struct lndw_want *want,
		  __u64 now_ms)
{
	struct lndw_tx *tx = &peer->tx[LNDW_PLACE(peer->next_seq)];

	if (peer->state == LNDW_OLD_HERE)
		return -ESTALE;
	if (peer->next_seq - peer->floor >= LNDW_CREDITS_MAX)
		return -EAGAIN;
	*tx = (struct lndw_tx){
		.cookie = want->cookie,
		.seq = peer->next_seq,
		.match = want->match,
		.word = want->word,
		.key = want->key,
		.deadline_ms = want->deadline_ms,
		.send_ms = now_ms,
		.bytes = want->bytes,
		.kind = (__u8)want->kind,
		.is_sending = tx->is_sending, /* the request before */
	};
	peer->next_seq++;
	peer->outstanding++;
	lndw_move(peer, LNDW_WANTED);
	return 0;
}

/*
 * What runs over all places ends only those that were there when it began: ops->end()
 * may begin others. It visits each number once.
 */
void lndw_tx_end_all(struct lndw_peer *peer, enum lndw_status status)
{
	__u64 seq = peer->floor, end = peer->next_seq;

	for (; seq != end; seq++) {
		struct lndw_tx *tx = &peer->tx[LNDW_PLACE(seq)];

		if (tx->kind && tx->seq == seq)
			lndw_tx_end(peer, tx, status, 0);
	}
}

void lndw_tx_tick(struct lndw_peer *peer, __u64 now_ms)
{
	__u64 seq = peer->floor, end = peer->next_seq;

	for (; seq != end; seq++) {
		struct lndw_tx *tx = &peer->tx[LNDW_PLACE(seq)];

		if (tx->kind && tx->seq == seq && now_ms >= tx->deadline_ms)
			lndw_tx_end(peer, tx,
				    tx->tries ? LNDW_TIMED_OUT : LNDW_UNREACHED,
				    0);
	}
}

/*
 * The peer has another incarnation, which knows nothing of what was sent to the one
 * before. A put or get may have been done there, and would be done twice; a ping does
 * nothing, and what was never sent was never done.
 */
void lndw_tx_restarted(struct lndw_peer *peer, __u64 now_ms)
{
	__u64 seq = peer->floor, end = peer->next_seq;

	for (; seq != end; seq++) {
		struct lndw_tx *tx = &peer->tx[LNDW_PLACE(seq)];

		if (!tx->kind || tx->seq != seq)
			continue;
		tx->send_ms = now_ms;
		if (tx->tries && tx->kind != LNDW_PING)
			lndw_tx_end(peer, tx, LNDW_RESTARTED, 0);
	}
}

enum lndw_verdict lndw_tx_answered(struct lndw_peer *peer,
				   const struct lndw_msg *msg)
{
	struct lndw_tx *tx = &peer->tx[LNDW_PLACE(msg->seq)];
	_Bool is_reply = msg->kind == LNDW_REPLY;

	if (!tx->kind || tx->seq != msg->seq)
		return LNDW_OVER;
	if (!tx->tries || is_reply != (tx->kind == LNDW_GET) ||
	    msg->bytes > tx->bytes)
		return LNDW_WRONG;
	lndw_tx_end(peer, tx, (enum lndw_status)msg->status, msg->bytes);
	return LNDW_TAKEN;
}

_Bool lndw_tx_next(struct lndw_peer *peer, __u64 now_ms, struct lndw_msg *msg)
{
	__u64 seq = peer->floor, end = peer->next_seq;

	if (peer->state != LNDW_UP)
		return 0;
	if (end - seq > peer->credits)
		end = seq + peer->credits;
	for (; seq != end; seq++) {
		struct lndw_tx *tx = &peer->tx[LNDW_PLACE(seq)];

		if (!tx->kind || tx->is_sending || now_ms < tx->send_ms ||
		    now_ms >= tx->deadline_ms)
			continue;
		tx->is_sending = 1;
		if (tx->tries < 255)
			tx->tries++;
		msg->kind = (enum lndw_kind)tx->kind;
		msg->seq = seq;
		msg->match = tx->match;
		msg->word = tx->word;
		msg->key = tx->key;
		msg->bytes = tx->bytes;
		msg->left_ms = (__u32)(tx->deadline_ms - now_ms);
		msg->cookie = tx->cookie;
		return 1;
	}
	return 0;
}

void lndw_tx_sent(struct lndw_peer *peer, __u64 seq, _Bool is_sent,
		  __u64 now_ms)
{
	struct lndw_tx *tx = &peer->tx[LNDW_PLACE(seq)];

	/* Whoever has the place now: it has one request under way at most. */
	tx->is_sending = 0;
	if (!tx->kind || tx->seq != seq)
		return;
	tx->send_ms = now_ms + (is_sent ? lndw_resend_ms(tx->tries - 1U)
					: LNDW_AGAIN_MS);
}
