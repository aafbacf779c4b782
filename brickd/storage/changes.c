// SPDX-License-Identifier: BSD-2-Clause
/* The store thread: all changes that wait, in one commit. */
#include "brickd/storage/changes.h"

#include <errno.h>

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/util.h"
#include "brickd/storage/storage.h"

void brick_changes_submit(struct brick_storage *storage,
			  struct brick_changes *changes)
{
	brick_worker_submit(&storage->store_thread, &changes->work);
}

void brick_changes_cancel(struct brick_changes *changes)
{
	atomic_store(&changes->is_cancelled, true);
}

static void refuse_changes(struct brick_changes *changes)
{
	for (size_t i = 0; i < changes->n; i++)
		changes->list[i].error = -EACCES;
}

void brick_store_thread_run(struct brick_worker *worker,
			    struct brick_work_list *batch)
{
	struct brick_storage *storage = worker->ctx;
	struct brick_store_op *first = NULL, **end = &first;
	uint64_t begun_ns = brick_now_ns(), n_changes = 0;
	struct brick_work *work;

	STAILQ_FOREACH(work, batch, link)
	{
		struct brick_changes *c =
			brick_container_of(work, struct brick_changes, work);

		if (atomic_load(&c->is_cancelled)) {
			refuse_changes(c);
			continue;
		}
		for (size_t i = 0; i < c->n; i++) {
			*end = &c->list[i];
			end = &c->list[i].next;
			n_changes++;
		}
	}
	*end = NULL;
	brick_store_commit(storage->store, first);
	brick_count_ns(&storage->counters->commit_ns,
		       brick_now_ns() - begun_ns);
	brick_count_size(&storage->counters->commit_changes, n_changes);
	while ((work = brick_work_take(batch)))
		brick_worker_finish(worker, work);
}
