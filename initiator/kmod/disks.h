/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: disks: how they come, change and go, and what they say of themselves.
 */
#ifndef KFBRICK_DISKS_H
#define KFBRICK_DISKS_H

#include "device.h"

/* control_dev.c */
int kfbk_control_init(void);
void kfbk_control_exit(void);

/* attach.c */
/* Every device is detached; nobody can attach another. */
void kfbk_devices_exit(void);

/**
 * kfbk_attach - connect, map, make the disk
 * @options: what to attach
 * @instance: the device's number
 * @why: on failure why, for people
 * @why_bytes: room there
 *
 * Context: process; waits for the brick.
 * Return: 0, or a negative errno: nothing is left behind.
 */
int kfbk_attach(const struct kfbk_options *options, int *instance, char *why,
		size_t why_bytes);

/**
 * kfbk_detach - take a device away
 * @instance: which
 * @force: even while it is open: what it still has fails
 * @why: on failure why, for people
 * @why_bytes: room there
 *
 * Context: process; waits for what is under way.
 * Return: 0, -ENODEV, -EBUSY (open), -EINTR, or -EIO: it is gone, but what was
 * written last may not be durable.
 */
int kfbk_detach(int instance, bool force, char *why, size_t why_bytes);

/**
 * kfbk_resize - let a disk grow
 * @instance: which
 * @n_blocks: its blocks from now on
 * @why: on failure why, for people
 * @why_bytes: room there
 *
 * Context: process; waits for the brick.
 * Return: 0, -ENODEV, -EINVAL (smaller), or what the brick says: it is as
 * large as before.
 */
int kfbk_resize(int instance, u64 n_blocks, char *why, size_t why_bytes);

/**
 * kfbk_reattach - come back to the brick after the time for that was over
 * @instance: which
 * @why: on failure why, for people
 * @why_bytes: room there
 *
 * The disk stays what it is, with all that is open on it: what had completed is
 * known to be there, or is written again, or the disk is lossy.
 *
 * Context: process; waits as long as the disk waits for a brick.
 * Return: 0, -ENODEV, -EALREADY (it has not failed), -ESTALE (it is dead), -EEXIST (another disk has had
 * its blocks, or has them), -EINTR (it goes on trying), or why it has failed again.
 */
int kfbk_reattach(int instance, char *why, size_t why_bytes);

/* reserve.c */
extern const struct pr_ops kfbk_pr_ops;

/* claims.c */

/**
 * kfbk_claim - see that no disk has the name, nor one of the same client the blocks
 * @dev: the disk; its brick is known
 * @n_blocks: of its range, from now on
 *
 * Context: process.
 * Return: 0, or -EEXIST: there is one; dev->why has words.
 */
int kfbk_claim(struct kfbk_device *dev, u64 n_blocks);
/* So many blocks are its own: it could not grow. Context: process. */
void kfbk_claim_less(struct kfbk_device *dev, u64 n_blocks);
/**
 * kfbk_claim_again - as kfbk_claim(), for a disk whose session was over
 * @dev: the disk; others see it again if this succeeds
 * @why: gets words on failure
 * @why_bytes: of it
 *
 * Context: process.
 * Return: 0, or -EEXIST: another disk of the client has blocks of it, or had some
 * meanwhile, which no birth shows.
 */
int kfbk_claim_again(struct kfbk_device *dev, char *why, size_t why_bytes);
/* For each of these: it is back, or its session is over again. Context: process. */
void kfbk_claim_settled(struct kfbk_device *dev);
/* It goes, or never was. Context: process. */
void kfbk_unclaim(struct kfbk_device *dev);

/* disk.c */
int kfbk_disk_add(struct kfbk_device *dev);
void kfbk_disk_del(struct kfbk_device *dev);
/* The disk, kept until kfbk_disk_put(); NULL: there is none. Context: any. */
struct gendisk *kfbk_disk_get(struct kfbk_device *dev);
void kfbk_disk_put(struct gendisk *disk);
/* Tell user space of the state. Context: process, of the session work. */
void kfbk_disk_event(struct kfbk_device *dev);

/* sysfs.c */
extern const struct attribute_group *kfbk_disk_groups[];

#endif /* KFBRICK_DISKS_H */
