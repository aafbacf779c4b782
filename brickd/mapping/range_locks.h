/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Range locks: which blocks an op in flight works on.
 *
 * ALLOC, FREE, MAP and UNMAP pass through several threads. Each holds a lock
 * on its blocks from its first look at them until its reply, so that two that
 * overlap go one after the other. An op holds one lock at most: no deadlock.
 *
 * Context: the loop thread. Bounded by the requests in flight, and what one of them
 * costs by BRICK_RANGE_LOCKS_OVERLAPS.
 */
#ifndef BRICKD_MAPPING_RANGE_LOCKS_H
#define BRICKD_MAPPING_RANGE_LOCKS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "brickd/config/grants.h"
#include "brickd/mapping/intervals.h"

/*
 * So many that overlap one are before it, and so many behind it, where who takes one
 * asks brick_range_locks_is_crowded(): each is counted when it comes and when it goes.
 */
#define BRICK_RANGE_LOCKS_OVERLAPS 1024

/*
 * struct brick_range_lock - one op's blocks; embedded in the op
 * @link: among all locks, in the order in which they came
 * @ready_link: among locks that are held and whose ops have not been told
 * @is_ready: the lock is among those of @ready_link
 * @span: the blocks that are locked
 * @held: nothing that came before overlaps
 * @granted: called when a waiting lock is held at last
 * @number: the lock's, in the order in which locks came
 * @n_before: how many overlapping locks came before and are still there
 * @n_behind: how many overlapping locks came behind
 * @by_block: the lock's place in the index
 */
struct brick_range_lock {
	TAILQ_ENTRY(brick_range_lock) link;
	TAILQ_ENTRY(brick_range_lock) ready_link;
	bool is_ready;
	struct brick_span span;
	bool held;
	void (*granted)(struct brick_range_lock *lock);
	uint64_t number;
	uint32_t n_before;
	uint32_t n_behind;
	struct brick_interval by_block;
};

TAILQ_HEAD(brick_range_lock_list, brick_range_lock);

/*
 * struct brick_range_locks - held and waiting locks
 * @list: all locks, in the order in which they came
 * @by_block: all locks, by their blocks: a request looks at those alone that overlap
 * @n: how many locks there are
 * @n_held: how many locks are held
 * @last: number of the last lock that came
 * @ready: in drop(): locks whose ops are still to be told
 * @is_granting: drop() is telling ops
 */
struct brick_range_locks {
	struct brick_range_lock_list list;
	struct brick_intervals by_block;
	uint64_t n;
	uint64_t n_held;
	uint64_t last;
	struct brick_range_lock_list ready;
	bool is_granting;
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
 * brick_range_locks_is_crowded - would one more be too many for those it overlaps?
 * @locks: all locks
 * @span: blocks of the one more
 */
bool brick_range_locks_is_crowded(const struct brick_range_locks *locks,
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
