// SPDX-License-Identifier: BSD-2-Clause
/* Flushes of client data, coalesced. */
#include "brickd/storage/flush.h"

#include <errno.h>
#include <stdlib.h>

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/util.h"
#include "brickd/mapping/mapping.h"
#include "brickd/storage/storage.h"

int brick_flush_alloc(struct brick_flush *f, size_t cap)
{
	f->n = 0;
	f->error = 0;
	f->ranges = NULL;
	if (!cap)
		return 0;
	f->ranges = calloc(cap, sizeof(*f->ranges));
	return f->ranges ? 0 : -ENOMEM;
}

void brick_flush_add(struct brick_flush *f, uint64_t va, uint64_t len)
{
	f->ranges[f->n++] = (struct brick_flush_range){ va, len };
}

void brick_flush_add_handles(struct brick_flush *f,
			     const struct brick_handle *handles, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct brick_span span = handles[i].span;

		brick_flush_add(f, span.first << KFB_BLOCK_SHIFT,
				(span.end - span.first) << KFB_BLOCK_SHIFT);
	}
}

static void flush_done(struct brick_work *work)
{
	struct brick_flush *f =
		brick_container_of(work, struct brick_flush, work);

	free(f->ranges);
	f->ranges = NULL;
	f->done(f);
}

void brick_flush_submit(struct brick_storage *storage, struct brick_flush *f)
{
	f->work.done = flush_done;
	brick_worker_submit(&storage->flusher, &f->work);
}

static void count_drain(struct brick_storage *storage, uint64_t begun_ns,
			uint64_t n_flushes, int rc)
{
	if (rc)
		brick_count(&storage->counters->drains_failed);
	brick_count_ns(&storage->counters->drain_ns, brick_now_ns() - begun_ns);
	brick_count_size(&storage->counters->drain_flushes, n_flushes);
}

/* All ranges together are as small as one may be. */
static bool is_small(const struct kfb_flush *flush)
{
	uint64_t bytes = 0;

	if (flush->flags & KFB_FLUSH_ALL)
		return false;
	for (uint32_t i = 0; i < flush->n_ranges; i++) {
		uint64_t len = flush->ranges[i].len;

		if (len > BRICK_TRY_FLUSH_MAX - bytes)
			return false;
		bytes += len;
	}
	return true;
}

bool brick_flush_try_now(struct brick_storage *storage,
			 const struct kfb_flush *flush, uint64_t begun_ns,
			 int *error)
{
	if (storage->media->granularity == BRICK_GRANULARITY_PAGE ||
	    !is_small(flush))
		return false;
	for (uint32_t i = 0; i < flush->n_ranges; i++)
		if (!brick_store_try_flush(storage->store, flush->ranges[i].va,
					   flush->ranges[i].len))
			return false;
	*error = brick_store_drain(storage->store);
	count_drain(storage, begun_ns, 1, *error);
	return true;
}

bool brick_flush_is_needed(const struct brick_storage *storage)
{
	return storage->flush_mode != KFB_FLUSH_NONE &&
	       storage->media->granularity != BRICK_GRANULARITY_PAGE;
}

void brick_flush_run(struct brick_worker *worker, struct brick_work_list *batch)
{
	struct brick_storage *storage = worker->ctx;
	uint64_t begun_ns = brick_now_ns(), n_flushes = 0;
	struct brick_work *work;
	int rc;

	STAILQ_FOREACH(work, batch, link)
	{
		struct brick_flush *f =
			brick_container_of(work, struct brick_flush, work);

		n_flushes++;
		for (size_t i = 0; i < f->n; i++)
			brick_store_flush(storage->store, f->ranges[i].va,
					  f->ranges[i].len);
	}
	rc = brick_store_drain(storage->store);
	count_drain(storage, begun_ns, n_flushes, rc);
	while ((work = brick_work_take(batch))) {
		brick_container_of(work, struct brick_flush, work)->error = rc;
		brick_worker_finish(worker, work);
	}
}
