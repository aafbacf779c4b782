/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The block map: which handle serves an address.
 *
 * Handles of all mappings of a client, sorted by address and disjoint, in
 * memory that the caller supplies. Handles come from a brick and are data:
 * everything about them is checked when they are added.
 *
 * Context: any; no allocation, no sleep.
 * Locking: the caller's; lookups may run concurrently with each other.
 * Lifetime: an entry is valid until the next add, del or grow.
 */
#ifndef KFB_BLOCKMAP_H
#define KFB_BLOCKMAP_H

#include <linux/types.h>
#include "codec/kfb_codec.h"

/**
 * struct kfb_blockmap_entry - one handle of one mapping
 * @handle: what the brick returned
 * @mapping_id: the mapping it belongs to
 * @writable: the mapping is KFB_MAP_RW
 */
struct kfb_blockmap_entry {
	struct kfb_handle handle;
	__u64 mapping_id;
	_Bool writable;
};

/**
 * struct kfb_blockmap - sorted, disjoint handles
 * @entries: the caller's memory
 * @n: entries in use
 * @cap: entries that fit
 */
struct kfb_blockmap {
	struct kfb_blockmap_entry *entries;
	__u32 n;
	__u32 cap;
};

/**
 * struct kfb_piece - a part of an I/O that one handle serves
 * @key: remote key
 * @raddr: remote address of the first byte
 * @len: bytes
 * @mapping_id: whose handle it is
 */
struct kfb_piece {
	__u64 key;
	__u64 raddr;
	__u64 len;
	__u64 mapping_id;
};

/**
 * kfb_blockmap_init - an empty map
 * @map: the map
 * @entries: the caller's memory, may be NULL when @cap is 0
 * @cap: entries that fit
 */
void kfb_blockmap_init(struct kfb_blockmap *map,
		       struct kfb_blockmap_entry *entries, __u32 cap);

/**
 * kfb_blockmap_grow - move a map to larger memory
 * @map: the map
 * @entries: the new memory; the old one is the caller's again
 * @cap: entries that fit, at least the number in use
 *
 * Return: 0, or -EINVAL when @cap is too small.
 */
int kfb_blockmap_grow(struct kfb_blockmap *map,
		      struct kfb_blockmap_entry *entries, __u32 cap);

/**
 * kfb_blockmap_take_page - is a page of a MAP's answer what was asked for?
 * @page: decoded
 * @mapping_id: of the pages before; or this page's own when it is the first
 * @rest: the range that is still missing, a legal one; less what the page covers
 *	on success
 *
 * Its handles must follow each other without gap or overlap from the start of
 * @rest, stay inside it, and be no longer than KFB_MAP_EXTENT_MAX_BYTES; their
 * remote range must not wrap. A page has blocks, all pages are of one mapping, and
 * the last one alone has no cursor to go on from.
 *
 * Return: 0, or -EPROTO.
 */
int kfb_blockmap_take_page(const struct kfb_map_reply *page, __u64 mapping_id,
			   struct kfb_range *rest);

/**
 * kfb_blockmap_overlaps - is any block of a range mapped?
 * @map: the map
 * @range: a legal range
 *
 * Return: true when it is.
 */
_Bool kfb_blockmap_overlaps(const struct kfb_blockmap *map,
			    const struct kfb_range *range);

/**
 * kfb_blockmap_add - add consecutive handles of one mapping
 * @map: the map
 * @handles: of a page that kfb_blockmap_take_page() has accepted
 * @n: how many handles
 * @mapping_id: the mapping that the handles belong to
 * @writable: the handles allow writes
 *
 * All or nothing.
 *
 * Return: 0, -EPROTO (not consecutive), -EEXIST (a block is mapped already) or
 * -ENOSPC (no room: grow).
 */
int kfb_blockmap_add(struct kfb_blockmap *map, const struct kfb_handle *handles,
		     __u32 n, __u64 mapping_id, _Bool writable);

/**
 * kfb_blockmap_del - remove a mapping's handles
 * @map: the map
 * @mapping_id: the mapping
 *
 * Return: the number of handles removed.
 */
__u32 kfb_blockmap_del(struct kfb_blockmap *map, __u64 mapping_id);

/**
 * kfb_blockmap_find - the handle that serves an address
 * @map: the map
 * @va: any byte address
 *
 * Return: the entry, or NULL when the block is not mapped.
 */
const struct kfb_blockmap_entry *
kfb_blockmap_find(const struct kfb_blockmap *map, __u64 va);

/**
 * kfb_blockmap_check_io - may an I/O be done?
 * @map: the map
 * @va: first byte
 * @len: bytes; 0 is refused
 * @write: the I/O writes
 *
 * Return: 0, -EINVAL (no bytes, or an end above 2^64), -ENXIO (a block is not
 * mapped), -EACCES (a write into a read-only mapping).
 */
int kfb_blockmap_check_io(const struct kfb_blockmap *map, __u64 va, __u64 len,
			  _Bool write);

/**
 * kfb_blockmap_split - the first part of an I/O that one handle serves
 * @map: the map
 * @va: first byte
 * @len: bytes, not 0
 * @write: the I/O writes
 * @out: filled on success
 *
 * Call again with the rest until nothing is left.
 *
 * Return: 0, -EINVAL, -ENXIO or -EACCES as kfb_blockmap_check_io().
 */
int kfb_blockmap_split(const struct kfb_blockmap *map, __u64 va, __u64 len,
		       _Bool write, struct kfb_piece *out);

#endif
