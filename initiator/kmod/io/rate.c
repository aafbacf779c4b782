// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: how much a disk may read and write, by the word of its brick.
 *
 * The brick is passive and cannot slow anybody down; the disk keeps to the rate
 * by itself. A copy that is written again waits in its place, and the session work comes
 * for it. A request for which nothing is left stays in its queue, and blk-mq
 * asks for it again after BLK_MQ_RESOURCE_DELAY, 3 ms, which is short beside what
 * may be used at one time. A disk without a rate takes no lock for it.
 */
#include "../device/log.h"
#include "requests.h"

void kfbk_rate_init(struct kfbk_rate *r)
{
	spin_lock_init(&r->lock);
	kfb_bucket_init(&r->bucket, &kfb_rate_none, KFB_RATE_BURST_MS,
			kfbk_now_ms());
}

void kfbk_rate_set(struct kfb_initiator *i, const struct kfb_rate *rate)
{
	struct kfbk_device *dev = kfbk_of(i);
	struct kfbk_rate *r = &dev->rate;

	lockdep_assert_held(&dev->lock);
	spin_lock_bh(&r->lock);
	if (kfb_rate_equals(&r->bucket.rate, rate)) {
		spin_unlock_bh(&r->lock);
		return;
	}
	kfb_bucket_change(&r->bucket, rate, kfbk_now_ms());
	WRITE_ONCE(r->is_set, kfb_rate_is_set(rate));
	spin_unlock_bh(&r->lock);
	if (kfb_rate_is_set(rate))
		kfbk_info_limited(
			dev,
			"the brick allows %llu bytes and %u operations in a second (0: any number)\n",
			rate->bytes_per_s, rate->ops_per_s);
	else
		kfbk_info_limited(
			dev,
			"the brick allows any number of bytes and operations in a second again\n");
}

bool kfbk_rate_take(struct kfbk_device *dev, u32 len, u64 now_ms)
{
	struct kfbk_rate *r = &dev->rate;
	bool may;

	if (likely(!READ_ONCE(r->is_set)))
		return true;
	spin_lock_bh(&r->lock);
	/* Who is to see the last of a disk waits for no more than what there is. */
	may = kfb_bucket_is_open(&r->bucket, now_ms) || kfbk_is_ending(dev);
	if (may)
		kfb_bucket_take(&r->bucket, len, 1);
	else
		r->n_waits++;
	spin_unlock_bh(&r->lock);
	return may;
}

bool kfbk_rate_take_copy(struct kfbk_device *dev, u32 len)
{
	lockdep_assert_held(&dev->lock);
	if (kfbk_rate_take(dev, len, kfbk_now_ms()))
		return true;
	dev->rate.copies_wait = true;
	dev->core.ops->wake_at(&dev->core, kfbk_rate_next_ms(dev));
	return false;
}

u64 kfbk_rate_next_ms(struct kfbk_device *dev)
{
	struct kfbk_rate *r = &dev->rate;
	u64 next_ms;

	lockdep_assert_held(&dev->lock);
	if (!r->copies_wait)
		return KFB_TIME_NEVER;
	spin_lock_bh(&r->lock);
	next_ms = kfb_bucket_next_ms(&r->bucket);
	spin_unlock_bh(&r->lock);
	return next_ms;
}

void kfbk_rate_give(struct kfbk_device *dev, u32 len)
{
	struct kfbk_rate *r = &dev->rate;

	if (likely(!READ_ONCE(r->is_set)))
		return;
	spin_lock_bh(&r->lock);
	kfb_bucket_give(&r->bucket, len);
	spin_unlock_bh(&r->lock);
}
