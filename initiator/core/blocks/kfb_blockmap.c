// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The block map: a sorted array and a binary search.
 *
 * Ends are kept as block numbers: the block that ends at 2^64 has a number
 * like any other, its end address would be 0.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "blocks/kfb_blockmap.h"

static __u64 kfb_blockmap_first_block(const struct kfb_handle *handle)
{
	return handle->va >> KFB_BLOCK_SHIFT;
}

static __u64 kfb_blockmap_end_block(const struct kfb_handle *handle)
{
	return kfb_blockmap_first_block(handle) + handle->n_blocks;
}

/* The first entry that ends behind a block; n when there is none. */
static __u32 kfb_blockmap_lower_bound(const struct kfb_blockmap *map,
				      __u64 block)
{
	__u32 low = 0;
	__u32 high = map->n;

	while (low < high) {
		__u32 mid = low + (high - low) / 2;

		if (kfb_blockmap_end_block(&map->entries[mid].handle) <= block)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void kfb_blockmap_init(struct kfb_blockmap *map,
		       struct kfb_blockmap_entry *entries, __u32 cap)
{
	map->entries = entries;
	map->n = 0;
	map->cap = cap;
}

int kfb_blockmap_grow(struct kfb_blockmap *map,
		      struct kfb_blockmap_entry *entries, __u32 cap)
{
	if (cap < map->n)
		return -EINVAL;
	if (map->n)
		memcpy(entries, map->entries, map->n * sizeof(*entries));
	map->entries = entries;
	map->cap = cap;
	return 0;
}

static _Bool kfb_blockmap_handle_is_sane(const struct kfb_handle *handle)
{
	__u64 len = handle->n_blocks << KFB_BLOCK_SHIFT;

	if (kfb_range_check(handle->va, handle->n_blocks))
		return 0;
	if (handle->n_blocks > KFB_MAP_EXTENT_MAX_BYTES >> KFB_BLOCK_SHIFT)
		return 0;
	return handle->raddr + (len - 1) >= handle->raddr;
}

int kfb_blockmap_take_page(const struct kfb_map_reply *page, __u64 mapping_id,
			   struct kfb_range *rest)
{
	__u64 first = rest->va >> KFB_BLOCK_SHIFT;
	__u64 end = first + rest->n_blocks;
	__u64 next = first;
	__u32 i;

	if (!page->mapping_id || page->mapping_id != mapping_id)
		return -EPROTO;
	for (i = 0; i < page->n_handles; i++) {
		const struct kfb_handle *handle = &page->handles[i];

		if (!kfb_blockmap_handle_is_sane(handle) ||
		    kfb_blockmap_first_block(handle) != next ||
		    kfb_blockmap_end_block(handle) > end)
			return -EPROTO;
		next = kfb_blockmap_end_block(handle);
	}
	if (next == first || !page->cursor != (next == end))
		return -EPROTO;
	rest->va += (next - first) << KFB_BLOCK_SHIFT;
	rest->n_blocks = end - next;
	return 0;
}

_Bool kfb_blockmap_overlaps(const struct kfb_blockmap *map,
			    const struct kfb_range *range)
{
	__u64 block = range->va >> KFB_BLOCK_SHIFT;
	__u32 i = kfb_blockmap_lower_bound(map, block);

	return i < map->n && kfb_blockmap_first_block(&map->entries[i].handle) <
				     block + range->n_blocks;
}

static int kfb_blockmap_total_range(const struct kfb_handle *handles, __u32 n,
				    struct kfb_range *out)
{
	__u64 n_blocks = 0;
	__u32 i;

	for (i = 0; i < n; i++) {
		if (!kfb_blockmap_handle_is_sane(&handles[i]))
			return -EPROTO;
		if (i && kfb_blockmap_first_block(&handles[i]) !=
				 kfb_blockmap_end_block(&handles[i - 1]))
			return -EPROTO;
		n_blocks += handles[i].n_blocks;
	}
	out->va = handles[0].va;
	out->n_blocks = n_blocks;
	return 0;
}

int kfb_blockmap_add(struct kfb_blockmap *map, const struct kfb_handle *handles,
		     __u32 n, __u64 mapping_id, _Bool writable)
{
	struct kfb_blockmap_entry *at;
	struct kfb_range range;
	__u32 i;
	int rc;

	if (!n)
		return 0;
	rc = kfb_blockmap_total_range(handles, n, &range);
	if (rc)
		return rc;
	if (kfb_blockmap_overlaps(map, &range))
		return -EEXIST;
	if (n > map->cap - map->n)
		return -ENOSPC;

	i = kfb_blockmap_lower_bound(map, range.va >> KFB_BLOCK_SHIFT);
	at = &map->entries[i];
	memmove(at + n, at, (map->n - i) * sizeof(*at));
	for (i = 0; i < n; i++) {
		at[i].handle = handles[i];
		at[i].mapping_id = mapping_id;
		at[i].writable = writable;
	}
	map->n += n;
	return 0;
}

__u32 kfb_blockmap_del(struct kfb_blockmap *map, __u64 mapping_id)
{
	__u32 kept = 0;
	__u32 removed;
	__u32 i;

	for (i = 0; i < map->n; i++) {
		if (map->entries[i].mapping_id == mapping_id)
			continue;
		if (kept != i)
			map->entries[kept] = map->entries[i];
		kept++;
	}
	removed = map->n - kept;
	map->n = kept;
	return removed;
}

const struct kfb_blockmap_entry *
kfb_blockmap_find(const struct kfb_blockmap *map, __u64 va)
{
	__u64 block = va >> KFB_BLOCK_SHIFT;
	__u32 i = kfb_blockmap_lower_bound(map, block);

	if (i == map->n ||
	    kfb_blockmap_first_block(&map->entries[i].handle) > block)
		return NULL;
	return &map->entries[i];
}

int kfb_blockmap_split(const struct kfb_blockmap *map, __u64 va, __u64 len,
		       _Bool write, struct kfb_piece *out)
{
	const struct kfb_blockmap_entry *entry;
	__u64 offset;
	__u64 room;

	if (!len || va + (len - 1) < va)
		return -EINVAL;
	entry = kfb_blockmap_find(map, va);
	if (!entry)
		return -ENXIO;
	if (write && !entry->writable)
		return -EACCES;

	offset = va - entry->handle.va;
	room = (entry->handle.n_blocks << KFB_BLOCK_SHIFT) - offset;
	out->key = entry->handle.key;
	out->raddr = entry->handle.raddr + offset;
	out->len = len < room ? len : room;
	out->mapping_id = entry->mapping_id;
	return 0;
}

int kfb_blockmap_check_io(const struct kfb_blockmap *map, __u64 va, __u64 len,
			  _Bool write)
{
	struct kfb_piece piece;
	int rc;

	do {
		rc = kfb_blockmap_split(map, va, len, write, &piece);
		if (rc)
			return rc;
		va += piece.len;
		len -= piece.len;
	} while (len);
	return 0;
}
