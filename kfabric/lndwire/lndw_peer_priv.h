/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of a peer share with each other and nobody else.
 *
 * Context: any.
 */
#ifndef LNDW_PEER_PRIV_H
#define LNDW_PEER_PRIV_H

#include "lndw_peer.h"

#define LNDW_PLACE(seq) ((unsigned int)(seq) & (LNDW_CREDITS_MAX - 1))

_Static_assert(!(LNDW_CREDITS_MAX & (LNDW_CREDITS_MAX - 1)),
	       "places are found by a mask");

/* Of a transaction of the peer's; drawing at the head of lndw_peer.h. */
enum lndw_rx_state {
	LNDW_RX_FREE,
	LNDW_RX_DOING,
	LNDW_RX_DONE,
	LNDW_RX_ABANDONED,
};

/* When something is sent again that was sent so often. */
static inline __u64 lndw_resend_ms(unsigned int tries)
{
	__u64 ms = (__u64)LNDW_RESEND_MS << (tries < 8 ? tries : 8);

	return ms < LNDW_RESEND_MAX_MS ? ms : LNDW_RESEND_MAX_MS;
}

/* Where a peer is between states is decided here alone. */
void lndw_move(struct lndw_peer *peer, enum lndw_event event);

/* lndw_tx.c */
void lndw_tx_restarted(struct lndw_peer *peer, __u64 now_ms);
enum lndw_verdict lndw_tx_answered(struct lndw_peer *peer,
				   const struct lndw_msg *msg);
_Bool lndw_tx_next(struct lndw_peer *peer, __u64 now_ms, struct lndw_msg *msg);
void lndw_tx_sent(struct lndw_peer *peer, __u64 seq, _Bool is_sent,
		  __u64 now_ms);
void lndw_tx_tick(struct lndw_peer *peer, __u64 now_ms);

/* lndw_rx.c */
void lndw_rx_restarted(struct lndw_peer *peer);
enum lndw_verdict lndw_rx_request(struct lndw_peer *peer,
				  const struct lndw_msg *msg);
_Bool lndw_rx_next(struct lndw_peer *peer, struct lndw_msg *msg);
void lndw_rx_sent(struct lndw_peer *peer, __u64 seq);

#endif
