/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A batch: the changes that one move of the commit word makes valid.
 *
 * Context: the store thread.
 */
#ifndef BRICKD_STORE_BATCH_H
#define BRICKD_STORE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/store/store_impl.h"

/* Bounds the search for overlaps, which looks at every pair. */
#define BRICK_BATCH_OPS 256U

/* Consecutive addresses in consecutive slots, of one operation. */
struct brick_batch_run {
	struct brick_store_op *op;
	uint64_t key;
	struct brick_slot_run slots; /* MOVE: the one it goes to */
	bool zero_first; /* ALLOC from dirty slots */
	struct brick_slot_quarantine *quarantine; /* FREE with a token */
};

struct brick_batch {
	struct brick_store_op *ops[BRICK_BATCH_OPS];
	unsigned int n_ops;
	struct brick_batch_run *runs;
	uint64_t n_runs;
	uint64_t cap_runs;
	unsigned int n_steps; /* since others had the lock */
	bool has_birth;
	bool has_free; /* slots come free when this batch is through */
};

/**
 * brick_batch_add - check an operation and plan it
 * @s: the store
 * @b: the batch so far
 * @op: what
 *
 * Writes nothing to the medium. An ALLOC takes its slots out of the free maps
 * and is in the index, unseen by readers.
 *
 * Return: 0; -EAGAIN: carry out the batch first, then ask again; else the
 * operation's error, and nothing has changed.
 */
int brick_batch_add(struct brick_store *s, struct brick_batch *b,
		    struct brick_store_op *op);

/**
 * brick_batch_publish - show a durable batch to readers
 * @s: the store
 * @b: the batch, sealed
 */
void brick_batch_publish(struct brick_store *s, struct brick_batch *b);

/**
 * brick_batch_abandon - forget a batch whose fate the medium did not tell
 * @s: the store, failed
 * @b: the batch; the slots that it took stay taken, as they may be in use on the medium
 */
void brick_batch_abandon(struct brick_store *s, struct brick_batch *b);

#endif
