/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flushes of client data: many ranges, one drain, and a turn for everybody.
 *
 * The flush worker goes round the sessions: each has a slice of what it asked
 * for flushed, then one drain covers all that are through. So a session waits
 * for one slice of each of the others, however much these want. What waits of
 * one session begins together, and what is asked for twice is flushed once. A
 * few bytes of persistent memory take less time than the way to the worker and
 * back: brick_flush_try_now() flushes them in the loop.
 *
 * Context: the loop thread; the ranges belong to the worker until done().
 */
#ifndef BRICKD_STORAGE_FLUSH_H
#define BRICKD_STORAGE_FLUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/base/work.h"
#include "brickd/config/grants.h"

struct brick_handle;
struct brick_storage;
struct kfb_flush;

/* Byte addresses, both included. */
struct brick_flush_range {
	uint64_t first;
	uint64_t last;
};

/* All bytes of some blocks. */
static inline struct brick_flush_range
brick_flush_range_of(struct brick_span span)
{
	return (struct brick_flush_range){
		span.first << KFB_BLOCK_SHIFT,
		(span.end << KFB_BLOCK_SHIFT) - 1,
	};
}

struct brick_flush;
STAILQ_HEAD(brick_flush_list, brick_flush);

/*
 * struct brick_flush_queue - the flushes of one session; embedded in it
 * @link: among those that have something to flush
 * @waiting: came after the pass had begun
 * @running: are done when the pass is
 * @merged: all of @running, sorted and apart; NULL: there is one, with its own
 * @ranges: of the pass
 * @n: ranges that are left
 * @is_active: it is among those
 * @flushed_bytes: counts what is flushed; NULL: nobody wants to know
 * @flow: in whose turns of the loop its flushes are done
 *
 * Context: the flush worker, from the first submit until the last done().
 */
struct brick_flush_queue {
	STAILQ_ENTRY(brick_flush_queue) link;
	struct brick_flush_list waiting;
	struct brick_flush_list running;
	struct brick_flush_range *merged;
	struct brick_flush_range *ranges;
	size_t n;
	bool is_active;
	_Atomic uint64_t *flushed_bytes;
	struct brick_flow *flow;
};

/*
 * struct brick_flush - one flush; embedded in its owner
 * @done: called in the loop thread
 * @queue: whose turn it is done in
 * @n: ranges; none: drain only
 * @cap: for which there is room
 * @ranges: theirs, freed before done()
 * @error: result: 0 or -EIO
 */
struct brick_flush {
	struct brick_work work;
	STAILQ_ENTRY(brick_flush) link;
	void (*done)(struct brick_flush *flush);
	struct brick_flush_queue *queue;
	size_t n;
	size_t cap;
	struct brick_flush_range *ranges;
	int error;
};

void brick_flush_queue_init(struct brick_flush_queue *queue);

/**
 * brick_flush_reserve - make room for ranges that will be added
 * @flush: zeroed, or with ranges
 * @n: how many more
 *
 * Return: 0 or -ENOMEM.
 */
int brick_flush_reserve(struct brick_flush *flush, size_t n);

/**
 * brick_flush_add - have bytes flushed
 * @flush: not submitted yet
 * @first: the first one's address
 * @last: the last one's
 *
 * Return: 0 or -ENOMEM, which no reserved place meets.
 */
int brick_flush_add(struct brick_flush *flush, uint64_t first, uint64_t last);

/* The same with the blocks of handles. */
int brick_flush_add_handles(struct brick_flush *flush,
			    const struct brick_handle *handles, size_t n);

/* Sorts the ranges of a flush and unites those that overlap. */
void brick_flush_unite(struct brick_flush *flush);

/* Gives up a flush that is not submitted. */
void brick_flush_drop(struct brick_flush *flush);

/**
 * brick_flush_submit - flush, and call done()
 * @storage: the storage
 * @queue: of the session that wants it
 * @flush: done is set, ranges are added
 */
void brick_flush_submit(struct brick_storage *storage,
			struct brick_flush_queue *queue,
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
