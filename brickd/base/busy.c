// SPDX-License-Identifier: BSD-2-Clause
#include "brickd/base/busy.h"

#include "brickd/base/clock.h"

void brick_busy_begin(struct brick_busy *busy)
{
	busy->since_ns = brick_now_ns();
	busy->kind = 0;
}

void brick_busy_with(struct brick_busy *busy, unsigned int kind)
{
	if (busy && !busy->kind && kind < BRICK_BUSY_KINDS)
		busy->kind = kind;
}

uint64_t brick_busy_end(struct brick_busy *busy)
{
	uint64_t now_ns = brick_now_ns();

	if (busy->times)
		brick_count_ns(&busy->times[busy->kind],
			       now_ns - busy->since_ns);
	busy->since_ns = now_ns;
	busy->kind = 0;
	return now_ns;
}
