// SPDX-License-Identifier: BSD-2-Clause
/* Range locks on blocks: first come, first served where they overlap. */
#include "brickd/mapping/range_locks.h"

void brick_range_locks_init(struct brick_range_locks *locks)
{
	*locks = (struct brick_range_locks){ 0 };
	TAILQ_INIT(&locks->list);
	TAILQ_INIT(&locks->ready);
}

static bool stop_at_one(const struct brick_interval *found, void *arg)
{
	(void)found;
	*(bool *)arg = true;
	return false;
}

bool brick_range_locks_would_wait(const struct brick_range_locks *locks,
				  struct brick_span span)
{
	bool is_blocked = false;

	brick_intervals_overlap(&locks->by_block, BRICK_INTERVALS_ALL, span,
				stop_at_one, &is_blocked);
	return is_blocked;
}

struct crowd {
	uint32_t n_before;
	bool is_full;
};

static bool look_at_crowd(const struct brick_interval *found, void *arg)
{
	const struct brick_range_lock *lock = found->owner;
	struct crowd *crowd = arg;

	crowd->is_full = ++crowd->n_before == BRICK_RANGE_LOCKS_OVERLAPS ||
			 lock->n_behind == BRICK_RANGE_LOCKS_OVERLAPS;
	return !crowd->is_full;
}

bool brick_range_locks_is_crowded(const struct brick_range_locks *locks,
				  struct brick_span span)
{
	struct crowd crowd = { 0 };

	brick_intervals_overlap(&locks->by_block, BRICK_INTERVALS_ALL, span,
				look_at_crowd, &crowd);
	return crowd.is_full;
}

static bool come_behind(const struct brick_interval *found, void *arg)
{
	struct brick_range_lock *before = found->owner;

	before->n_behind++;
	++*(uint32_t *)arg;
	return true;
}

bool brick_range_locks_take(struct brick_range_locks *locks,
			    struct brick_range_lock *lock)
{
	lock->n_before = 0;
	brick_intervals_overlap(&locks->by_block, BRICK_INTERVALS_ALL,
				lock->span, come_behind, &lock->n_before);
	lock->n_behind = 0;
	lock->held = !lock->n_before;
	lock->is_ready = false;
	lock->number = ++locks->last;
	lock->by_block = (struct brick_interval){
		.span = lock->span,
		.classes = 1U << BRICK_INTERVALS_ALL,
		.owner = lock,
	};
	brick_intervals_add(&locks->by_block, &lock->by_block);
	TAILQ_INSERT_TAIL(&locks->list, lock, link);
	locks->n++;
	locks->n_held += lock->held;
	return lock->held;
}

struct departure {
	struct brick_range_locks *locks;
	uint64_t number;
};

/* Whoever came later and overlaps waits for one less. */
static bool make_way(const struct brick_interval *found, void *arg)
{
	struct brick_range_lock *lock = found->owner;
	const struct departure *gone = arg;

	if (lock->number < gone->number) {
		lock->n_behind--;
		return true;
	}
	if (--lock->n_before)
		return true;
	lock->held = true;
	gone->locks->n_held++;
	lock->is_ready = true;
	TAILQ_INSERT_TAIL(&gone->locks->ready, lock, ready_link);
	return true;
}

static void take_ready(struct brick_range_locks *locks,
		       struct brick_range_lock *lock)
{
	TAILQ_REMOVE(&locks->ready, lock, ready_link);
	lock->is_ready = false;
}

void brick_range_locks_drop(struct brick_range_locks *locks,
			    struct brick_range_lock *lock)
{
	struct departure gone = { locks, lock->number };
	struct brick_range_lock *next;

	TAILQ_REMOVE(&locks->list, lock, link);
	brick_intervals_del(&locks->by_block, &lock->by_block);
	if (lock->is_ready)
		take_ready(locks, lock);
	locks->n--;
	locks->n_held -= lock->held;
	lock->held = false;
	brick_intervals_overlap(&locks->by_block, BRICK_INTERVALS_ALL,
				lock->span, make_way, &gone);
	/* granted() may drop its lock again: whoever is in the loop goes on. */
	if (locks->is_granting)
		return;
	locks->is_granting = true;
	while ((next = TAILQ_FIRST(&locks->ready))) {
		take_ready(locks, next);
		next->granted(next);
	}
	locks->is_granting = false;
}
