/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long the loop is busy with one thing, which is how long everybody else waits
 * for it.
 *
 * The loop does one piece of work after the other: each begins when the one before
 * ends, so that one look at the clock for a piece is enough.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_BASE_BUSY_H
#define BRICKD_BASE_BUSY_H

#include <stdint.h>

#include "brickd/base/counters.h"

/*
 * struct brick_busy - what the loop is at
 * @times: where it is counted, by kind; NULL: nowhere
 * @since_ns: the piece at hand began then
 * @kind: of what it is, as far as that is known: KFB_OP_* or BRICK_BUSY_*
 */
struct brick_busy {
	struct brick_histogram *times;
	uint64_t since_ns;
	unsigned int kind;
};

/* A piece begins that none was before: the loop has slept. */
void brick_busy_begin(struct brick_busy *busy);

/**
 * brick_busy_with - say what the piece at hand is
 * @busy: the loop's; NULL: nobody wants to know
 * @kind: KFB_OP_*, any value, or BRICK_BUSY_*; the first one that is said holds
 */
void brick_busy_with(struct brick_busy *busy, unsigned int kind);

/**
 * brick_busy_end - the piece is over, and the next one begins
 * @busy: the loop's
 *
 * Return: what the time is, ns.
 */
uint64_t brick_busy_end(struct brick_busy *busy);

#endif
