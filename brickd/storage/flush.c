// SPDX-License-Identifier: BSD-2-Clause
/* Flushes of client data: by turns, and with one drain for many. */
#include "brickd/storage/flush.h"

#include <errno.h>
#include <stdlib.h>

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/util.h"
#include "brickd/mapping/mapping.h"
#include "brickd/storage/storage.h"

/* So many bytes of one session are flushed before the next one has its turn. */
#define SLICE_BYTES (256U << 10)
/* So many of them a range costs at least: it has to be looked up. */
#define RANGE_BYTES 4096U
/* Flushes that have more ranges in all do not begin together. */
#define PASS_RANGES 4096U
#define RANGES_MIN  4

void brick_flush_queue_init(struct brick_flush_queue *q)
{
	*q = (struct brick_flush_queue){ 0 };
	STAILQ_INIT(&q->waiting);
	STAILQ_INIT(&q->running);
}

int brick_flush_reserve(struct brick_flush *f, size_t n)
{
	size_t cap = f->cap ? f->cap : RANGES_MIN;
	struct brick_flush_range *more;

	while (cap < f->n + n)
		cap *= 2;
	if (cap == f->cap)
		return 0;
	more = reallocarray(f->ranges, cap, sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->ranges = more;
	f->cap = cap;
	return 0;
}

int brick_flush_add(struct brick_flush *f, uint64_t first, uint64_t last)
{
	if (f->n == f->cap && brick_flush_reserve(f, 1))
		return -ENOMEM;
	f->ranges[f->n++] = (struct brick_flush_range){ first, last };
	return 0;
}

int brick_flush_add_handles(struct brick_flush *f,
			    const struct brick_handle *handles, size_t n)
{
	if (brick_flush_reserve(f, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		f->ranges[f->n++] = brick_flush_range_of(handles[i].span);
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct brick_flush_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorts ranges and unites those that overlap; returns how many there are. */
static size_t unite_ranges(struct brick_flush_range *r, size_t n)
{
	size_t last = 0;

	if (!n)
		return 0;
	qsort(r, n, sizeof(*r), compare_ranges);
	for (size_t i = 1; i < n; i++) {
		if (r[i].first > r[last].last)
			r[++last] = r[i];
		else if (r[i].last > r[last].last)
			r[last].last = r[i].last;
	}
	return last + 1;
}

void brick_flush_unite(struct brick_flush *f)
{
	f->n = unite_ranges(f->ranges, f->n);
}

void brick_flush_drop(struct brick_flush *f)
{
	free(f->ranges);
	f->ranges = NULL;
	f->n = 0;
	f->cap = 0;
}

static void flush_done(struct brick_work *work)
{
	struct brick_flush *f =
		brick_container_of(work, struct brick_flush, work);

	brick_flush_drop(f);
	f->done(f);
}

void brick_flush_submit(struct brick_storage *storage,
			struct brick_flush_queue *q, struct brick_flush *f)
{
	f->queue = q;
	f->work.flow = q->flow;
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

bool brick_flush_try_now(struct brick_storage *storage,
			 const struct kfb_flush *flush, uint64_t begun_ns,
			 int *error)
{
	uint64_t bytes = 0;

	if (storage->media->granularity == BRICK_GRANULARITY_PAGE ||
	    flush->flags & KFB_FLUSH_ALL)
		return false;
	/* All ranges together are as small as one may be. */
	for (uint32_t i = 0; i < flush->n_ranges; i++) {
		if (flush->ranges[i].len > BRICK_TRY_FLUSH_MAX - bytes)
			return false;
		bytes += flush->ranges[i].len;
	}
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

/* ---- the worker's turns ------------------------------------------------ */

/*
 * What waits begins together, so that whoever asks again and again has one pass
 * under way and one before it. Without memory for that they go one by one.
 */
static void begin_pass(struct brick_flush_queue *q)
{
	struct brick_flush *f, *first = STAILQ_FIRST(&q->waiting), *end = first;
	size_t n = 0;

	do {
		n += end->n;
		end = STAILQ_NEXT(end, link);
	} while (end && n + end->n <= PASS_RANGES);
	q->merged = n && STAILQ_NEXT(first, link) != end
			    ? malloc(n * sizeof(*q->merged))
			    : NULL;
	if (n && !q->merged)
		end = STAILQ_NEXT(first, link);
	n = 0;
	while ((f = STAILQ_FIRST(&q->waiting)) != end) {
		STAILQ_REMOVE_HEAD(&q->waiting, link);
		STAILQ_INSERT_TAIL(&q->running, f, link);
		for (size_t i = 0; q->merged && i < f->n; i++)
			q->merged[n++] = f->ranges[i];
	}
	if (!q->merged)
		brick_flush_unite(first);
	q->ranges = q->merged ? q->merged : first->ranges;
	q->n = q->merged ? unite_ranges(q->merged, n) : first->n;
}

/* Flushes the next slice of a session's pass; true: the pass is over. */
static bool flush_slice(struct brick_storage *storage,
			struct brick_flush_queue *q)
{
	uint64_t left = SLICE_BYTES, n_bytes = 0;

	while (q->n && left) {
		struct brick_flush_range *r = q->ranges;
		uint64_t most = left > RANGE_BYTES ? left - RANGE_BYTES : 0;
		uint64_t before = left;

		if (!brick_store_flush_some(storage->store, &r->first, r->last,
					    &left)) {
			q->ranges++;
			q->n--;
		}
		n_bytes += before - left;
		if (left > most)
			left = most;
	}
	if (q->flushed_bytes)
		brick_count_add(q->flushed_bytes, n_bytes);
	return !q->n;
}

STAILQ_HEAD(flush_turns, brick_flush_queue);

static void queue_batch(struct flush_turns *turns,
			struct brick_work_list *batch)
{
	struct brick_work *work;

	while ((work = brick_work_take(batch))) {
		struct brick_flush *f =
			brick_container_of(work, struct brick_flush, work);
		struct brick_flush_queue *q = f->queue;

		STAILQ_INSERT_TAIL(&q->waiting, f, link);
		if (!q->is_active) {
			q->is_active = true;
			begin_pass(q);
			STAILQ_INSERT_TAIL(turns, q, link);
		}
	}
}

/* Gives each session its slice; moves flushes that are through to @over. */
static void go_round(struct brick_storage *storage, struct flush_turns *turns,
		     struct brick_flush_list *over)
{
	struct flush_turns again = STAILQ_HEAD_INITIALIZER(again);
	struct brick_flush_queue *q;

	while ((q = STAILQ_FIRST(turns))) {
		STAILQ_REMOVE_HEAD(turns, link);
		if (flush_slice(storage, q)) {
			free(q->merged);
			q->merged = NULL;
			STAILQ_CONCAT(over, &q->running);
			q->is_active = !STAILQ_EMPTY(&q->waiting);
			if (q->is_active)
				begin_pass(q);
		}
		if (q->is_active)
			STAILQ_INSERT_TAIL(&again, q, link);
	}
	STAILQ_CONCAT(turns, &again);
}

void brick_flush_run(struct brick_worker *worker, struct brick_work_list *batch)
{
	struct brick_storage *storage = worker->ctx;
	struct flush_turns turns = STAILQ_HEAD_INITIALIZER(turns);
	struct brick_flush_list over = STAILQ_HEAD_INITIALIZER(over);
	struct brick_flush *f;

	do {
		uint64_t begun_ns = brick_now_ns(), n_flushes = 0;
		int rc;

		queue_batch(&turns, batch);
		go_round(storage, &turns, &over);
		if (!STAILQ_EMPTY(&over)) {
			rc = brick_store_drain(storage->store);
			STAILQ_FOREACH(f, &over, link)
			n_flushes++;
			count_drain(storage, begun_ns, n_flushes, rc);
			/* A session may be gone when its last one is done. */
			while ((f = STAILQ_FIRST(&over))) {
				STAILQ_REMOVE_HEAD(&over, link);
				f->error = rc;
				brick_worker_finish(worker, &f->work);
			}
		}
		brick_worker_take(worker, batch);
	} while (!STAILQ_EMPTY(batch) || !STAILQ_EMPTY(&turns));
}
