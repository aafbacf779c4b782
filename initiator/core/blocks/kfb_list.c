// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages of LIST: every one goes on from the one before it, and by how much.
 *
 * Positions are numbers of blocks, or of mappings: the address behind the last
 * block would be 0.
 */
#include <linux/errno.h>
#include "blocks/kfb_list.h"

#define BLOCK_MASK (KFB_BLOCK_BYTES - 1)

static __u32 kfb_list_page_max(const struct kfb_list *list)
{
	if (!list->max_extents || list->max_extents > KFB_LIST_EXTENTS_MAX)
		return KFB_LIST_EXTENTS_MAX;
	return list->max_extents;
}

/* Where the next one may begin; 0: this one is before @from. */
static __u64 kfb_list_behind_blocks(const struct kfb_list_extent *extent,
				    __u64 from)
{
	__u64 first = extent->va >> KFB_BLOCK_SHIFT;

	if (kfb_range_check(extent->va, extent->n_blocks) || first < from)
		return 0;
	return first + extent->n_blocks;
}

static __u64 kfb_list_behind_mapping(const struct kfb_list_extent *extent,
				     __u64 from)
{
	return extent->mapping_id < from ? 0 : extent->mapping_id + 1;
}

int kfb_list_check(const struct kfb_list *list,
		   const struct kfb_list_reply *reply)
{
	_Bool mine = list->what == KFB_LIST_MINE;
	__u32 shift = mine ? 0 : KFB_BLOCK_SHIFT;
	__u64 at = list->cursor >> shift;
	__u32 i;

	if (reply->n_extents > kfb_list_page_max(list))
		return -EPROTO;
	for (i = 0; i < reply->n_extents; i++) {
		const struct kfb_list_extent *extent = &reply->extents[i];

		at = mine ? kfb_list_behind_mapping(extent, at)
			  : kfb_list_behind_blocks(extent, at);
		if (!at)
			return -EPROTO;
	}
	if (!reply->cursor)
		return 0;
	if (!mine && reply->cursor & BLOCK_MASK)
		return -EPROTO;
	return reply->n_extents == kfb_list_page_max(list) &&
			       reply->cursor >> shift >= at
		       ? 0
		       : -EPROTO;
}
