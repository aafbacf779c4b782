// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Transactions of a peer: each is taken on once, and answered as often as it is asked.
 *
 * A peer has as many of them as places at most, and says with each message which are
 * over: so the place of a number is free, or has the same number, or one that the peer
 * does not ask for any more.
 *
 * Context: any.
 */
#include "lndw_peer_priv.h"

static void lndw_rx_finish(struct lndw_rx *rx, enum lndw_status status,
			   __u32 bytes)
{
	rx->state = LNDW_RX_DONE;
	rx->status = (__u8)status;
	rx->bytes = bytes;
	rx->is_due = 1;
}

enum lndw_verdict lndw_rx_request(struct lndw_peer *peer,
				  const struct lndw_msg *msg)
{
	unsigned int place = LNDW_PLACE(msg->seq);
	struct lndw_rx *rx = &peer->rx[place];

	if (msg->seq - msg->floor >= peer->node->credits)
		return LNDW_WRONG;
	if (msg->seq < peer->rx_floor)
		return LNDW_OVER;
	if (rx->state == LNDW_RX_ABANDONED)
		return LNDW_BUSY;
	if (rx->state != LNDW_RX_FREE && rx->seq == msg->seq) {
		if (rx->state == LNDW_RX_DONE)
			rx->is_due = 1;
		return LNDW_REPEATED;
	}
	if (rx->state == LNDW_RX_DOING)
		return LNDW_BUSY;
	*rx = (struct lndw_rx){
		.seq = msg->seq,
		.kind = (__u8)msg->kind,
		.state = LNDW_RX_DOING,
		.is_sending = rx->is_sending, /* the answer before */
	};
	if (msg->kind == LNDW_PING)
		lndw_rx_finish(rx, LNDW_DONE, 0);
	else
		peer->node->ops->begin(peer, place, msg);
	return LNDW_TAKEN;
}

void lndw_rx_done(struct lndw_peer *peer, unsigned int place,
		  enum lndw_status status, __u32 bytes)
{
	struct lndw_rx *rx = &peer->rx[place];

	if (rx->state == LNDW_RX_ABANDONED)
		rx->state = LNDW_RX_FREE;
	else
		lndw_rx_finish(rx, status, bytes);
}

_Bool lndw_rx_is_wanted(const struct lndw_peer *peer, unsigned int place)
{
	const struct lndw_rx *rx = &peer->rx[place];

	return rx->state == LNDW_RX_DOING && rx->seq >= peer->rx_floor;
}

/* What another incarnation asked for is nobody's; what goes on here keeps its place. */
void lndw_rx_restarted(struct lndw_peer *peer)
{
	unsigned int i;

	for (i = 0; i < LNDW_CREDITS_MAX; i++) {
		struct lndw_rx *rx = &peer->rx[i];

		rx->is_due = 0;
		if (rx->state == LNDW_RX_DOING)
			rx->state = LNDW_RX_ABANDONED;
		if (rx->state == LNDW_RX_DONE)
			rx->state = LNDW_RX_FREE;
	}
}

_Bool lndw_rx_next(struct lndw_peer *peer, struct lndw_msg *msg)
{
	unsigned int i;

	for (i = 0; i < LNDW_CREDITS_MAX; i++) {
		struct lndw_rx *rx = &peer->rx[i];

		if (!rx->is_due || rx->is_sending)
			continue;
		rx->is_due = 0;
		rx->is_sending = 1;
		msg->kind = rx->kind == LNDW_GET ? LNDW_REPLY : LNDW_ACK;
		msg->seq = rx->seq;
		msg->status = rx->status;
		msg->bytes = rx->bytes;
		return 1;
	}
	return 0;
}

void lndw_rx_sent(struct lndw_peer *peer, __u64 seq)
{
	/* Whoever has the place now: it has one answer under way at most. */
	peer->rx[LNDW_PLACE(seq)].is_sending = 0;
}
