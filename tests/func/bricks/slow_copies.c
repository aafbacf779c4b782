// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a file as if it were persistent memory whose cache lines are
 * written back, and a slow tier on a device that takes its time: so many
 * microseconds as SLOW_COPY_US says for each block that is copied.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "brickd/media/media.h"
#include "brickd/store/move.h"

#define US_PER_S  1000000UL
#define NS_PER_US 1000UL

void __real_brick_move_copy(struct brick_store *s, struct brick_move *moves,
			    unsigned int n);
void __wrap_brick_move_copy(struct brick_store *s, struct brick_move *moves,
			    unsigned int n);

/* PMEM2_FORCE_GRANULARITY. */
static void __attribute__((constructor)) trust(void)
{
	brick_media_trust_environment(true);
}

void __wrap_brick_move_copy(struct brick_store *s, struct brick_move *moves,
			    unsigned int n)
{
	const char *each = getenv("SLOW_COPY_US");
	unsigned long us = each ? strtoul(each, NULL, 10) * n : 0;

	nanosleep(
		&(struct timespec){
			.tv_sec = (time_t)(us / US_PER_S),
			.tv_nsec = (long)(us % US_PER_S * NS_PER_US),
		},
		NULL);
	__real_brick_move_copy(s, moves, n);
}
