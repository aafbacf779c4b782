// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: which blocks the disks of this machine have.
 *
 * A brick tells clients apart by their names: a block's birth changes when
 * another client maps it for writing, not when another disk of the same client
 * does. While a disk maps everything the brick refuses the second one, because
 * mappings are exclusive. One that maps on demand has blocks that are not mapped,
 * so that two of them are kept apart here. On other machines nothing does it: a
 * client's name is one machine's.
 *
 * A disk whose session is over maps nothing any more, and is in nobody's way.
 *
 * Context: process. Locking: claims_lock, held over nothing that waits for the
 * brick. Lifetime: from attach to the end of the session.
 */
#include <linux/string.h>

#include "disks.h"

static DEFINE_MUTEX(kfbk_claims_lock);
static LIST_HEAD(kfbk_claims);

static bool kfbk_claims_conflict(const struct kfbk_device *dev, u64 n_blocks,
				 const struct kfbk_device *other)
{
	u64 first = dev->options.base >> KFB_BLOCK_SHIFT;
	u64 other_first = other->options.base >> KFB_BLOCK_SHIFT;

	if (other == dev || READ_ONCE(other->core.is_over))
		return false;
	if (!dev->options.map_cache && !other->options.map_cache)
		return false;
	if (dev->options.ro && other->options.ro)
		return false;
	return !strcmp(dev->options.client, other->options.client) &&
	       !memcmp(dev->core.client.info.brick_uuid,
		       other->core.client.info.brick_uuid, KFB_UUID_BYTES) &&
	       first < other_first + other->n_claimed &&
	       other_first < first + n_blocks;
}

int kfbk_claim(struct kfbk_device *dev, u64 n_blocks)
{
	struct kfbk_device *other;
	int instance = -1;

	mutex_lock(&kfbk_claims_lock);
	list_for_each_entry(other, &kfbk_claims, claim) {
		if (kfbk_claims_conflict(dev, n_blocks, other))
			instance = other->instance;
	}
	if (instance < 0) {
		if (list_empty(&dev->claim))
			list_add_tail(&dev->claim, &kfbk_claims);
		dev->n_claimed = n_blocks;
	}
	mutex_unlock(&kfbk_claims_lock);
	if (instance < 0)
		return 0;
	kfbk_say(dev,
		 "kfbrick%d has blocks of this range already, as the same "
		 "client, and not all of them are always mapped",
		 instance);
	return -EEXIST;
}

void kfbk_unclaim(struct kfbk_device *dev)
{
	mutex_lock(&kfbk_claims_lock);
	list_del_init(&dev->claim);
	mutex_unlock(&kfbk_claims_lock);
}
