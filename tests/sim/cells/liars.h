/* SPDX-License-Identifier: BSD-2-Clause */
/* Who says that something is durable, and has not seen to it. */
#ifndef TESTS_SIM_LIARS_H
#define TESTS_SIM_LIARS_H

#include <stdbool.h>

enum cell_lie {
	CELL_HONEST,
	CELL_CLIENT_SKIPS, /* it flushes no queue */
	CELL_CLIENT_FIRST_QUEUE, /* it flushes the first queue only */
	CELL_CLIENT_MISTAKES, /* it takes an old FLUSH's answer for the newest one's */
	CELL_CLIENT_TRUSTS, /* it takes what a dead connection wrote for placed */
	CELL_BRICK_ANSWERS, /* FLUSH is answered and nothing done */
	CELL_BRICK_HALF, /* the first of the ranges only */
	CELL_BRICK_COMMITS, /* a write is acknowledged, and not written back */
};

/*
 * From now on somebody lies, or nobody does. @is_placed: the brick's device
 * acknowledges what has been put in its place.
 */
void cell_let_lie(enum cell_lie who, bool is_placed);

#endif
