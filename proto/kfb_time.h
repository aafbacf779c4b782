/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When to try again, and how long a lease is good for. Time is passed in:
 * milliseconds of one monotonic clock that counts suspended time.
 *
 * Context: any; a struct is guarded by whoever owns it.
 */
#ifndef KFB_TIME_H
#define KFB_TIME_H

#include <linux/types.h>

/* A time that never comes. */
#define KFB_TIME_NEVER (~0ULL)

/**
 * struct kfb_retry - exponential backoff with bounds
 * @min_ms: first delay before jitter, at least 1
 * @max_ms: longest delay before jitter, at least @min_ms
 * @attempts_max: give up after as many; 0: never
 * @attempts: since the last success
 */
struct kfb_retry {
	__u32 min_ms;
	__u32 max_ms;
	__u32 attempts_max;
	__u32 attempts;
};

/**
 * kfb_retry_init - set the bounds, with no attempts made
 * @retry: filled on success
 * @min_ms: first delay
 * @max_ms: longest delay
 * @attempts_max: give up after as many; 0: never
 *
 * Context: any.
 * Return: 0, or -EINVAL when @min_ms is 0 or above @max_ms.
 */
int kfb_retry_init(struct kfb_retry *retry, __u32 min_ms, __u32 max_ms,
		   __u32 attempts_max);

/**
 * kfb_retry_next - an attempt has failed: when is the next?
 * @retry: counts the attempt
 * @now_ms: the time now
 * @random: any random number: spreads clients that lost the same brick
 * @asked_ms: what a REJECT asked for, else 0; heeded up to @retry's max_ms
 * @at_ms: time of the next attempt
 *
 * The delay doubles with each attempt from min_ms to max_ms; the attempt comes
 * in its second half.
 *
 * Context: any.
 * Return: 0, or -ETIMEDOUT when no attempt is left.
 */
int kfb_retry_next(struct kfb_retry *retry, __u64 now_ms, __u32 random,
		   __u32 asked_ms, __u64 *at_ms);

/**
 * kfb_retry_succeeded - the next failure begins anew
 * @retry: forgets its attempts
 *
 * Context: any.
 */
void kfb_retry_succeeded(struct kfb_retry *retry);

/**
 * struct kfb_lease - until when a session's handles are good
 * @until_ms: not any more at this time; KFB_TIME_NEVER: without end
 */
struct kfb_lease {
	__u64 until_ms;
};

/**
 * kfb_lease_renewed - client: a reply has come, so its request has renewed
 * @lease: becomes longer, never shorter: replies may overtake each other
 * @sent_ms: when the request was *sent*: the brick counts from a later time
 * @lease_ms: from INFO; 0: this brick's handles have no lease
 * @margin_ms: stop this much earlier than the brick revokes: covers clocks
 *	that do not run alike and operations that are in flight
 *
 * Context: any.
 */
void kfb_lease_renewed(struct kfb_lease *lease, __u64 sent_ms, __u32 lease_ms,
		       __u32 margin_ms);

#endif
