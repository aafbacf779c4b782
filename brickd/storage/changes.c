// SPDX-License-Identifier: BSD-2-Clause
/*
 * The store thread: a share of what each client wants, in one commit.
 *
 * What an ALLOC needs zeroed is zeroed before its commit, a slot or a few for one
 * client between two commits. So whoever needs nothing zeroed waits for one such
 * slice, however many others want however much of it.
 */
#include "brickd/storage/changes.h"

#include <errno.h>

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/util.h"
#include "brickd/storage/storage.h"

/* Blocks after which the changes of a client wait for the next commit. */
#define TURN_BLOCKS 4096U
/* Slots that are zeroed between two commits where each time takes a sync. */
#define TURN_SYNCED 16U

/*
 * struct commit - what is carried out next
 * @first: the changes, linked
 * @end: of them
 * @n: how many
 * @frees: some slots come free with it
 * @freer: whose changes were the last of these, NULL: nobody's
 * @over: what is done then, or was refused
 */
struct commit {
	struct brick_store_op *first;
	struct brick_store_op **end;
	uint64_t n;
	bool frees;
	const void *freer;
	struct brick_changes_list over;
};

void brick_changes_submit(struct brick_storage *storage,
			  struct brick_changes *changes)
{
	changes->is_prepared = false;
	brick_worker_submit(&storage->store_thread, &changes->work);
}

void brick_changes_cancel(struct brick_changes *changes)
{
	atomic_store(&changes->is_cancelled, true);
}

/* In the order of arrival: behind its client's, or as the last of the clients. */
static void queue_changes(struct brick_changes_list *turns,
			  struct brick_work_list *batch)
{
	struct brick_work *work;

	while ((work = brick_work_take(batch))) {
		struct brick_changes *c, *first;

		c = brick_container_of(work, struct brick_changes, work);
		STAILQ_INIT(&c->behind);
		STAILQ_FOREACH(first, turns, link)
		if (first->whose == c->whose)
			break;
		if (first)
			STAILQ_INSERT_TAIL(&first->behind, c, link);
		else
			STAILQ_INSERT_TAIL(turns, c, link);
	}
}

/* The next one of the same client, NULL: there is none. */
static struct brick_changes *changes_behind(struct brick_changes *c)
{
	struct brick_changes *next = STAILQ_FIRST(&c->behind);

	if (!next)
		return NULL;
	STAILQ_REMOVE_HEAD(&c->behind, link);
	STAILQ_INIT(&next->behind);
	STAILQ_CONCAT(&next->behind, &c->behind);
	return next;
}

/* May they be in this commit? */
static bool are_ready(struct brick_storage *storage, struct brick_changes *c,
		      const struct commit *commit)
{
	for (size_t i = 0; !c->is_prepared && i < c->n; i++) {
		struct brick_zeroing none = { 0 };
		int rc =
			brick_store_prepare(storage->store, &c->list[i], &none);

		if (rc == -EAGAIN || (rc == -ENOSPC && commit->frees))
			return false;
		/* It had to be zeroed in the commit, if it can be then. */
		if (rc == -EDQUOT && commit->freer == c->whose)
			return false;
	}
	return true;
}

/* Returns how many blocks they change. */
static uint64_t add_changes(struct commit *commit, struct brick_changes *c)
{
	uint64_t n_blocks = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct brick_store_op *op = &c->list[i];

		*commit->end = op;
		commit->end = &op->next;
		commit->n++;
		if (op->kind == BRICK_STORE_FREE) {
			commit->frees = true;
			commit->freer = c->whose;
		}
		n_blocks += op->n_blocks;
	}
	return n_blocks;
}

/* Returns what its client's next turn begins with, NULL: nothing. */
static struct brick_changes *take_turn(struct brick_storage *storage,
				       struct brick_changes *c,
				       struct commit *commit)
{
	uint64_t n_blocks = 0;

	while (c && n_blocks < TURN_BLOCKS) {
		struct brick_changes *next;

		if (atomic_load(&c->is_cancelled)) {
			for (size_t i = 0; i < c->n; i++) {
				brick_store_unprepare(storage->store,
						      &c->list[i]);
				c->list[i].error = -EACCES;
			}
		} else if (are_ready(storage, c, commit)) {
			n_blocks += add_changes(commit, c);
		} else {
			break;
		}
		next = changes_behind(c);
		STAILQ_INSERT_TAIL(&commit->over, c, link);
		c = next;
	}
	return c;
}

static void fill_commit(struct brick_storage *storage,
			struct brick_changes_list *turns, struct commit *commit)
{
	struct brick_changes_list again = STAILQ_HEAD_INITIALIZER(again);
	struct brick_changes *c;

	*commit = (struct commit){ .end = &commit->first };
	STAILQ_INIT(&commit->over);
	while ((c = STAILQ_FIRST(turns))) {
		STAILQ_REMOVE_HEAD(turns, link);
		c = take_turn(storage, c, commit);
		if (c)
			STAILQ_INSERT_TAIL(&again, c, link);
	}
	STAILQ_CONCAT(turns, &again);
	*commit->end = NULL;
}

/* A slice for one of those that were not ready, who comes last then. */
static void zero_some(struct brick_storage *storage,
		      struct brick_changes_list *turns)
{
	bool is_synced = storage->media->granularity == BRICK_GRANULARITY_PAGE;
	const struct brick_zeroing slice = {
		.fast = is_synced ? TURN_SYNCED : 1,
		.slow = TURN_SYNCED,
	};
	struct brick_zeroing left = slice;
	struct brick_changes *c = STAILQ_FIRST(turns);
	unsigned int n;
	int rc = 0;

	if (!c)
		return;
	for (size_t i = 0; rc != -EAGAIN && i < c->n; i++)
		rc = brick_store_prepare(storage->store, &c->list[i], &left);
	n = slice.fast - left.fast + slice.slow - left.slow;
	/* Nothing more can be done for it: what is wrong is told in the commit. */
	c->is_prepared = !n && !rc;
	if (n && c->zeroed_blocks)
		brick_count_add(c->zeroed_blocks, n);
	STAILQ_REMOVE_HEAD(turns, link);
	STAILQ_INSERT_TAIL(turns, c, link);
}

void brick_store_thread_run(struct brick_worker *worker,
			    struct brick_work_list *batch)
{
	struct brick_storage *storage = worker->ctx;
	struct brick_changes_list turns = STAILQ_HEAD_INITIALIZER(turns);
	struct brick_changes *c;
	struct commit commit;

	do {
		uint64_t begun_ns = brick_now_ns();

		queue_changes(&turns, batch);
		fill_commit(storage, &turns, &commit);
		if (commit.n) {
			brick_store_commit(storage->store, commit.first);
			brick_count_ns(&storage->counters->commit_ns,
				       brick_now_ns() - begun_ns);
			brick_count_size(&storage->counters->commit_changes,
					 commit.n);
		}
		while ((c = STAILQ_FIRST(&commit.over))) {
			STAILQ_REMOVE_HEAD(&commit.over, link);
			brick_worker_finish(worker, &c->work);
		}
		zero_some(storage, &turns);
		brick_worker_take(worker, batch);
	} while (!STAILQ_EMPTY(batch) || !STAILQ_EMPTY(&turns));
}
