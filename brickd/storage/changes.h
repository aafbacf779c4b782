/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of the store on their way through the store thread, which takes all
 * that wait in one commit.
 *
 * Context: the loop thread; between submit and done() the changes are the
 * store thread's.
 */
#ifndef BRICKD_STORAGE_CHANGES_H
#define BRICKD_STORAGE_CHANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "brickd/base/work.h"
#include "brickd/store/store.h"

struct brick_storage;

/*
 * struct brick_changes - some changes; embedded in whoever wants them
 * @work: its done() is called in the loop thread, with each change's result
 * @n: in @list
 * @list: in order; they do not depend on each other
 * @is_cancelled: nobody may have them any more
 */
struct brick_changes {
	struct brick_work work;
	size_t n;
	struct brick_store_op *list;
	atomic_bool is_cancelled;
};

/* Hands them over; work.done, n and list are set. */
void brick_changes_submit(struct brick_storage *storage,
			  struct brick_changes *changes);

/* Unless the store thread has begun with them, they fail with -EACCES. */
void brick_changes_cancel(struct brick_changes *changes);

/* What the store thread runs. */
void brick_store_thread_run(struct brick_worker *worker,
			    struct brick_work_list *batch);

#endif
