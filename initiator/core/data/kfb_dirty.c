// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A bounded set of dirty byte ranges.
 *
 * Ranges are compared by their last byte, not their end: the end of the last
 * block is 2^64, which does not fit.
 */
#include <linux/string.h>
#include "data/kfb_dirty.h"

static __u64 kfb_dirty_last_byte(const struct kfb_flush_range *range)
{
	return range->va + (range->len - 1);
}

void kfb_dirty_move(struct kfb_dirty *to, struct kfb_dirty *from)
{
	__u32 i;

	if (kfb_dirty_is_empty(to)) {
		for (i = 0; i < from->n; i++)
			to->ranges[i] = from->ranges[i];
		to->n = from->n;
		to->all = from->all;
	} else {
		kfb_dirty_merge(to, from);
	}
	kfb_dirty_clear(from);
}

/* Range at + 1 becomes part of range at. */
static void kfb_dirty_join_next(struct kfb_dirty *dirty, __u32 at)
{
	__u64 last = kfb_dirty_last_byte(&dirty->ranges[at + 1]);

	if (kfb_dirty_last_byte(&dirty->ranges[at]) > last)
		last = kfb_dirty_last_byte(&dirty->ranges[at]);
	dirty->ranges[at].len = last - dirty->ranges[at].va + 1;
	memmove(&dirty->ranges[at + 1], &dirty->ranges[at + 2],
		(dirty->n - at - 2) * sizeof(dirty->ranges[0]));
	dirty->n--;
}

/* Join the two ranges of one block with the smallest gap, if there are any. */
static _Bool kfb_dirty_make_room(struct kfb_dirty *dirty)
{
	__u64 best_gap = KFB_BLOCK_BYTES;
	__u32 best = 0;
	__u32 i;

	for (i = 0; i + 1 < dirty->n; i++) {
		__u64 last = kfb_dirty_last_byte(&dirty->ranges[i]);
		__u64 next = dirty->ranges[i + 1].va;

		if (last >> KFB_BLOCK_SHIFT != next >> KFB_BLOCK_SHIFT)
			continue;
		if (next - last < best_gap) {
			best_gap = next - last;
			best = i;
		}
	}
	if (best_gap == KFB_BLOCK_BYTES)
		return 0;
	kfb_dirty_join_next(dirty, best);
	return 1;
}

static _Bool kfb_dirty_touches(const struct kfb_flush_range *range, __u64 last)
{
	return range->va <= last || range->va - 1 == last;
}

void kfb_dirty_add(struct kfb_dirty *dirty, __u64 va, __u64 len)
{
	__u64 last = va + (len - 1);
	__u32 at = dirty->n;

	if (!len || dirty->all)
		return;
	/* Writes mostly go forward: the place is looked for from the end. */
	while (at && (kfb_dirty_last_byte(&dirty->ranges[at - 1]) >= va ||
		      kfb_dirty_last_byte(&dirty->ranges[at - 1]) + 1 == va))
		at--;
	if (at < dirty->n && kfb_dirty_touches(&dirty->ranges[at], last)) {
		struct kfb_flush_range *range = &dirty->ranges[at];

		if (kfb_dirty_last_byte(range) > last)
			last = kfb_dirty_last_byte(range);
		if (range->va < va)
			va = range->va;
		range->va = va;
		range->len = last - va + 1;
		while (at + 1 < dirty->n &&
		       kfb_dirty_touches(&dirty->ranges[at + 1],
					 kfb_dirty_last_byte(range)))
			kfb_dirty_join_next(dirty, at);
		return;
	}
	if (dirty->n == KFB_DIRTY_MAX) {
		if (!kfb_dirty_make_room(dirty)) {
			dirty->n = 0;
			dirty->all = 1;
			return;
		}
		/* The joined range may reach over the new one. */
		kfb_dirty_add(dirty, va, len);
		return;
	}
	memmove(&dirty->ranges[at + 1], &dirty->ranges[at],
		(dirty->n - at) * sizeof(dirty->ranges[0]));
	dirty->ranges[at].va = va;
	dirty->ranges[at].len = len;
	dirty->n++;
}

void kfb_dirty_merge(struct kfb_dirty *dirty, const struct kfb_dirty *other)
{
	__u32 i;

	if (other->all) {
		dirty->n = 0;
		dirty->all = 1;
		return;
	}
	for (i = 0; i < other->n; i++)
		kfb_dirty_add(dirty, other->ranges[i].va, other->ranges[i].len);
}

_Bool kfb_dirty_overlaps(const struct kfb_dirty *dirty, __u64 va, __u64 len)
{
	__u64 last = va + (len - 1);
	__u32 i;

	if (dirty->all)
		return 1;
	for (i = 0; i < dirty->n; i++) {
		if (dirty->ranges[i].va <= last &&
		    kfb_dirty_last_byte(&dirty->ranges[i]) >= va)
			return 1;
	}
	return 0;
}

void kfb_dirty_cut(struct kfb_dirty *dirty, __u64 va, __u64 len,
		   struct kfb_dirty *out)
{
	struct kfb_dirty whole = *dirty;
	__u64 last = va + (len - 1);
	__u32 i;

	if (dirty->all) {
		kfb_dirty_add(out, va, len);
		return;
	}
	dirty->n = 0;
	for (i = 0; i < whole.n; i++) {
		__u64 first = whole.ranges[i].va;
		__u64 end = kfb_dirty_last_byte(&whole.ranges[i]);
		__u64 from = first > va ? first : va;
		__u64 to = end < last ? end : last;

		if (from > to) {
			kfb_dirty_add(dirty, first, end - first + 1);
			continue;
		}
		kfb_dirty_add(out, from, to - from + 1);
		if (first < from)
			kfb_dirty_add(dirty, first, from - first);
		if (end > to)
			kfb_dirty_add(dirty, to + 1, end - to);
	}
}
