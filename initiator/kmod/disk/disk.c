// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: the disk: its limits, and what user space hears of it.
 */
#include <linux/blkdev.h>
#include <linux/kobject.h>
#include <linux/module.h>

#include <compat.h>

#include "disks.h"
#include "../io/requests.h"

/* As the kernel reads ahead by itself; who has more to gain sets read_ahead_kb. */
#define KFBK_READAHEAD_BYTES (128 << 10)

static void kfbk_disk_free(struct gendisk *disk)
{
	kfbk_put(disk->private_data);
}

/*
 * Context: disk->open_mutex is held. Whoever detaches a disk that nobody has open
 * holds it from the look at who has until the state says so.
 */
KFI_DISK_OPEN(kfbk_open_disk, disk)
{
	const struct kfbk_device *dev = disk->private_data;

	return READ_ONCE(dev->state) == KFB_DISK_DETACHING ? -ENXIO : 0;
}

static const struct block_device_operations kfbk_disk_ops = {
	.owner = THIS_MODULE,
	.open = kfbk_open_disk,
	.free_disk = kfbk_disk_free,
	.pr_ops = &kfbk_pr_ops,
};

static int kfbk_disk_alloc_tags(struct kfbk_device *dev)
{
	struct blk_mq_tag_set *tags = &dev->tags;

	tags->ops = &kfbk_mq_ops;
	tags->nr_hw_queues = dev->options.queues;
	tags->queue_depth = KFBK_DEPTH;
	tags->numa_node = NUMA_NO_NODE;
	tags->cmd_size = kfbk_rq_bytes(dev);
	/*
	 * Any request may go down any queue, so all of them share their tags.
	 * There is nothing to seek, so nothing is gained by sorting.
	 */
	tags->flags = KFI_MQ_F_SHOULD_MERGE | BLK_MQ_F_TAG_HCTX_SHARED |
		      BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	if (dev->is_inline)
		tags->flags |= BLK_MQ_F_BLOCKING;
	tags->driver_data = dev;
	return blk_mq_alloc_tag_set(tags);
}

static void kfbk_disk_set_limits(const struct kfbk_device *dev,
				 struct kfi_disk_limits *l)
{
	/*
	 * Without a cache the kernel answers flushes by itself. Those of a
	 * volatile brick come here, for when it has lost what was written.
	 */
	*l = (struct kfi_disk_limits){
		.logical_block_bytes = dev->options.sector_bytes,
		.physical_block_bytes = KFBK_PHYSICAL_BYTES,
		.io_opt_bytes = KFB_BLOCK_BYTES,
		.chunk_sectors = KFBK_BLOCK_SECTORS,
		.max_sectors =
			min_t(size_t, dev->max_op_bytes, KFB_BLOCK_BYTES) >>
			SECTOR_SHIFT,
		.max_segments = dev->max_segments,
		.max_segment_bytes = dev->max_segment_bytes,
		.write_cache = dev->core.flush_mode != KFB_FLUSH_COMMIT,
		.readahead_bytes = KFBK_READAHEAD_BYTES,
	};
	if (dev->options.ro)
		return;
	l->write_zeroes_sectors = KFBK_BLOCK_SECTORS;
	if (!dev->options.thin)
		return;
	/* A request counts its bytes in 32 bits. */
	l->write_zeroes_sectors = SZ_1G >> SECTOR_SHIFT;
	l->discard_sectors = SZ_1G >> SECTOR_SHIFT;
	l->discard_granularity_bytes = KFB_BLOCK_BYTES;
}

/*
 * Uevents go out under a mutex of the kernel's, and whoever holds it may wait
 * for memory that is freed by writing to this disk: the way back to a brick does
 * not wait for it.
 */
