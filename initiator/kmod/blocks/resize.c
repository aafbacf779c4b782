// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: a disk grows while it is in use.
 *
 * The map work does it, so that nobody else changes mappings meanwhile: the
 * table of blocks becomes larger, what is missing is allocated, what is
 * allocated is mapped, and then the disk has the new size. After a failure the
 * disk is as large as before; what was allocated stays so, and another try
 * goes on from there. Who asked tells user space: uevents wait for who waits for
 * memory (disk.c), and the memory perhaps for the map work.
 *
 * Lifetime: the old table is freed when no queue_rq() can look at it any more.
 * A table never becomes smaller.
 *
 * Locking: dev->resize is under dev->lock; who set it waits for its end. When
 * the session is over the map work runs once more, so that it does end. Work is
 * queued under the same lock, so that none comes after that.
 */
#include <linux/blkdev.h>
#include <linux/kobject.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../disk/disks.h"
#include "mappings.h"

/* Put a larger table in the place of the old one while nothing is done to it. */
static int kfbk_grow_table(struct kfbk_device *dev, u64 n_blocks)
{
	struct kfb_mapcache_node *nodes = NULL;
	u32 cap = dev->cache.cap;
	const char *wrong = kfbk_maps_check(n_blocks);
	struct kfb_block *blocks;
	int ret = -ENOMEM;

	if (n_blocks <= dev->n_blocks)
		return 0;
	if (wrong) {
		kfbk_say(dev, "%s", wrong);
		return -EINVAL;
	}
	if (cap && n_blocks >= KFB_MAPCACHE_NONE) {
		kfbk_say(dev, "a disk that maps on demand has fewer blocks");
		return -EINVAL;
	}
	blocks = kvcalloc(n_blocks, sizeof(*blocks), GFP_KERNEL);
	if (cap)
		nodes = kvcalloc(n_blocks, sizeof(*nodes), GFP_KERNEL);
	if (!blocks || (cap && !nodes)) {
		kfbk_say(dev, "no memory for the table of blocks");
		goto free;
	}
	ret = kfbk_lock_settled(dev);
	if (!ret) {
		struct kfb_block *old = dev->blocks;

		memcpy(blocks, old, dev->n_blocks * sizeof(*blocks));
		kfbk_cache_grow(dev, &nodes, blocks, n_blocks);
		/* Pairs with the dependent loads of queue_rq(). */
		smp_store_release(&dev->blocks, blocks);
		dev->n_blocks = n_blocks;
		blocks = old;
	}
	kfbk_unlock(dev);
	synchronize_rcu();
free:
	kvfree(nodes);
	kvfree(blocks);
	return ret;
}

static int kfbk_resize_disk(struct kfbk_device *dev, struct gendisk *disk,
			    u64 n_blocks)
{
	u64 first = get_capacity(disk) / KFBK_BLOCK_SECTORS;
	u64 kept;
	int ret;

	if (n_blocks < first || kfb_range_check(dev->options.base, n_blocks)) {
		kfbk_say(
			dev,
			"it does not become smaller, nor go beyond the address space");
		return -EINVAL;
	}
	ret = kfbk_claim(dev, n_blocks);
	if (ret)
		return ret;
	ret = kfbk_grow_table(dev, n_blocks)
		      ?: kfbk_maps_add(dev, first, n_blocks);
	if (ret) {
		/*
		 * What it could not have is others' again. What it has mapped
		 * is mapped in each new session, and a cache maps in advance
		 * what it has found.
		 */
		kept = dev->n_blocks;
		while (kept > first &&
		       !kfb_block_is_readable(&dev->blocks[kept - 1]) &&
		       (!dev->cache.cap ||
			dev->blocks[kept - 1].state == KFB_BLOCK_ABSENT))
			kept--;
		kfbk_claim_less(dev, kept);
		return ret;
	}
	kfbk_claim_used(dev);
	set_capacity(disk, n_blocks * KFBK_BLOCK_SECTORS);
	kfbk_info(dev, "%llu blocks instead of %llu\n", n_blocks, first);
	return 0;
}

void kfbk_resize_run(struct kfbk_device *dev)
{
	struct kfbk_resize *job;
	struct gendisk *disk;

	kfbk_lock(dev);
	job = dev->resize;
	kfbk_unlock(dev);
	if (!job)
		return;
	job->error = -EIO;
	disk = READ_ONCE(dev->core.is_over) ? NULL : kfbk_disk_get(dev);
	if (disk) {
		job->error = kfbk_resize_disk(dev, disk, job->n_blocks);
		kfbk_disk_put(disk);
	}
	kfbk_lock(dev);
	dev->resize = NULL;
	kfbk_unlock(dev);
	complete(&job->done);
}

int kfbk_resize_wait(struct kfbk_device *dev, u64 n_blocks)
{
	struct kfbk_resize job = { .n_blocks = n_blocks };
	char resize[] = "RESIZE=1";
	char *envp[] = { resize, NULL };
	struct gendisk *disk;
	int ret = 0;

	init_completion(&job.done);
	kfbk_lock(dev);
	if (dev->core.is_over)
		ret = -EIO;
	else if (dev->resize)
		ret = -EBUSY;
	else
		dev->resize = &job;
	/* Under the lock: the end of the session waits for this work, once. */
	if (!ret)
		queue_work(kfbk_map_wq, &dev->map_work);
	kfbk_unlock(dev);
	if (ret == -EBUSY)
		kfbk_say(dev, "it is growing already");
	if (ret)
		return ret;
	wait_for_completion(&job.done);
	/* Who asked tells it: what is written back waits for the map work. */
	disk = job.error ? NULL : kfbk_disk_get(dev);
	if (disk) {
		kobject_uevent_env(&disk_to_dev(disk)->kobj, KOBJ_CHANGE, envp);
		kfbk_disk_put(disk);
	}
	return job.error;
}
