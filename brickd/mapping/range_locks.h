/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Range locks: which blocks an op in flight works on.
 *
 * ALLOC, FREE, MAP and UNMAP pass through several threads. Each holds a lock
 * on its blocks from its first look at them until its reply, so that two that
 * overlap go one after the other. An op holds one lock at most: no deadlock.
 *
 * Context: the loop thread. Bounded by the requests in flight.
 */
#ifndef BRICKD_MAPPING_RANGE_LOCKS_H
#define BRICKD_MAPPING_RANGE_LOCKS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "brickd/config/grants.h"

/*
 * struct brick_range_lock - one op's blocks; embedded in the op
 * @span: the blocks
 * @granted: called when a waiting lock is held at last
 */
struct brick_range_lock {
	TAILQ_ENTRY(brick_range_lock) link;
	struct brick_span span;
	bool held;
	void (*granted)(struct brick_range_lock *lock);
};

TAILQ_HEAD(brick_range_lock_list, brick_range_lock);

/* Held and waiting locks, in the order they came. */
struct brick_range_locks {
	struct brick_range_lock_list list;
	bool is_granting; /* in drop(), which then looks for who fits in: */
	struct brick_span gap;
};

void brick_range_locks_init(struct brick_range_locks *locks);

/**
 * brick_range_locks_take - lock blocks
 * @locks: all locks
 * @lock: span and granted are set
 *
 * Return: true when the lock is held now; false: granted() will be called,
 * unless the lock is dropped before.
 */
bool brick_range_locks_take(struct brick_range_locks *locks,
			    struct brick_range_lock *lock);

/**
 * brick_range_locks_would_wait - would a lock have to wait?
 * @locks: all locks
 * @span: blocks
 */
bool brick_range_locks_would_wait(const struct brick_range_locks *locks,
				  struct brick_span span);

/**
 * brick_range_locks_drop - give a lock back, held or waiting
 * @locks: all locks
 * @lock: one that was taken
 *
 * Calls granted() of those it made way for.
 */
void brick_range_locks_drop(struct brick_range_locks *locks,
			    struct brick_range_lock *lock);

#endif
