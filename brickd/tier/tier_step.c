// SPDX-License-Identifier: BSD-2-Clause
/*
 * One step of tiering: a few blocks through the tier thread, which copies, and
 * the store thread, which commits.
 */
#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "brickd/tier/tier_step.h"

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/util.h"
#include "brickd/config/config.h"
#include "brickd/session/state.h"
#include "brickd/storage/storage.h"
#include "brickd/storage/storage_failure.h"

static void say_failed(struct brick_tier *tier, const struct brick_move *move)
{
	bool is_write = move->to_slow && !move->is_unread;
	uint64_t slot = is_write ? move->dst : move->src;
	bool is_of_memory = move->to_slow && move->is_unread;

	/* What has failed as a whole has been said once. */
	if (brick_store_failure(tier->storage->store) ||
	    (move->to_slow && brick_store_slow_failure(tier->storage->store)))
		return;
	brick_count(is_write ? &tier->counters->tier_write_errors
			     : &tier->counters->tier_read_errors);
	brick_log_limited(
		&tier->storage->slow_lines, LOG_ERR, NULL,
		"%s%s: block 0x%llx cannot be %s slot %llu: it stays where it "
		"is",
		is_of_memory ? "tiering" : "slow tier ",
		is_of_memory ? "" : tier->config->slow,
		(unsigned long long)move->va,
		is_write       ? "written to"
		: is_of_memory ? "read from memory,"
			       : "read from",
		(unsigned long long)brick_slot_number(slot));
}

/* Failures of the slow tier make the background wait longer and longer. */
static void account_step(struct brick_tier *tier, struct brick_tier_step *step)
{
	struct brick_counters *c = tier->counters;
	struct brick_tier_job *job = step->job;
	bool to_slow = step->moves[0].to_slow;
	unsigned int i, n_moved = 0, n_failed = 0, n_troubles = 0;

	for (i = 0; i < step->n; i++) {
		const struct brick_move *move = &step->moves[i];

		n_moved += move->is_done;
		if (move->error != -EIO)
			continue;
		n_failed++;
		/* What memory has lost says nothing of the slow tier. */
		n_troubles += !move->is_unread || move->is_begun;
		say_failed(tier, move);
	}
	brick_count_add(to_slow ? &c->tier_demoted : &c->tier_promoted,
			n_moved);
	brick_count_ns(&c->tier_step_ns, brick_now_ns() - step->begun_ns);
	if (n_troubles && to_slow)
		tier->n_troubles++;
	else if (n_moved && to_slow)
		tier->n_troubles = 0;
	if (!job)
		return;
	job->n_misses = n_moved ? 0 : job->n_misses + 1;
	if (job->to_slow != to_slow)
		return; /* it only made room */
	job->n_moved += n_moved;
	if (job->session && !to_slow)
		brick_count_add(&job->session->counters->promoted_blocks,
				n_moved);
	job->n_failed += n_failed;
}

static void finish_step(struct brick_tier *tier)
{
	struct brick_tier_step *step = &tier->step;
	unsigned int i;

	brick_move_end(tier->storage->store, step->moves, step->n);
	account_step(tier, step);
	for (i = 0; i < step->n; i++) {
		/* It was taken out of the list to be moved, and is still here. */
		if (step->moves[i].to_slow && !step->moves[i].is_done)
			brick_store_rest(tier->storage->store,
					 step->moves[i].va, 1);
	}
	step->is_busy = false;
	brick_failure_look(tier->storage);
	for (i = 0; i < step->n; i++)
		if (step->has_range_lock[i])
			brick_range_locks_drop(tier->range_locks,
					       &step->range_locks[i]);
	step->stepped(tier);
}

static void step_committed(struct brick_work *work)
{
	struct brick_tier_step *step =
		brick_container_of(work, struct brick_tier_step, changes.work);
	struct brick_tier *tier = step->tier;
	unsigned int i;

	for (i = 0; i < step->changes.n; i++) {
		struct brick_store_op *op = &step->ops[i];

		op->move->error = op->error;
	}
	finish_step(tier);
}

static void step_copied(struct brick_work *work)
{
	struct brick_tier_step *step =
		brick_container_of(work, struct brick_tier_step, work);
	unsigned int i;

	step->changes.n = 0;
	for (i = 0; i < step->n; i++) {
		struct brick_move *move = &step->moves[i];

		if (move->error)
			continue;
		step->ops[step->changes.n++] = (struct brick_store_op){
			.kind = BRICK_STORE_MOVE,
			.va = move->va,
			.n_blocks = 1,
			.move = move,
		};
	}
	if (!step->changes.n) {
		finish_step(step->tier);
		return;
	}
	step->changes.list = step->ops;
	step->changes.work.done = step_committed;
	brick_changes_submit(step->tier->storage, &step->changes);
}

/* ---- in the tier thread ---- */

static void copy_blocks(struct brick_work *work)
{
	struct brick_tier_step *step =
		brick_container_of(work, struct brick_tier_step, work);
	struct brick_store *store = step->tier->storage->store;

	brick_move_begin(store, step->moves, step->n);
	brick_move_copy(store, step->moves, step->n);
}

/* ---- in the loop ---- */

static void step_granted(struct brick_range_lock *lock)
{
	(void)lock; /* never: it is taken only where nobody is in the way */
}

void brick_tier_step_begin(struct brick_tier *tier, struct brick_tier_job *job,
			   const uint64_t *va, unsigned int n, bool to_slow)
{
	struct brick_tier_step *step = &tier->step;
	/* What a MAP promotes is locked by it; who makes room for it is not. */
	bool lock = !job || !job->is_locked || job->to_slow != to_slow;
	unsigned int i;

	step->is_busy = true;
	step->tier = tier;
	step->job = job;
	step->n = n;
	step->begun_ns = brick_now_ns();
	for (i = 0; i < n; i++) {
		step->moves[i] =
			(struct brick_move){ .va = va[i], .to_slow = to_slow };
		step->has_range_lock[i] = lock;
		step->range_locks[i].span = brick_span_of(va[i], 1);
		step->range_locks[i].granted = step_granted;
		if (lock)
			(void)brick_range_locks_take(tier->range_locks,
						     &step->range_locks[i]);
	}
	step->work.run = copy_blocks;
	step->work.done = step_copied;
	brick_worker_submit(&tier->thread, &step->work);
}
