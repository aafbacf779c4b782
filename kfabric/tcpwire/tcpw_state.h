/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of an endpoint on the OFI tcp wire. All moves are in one table, which
 * docs/stcp.md draws; a move that is not there is refused and is an error of
 * the caller.
 *
 * Context: any; a state is guarded by whoever owns it.
 */
#ifndef TCPW_STATE_H
#define TCPW_STATE_H

/**
 * enum tcpw_state - what an endpoint may send and receive
 * @TCPW_IDLE: nothing: the socket is being made
 * @TCPW_REQUESTED: active: the request is going out, an answer is due
 * @TCPW_ASKED: passive: a request is arriving or being validated
 * @TCPW_ACCEPTED: passive: the accept is going out
 * @TCPW_REJECTED: passive: the reject is going out; active: it has come
 * @TCPW_UP: operations
 * @TCPW_CLOSING: what was sent before goes out; nothing more is received
 * @TCPW_DEAD: nothing, for ever
 * @TCPW_STATES: how many there are
 */
enum tcpw_state {
	TCPW_IDLE,
	TCPW_REQUESTED,
	TCPW_ASKED,
	TCPW_ACCEPTED,
	TCPW_REJECTED,
	TCPW_UP,
	TCPW_CLOSING,
	TCPW_DEAD,
	TCPW_STATES
};

/**
 * tcpw_state_move - the only way an endpoint changes its state
 * @state: changed when the move is legal
 * @to: the next state
 *
 * Context: under the lock that guards @state.
 * Return: 0, or -EINVAL for a move that is not in the table.
 */
int tcpw_state_move(enum tcpw_state *state, enum tcpw_state to);

#endif
