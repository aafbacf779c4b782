// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Backoff and leases.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include "kfb_time.h"

/* Stays short of KFB_TIME_NEVER, which has a meaning of its own. */
static __u64 kfb_time_add_ms(__u64 time_ms, __u32 ms)
{
	if (time_ms >= KFB_TIME_NEVER - 1 - ms)
		return KFB_TIME_NEVER - 1;
	return time_ms + ms;
}

int kfb_retry_init(struct kfb_retry *retry, __u32 min_ms, __u32 max_ms,
		   __u32 attempts_max)
{
	if (min_ms == 0 || min_ms > max_ms)
		return -EINVAL;
	retry->min_ms = min_ms;
	retry->max_ms = max_ms;
	retry->attempts_max = attempts_max;
	retry->attempts = 0;
	return 0;
}

/* min_ms doubled n times, at most max_ms. */
static __u32 kfb_retry_backoff_ms(const struct kfb_retry *retry, __u32 n)
{
	__u32 ms = retry->min_ms;

	while (n-- > 0) {
		if (ms > retry->max_ms / 2)
			return retry->max_ms;
		ms *= 2;
	}
	return ms;
}

int kfb_retry_next(struct kfb_retry *retry, __u64 now_ms, __u32 random,
		   __u32 asked_ms, __u64 *at_ms)
{
	__u32 longest, delay;

	if (retry->attempts_max && retry->attempts >= retry->attempts_max)
		return -ETIMEDOUT;
	longest = kfb_retry_backoff_ms(retry, retry->attempts);
	delay = longest - random % (longest / 2 + 1);
	if (asked_ms > retry->max_ms)
		asked_ms = retry->max_ms;
	if (delay < asked_ms)
		delay = asked_ms;
	if (retry->attempts != ~0U)
		retry->attempts++;
	*at_ms = kfb_time_add_ms(now_ms, delay);
	return 0;
}

void kfb_retry_succeeded(struct kfb_retry *retry)
{
	retry->attempts = 0;
}

static void kfb_lease_prolong(struct kfb_lease *lease, __u64 until_ms)
{
	if (until_ms > lease->until_ms)
		lease->until_ms = until_ms;
}

void kfb_lease_renewed(struct kfb_lease *lease, __u64 sent_ms, __u32 lease_ms,
		       __u32 margin_ms)
{
	if (lease_ms == 0)
		kfb_lease_prolong(lease, KFB_TIME_NEVER);
	else if (lease_ms > margin_ms)
		kfb_lease_prolong(lease, kfb_time_add_ms(sent_ms,
							 lease_ms - margin_ms));
}
