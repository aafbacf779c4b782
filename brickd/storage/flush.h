/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flushes of client data: many ranges, one drain.
 *
 * The flush worker takes all flushes that wait, starts every range and drains
 * once for all of them. A few bytes of persistent memory take less time than
 * the way to the worker and back: brick_flush_try_now() flushes them in the
 * loop.
 *
 * Context: the loop thread; the ranges belong to the worker until done().
 */
#ifndef BRICKD_STORAGE_FLUSH_H
#define BRICKD_STORAGE_FLUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/base/work.h"

struct brick_handle;
struct brick_storage;
struct kfb_flush;

struct brick_flush_range {
	uint64_t va;
	uint64_t len; /* bytes */
};

/*
 * struct brick_flush - one flush; embedded in its owner
 * @done: called in the loop thread
 * @n: ranges; none: drain only
 * @ranges: theirs, freed before done()
 * @error: result: 0 or -EIO
 */
struct brick_flush {
	struct brick_work work;
	void (*done)(struct brick_flush *flush);
	size_t n;
	struct brick_flush_range *ranges;
	int error;
};

/**
 * brick_flush_alloc - make room for ranges
 * @flush: done is set
 * @cap: how many will be added
 *
 * Return: 0 or -ENOMEM.
 */
int brick_flush_alloc(struct brick_flush *flush, size_t cap);

void brick_flush_add(struct brick_flush *flush, uint64_t va, uint64_t len);
void brick_flush_add_handles(struct brick_flush *flush,
			     const struct brick_handle *handles, size_t n);
void brick_flush_submit(struct brick_storage *storage,
			struct brick_flush *flush);

/**
 * brick_flush_try_now - flush what takes no time worth mentioning
 * @storage: the storage
 * @flush: ranges of a request, checked
 * @begun_ns: when it came
 * @error: 0, or -EIO: the medium failed
 *
 * Return: true: it is done; false: it is too much, the medium needs a system
 * call, or the store is busy: nothing is durable, give it to the worker.
 */
bool brick_flush_try_now(struct brick_storage *storage,
			 const struct kfb_flush *flush, uint64_t begun_ns,
			 int *error);

/* Is the end of a writable mapping to be followed by a flush of its blocks? */
bool brick_flush_is_needed(const struct brick_storage *storage);

/* What the flush worker runs. */
void brick_flush_run(struct brick_worker *worker,
		     struct brick_work_list *batch);

#endif
