// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: persistent reservations of a disk. They are the brick's: who has registered
 * is the client that the disk is attached as, and what is reserved is all of its blocks.
 *
 * Each is one request, which waits until the session can take it, and is not asked again:
 * it fails with its session (-ECONNRESET: look whether it is done), without an answer in
 * time (-ETIMEDOUT), and while the brick stops (-ESHUTDOWN) or is short of memory
 * (-ENOMEM).
 *
 * Context: process; waits for the brick.
 */
#include <linux/blkdev.h>
#include <linux/pr.h>
#include <linux/slab.h>

#include <compat.h>

#include "disks.h"
#include "../device/calls.h"

/* The table of blocks may have more, of a try to grow that failed. */
static struct kfb_range kfbk_pr_range(struct gendisk *disk)
{
	const struct kfbk_device *dev = disk->private_data;

	return (struct kfb_range){ .va = kfbk_block_va(dev, 0),
				   .n_blocks = get_capacity(disk) /
					       KFBK_BLOCK_SECTORS };
}

/* A conflict is a status of the device, above 0; all else is an errno. */
static int kfbk_pr_change(struct block_device *bdev,
			  const struct kfb_reserve *want)
{
	struct kfbk_device *dev = bdev->bd_disk->private_data;
	struct kfbk_call call = {
		.core.req = { .op = KFB_OP_RESERVE, .u.reserve = *want },
	};
	int ret;

	call.core.req.u.reserve.range = kfbk_pr_range(bdev->bd_disk);
	ret = kfbk_call(dev, &call);
	return ret == -EBADE ? KFI_PR_CONFLICT : ret;
}

static int kfbk_pr_change_type(struct block_device *bdev, u8 action, u64 key,
			       u64 new_key, enum pr_type type)
{
	const struct kfb_reserve want = { .action = action,
					  .key = key,
					  .new_key = new_key,
					  .type = (u8)type };

	if (type < PR_WRITE_EXCLUSIVE || type > PR_EXCLUSIVE_ACCESS_ALL_REGS)
		return -EINVAL;
	return kfbk_pr_change(bdev, &want);
}

static int kfbk_pr_register(struct block_device *bdev, u64 old_key, u64 new_key,
			    u32 flags)
{
	struct kfb_reserve want = { .action = KFB_RESERVE_REGISTER,
				    .key = old_key,
				    .new_key = new_key };

	if (flags & ~PR_FL_IGNORE_KEY)
		return -EOPNOTSUPP;
	if (flags & PR_FL_IGNORE_KEY) {
		want.flags = KFB_RESERVE_IGNORE_KEY;
		want.key = 0;
	}
	return kfbk_pr_change(bdev, &want);
}

static int kfbk_pr_reserve(struct block_device *bdev, u64 key,
			   enum pr_type type, u32 flags)
{
	if (flags)
		return -EOPNOTSUPP;
	return kfbk_pr_change_type(bdev, KFB_RESERVE_RESERVE, key, 0, type);
}

static int kfbk_pr_release(struct block_device *bdev, u64 key,
			   enum pr_type type)
{
	return kfbk_pr_change_type(bdev, KFB_RESERVE_RELEASE, key, 0, type);
}

/* The old key is that of who asks, and the new one is taken away, as in sd and nvme. */
static int kfbk_pr_preempt(struct block_device *bdev, u64 old_key, u64 new_key,
			   enum pr_type type, bool abort)
{
	return kfbk_pr_change_type(
		bdev, abort ? KFB_RESERVE_PREEMPT_ABORT : KFB_RESERVE_PREEMPT,
		old_key, new_key, type);
}

static int kfbk_pr_clear(struct block_device *bdev, u64 key)
{
	const struct kfb_reserve want = { .action = KFB_RESERVE_CLEAR,
					  .key = key };

	return kfbk_pr_change(bdev, &want);
}

#if KFI_PR_READS
/* Return: an answer to be freed, or an errno. */
static struct kfb_reply *kfbk_pr_read(struct block_device *bdev)
{
	struct kfbk_device *dev = bdev->bd_disk->private_data;
	struct kfbk_call call = { .core.req.op = KFB_OP_RESERVATION };
	struct kfb_reply *reply = kzalloc(sizeof(*reply), GFP_KERNEL);
	int ret;

	if (!reply)
		return ERR_PTR(-ENOMEM);
	call.core.req.u.range = kfbk_pr_range(bdev->bd_disk);
	call.core.reply = reply;
	ret = kfbk_call(dev, &call);
	if (!ret)
		return reply;
	kfree(reply);
	return ERR_PTR(ret);
}

static int kfbk_pr_read_keys(struct block_device *bdev, struct pr_keys *keys)
{
	struct kfb_reply *reply = kfbk_pr_read(bdev);
	const struct kfb_reservation *r;
	u32 i;

	if (IS_ERR(reply))
		return PTR_ERR(reply);
	r = &reply->u.reservation;
	for (i = 0; i < min(keys->num_keys, r->n_registrants); i++)
		keys->keys[i] = r->registrants[i].key;
	keys->generation = r->generation;
	keys->num_keys = r->n_registrants;
	kfree(reply);
	return 0;
}

static int kfbk_pr_read_reservation(struct block_device *bdev,
				    struct pr_held_reservation *held)
{
	struct kfb_reply *reply = kfbk_pr_read(bdev);
	const struct kfb_reservation *r;
	u32 i;

	if (IS_ERR(reply))
		return PTR_ERR(reply);
	r = &reply->u.reservation;
	held->generation = r->generation;
	held->type = r->type;
	held->key = 0;
	/* Where all hold it there is no key of the holder, as in SPC-4. */
	for (i = 0; i < r->n_registrants; i++)
		if (r->registrants[i].flags & KFB_REGISTRANT_HOLDER &&
		    r->type < KFB_RESERVED_WRITE_EXCLUSIVE_ALL_REGS)
			held->key = r->registrants[i].key;
	kfree(reply);
	return 0;
}
#endif

const struct pr_ops kfbk_pr_ops = {
	.pr_register = kfbk_pr_register,
	.pr_reserve = kfbk_pr_reserve,
	.pr_release = kfbk_pr_release,
	.pr_preempt = kfbk_pr_preempt,
	.pr_clear = kfbk_pr_clear,
#if KFI_PR_READS
	.pr_read_keys = kfbk_pr_read_keys,
	.pr_read_reservation = kfbk_pr_read_reservation,
#endif
};
