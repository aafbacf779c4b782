/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks and their limits. */
#ifndef SIM_LINUX_BLKDEV_H
#define SIM_LINUX_BLKDEV_H

#include <linux/blk-mq.h>
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/srcu.h>

struct queue_limits {
	unsigned int logical_block_size;
	unsigned int physical_block_size;
	unsigned int io_opt;
	unsigned int chunk_sectors;
	unsigned int max_hw_sectors;
	unsigned int max_segments;
	unsigned int max_segment_size;
	unsigned int max_hw_discard_sectors;
	unsigned int discard_granularity;
	unsigned int max_write_zeroes_sectors;
	unsigned int features;
};

#define BLK_FEAT_WRITE_CACHE (1U << 0)
#define BLK_FEAT_FUA	     (1U << 1)

/*
 * struct request_queue - of a disk
 * @n_entered: bios that are not over, and those who are in the midst of something
 * @is_dying: no more bios come in
 * @is_drained: nor is it asked to go on: its works might outlive it
 * @n_quiesced: queue_rq() is not called
 * @has_clones: its requests are made for those of another driver
 * @runners: of a driver that may sleep: those who call it
 * @wait: those who wait for a tag, or for the end of all; who wakes them by the
 *	last one does not touch the queue any more
 * @lock: the lists
 * @requeued: by the driver; @requeue brings them back
 * @flushes: requests that wait for the next flush, and @flushing for the one
 *	that is under way, which is @flush_rq
 * @expire: looks whose time is over
 */
struct request_queue {
	void *queuedata;
	struct gendisk *disk;
	struct blk_mq_tag_set *set;
	struct queue_limits limits;
	struct blk_mq_hw_ctx *hctxs;
	u32 n_entered;
	bool is_dying;
	bool is_drained;
	u32 n_quiesced;
	bool has_clones;
	struct srcu_struct runners;
	wait_queue_head_t wait;
	spinlock_t lock;
	struct list_head requeued;
	struct delayed_work requeue;
	struct list_head flushes;
	struct list_head flushing;
	struct request *flush_rq;
	bool is_flushing;
	struct delayed_work expire;
};

struct pr_ops;

struct block_device_operations {
	struct module *owner;
	int (*open)(struct gendisk *disk, blk_mode_t mode);
	void (*free_disk)(struct gendisk *disk);
	const struct pr_ops *pr_ops;
};

#define DISK_NAME_LEN 32

/* Nothing is read ahead here. */
struct backing_dev_info {
	unsigned long ra_pages;
};

struct gendisk {
	char disk_name[DISK_NAME_LEN];
	const struct block_device_operations *fops;
	void *private_data;
	struct request_queue *queue;
	struct backing_dev_info *bdi;
	struct block_device *part0;
	struct mutex open_mutex;
	u32 n_openers;
	sector_t capacity;
	bool is_ro;
	bool was_added;
	u32 n_resizes; /* that user space was told of */
	struct device dev;
	const struct attribute_group **groups;
	struct backing_dev_info its_bdi;
	struct block_device its_part0;
};

#define disk_to_dev(disk)   (&(disk)->dev)
#define dev_to_disk(device) container_of(device, struct gendisk, dev)

static inline sector_t get_capacity(struct gendisk *disk)
{
	return disk->capacity;
}

static inline void set_capacity(struct gendisk *disk, sector_t sectors)
{
	disk->capacity = sectors;
}

/* It tells user space, too, and waits for who holds that up. */
static inline bool set_capacity_and_notify(struct gendisk *disk,
					   sector_t sectors)
{
	char what[] = "RESIZE=1", *envp[] = { what, NULL };

	disk->capacity = sectors;
	kobject_uevent_env(&disk->dev.kobj, KOBJ_CHANGE, envp);
	return true;
}

static inline void set_disk_ro(struct gendisk *disk, bool is_ro)
{
	disk->is_ro = is_ro;
}

static inline u32 disk_openers(const struct gendisk *disk)
{
	return disk->n_openers;
}

struct gendisk *blk_mq_alloc_disk(struct blk_mq_tag_set *set,
				  struct queue_limits *limits, void *queuedata);
int device_add_disk(struct device *parent, struct gendisk *disk,
		    const struct attribute_group **groups);
void del_gendisk(struct gendisk *disk);
void put_disk(struct gendisk *disk);
/* For disks: the last bio is over. */
void km_queue_drain(struct request_queue *q);
void km_queue_free(struct request_queue *q);
struct request_queue *km_queue_new(struct blk_mq_tag_set *set,
				   const struct queue_limits *limits);

#endif
