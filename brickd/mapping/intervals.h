/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An index of spans of blocks, which may overlap: what covers a block, what comes
 * next, and what is in a span's way, each in the logarithm of how many there are.
 *
 * It is a treap by the first block, in which each node knows the greatest end
 * below it, for each class that its spans may belong to.
 *
 * Context: one thread.
 */
#ifndef BRICKD_MAPPING_INTERVALS_H
#define BRICKD_MAPPING_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/config/grants.h"

enum brick_interval_class {
	BRICK_INTERVALS_ALL,
	BRICK_INTERVALS_RW,
	BRICK_INTERVALS_EXCLUSIVE,
	BRICK_INTERVALS_CLASSES,
};

/*
 * struct brick_interval - one span; embedded or allocated by its owner
 * @span: blocks, at least one
 * @classes: bit c: it belongs to class c; ALL is one of them
 * @owner: whose it is
 *
 * The rest is the index's.
 */
struct brick_interval {
	struct brick_span span;
	uint32_t classes;
	void *owner;
	uint32_t priority;
	struct brick_interval *left;
	struct brick_interval *right;
	uint64_t end[BRICK_INTERVALS_CLASSES];
};

/* Zeroed: empty. */
struct brick_intervals {
	struct brick_interval *root;
};

void brick_intervals_add(struct brick_intervals *all,
			 struct brick_interval *interval);
void brick_intervals_del(struct brick_intervals *all,
			 struct brick_interval *interval);

/**
 * brick_intervals_end - how far the spans reach that begin before a block
 * @all: the index
 * @of: of this class
 * @block: a block
 *
 * Return: the greatest end; not above @block: none of them has the block before
 * it. 0: there is none.
 */
uint64_t brick_intervals_end(const struct brick_intervals *all,
			     enum brick_interval_class of, uint64_t block);

/**
 * brick_intervals_next - where the next span begins
 * @all: the index
 * @of: of this class
 * @block: at or behind this block
 *
 * Return: its first block, or UINT64_MAX.
 */
uint64_t brick_intervals_next(const struct brick_intervals *all,
			      enum brick_interval_class of, uint64_t block);

/**
 * brick_intervals_overlap - visit what overlaps a span
 * @all: the index
 * @of: of this class
 * @span: blocks
 * @visit: is called for each, in order, as long as it says true
 * @arg: for it
 */
void brick_intervals_overlap(const struct brick_intervals *all,
			     enum brick_interval_class of,
			     struct brick_span span,
			     bool (*visit)(const struct brick_interval *found,
					   void *arg),
			     void *arg);

#endif
