/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that drivers make. */
#ifndef SIM_LINUX_FS_H
#define SIM_LINUX_FS_H

#include <linux/types.h>

struct inode;

struct file {
	void *private_data;
};

struct file_operations {
	struct module *owner;
	int (*open)(struct inode *inode, struct file *file);
	int (*release)(struct inode *inode, struct file *file);
	ssize_t (*write)(struct file *file, const char *buf, size_t count,
			 loff_t *pos);
	ssize_t (*read)(struct file *file, char *buf, size_t count,
			loff_t *pos);
};

static inline int nonseekable_open(struct inode *inode, struct file *file)
{
	return 0;
}

#endif
