/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of the store on their way through the store thread, which takes a share
 * of what each client wants in one commit.
 *
 * Context: the loop thread; between submit and done() the changes are the
 * store thread's.
 */
#ifndef BRICKD_STORAGE_CHANGES_H
#define BRICKD_STORAGE_CHANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/base/work.h"
#include "brickd/store/store.h"

struct brick_changes;
struct brick_storage;

STAILQ_HEAD(brick_changes_list, brick_changes);

/*
 * struct brick_changes - some changes; embedded in whoever wants them
 * @work: its done() is called in the loop thread, with each change's result
 * @whose: those with the same one share a turn; compared only
 * @zeroed_blocks: counts the slots that had to be zeroed for them; NULL: nobody
 *	wants to know
 * @link: the store thread's
 * @behind: its too: later ones of the same, if it is the first of them
 * @n: in @list
 * @list: in order; they do not depend on each other
 * @is_prepared: the store thread's: there is nothing to wait for
 * @is_cancelled: nobody may have them any more
 */
struct brick_changes {
	struct brick_work work;
	const void *whose;
	_Atomic uint64_t *zeroed_blocks;
	STAILQ_ENTRY(brick_changes) link;
	struct brick_changes_list behind;
	size_t n;
	struct brick_store_op *list;
	bool is_prepared;
	atomic_bool is_cancelled;
};

/* Hands them over; work.done, whose, n and list are set. */
void brick_changes_submit(struct brick_storage *storage,
			  struct brick_changes *changes);

/* Unless the store thread has begun with them, they fail with -EACCES. */
void brick_changes_cancel(struct brick_changes *changes);

/* What the store thread runs. */
void brick_store_thread_run(struct brick_worker *worker,
			    struct brick_work_list *batch);

#endif
