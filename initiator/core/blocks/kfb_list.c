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
		__u64 first = mine ? extent->mapping_id
				   : extent->va >> KFB_BLOCK_SHIFT;

		if (!mine && kfb_range_check(extent->va, extent->n_blocks))
			return -EPROTO;
		if (first < at)
			return -EPROTO;
		at = first + (mine ? 1 : extent->n_blocks);
		/* Nothing can come behind the largest id of a mapping. */
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
