// SPDX-License-Identifier: BSD-2-Clause
/* Disks: how they come and go, who has one open, and what they say. */
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "kernel.h"

#define DISKS_MAX  8
#define TEXT_MAX   4096
#define SCAN_BYTES 4096

static struct gendisk *sim_disks[DISKS_MAX];

/* ---- what user space hears -------------------------------------------------------- */

int kobject_uevent_env(struct kobject *kobj, enum kobject_action action,
		       char *envp[])
{
	struct gendisk *disk = container_of(kobj, struct gendisk, dev.kobj);

	might_sleep();
	if (km_current()->frees_memory)
		km_broken("a uevent is sent by whom memory waits for");
	km_log("%s: uevent %s", kobj->name, envp[0]);
	disk->n_resizes += !strcmp(envp[0], "RESIZE=1");
	return 0;
}

static const struct device_attribute *attribute(const struct gendisk *disk,
						const char *name)
{
	struct attribute **at;

	for (at = disk->groups[0]->attrs; *at; at++)
		if (!strcmp((*at)->name, name))
			return container_of(*at, struct device_attribute, attr);
	return NULL;
}

void km_disk_attribute(struct gendisk *disk, const char *name, char *text,
		       size_t room)
{
	const struct device_attribute *a = attribute(disk, name);
	char all[TEXT_MAX] = "";

	if (a)
		a->show(&disk->dev, (struct device_attribute *)(uintptr_t)a,
			all);
	all[strcspn(all, "\n")] = '\0';
	strscpy(text, all, room);
}

/* ---- coming and going ---------------------------------------------------------------- */

static void free_disk(struct kref *ref)
{
	struct gendisk *disk = container_of(ref, struct gendisk, dev.ref);
	struct request_queue *q = disk->queue;

	if (disk->was_added && disk->fops->free_disk)
		disk->fops->free_disk(disk);
	km_queue_free(q);
	kfree(disk);
}

struct device *get_device(struct device *dev)
{
	kref_get(&dev->ref);
	return dev;
}

void put_device(struct device *dev)
{
	kref_put(&dev->ref, free_disk);
}

void put_disk(struct gendisk *disk)
{
	put_device(&disk->dev);
}

struct gendisk *blk_mq_alloc_disk(struct blk_mq_tag_set *set,
				  struct queue_limits *limits, void *queuedata)
{
	struct gendisk *disk = km_zalloc(sizeof(*disk));

	if (!disk)
		return ERR_PTR(-ENOMEM);
	disk->queue = km_queue_new(set, limits);
	if (!disk->queue) {
		kfree(disk);
		return ERR_PTR(-ENOMEM);
	}
	disk->queue->disk = disk;
	disk->bdi = &disk->its_bdi;
	disk->its_part0.bd_disk = disk;
	disk->part0 = &disk->its_part0;
	disk->queue->queuedata = queuedata;
	disk->dev.kobj.name = disk->disk_name;
	kref_init(&disk->dev.ref);
	return disk;
}

/* ---- opening ---------------------------------------------------------------------------- */

static int open_disk(struct gendisk *disk)
{
	int ret;

	mutex_lock(&disk->open_mutex);
	ret = disk->queue->is_dying ? -ENXIO : disk->fops->open(disk, 0);
	if (!ret)
		disk->n_openers++;
	mutex_unlock(&disk->open_mutex);
	return ret;
}

static void close_disk(struct gendisk *disk)
{
	mutex_lock(&disk->open_mutex);
	disk->n_openers--;
	mutex_unlock(&disk->open_mutex);
}

struct gendisk *km_disk_open(int instance)
{
	char name[DISK_NAME_LEN];
	u32 i;

	(void)snprintf(name, sizeof(name), "kfbrick%d", instance);
	for (i = 0; i < DISKS_MAX; i++) {
		struct gendisk *disk = sim_disks[i];

		if (!disk || strcmp(disk->disk_name, name) != 0)
			continue;
		/* Who looks for one keeps others from removing it meanwhile. */
		disk->dev.ref.refcount.refs.counter++;
		if (!open_disk(disk))
			return disk;
		put_disk(disk);
	}
	return NULL;
}

void km_disk_close(struct gendisk *disk)
{
	close_disk(disk);
	put_disk(disk);
}

uint64_t km_disk_sectors(const struct gendisk *disk)
{
	return disk->capacity;
}

uint32_t km_disk_resizes(const struct gendisk *disk)
{
	return disk->n_resizes;
}

bool km_disk_is_read_only(const struct gendisk *disk)
{
	return disk->is_ro;
}

bool km_disk_is_write_through(const struct gendisk *disk)
{
	return !(disk->queue->limits.features & BLK_FEAT_WRITE_CACHE);
}

/* ---- looking for partitions ------------------------------------------------------------ */

struct scan {
	struct km_io io;
	struct completion done;
};

static void scanned(struct km_io *io, int error)
{
	complete(&container_of(io, struct scan, io)->done);
}

/* As Linux does while a disk is added: it opens it and reads. */
static void scan_partitions(struct gendisk *disk)
{
	struct scan scan = {
		.io = { .op = KM_READ, .bytes = SCAN_BYTES, .done = scanned }
	};
	struct km_io *io = &scan.io;
	void *memory = km_zalloc(2 * PAGE_SIZE);

	if (!memory || open_disk(disk)) {
		kfree(memory);
		return;
	}
	scan.io.buf = (void *)PAGE_ALIGN((uintptr_t)memory);
	init_completion(&scan.done);
	km_submit(disk, &io, 1);
	wait_for_completion(&scan.done);
	close_disk(disk);
	kfree(memory);
}

int device_add_disk(struct device *parent, struct gendisk *disk,
		    const struct attribute_group **groups)
{
	u32 i;

	disk->groups = groups;
	disk->was_added = true;
	for (i = 0; i < DISKS_MAX && sim_disks[i]; i++)
		;
	if (i == DISKS_MAX)
		return -ENOSPC;
	sim_disks[i] = disk;
	scan_partitions(disk);
	return 0;
}

void del_gendisk(struct gendisk *disk)
{
	might_sleep();
	for (u32 i = 0; i < DISKS_MAX; i++)
		if (sim_disks[i] == disk)
			sim_disks[i] = NULL;
	/* Whoever opens it now finds it dying, or is there already. */
	mutex_lock(&disk->open_mutex);
	disk->queue->is_dying = true;
	mutex_unlock(&disk->open_mutex);
	km_queue_drain(disk->queue);
}