static void kfbk_disk_tell_state(struct work_struct *work)
{
	struct kfbk_device *dev =
		container_of(work, struct kfbk_device, tell_work);
	struct gendisk *disk = READ_ONCE(dev->disk);
	enum kfb_disk_state now = READ_ONCE(dev->state);
	char state[32];
	char *envp[] = { state, NULL };

	if (now == dev->told || !disk)
		return;
	WRITE_ONCE(dev->told, now);
	snprintf(state, sizeof(state), "KFBRICK_STATE=%s",
		 kfb_disk_state_name(now));
	switch (now) {
	case KFB_DISK_LOSSY:
	case KFB_DISK_FAILED:
	case KFB_DISK_DEAD:
		kfbk_err(dev, "%s: %s\n", kfb_disk_state_name(now), dev->why);
		break;
	case KFB_DISK_CONNECTING:
		/* A brick may let in and throw out without end. */
		if (__ratelimit(&dev->state_limit))
			kfbk_err(dev, "%s; requests wait\n", dev->why);
		break;
	case KFB_DISK_UP:
		if (__ratelimit(&dev->state_limit))
			kfbk_info(dev, "connected\n");
		break;
	default:
		break;
	}
	kobject_uevent_env(&disk_to_dev(disk)->kobj, KOBJ_CHANGE, envp);
}

struct gendisk *kfbk_disk_get(struct kfbk_device *dev)
{
	struct gendisk *disk;

	kfbk_lock(dev);
	disk = dev->disk;
	if (disk)
		get_device(disk_to_dev(disk));
	kfbk_unlock(dev);
	return disk;
}

void kfbk_disk_put(struct gendisk *disk)
{
	put_device(disk_to_dev(disk));
}

/* The session work lets go of the disk. */
static void kfbk_disk_forget(struct kfbk_device *dev)
{
	kfbk_lock(dev);
	WRITE_ONCE(dev->disk, NULL);
	kfbk_unlock(dev);
	/* A run that has seen the disk ends; the next one does not see it. */
	flush_work(&dev->session_work);
	flush_work(&dev->tell_work);
	WRITE_ONCE(dev->is_quiesced, false);
}

int kfbk_disk_add(struct kfbk_device *dev)
{
	struct kfi_disk_limits limits;
	struct gendisk *disk;
	int ret;

	INIT_WORK(&dev->tell_work, kfbk_disk_tell_state);
	kfbk_clears_begin(dev);
	kfbk_lock(dev);
	dev->is_inline = dev->queues[0].ep && dev->queues[0].ep->is_inline;
	kfbk_unlock(dev);
	ret = kfbk_disk_alloc_tags(dev);
	if (ret)
		return ret;
	kfbk_disk_set_limits(dev, &limits);
	disk = kfi_alloc_disk(&dev->tags, &limits, dev);
	if (IS_ERR(disk)) {
		ret = PTR_ERR(disk);
		goto free_tags;
	}
	disk->fops = &kfbk_disk_ops;
	disk->private_data = dev;
	snprintf(disk->disk_name, sizeof(disk->disk_name), "kfbrick%d",
		 dev->instance);
	set_capacity(disk, dev->n_blocks * KFBK_BLOCK_SECTORS);
	set_disk_ro(disk, dev->options.ro);
	kref_get(&dev->ref); /* kfbk_disk_free() */
	WRITE_ONCE(dev->disk, disk);
	/* The queue is quiesced as the session wants. */
	kfbk_kick(dev);
	ret = device_add_disk(NULL, disk, kfbk_disk_groups);
	if (!ret) {
		/* What adding the disk has set goes by the best unit of I/O. */
		kfi_disk_set_readahead(disk, &limits);
		return 0;
	}

	kfbk_disk_forget(dev);
	put_disk(disk);
	kfbk_put(dev); /* kfbk_disk_free() is only for disks that were added */
free_tags:
	blk_mq_free_tag_set(&dev->tags);
	return ret;
}

void kfbk_disk_del(struct kfbk_device *dev)
{
	struct gendisk *disk = dev->disk;

	del_gendisk(disk);
	flush_work(&dev->clear_work);
	kfbk_disk_forget(dev);
	put_disk(disk);
	blk_mq_free_tag_set(&dev->tags);
}

void kfbk_disk_event(struct kfbk_device *dev)
{
	if (READ_ONCE(dev->state) != READ_ONCE(dev->told) &&
	    READ_ONCE(dev->disk))
		queue_work(system_unbound_wq, &dev->tell_work);
}
