// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Extents and sorted sets of them.
 *
 * Sums are made of block numbers: these end at 2^43, so none overflows.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_codec.h"
#include "kfb_extent.h"
#include "kfb_wire.h"

static __u64 kfb_extent_first_block(const struct kfb_extent *extent)
{
	return extent->va >> KFB_BLOCK_SHIFT;
}

/* The block behind the last one. */
static __u64 kfb_extent_end_block(const struct kfb_extent *extent)
{
	return kfb_extent_first_block(extent) + extent->n_blocks;
}

static void kfb_extent_set_blocks(struct kfb_extent *extent, __u64 first,
				  __u64 end)
{
	extent->n_blocks = end - first;
	extent->va = extent->n_blocks ? first << KFB_BLOCK_SHIFT : 0;
}

__u64 kfb_extent_last(const struct kfb_extent *extent)
{
	return extent->va + ((extent->n_blocks << KFB_BLOCK_SHIFT) - 1);
}

int kfb_extent_overlaps(const struct kfb_extent *a, const struct kfb_extent *b)
{
	return kfb_extent_first_block(a) < kfb_extent_end_block(b) &&
	       kfb_extent_first_block(b) < kfb_extent_end_block(a);
}

int kfb_extent_intersect(const struct kfb_extent *a, const struct kfb_extent *b,
			 struct kfb_extent *out)
{
	__u64 first, end;

	if (!kfb_extent_overlaps(a, b))
		return -ENOENT;
	first = kfb_extent_first_block(a);
	if (first < kfb_extent_first_block(b))
		first = kfb_extent_first_block(b);
	end = kfb_extent_end_block(a);
	if (end > kfb_extent_end_block(b))
		end = kfb_extent_end_block(b);
	kfb_extent_set_blocks(out, first, end);
	return 0;
}

int kfb_extent_take(struct kfb_extent *rest, __u64 max_blocks,
		    struct kfb_extent *piece)
{
	__u64 first = kfb_extent_first_block(rest);
	__u64 end = kfb_extent_end_block(rest);
	__u64 cut;

	if (max_blocks == 0)
		return -EINVAL;
	if (rest->n_blocks == 0)
		return -ENOENT;
	cut = rest->n_blocks > max_blocks ? first + max_blocks : end;
	kfb_extent_set_blocks(piece, first, cut);
	kfb_extent_set_blocks(rest, cut, end);
	return 0;
}

__u64 kfb_extent_clip_bytes(const struct kfb_extent *extent, __u64 addr,
			    __u64 len)
{
	__u64 last = kfb_extent_last(extent);

	if (addr < extent->va || addr > last)
		return 0;
	/* Not last - addr + 1: that is 0 for the whole address space. */
	return len && len - 1 > last - addr ? last - addr + 1 : len;
}

void kfb_extents_init(struct kfb_extents *set, struct kfb_extent *items,
		      __u32 cap)
{
	set->items = items;
	set->cap = cap;
	set->n = 0;
}

