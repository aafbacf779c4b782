// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: what of a range is allocated: found, allocated and mapped when a disk
 * comes or grows, and given back when that fails.
 *
 * Context: process; waits for the brick.
 */
#include "blocks/kfb_list.h"
#include "codec/kfb_ops.h"
#include "../device/calls.h"
#include "mappings.h"

/* Note what is allocated; another try to grow finds what the last one did. */
static void kfbk_note_extents(struct kfbk_device *dev,
			      const struct kfb_list_reply *reply, u64 n_blocks)
{
	u64 base = dev->options.base >> KFB_BLOCK_SHIFT;
	u64 end = base + n_blocks;
	u32 i;

	for (i = 0; i < reply->n_extents; i++) {
		u64 from = reply->extents[i].va >> KFB_BLOCK_SHIFT;
		u64 to = from + reply->extents[i].n_blocks;

		from = max(from, base);
		to = min(to, end);
		if (from >= to)
			continue;
		kfbk_lock(dev);
		kfbk_blocks_move(dev, from - base, to - base, KFB_BLOCK_ABSENT,
				 KFB_BLOCK_FOUND);
		kfbk_unlock(dev);
	}
}

static int kfbk_find_allocated(struct kfbk_device *dev, u64 first, u64 n_blocks)
{
	u64 last = kfbk_block_va(dev, n_blocks - 1);
	struct kfbk_call call = {
		.core.req = { .op = KFB_OP_LIST,
			      .u.list = { .what = KFB_LIST_ALLOCATED,
					  .cursor =
						  kfbk_block_va(dev, first) } },
		.core.reply = &dev->replies[0],
	};
	const struct kfb_list_reply *reply = &call.core.reply->u.list;
	int ret;

	do {
		ret = kfbk_call(dev, &call);
		ret = ret ?: kfb_list_check(&call.core.req.u.list, reply);
		if (ret)
			return ret;
		kfbk_note_extents(dev, reply, n_blocks);
		call.core.req.u.list.cursor = reply->cursor;
	} while (reply->cursor && reply->cursor <= last);
	return 0;
}

static int kfbk_alloc_run(struct kfbk_device *dev, u64 first, u64 n)
{
	u64 most = dev->core.client.info.alloc_max_blocks ?: 1;
	int ret;

	while (n) {
		u64 part = min(n, most);
		u64 i;

		ret = kfbk_call_range(dev, KFB_OP_ALLOC, first, part);
		if (ret)
			return ret;
		kfbk_lock(dev);
		kfbk_blocks_move(dev, first, first + part, KFB_BLOCK_ABSENT,
				 KFB_BLOCK_FOUND);
		kfbk_unlock(dev);
		for (i = first; i < first + part; i++)
			dev->blocks[i].is_new = true;
		first += part;
		n -= part;
	}
	return 0;
}

/* Blocks that are not allocated, from @first on; @at is the first of them. */
static u64 kfbk_count_absent(const struct kfbk_device *dev, u64 first,
			     u64 n_blocks, u64 *at)
{
	u64 n = 0, i;

	for (i = n_blocks; i > first; i--) {
		if (dev->blocks[i - 1].state != KFB_BLOCK_ABSENT)
			continue;
		*at = i - 1;
		n++;
	}
	return n;
}

/* What ALLOC lacks only INFO tells. */
static bool kfbk_say_space(struct kfbk_device *dev, u64 first, u64 n_blocks)
{
	struct kfbk_call call = { .core.req = { .op = KFB_OP_INFO },
				  .core.reply = &dev->replies[0] };
	const struct kfb_info *info = &call.core.reply->u.info;
	u64 at, n_free, wanted = kfbk_count_absent(dev, first, n_blocks, &at);

	if (kfbk_call(dev, &call))
		return false;
	if (kfb_shortage(info, wanted, &n_free) == KFB_SHORT_OF_QUOTA)
		kfbk_say(
			dev,
			"cannot allocate the range: of this client's quota of %u blocks %u are in use, and %llu more are wanted",
			info->quota_blocks, info->owned_blocks, wanted);
	else
		kfbk_say(
			dev,
			"cannot allocate the range: %s: %llu more blocks are wanted, %llu are free",
			kfb_refusal_why(KFB_OP_ALLOC, -ENOSPC), wanted, n_free);
	return true;
}

