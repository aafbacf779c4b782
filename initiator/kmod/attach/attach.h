/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: orders: how disks come, change and go.
 */
#ifndef KFBRICK_ATTACH_H
#define KFBRICK_ATTACH_H

#include "../device/device.h"

/* control_dev.c */
extern struct miscdevice kfbk_control_device;

/* attach.c */
/* Every device is detached; nobody can attach another. */
void kfbk_devices_exit(void);

/**
 * kfbk_attach - connect, map, make the disk
 * @options: what to attach
 * @instance: the device's number
 * @why: on failure why, for people
 *
 * Context: process; waits for the brick.
 * Return: 0, or a negative errno: nothing is left behind.
 */
int kfbk_attach(const struct kfbk_options *options, int *instance,
		char why[KFBK_WHY_BYTES]);

/**
 * kfbk_detach - take a device away
 * @instance: number of the device, the N of kfbrickN
 * @force: even while it is open: what it still has fails
 * @why: on failure why, for people
 *
 * Context: process; waits for what is under way.
 * Return: 0, -ENODEV, -EBUSY (open), -EINTR, or -EIO: it is gone, but what was
 * written last may not be durable.
 */
int kfbk_detach(int instance, bool force, char why[KFBK_WHY_BYTES]);

/**
 * kfbk_resize - let a disk grow
 * @instance: number of the device, the N of kfbrickN
 * @n_blocks: blocks that the disk has from now on
 * @why: on failure why, for people
 *
 * Context: process; waits for the brick.
 * Return: 0, -ENODEV, -EINVAL (smaller), or what the brick says: it is as
 * large as before.
 */
int kfbk_resize(int instance, u64 n_blocks, char why[KFBK_WHY_BYTES]);

/**
 * kfbk_reattach - come back to the brick after the time for that was over
 * @instance: number of the device, the N of kfbrickN
 * @why: on failure why, for people
 *
 * The disk stays what it is, with all that is open on it: what had completed is
 * known to be there, or is written again, or the disk is lossy.
 *
 * Context: process; waits as long as the disk waits for a brick.
 * Return: 0, -ENODEV, -EALREADY (it has not failed), -ESTALE (it is dead), -EEXIST (another disk has had
 * its blocks, or has them), -EINTR (it goes on trying), or why it has failed again.
 */
int kfbk_reattach(int instance, char why[KFBK_WHY_BYTES]);

#endif /* KFBRICK_ATTACH_H */
