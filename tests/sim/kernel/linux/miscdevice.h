/* SPDX-License-Identifier: BSD-2-Clause */
/* Control devices. */
#ifndef SIM_LINUX_MISCDEVICE_H
#define SIM_LINUX_MISCDEVICE_H

#include <linux/fs.h>

#define MISC_DYNAMIC_MINOR 255

struct miscdevice {
	int minor;
	const char *name;
	umode_t mode;
	const struct file_operations *fops;
};

int misc_register(struct miscdevice *misc);
void misc_deregister(struct miscdevice *misc);

#endif