int kfbk_maps_add(struct kfbk_device *dev, u64 first, u64 n_blocks)
{
	enum kfb_disk_use use = kfbk_options_use(&dev->options);
	u16 op = KFB_OP_LIST;
	int ret = kfbk_find_allocated(dev, first, n_blocks);
	u64 end, i, absent, at;
	const char *why;

	if (!ret && use == KFB_DISK_SHARED) {
		/* It maps what somebody has allocated for all who share it. */
		absent = kfbk_count_absent(dev, first, n_blocks, &at);
		if (absent) {
			kfbk_say(
				dev,
				"%llu of the %llu blocks are not allocated, the first at 0x%llx: a shared disk allocates none",
				absent, n_blocks - first,
				kfbk_block_va(dev, at));
			return -ENOENT;
		}
	}
	if (!ret && !dev->options.thin && kfb_disk_allocates(use)) {
		op = KFB_OP_ALLOC;
		for (i = first; !ret && i < n_blocks; i = end) {
			end = kfbk_run_end(dev, i, n_blocks);
			if (dev->blocks[i].state == KFB_BLOCK_ABSENT)
				ret = kfbk_alloc_run(dev, i, end - i);
		}
		if (ret == -ENOSPC && kfbk_say_space(dev, first, n_blocks))
			return ret;
	}
	/* With a cache blocks are mapped when they are needed. */
	if (!ret && !dev->cache.cap) {
		op = KFB_OP_MAP;
		ret = kfbk_map_unmapped(dev, first, n_blocks,
					KFB_PATIENCE_NONE);
	}
	why = ret ? kfb_refusal_why(op, ret) : NULL;
	if (why)
		kfbk_say(dev, "cannot %s the range: %s",
			 op == KFB_OP_ALLOC ? "allocate" : kfb_op_label(op),
			 why);
	return ret;
}

int kfbk_unmap_handles(struct kfbk_device *dev, u64 first, u64 end,
		       u64 session_id)
{
	const struct kfb_block *b = dev->blocks;
	u64 stop, i;
	int ret = 0;

	for (i = first; !ret && i < end; i = stop) {
		stop = i + 1;
		if (b[i].state != KFB_BLOCK_UNMAPPING)
			continue;
		while (stop < end && !b[stop].is_first &&
		       b[stop].state == KFB_BLOCK_UNMAPPING)
			stop++;
		ret = kfbk_unmap(dev, i, stop, session_id);
	}
	if (ret)
		kfbk_settle_unmap(dev, i, end, session_id, ret);
	return ret;
}

/* FREE refuses what is mapped; nobody needs any of it. */
static void kfbk_unmap_all(struct kfbk_device *dev)
{
	u64 session_id;

	/* With a cache blocks are mapped when they are needed. */
	if (dev->cache.cap)
		return;
	kfbk_lock(dev);
	session_id = dev->core.client.session_id;
	kfbk_blocks_move(dev, 0, dev->n_blocks, KFB_BLOCK_MAPPED,
			 KFB_BLOCK_CALM);
	kfbk_blocks_move(dev, 0, dev->n_blocks, KFB_BLOCK_QUIET,
			 KFB_BLOCK_UNMAP);
	kfbk_unlock(dev);
	/* What stays is told when it cannot be freed. */
	(void)kfbk_unmap_handles(dev, 0, dev->n_blocks, session_id);
}

void kfbk_maps_undo(struct kfbk_device *dev)
{
	bool is_unmapped = false;
	int undone;
	u64 end, i;

	for (i = 0; i < dev->n_blocks; i = end) {
		end = i + 1;
		if (!dev->blocks[i].is_new)
			continue;
		while (end < dev->n_blocks && dev->blocks[end].is_new)
			end++;
		if (!is_unmapped)
			kfbk_unmap_all(dev);
		is_unmapped = true;
		undone = kfbk_free_run(dev, i, end - i, 0);
		if (undone && undone != -ENOENT)
			kfbk_err(dev, "blocks %llu to %llu stay allocated\n", i,
				 end - 1);
	}
}

int kfbk_maps_attach(struct kfbk_device *dev)
{
	int ret = kfbk_maps_add(dev, 0, dev->n_blocks);

	if (ret)
		kfbk_maps_undo(dev);
	return ret;
}