__u32 kfb_extents_find(const struct kfb_extents *set, __u64 va)
{
	__u32 low = 0, high = set->n;

	while (low < high) {
		__u32 middle = low + (high - low) / 2;

		if (kfb_extent_last(&set->items[middle]) < va)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Moves everything from @at on by one place; the caller has checked cap. */
static void kfb_extent_open_gap(struct kfb_extents *set, __u32 at)
{
	memmove(&set->items[at + 1], &set->items[at],
		(set->n - at) * sizeof(set->items[0]));
	set->n++;
}

static void kfb_extent_close_gap(struct kfb_extents *set, __u32 at, __u32 count)
{
	memmove(&set->items[at], &set->items[at + count],
		(set->n - at - count) * sizeof(set->items[0]));
	set->n -= count;
}

int kfb_extents_insert(struct kfb_extents *set, const struct kfb_extent *extent)
{
	__u32 at;

	if (kfb_range_check(extent->va, extent->n_blocks))
		return -EINVAL;
	if (kfb_extents_overlap(set, extent))
		return -EEXIST;
	if (set->n == set->cap)
		return -ENOSPC;
	at = kfb_extents_find(set, extent->va);
	kfb_extent_open_gap(set, at);
	set->items[at] = *extent;
	return 0;
}

int kfb_extents_add(struct kfb_extents *set, const struct kfb_extent *extent)
{
	__u64 first, end;
	_Bool joins_left, joins_right;
	__u32 at;

	if (kfb_range_check(extent->va, extent->n_blocks))
		return -EINVAL;
	if (kfb_extents_overlap(set, extent))
		return -EEXIST;
	first = kfb_extent_first_block(extent);
	end = kfb_extent_end_block(extent);
	at = kfb_extents_find(set, extent->va);
	joins_left =
		at > 0 && kfb_extent_end_block(&set->items[at - 1]) == first;
	joins_right =
		at < set->n && kfb_extent_first_block(&set->items[at]) == end;
	if (joins_left && joins_right) {
		kfb_extent_set_blocks(
			&set->items[at - 1],
			kfb_extent_first_block(&set->items[at - 1]),
			kfb_extent_end_block(&set->items[at]));
		kfb_extent_close_gap(set, at, 1);
	} else if (joins_left) {
		set->items[at - 1].n_blocks += extent->n_blocks;
	} else if (joins_right) {
		kfb_extent_set_blocks(&set->items[at], first,
				      kfb_extent_end_block(&set->items[at]));
	} else {
		return kfb_extents_insert(set, extent);
	}
	return 0;
}

int kfb_extents_del(struct kfb_extents *set, const struct kfb_extent *extent)
{
	__u64 first, end, left_first, right_end;
	__u32 from, to, keep;

	if (kfb_range_check(extent->va, extent->n_blocks))
		return -EINVAL;
	if (!kfb_extents_cover(set, extent))
		return -ENOENT;
	first = kfb_extent_first_block(extent);
	end = kfb_extent_end_block(extent);
	from = kfb_extents_find(set, extent->va);
	to = kfb_extents_find(set, kfb_extent_last(extent));
	left_first = kfb_extent_first_block(&set->items[from]);
	right_end = kfb_extent_end_block(&set->items[to]);
	keep = (left_first < first) + (end < right_end);
	if (keep > to - from + 1) {
		if (set->n == set->cap)
			return -ENOSPC;
		kfb_extent_open_gap(set, to);
		to++;
	}
	if (left_first < first)
		kfb_extent_set_blocks(&set->items[from], left_first, first);
	if (end < right_end)
		kfb_extent_set_blocks(&set->items[to], end, right_end);
	kfb_extent_close_gap(set, from + (left_first < first),
			     to - from + 1 - keep);
	return 0;
}

int kfb_extents_overlap(const struct kfb_extents *set,
			const struct kfb_extent *extent)
{
	__u32 at = kfb_extents_find(set, extent->va);

	return at < set->n && kfb_extent_overlaps(&set->items[at], extent);
}

int kfb_extents_cover(const struct kfb_extents *set,
		      const struct kfb_extent *extent)
{
	__u64 next = kfb_extent_first_block(extent);
	__u64 end = kfb_extent_end_block(extent);
	__u32 at;

	for (at = kfb_extents_find(set, extent->va); next < end; at++) {
		if (at == set->n ||
		    kfb_extent_first_block(&set->items[at]) > next)
			return 0;
		next = kfb_extent_end_block(&set->items[at]);
	}
	return 1;
}

int kfb_extents_whole(const struct kfb_extents *set,
		      const struct kfb_extent *extent)
{
	__u32 from, to;

	if (!kfb_extents_cover(set, extent))
		return 0;
	from = kfb_extents_find(set, extent->va);
	to = kfb_extents_find(set, kfb_extent_last(extent));
	return set->items[from].va == extent->va &&
	       kfb_extent_end_block(&set->items[to]) ==
		       kfb_extent_end_block(extent);
}

int kfb_extents_next(const struct kfb_extents *set, struct kfb_extent *rest,
		     struct kfb_extent *piece)
{
	__u64 end = kfb_extent_end_block(rest);
	__u32 at;

	if (rest->n_blocks == 0)
		return -ENOENT;
	at = kfb_extents_find(set, rest->va);
	if (at == set->n ||
	    kfb_extent_intersect(&set->items[at], rest, piece)) {
		kfb_extent_set_blocks(rest, end, end);
		return -ENOENT;
	}
	kfb_extent_set_blocks(rest, kfb_extent_end_block(piece), end);
	return 0;
}
