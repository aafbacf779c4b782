/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes, each a file. */
#ifndef SIM_LINUX_SYSFS_H
#define SIM_LINUX_SYSFS_H

#include <linux/types.h>

struct attribute {
	const char *name;
	umode_t mode;
};

struct attribute_group {
	const char *name;
	struct attribute **attrs;
};

int sysfs_emit(char *buf, const char *fmt, ...);
int sysfs_emit_at(char *buf, int at, const char *fmt, ...);

#endif
