/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices. */
#ifndef SIM_LINUX_DEVICE_H
#define SIM_LINUX_DEVICE_H

#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/sysfs.h>

struct device {
	struct kobject kobj;
	struct kref ref;
};

struct device_attribute {
	struct attribute attr;
	ssize_t (*show)(struct device *dev, struct device_attribute *attr,
			char *buf);
};

#define DEVICE_ATTR(file, bits, shows, stores)             \
	struct device_attribute dev_attr_##file = {        \
		.attr = { .name = #file, .mode = (bits) }, \
		.show = (shows),                           \
	}

struct device *get_device(struct device *dev);
void put_device(struct device *dev);

#endif
