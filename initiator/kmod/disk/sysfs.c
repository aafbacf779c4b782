// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: what a device says of itself, in /sys/block/kfbrickN/kfbrick.
 *
 * One value a file, but for retain, map_cache, addresses, one a line, and counters, one
 * queue a line. The key is nowhere.
 */
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>

#include "disks.h"

/* A file that shows what kfbk_NAME_print() says of a device. */
#define KFBK_ATTR_RO(name)                                                    \
	static ssize_t kfbk_##name##_show(struct device *device,              \
					  struct device_attribute *attr,      \
					  char *buf)                          \
	{                                                                     \
		return kfbk_##name##_print(dev_to_disk(device)->private_data, \
					   buf);                              \
	}                                                                     \
	static DEVICE_ATTR(name, 0444, kfbk_##name##_show, NULL)

/* One that shows a value of a device. */
#define KFBK_ATTR_OF(name, fmt, value)                                         \
	static ssize_t kfbk_##name##_print(struct kfbk_device *dev, char *buf) \
	{                                                                      \
		return sysfs_emit(buf, fmt, value);                            \
	}                                                                      \
	KFBK_ATTR_RO(name)

/* What the brick has said of itself last. */
static struct kfb_info kfbk_sysfs_info(struct kfbk_device *dev)
{
	struct kfb_info info;

	kfbk_lock(dev);
	info = dev->core.client.info;
	kfbk_unlock(dev);
	return info;
}

KFBK_ATTR_OF(state, "%s\n", kfb_disk_state_name(READ_ONCE(dev->state)));
KFBK_ATTR_OF(name, "%s\n", dev->options.name);
KFBK_ATTR_OF(client, "%s\n", dev->options.client);
KFBK_ATTR_OF(brick_uuid, "%pU\n", kfbk_sysfs_info(dev).brick_uuid);
KFBK_ATTR_OF(instance_id, "%016llx\n", kfbk_sysfs_info(dev).instance_id);
KFBK_ATTR_OF(power_epoch, "%llu\n", kfbk_sysfs_info(dev).power_epoch);
KFBK_ATTR_OF(queues, "%u\n", READ_ONCE(dev->n_used));
KFBK_ATTR_OF(base, "0x%llx\n", dev->options.base);
KFBK_ATTR_OF(blocks, "%llu\n", get_capacity(dev->disk) / KFBK_BLOCK_SECTORS);
KFBK_ATTR_OF(thin, "%d\n", dev->options.thin);
KFBK_ATTR_OF(shared, "%d\n", dev->options.shared);

static ssize_t kfbk_brick_print(struct kfbk_device *dev, char *buf)
{
	u32 address = READ_ONCE(dev->core.client.address);
	char url[KFBK_URL_BYTES];

	return sysfs_emit(buf, "%s\n", kfbk_address_text(dev, address, url));
}
KFBK_ATTR_RO(brick);

/* All that the disk was attached with. */
static ssize_t kfbk_addresses_print(struct kfbk_device *dev, char *buf)
{
	char url[KFBK_URL_BYTES];
	ssize_t len = 0;
	u32 i;

	for (i = 0; i < dev->options.n_addresses; i++)
		len += sysfs_emit_at(buf, len, "%s\n",
				     kfbk_address_text(dev, i, url));
	return len;
}
KFBK_ATTR_RO(addresses);

/* What keeps others from the data on its way: "wireguard wg0". */
static ssize_t kfbk_path_print(struct kfbk_device *dev, char *buf)
{
	ssize_t len;

	kfbk_lock(dev);
	len = sysfs_emit(buf, "%s%s%s\n", kfb_path_name(dev->path),
			 *dev->interface ? " " : "", dev->interface);
	kfbk_unlock(dev);
	return len;
}
KFBK_ATTR_RO(path);

static ssize_t kfbk_flush_mode_print(struct kfbk_device *dev, char *buf)
{
	const char *name = "?";

	switch (READ_ONCE(dev->core.flush_mode)) {
	case KFB_FLUSH_NONE:
		name = "none";
		break;
	case KFB_FLUSH_MESSAGE:
		name = "message";
		break;
	case KFB_FLUSH_READBACK:
		name = "readback";
		break;
	case KFB_FLUSH_COMMIT:
		name = "commit";
		break;
	}
	return sysfs_emit(buf, "%s\n", name);
}
KFBK_ATTR_RO(flush_mode);

/* The brick promises more than its platform keeps. */
static ssize_t kfbk_unsafe_print(struct kfbk_device *dev, char *buf)
{
	struct kfb_info info = kfbk_sysfs_info(dev);

	return sysfs_emit(buf, "%d\n",
			  info.flags & KFB_INFO_UNSAFE &&
				  kfb_info_overpromises(&info));
}
KFBK_ATTR_RO(unsafe);

static ssize_t kfbk_last_error_print(struct kfbk_device *dev, char *buf)
{
	ssize_t len;

	kfbk_lock(dev);
	len = sysfs_emit(buf, "%s\n", dev->why);
	kfbk_unlock(dev);
	return len;
}
KFBK_ATTR_RO(last_error);

/* What each queue has done. */
static ssize_t kfbk_counters_print(struct kfbk_device *dev, char *buf)
{
	static const char *const names[KFBK_OPS] = {
		[KFBK_OP_WRITE] = "writes",
		[KFBK_OP_READ] = "reads",
		[KFBK_OP_READBACK] = "readbacks",
		[KFBK_OP_MESSAGE] = "messages",
		[KFBK_OP_WRITTEN] = "written_bytes",
		[KFBK_OP_READ_BYTES] = "read_bytes",
		[KFBK_OP_ERROR] = "errors",
		[KFBK_OP_CONNECT] = "connects",
	};
	ssize_t len = 0;
	u32 i, j;

	for (i = 0; i < dev->options.queues; i++) {
		len += sysfs_emit_at(buf, len, "queue=%u", i);
		for (j = 0; j < KFBK_OPS; j++)
			len += sysfs_emit_at(
				buf, len, " %s=%ld", names[j],
				atomic_long_read(&dev->queues[i].n_ops[j]));
		len += sysfs_emit_at(buf, len, "\n");
	}
	return len;
}
KFBK_ATTR_RO(counters);

/* Copies of completed writes: room, what is there, what was done. */
static ssize_t kfbk_retain_print(struct kfbk_device *dev, char *buf)
{
	const struct kfb_initiator_retain *t = &dev->core.retain;
	ssize_t len;

	kfbk_lock(dev);
	spin_lock(&dev->retain.lock);
	len = sysfs_emit(
		buf,
		"mb=%u bytes=%llu copies=%llu flushes=%llu waits=%llu replays=%llu replayed=%llu\n",
		dev->retain.mb, t->book.bytes, t->book.head - t->book.tail,
		t->n_flushes, t->n_waits, t->n_replays, t->n_replayed);
	spin_unlock(&dev->retain.lock);
	kfbk_unlock(dev);
	return len;
}
KFBK_ATTR_RO(retain);

/* How much the brick allows in a second (0: any number), and how often it was waited for. */
static ssize_t kfbk_rate_print(struct kfbk_device *dev, char *buf)
{
	struct kfbk_rate *r = &dev->rate;
	struct kfb_rate rate;
	u64 n_waits;

	spin_lock_bh(&r->lock);
	rate = r->bucket.rate;
	n_waits = r->n_waits;
	spin_unlock_bh(&r->lock);
	return sysfs_emit(buf, "bytes=%llu ops=%u waits=%llu\n",
			  rate.bytes_per_s, rate.ops_per_s, n_waits);
}
KFBK_ATTR_RO(rate);

/* Mappings on demand: how many, what was found, what the brick wanted back. */
static ssize_t kfbk_map_cache_print(struct kfbk_device *dev, char *buf)
{
	struct kfbk_cache *c = &dev->cache;
	struct kfb_mapcache book;

	spin_lock_bh(&c->lock);
	book = c->book;
	spin_unlock_bh(&c->lock);
	return sysfs_emit(
		buf,
		"blocks=%u limit=%u mapped=%u hits=%llu misses=%llu evictions=%llu prefetches=%llu prefetch_hits=%llu asked=%ld given=%ld\n",
		c->cap, book.limit, book.n, book.hits, book.misses,
		book.evictions, book.prefetches, book.prefetch_hits,
		atomic_long_read(&c->n_recalls),
		atomic_long_read(&c->n_returned));
}
KFBK_ATTR_RO(map_cache);

static struct attribute *kfbk_sysfs_attrs[] = {
	&dev_attr_state.attr,	    &dev_attr_name.attr,
	&dev_attr_brick.attr,	    &dev_attr_addresses.attr,
	&dev_attr_path.attr,	    &dev_attr_client.attr,
	&dev_attr_brick_uuid.attr,  &dev_attr_instance_id.attr,
	&dev_attr_power_epoch.attr, &dev_attr_flush_mode.attr,
	&dev_attr_unsafe.attr,	    &dev_attr_queues.attr,
	&dev_attr_base.attr,	    &dev_attr_blocks.attr,
	&dev_attr_thin.attr,	    &dev_attr_shared.attr,
	&dev_attr_last_error.attr,  &dev_attr_counters.attr,
	&dev_attr_retain.attr,	    &dev_attr_map_cache.attr,
	&dev_attr_rate.attr,	    NULL,
};

static const struct attribute_group kfbk_sysfs_group = {
	.name = "kfbrick",
	.attrs = kfbk_sysfs_attrs,
};

const struct attribute_group *kfbk_disk_groups[] = { &kfbk_sysfs_group, NULL };
