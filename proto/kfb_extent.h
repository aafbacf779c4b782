/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extents of blocks, and sorted sets of them in memory the caller supplies.
 *
 * An extent may end at 2^64, the end of the address space; nothing here
 * computes that end as a byte address. Every extent that goes in is checked
 * with kfb_range_check(); so are all sums.
 *
 * Context: any; a set is guarded by whoever owns it. No allocation: a set
 * never grows beyond the array it was given.
 */
#ifndef KFB_EXTENT_H
#define KFB_EXTENT_H

#include <linux/types.h>

struct kfb_extent {
	__u64 va; /* bytes, a multiple of a block */
	__u64 n_blocks; /* never 0 in a set */
};

/**
 * struct kfb_extents - a sorted set of extents that do not overlap
 * @items: the caller's array
 * @cap: its length
 * @n: how many are in use
 */
struct kfb_extents {
	struct kfb_extent *items;
	__u32 cap;
	__u32 n;
};

/**
 * kfb_extent_last - the address of an extent's last byte
 * @extent: a valid extent
 *
 * Context: any.
 * Return: the address; at most 2^64 - 1.
 */
__u64 kfb_extent_last(const struct kfb_extent *extent);

/**
 * kfb_extent_overlaps - do two extents share a block?
 * @a: a valid extent
 * @b: a valid extent
 *
 * Context: any.
 * Return: 1 or 0.
 */
int kfb_extent_overlaps(const struct kfb_extent *a, const struct kfb_extent *b);

/**
 * kfb_extent_intersect - the blocks that two extents share
 * @a: a valid extent
 * @b: a valid extent
 * @out: their intersection; may be @a or @b
 *
 * Context: any.
 * Return: 0, or -ENOENT when they share none.
 */
int kfb_extent_intersect(const struct kfb_extent *a, const struct kfb_extent *b,
			 struct kfb_extent *out);

/**
 * kfb_extent_take - split a piece off an extent's start
 * @rest: shrinks by the piece; 0 blocks at 0 when all of it was taken
 * @max_blocks: most blocks of a piece, at least 1
 * @piece: the piece
 *
 * Context: any.
 * Return: 0, -EINVAL when @max_blocks is 0, -ENOENT when @rest has no blocks.
 */
int kfb_extent_take(struct kfb_extent *rest, __u64 max_blocks,
		    struct kfb_extent *piece);

/**
 * kfb_extent_clip_bytes - how much of a byte range lies within an extent
 * @extent: a valid extent, for example what a handle covers
 * @addr: first byte
 * @len: bytes; the range may go beyond the extent, and beyond 2^64
 *
 * Context: any.
 * Return: the bytes from @addr to the end of the range or the end of the
 * extent, whichever comes first; 0 when @addr is outside.
 */
__u64 kfb_extent_clip_bytes(const struct kfb_extent *extent, __u64 addr,
			    __u64 len);

/**
 * kfb_extents_init - start with an empty set
 * @set: the set
 * @items: memory for @cap extents, the set's until the caller drops it
 * @cap: how many
 *
 * Context: any.
 */
void kfb_extents_init(struct kfb_extents *set, struct kfb_extent *items,
		      __u32 cap);

/**
 * kfb_extents_find - the first extent that ends behind an address
 * @set: the set
 * @va: any address
 *
 * Context: any; binary search.
 * Return: its index: it holds @va, or is the first behind it; set->n if none.
 */
__u32 kfb_extents_find(const struct kfb_extents *set, __u64 va);

/**
 * kfb_extents_insert - add an extent and keep its borders
 * @set: the set
 * @extent: what to add
 *
 * Context: any.
 * Return: 0, -EINVAL (not a valid extent), -EEXIST (a block is in the set
 * already), -ENOSPC (the array is full).
 */
int kfb_extents_insert(struct kfb_extents *set,
		       const struct kfb_extent *extent);

/**
 * kfb_extents_add - add an extent and merge it with its neighbours
 * @set: the set
 * @extent: what to add
 *
 * Context: any.
 * Return: as kfb_extents_insert(); a full array does where a merge needs no
 * new place.
 */
int kfb_extents_add(struct kfb_extents *set, const struct kfb_extent *extent);

/**
 * kfb_extents_del - take blocks out, and split what they were part of
 * @set: the set
 * @extent: what to take out; may span several extents that touch
 *
 * Context: any.
 * Return: 0, -EINVAL (not a valid extent), -ENOENT (a block is not in the
 * set), -ENOSPC (the split needs a place and the array is full). The set is
 * unchanged on failure.
 */
int kfb_extents_del(struct kfb_extents *set, const struct kfb_extent *extent);

/**
 * kfb_extents_overlap - is any block of an extent in the set?
 * @set: the set
 * @extent: a valid extent
 *
 * Context: any.
 * Return: 1 or 0.
 */
int kfb_extents_overlap(const struct kfb_extents *set,
			const struct kfb_extent *extent);

/**
 * kfb_extents_cover - are all blocks of an extent in the set?
 * @set: the set
 * @extent: a valid extent
 *
 * Context: any.
 * Return: 1 or 0.
 */
int kfb_extents_cover(const struct kfb_extents *set,
		      const struct kfb_extent *extent);

/**
 * kfb_extents_whole - is an extent made of whole extents of the set?
 * @set: a set with borders kept, for example the handles of a mapping
 * @extent: a valid extent
 *
 * Context: any.
 * Return: 1 when it is covered and begins and ends at borders, else 0.
 */
int kfb_extents_whole(const struct kfb_extents *set,
		      const struct kfb_extent *extent);

/**
 * kfb_extents_next - iterate over what the set has of a range
 * @set: the set, unchanged meanwhile
 * @rest: what is still to be visited: the range at first; becomes what lies
 *	behind the piece, 0 blocks at the end
 * @piece: the next blocks in the set, clipped to the range and to the borders
 *	in the set
 *
 * Context: any.
 * Return: 0, or -ENOENT when there is none left.
 */
int kfb_extents_next(const struct kfb_extents *set, struct kfb_extent *rest,
		     struct kfb_extent *piece);

#endif
