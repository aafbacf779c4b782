// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: which blocks the disks of this machine have.
 *
 * A brick tells clients apart by their names: a block's birth changes when
 * another client maps it for writing, not when another disk of the same client
 * does. While a disk has everything mapped the brick would refuse the second one,
 * because mappings are exclusive. But one that maps on demand has blocks that are not
 * mapped, a thin one may have some that are not allocated, and one that has lost its
 * session has none, which it may notice later. So two of them are kept apart here,
 * whatever they have mapped: when one comes, grows or comes back. On other machines
 * nothing does it: a client's name is one machine's.
 *
 * A disk whose session is over maps nothing any more, and is in nobody's way.
 *
 * A disk's name is its own as long as it is there, whatever its session does.
 *
 * Context: process. Locking: claims_lock, held over nothing that waits for the
 * brick. Lifetime: from attach to detach.
 */
#include <linux/string.h>

#include "disks.h"

static DEFINE_MUTEX(kfbk_claims_lock);
static LIST_HEAD(kfbk_claims);

static bool kfbk_claims_same_blocks(const struct kfbk_device *dev, u64 n_blocks,
				    const struct kfbk_device *other)
{
	u64 first = dev->options.base >> KFB_BLOCK_SHIFT;
	u64 other_first = other->options.base >> KFB_BLOCK_SHIFT;

	if (other == dev || (dev->options.ro && other->options.ro))
		return false;
	return !strcmp(dev->options.client, other->options.client) &&
	       !memcmp(dev->core.client.info.brick_uuid,
		       other->core.client.info.brick_uuid, KFB_UUID_BYTES) &&
	       first < other_first + other->n_claimed &&
	       other_first < first + n_blocks;
}

/* Its session is over, and stays so. kfbk_claims_lock is held. */
static bool kfbk_claims_is_over(const struct kfbk_device *dev)
{
	return READ_ONCE(dev->core.is_over) && !dev->returns;
}

int kfbk_claim(struct kfbk_device *dev, u64 n_blocks)
{
	const char *what =
		"has blocks of this range already, as the same client";
	const char *name = dev->options.name;
	struct kfbk_device *other;
	int instance = -1;

	mutex_lock(&kfbk_claims_lock);
	list_for_each_entry(other, &kfbk_claims, claim) {
		if (other != dev && *name && !strcmp(name, other->options.name))
			what = "has that name already";
		else if (kfbk_claims_is_over(other) ||
			 !kfbk_claims_same_blocks(dev, n_blocks, other))
			continue;
		instance = other->instance;
		break;
	}
	if (instance < 0) {
		if (list_empty(&dev->claim))
			list_add_tail(&dev->claim, &kfbk_claims);
		/* It may have more, of a try to grow that failed. */
		dev->n_claimed = max(dev->n_claimed, n_blocks);
	}
	mutex_unlock(&kfbk_claims_lock);
	if (instance < 0)
		return 0;
	kfbk_say(dev, "kfbrick%d %s", instance, what);
	return -EEXIST;
}

void kfbk_claim_used(struct kfbk_device *dev)
{
	struct kfbk_device *other;

	if (dev->options.ro)
		return;
	mutex_lock(&kfbk_claims_lock);
	/* Who is over has not seen what is written from now on. */
	list_for_each_entry(other, &kfbk_claims, claim) {
		if (kfbk_claims_is_over(other) &&
		    kfbk_claims_same_blocks(dev, dev->n_claimed, other))
			other->is_superseded = true;
	}
	mutex_unlock(&kfbk_claims_lock);
}

void kfbk_claim_less(struct kfbk_device *dev, u64 n_blocks)
{
	mutex_lock(&kfbk_claims_lock);
	dev->n_claimed = n_blocks;
	mutex_unlock(&kfbk_claims_lock);
}

int kfbk_claim_again(struct kfbk_device *dev, char why[KFBK_WHY_BYTES])
{
	struct kfbk_device *other;
	int instance = -1;

	mutex_lock(&kfbk_claims_lock);
	if (dev->is_superseded)
		instance = dev->instance;
	list_for_each_entry(other, &kfbk_claims, claim) {
		if (!kfbk_claims_is_over(other) &&
		    kfbk_claims_same_blocks(dev, dev->n_claimed, other))
			instance = other->instance;
	}
	if (instance < 0)
		dev->returns++;
	mutex_unlock(&kfbk_claims_lock);
	if (instance < 0)
		return 0;
	/* Why it has failed is another thing. */
	snprintf(
		why, KFBK_WHY_BYTES, "kfbrick%d %s", instance,
		instance == dev->instance
			? "has seen another disk with its blocks since it failed: they may have been written; detach it"
			: "has blocks of this range now, as the same client");
	return -EEXIST;
}

void kfbk_claim_settled(struct kfbk_device *dev)
{
	mutex_lock(&kfbk_claims_lock);
	dev->returns--;
	mutex_unlock(&kfbk_claims_lock);
}

void kfbk_unclaim(struct kfbk_device *dev)
{
	mutex_lock(&kfbk_claims_lock);
	list_del_init(&dev->claim);
	mutex_unlock(&kfbk_claims_lock);
}
