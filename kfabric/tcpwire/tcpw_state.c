// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of an endpoint's legal moves.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include "tcpw_state.h"

#define TO(state) (1U << (state))

static const unsigned int tcpw_state_moves[TCPW_STATES] = {
	[TCPW_IDLE] = TO(TCPW_REQUESTED) | TO(TCPW_ASKED) | TO(TCPW_DEAD),
	[TCPW_REQUESTED] = TO(TCPW_UP) | TO(TCPW_REJECTED) | TO(TCPW_DEAD),
	[TCPW_ASKED] = TO(TCPW_ACCEPTED) | TO(TCPW_REJECTED) | TO(TCPW_DEAD),
	[TCPW_ACCEPTED] = TO(TCPW_UP) | TO(TCPW_DEAD),
	[TCPW_REJECTED] = TO(TCPW_DEAD),
	[TCPW_UP] = TO(TCPW_CLOSING) | TO(TCPW_DEAD),
	[TCPW_CLOSING] = TO(TCPW_DEAD),
	[TCPW_DEAD] = 0,
};

static const char *const tcpw_state_names[TCPW_STATES] = {
	[TCPW_IDLE] = "IDLE",	      [TCPW_REQUESTED] = "REQUESTED",
	[TCPW_ASKED] = "ASKED",	      [TCPW_ACCEPTED] = "ACCEPTED",
	[TCPW_REJECTED] = "REJECTED", [TCPW_UP] = "UP",
	[TCPW_CLOSING] = "CLOSING",   [TCPW_DEAD] = "DEAD",
};

int tcpw_state_move(enum tcpw_state *state, enum tcpw_state to)
{
	if ((unsigned int)*state >= TCPW_STATES ||
	    (unsigned int)to >= TCPW_STATES ||
	    !(tcpw_state_moves[*state] & TO(to)))
		return -EINVAL;
	*state = to;
	return 0;
}

const char *tcpw_state_name(enum tcpw_state state)
{
	return (unsigned int)state < TCPW_STATES ? tcpw_state_names[state]
						 : "?";
}
