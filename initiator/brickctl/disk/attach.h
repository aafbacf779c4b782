/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What attach, detach and attached share: the kernel driver's control device
 * and the attributes of its disks.
 */
#ifndef BRICKCTL_ATTACH_H
#define BRICKCTL_ATTACH_H

#include "initiator/brickctl/base/brickctl.h"

#define CTL_ANSWER_BYTES 512

#define CTL_SYS_BLOCK "/sys/block"

/* The name of a disk, and a NUL. */
#define CTL_DISK_NAME_BYTES 64

/**
 * ctl_load_driver - load the kernel driver if it is not there
 *
 * The control device has a dynamic minor number, so the kernel has no node of
 * it that would load the module when it is opened. Whether it is there now
 * shows when it is opened.
 */
void ctl_load_driver(void);

/**
 * ctl_control - give the kernel driver an order
 * @ctl: context
 * @what: the device or range it is about, for people
 * @order: the line
 * @answer: what the driver said, without newline
 *
 * Return: the status to exit with; what is wrong has been reported.
 */
int ctl_control(struct ctl *ctl, const char *what, const char *order,
		char answer[CTL_ANSWER_BYTES]);

/**
 * ctl_disk_number - the N of kfbrickN
 * @ctl: context
 * @text: kfbrickN, /dev/kfbrickN or N, or the name that it was attached with,
 *	also as /dev/kfbrick/NAME
 * @number: filled
 *
 * Return: 0, or the status to exit with.
 */
int ctl_disk_number(struct ctl *ctl, const char *text, unsigned int *number);

/**
 * ctl_disk_name - the name that a disk was attached with
 * @disk: kfbrickN
 * @name: filled; "" where it has none
 */
void ctl_disk_name(const char *disk, char name[CTL_DISK_NAME_BYTES]);

/* Is an entry of CTL_SYS_BLOCK one of the driver's? For scandir(). */
struct dirent;
int ctl_is_disk(const struct dirent *entry);

#endif
