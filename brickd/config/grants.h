/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which addresses a client may use.
 *
 * Addresses are block numbers here (address >> KFB_BLOCK_SHIFT), so that an
 * end of 2^64 bytes is a number too.
 *
 * Context: the loop thread; a reload changes them.
 */
#ifndef BRICKD_CONFIG_GRANTS_H
#define BRICKD_CONFIG_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/codec/kfb_codec.h"

/* Blocks [first, end). */
struct brick_span {
	uint64_t first;
	uint64_t end;
};

static inline struct brick_span brick_span_of(uint64_t va, uint64_t n_blocks)
{
	uint64_t first = va >> KFB_BLOCK_SHIFT;

	return (struct brick_span){ first, first + n_blocks };
}

static inline bool brick_spans_overlap(struct brick_span a, struct brick_span b)
{
	return a.first < b.end && b.first < a.end;
}

static inline void brick_span_widen(struct brick_span *to, struct brick_span by)
{
	if (by.first < to->first)
		to->first = by.first;
	if (by.end > to->end)
		to->end = by.end;
}

/**
 * struct brick_grants - the grants of one client
 * @n: how many were configured
 * @list: as configured
 * @n_ro: spans in @ro
 * @ro: where it may read, sorted, disjoint, apart
 * @n_rw: spans in @rw
 * @rw: where it may write, sorted, disjoint, apart
 */
struct brick_grants {
	uint32_t n;
	struct kfb_grant list[KFB_GRANTS_MAX];
	uint32_t n_ro;
	struct brick_span ro[KFB_GRANTS_MAX];
	uint32_t n_rw;
	struct brick_span rw[KFB_GRANTS_MAX];
};

/**
 * brick_grants_add - add one grant
 * @g: grants
 * @grant: a checked range with its access
 *
 * Return: 0, -ENOSPC when a client cannot have more.
 */
int brick_grants_add(struct brick_grants *g, const struct kfb_grant *grant);

/**
 * brick_grants_allow - is all of a range granted?
 * @g: grants
 * @span: blocks
 * @write: for writing
 */
bool brick_grants_allow(const struct brick_grants *g, struct brick_span span,
			bool write);

#endif
