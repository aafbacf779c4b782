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

int tcpw_state_move(enum tcpw_state *state, enum tcpw_state to)
{
	if ((unsigned int)*state >= TCPW_STATES ||
	    (unsigned int)to >= TCPW_STATES ||
	    !(tcpw_state_moves[*state] & TO(to)))
		return -EINVAL;
	*state = to;
	return 0;
}
