// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a tier thread that takes its time until blocks that were
 * unmapped are known to be at rest.
 */
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "brickd/store/store.h"

#define LATE_NS 100000000

void __real_brick_store_rest(struct brick_store *s, uint64_t va, uint64_t n);
void __wrap_brick_store_rest(struct brick_store *s, uint64_t va, uint64_t n);

void __wrap_brick_store_rest(struct brick_store *s, uint64_t va, uint64_t n)
{
	/* Not in the loop, which is the first thread. */
	if (gettid() != getpid())
		nanosleep(&(struct timespec){ .tv_nsec = LATE_NS }, NULL);
	__real_brick_store_rest(s, va, n);
}
