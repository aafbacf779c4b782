/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A bounded set of dirty byte ranges: sorted, disjoint, neighbours merged.
 *
 * Whatever was added stays covered. When the set is full, ranges inside one
 * block are joined over their gap (a block is mapped as a whole, so the bytes
 * between are the client's too); when that is not enough the set means
 * "everything".
 *
 * Context: any; no allocation. Locking: the caller's.
 */
#ifndef KFB_DIRTY_H
#define KFB_DIRTY_H

#include <linux/types.h>
#include "codec/kfb_codec.h"

/* As many as one FLUSH message carries. */
#define KFB_DIRTY_MAX KFB_FLUSH_RANGES_MAX

/**
 * struct kfb_dirty - what has been written
 * @ranges: sorted by address, with a gap between any two
 * @n: in use; 0 when @all
 * @all: the set overflowed: everything is dirty
 */
struct kfb_dirty {
	struct kfb_flush_range ranges[KFB_DIRTY_MAX];
	__u32 n;
	_Bool all;
};

/* Nothing is dirty from now on. */
static inline void kfb_dirty_clear(struct kfb_dirty *dirty)
{
	dirty->n = 0;
	dirty->all = 0;
}

/**
 * kfb_dirty_move - a set becomes part of another one
 * @to: gets it in addition to what it has, which is mostly nothing
 * @from: empty afterwards
 *
 * Only the ranges that there are: a set is half a KiB, and most have one.
 */
void kfb_dirty_move(struct kfb_dirty *to, struct kfb_dirty *from);

/* Is nothing dirty? */
static inline _Bool kfb_dirty_is_empty(const struct kfb_dirty *dirty)
{
	return !dirty->n && !dirty->all;
}

/**
 * kfb_dirty_add - a range has been written
 * @dirty: the set
 * @va: first byte
 * @len: bytes; the range ends at or below 2^64; 0 adds nothing
 */
void kfb_dirty_add(struct kfb_dirty *dirty, __u64 va, __u64 len);

/* Add all of @other to @dirty. */
void kfb_dirty_merge(struct kfb_dirty *dirty, const struct kfb_dirty *other);

/**
 * kfb_dirty_cut - take the part of a set out that lies in a range
 * @dirty: the set; one that means everything keeps meaning it
 * @va: first byte
 * @len: bytes, not 0; the range ends at or below 2^64
 * @out: gets that part in addition to what it has
 *
 * When the set overflows by what is left on both sides, it means everything.
 */
void kfb_dirty_cut(struct kfb_dirty *dirty, __u64 va, __u64 len,
		   struct kfb_dirty *out);

/**
 * kfb_dirty_overlaps - is a byte of a range dirty?
 * @dirty: the set
 * @va: first byte
 * @len: bytes, not 0; the range ends at or below 2^64
 *
 * Return: true when one is, always so when the set overflowed.
 */
_Bool kfb_dirty_overlaps(const struct kfb_dirty *dirty, __u64 va, __u64 len);

#endif
