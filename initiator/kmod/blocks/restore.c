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

static int kfbk_restore_blocks(struct kfbk_device *dev)
{
	u64 end, i;
	int ret;

	for (i = 0; i < dev->n_blocks; i = end) {
		end = i + 1;
		/* The map work sees to the others itself. */
		if (!kfb_block_is_readable(&dev->blocks[i]))
			continue;
		/* In a cache each goes by itself, and only what is needed. */
		if (dev->cache.cap && kfbk_cache_invalidate(dev, i))
			continue;
		/*
		 * Handles do not go over the bounds of what is QUIET: the map
		 * work gives those back.
		 */
		if (!dev->cache.cap)
			end = kfbk_run_end(dev, i, dev->n_blocks);
		ret = kfbk_map_run(dev, i, end - i, true);
		trace_kfbrick_block(dev, i, end - i, ret);
		if (ret)
			return ret;
	}
	return 0;
}

void kfbk_restore_failed(struct kfbk_device *dev, u64 session_id, int error)
{
	if (kfb_map_is_stale(error)) {
		kfbk_changed_hands(dev);
		return;
	}
	kfbk_say(dev, "blocks cannot be mapped again: %s",
		 kfb_refusal_why(KFB_OP_MAP, error) ?: fi_strerror(error));
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
	if (!ret) {
		kfbk_lock(dev);
		if (session_id == dev->core.client.session_id)
			kfb_client_mapped(&dev->core.client);
		kfbk_unlock(dev);
		kfbk_kick(dev);
	} else if (ret != -ECONNRESET) {
		/* Lost again: the next session asks for this anew. */
		kfbk_restore_failed(dev, session_id, ret);
	}
	memalloc_noio_restore(noio);
}
