// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: what was mapped is mapped again in a new session, and lives on only
 * when no block has changed hands. Of a cache of mappings that is what requests
 * use, and what is to be flushed or written again; the others are compared when
 * they are mapped the next time.
 *
 * A block with another birth is another's: what was written to it and not
 * flushed is lost, nothing is written to it again, and the device has failed.
 *
 * Context: process, memalloc_noio. queue_rq() is stopped meanwhile: the session
 * is not LIVE.
 */
#include <linux/sched/mm.h>

#include "mappings.h"
#include "../device/trace.h"

/*
 * The end of a run of blocks in one state that are mapped, or where it begins.
 * The map work sees to the others itself. Handles do not go over the bounds of
 * what is QUIET: the map work gives those back. In a cache each block goes by
 * itself, and only those that are needed.
 */
static u64 kfbk_mapped_end(struct kfbk_device *dev, u64 first)
{
	if (!kfb_block_is_readable(&dev->blocks[first]))
		return first;
	if (dev->cache.cap)
		return kfbk_cache_invalidate(dev, first) ? first : first + 1;
	return kfbk_run_end(dev, first, dev->n_blocks);
}

static int kfbk_restore_blocks(struct kfbk_device *dev)
{
	u64 end, i;
	int ret;

	for (i = 0; i < dev->n_blocks; i = end) {
		end = kfbk_mapped_end(dev, i);
		if (end == i) {
			end++;
			continue;
		}
		ret = kfbk_map_run(dev, i, end - i, true);
		trace_kfbrick_block(dev, i, end - i, ret);
		if (ret)
			return ret;
	}
	return 0;
}

/* As a brick that has not come back in time: it may map them another time. */
static void kfbk_restore_failed(struct kfbk_device *dev, u64 session_id,
				int error)
{
	const char *why = kfbk_map_why(error);

	kfbk_say(dev, "blocks cannot be mapped again: %s",
		 why ?: fi_strerror(error));
	kfbk_lock(dev);
	if (session_id == dev->core.client.session_id) {
		dev->keeps_why = true;
		kfb_client_fail(&dev->core.client, error);
	}
	kfbk_unlock(dev);
	kfbk_kick(dev);
}

void kfbk_restore(struct work_struct *work)
{
	struct kfbk_device *dev =
		container_of(work, struct kfbk_device, restore_work);
	unsigned int noio = memalloc_noio_save();
	u64 session_id;
	int ret;

	kfbk_lock(dev);
	/* What is mapped in the next one is for the next run to find. */
	session_id = dev->core.client.session_id;
	dev->restoring_id = session_id;
	kfbk_unlock(dev);
	ret = kfbk_restore_blocks(dev);
	switch (ret) {
	case 0:
		kfbk_lock(dev);
		if (session_id == dev->core.client.session_id)
			kfb_client_mapped(&dev->core.client);
		kfbk_unlock(dev);
		kfbk_kick(dev);
		break;
	case -ECONNRESET:
		/* The session was lost again: the next one asks for this. */
		break;
	case -ESTALE:
	case -ENOENT:
		kfbk_changed_hands(dev);
		break;
	default:
		kfbk_restore_failed(dev, session_id, ret);
		break;
	}
	memalloc_noio_restore(noio);
}
