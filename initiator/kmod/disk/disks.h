/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: the disk, which blocks it has, and what it says of itself.
 */
#ifndef KFBRICK_DISKS_H
#define KFBRICK_DISKS_H

#include "../device/device.h"

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
/*
 * From now on somebody may write to what it has claimed: disks that had it, and whose
 * sessions are over, do not come back. Context: process.
 */
void kfbk_claim_used(struct kfbk_device *dev);
/* So many blocks are its own: it could not grow. Context: process. */
void kfbk_claim_less(struct kfbk_device *dev, u64 n_blocks);
/**
 * kfbk_claim_again - as kfbk_claim(), for a disk whose session was over
 * @dev: the disk; others see it again if this succeeds
 * @why: gets words on failure
 *
 * Context: process.
 * Return: 0, or -EEXIST: another disk of the client has blocks of it, or had some
 * meanwhile, which no birth shows.
 */
int kfbk_claim_again(struct kfbk_device *dev, char why[KFBK_WHY_BYTES]);
/* For each of these: it is back, or its session is over again. Context: process. */
void kfbk_claim_settled(struct kfbk_device *dev);
/* It goes, or never was. Context: process. */
void kfbk_unclaim(struct kfbk_device *dev);

/* Requests wait for the brick, or for copies that are written again. */
static inline bool kfbk_is_coming_back(enum kfb_disk_state state)
{
	return state == KFB_DISK_CONNECTING || state == KFB_DISK_REPLAYING;
}

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
