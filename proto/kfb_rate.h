/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much a session may read and write in a second: what a brick hands out in
 * INFO, and the token bucket by which a client keeps to it and a brick that can
 * count what arrives looks whether it does.
 *
 * A bucket fills with the rate and holds what the rate gives in its burst. An
 * operation may begin while there is anything in it, and takes all that it
 * needs: then the bucket is in debt, and the next one waits. So an operation of
 * any length goes, and the mean is the rate.
 *
 * Context: any; functions do not sleep. Times are milliseconds of one monotonic
 *	clock.
 * Locking: the caller's, one thread in a bucket at a time.
 */
#ifndef KFB_RATE_H
#define KFB_RATE_H

#include <linux/types.h>

/* What a client may have at one time after it has had nothing: 100 ms of its rate. */
#define KFB_RATE_BURST_MS 100

/* The shortest piece into which a rate cuts an operation. */
#define KFB_RATE_PIECE_MIN_BYTES 4096

/**
 * struct kfb_rate - of one session
 * @bytes_per_s: read and written, KFB_RATE_BYTES_MIN to KFB_RATE_BYTES_MAX; 0: any
 *	number
 * @ops_per_s: one-sided reads and writes, at least KFB_RATE_OPS_MIN; 0: any number
 */
struct kfb_rate {
	__u64 bytes_per_s;
	__u32 ops_per_s;
};

/* No bound at all. */
extern const struct kfb_rate kfb_rate_none;

/* Are both numbers ones that there may be? */
_Bool kfb_rate_ok(const struct kfb_rate *rate);

/* Does it bound anything? */
static inline _Bool kfb_rate_is_set(const struct kfb_rate *rate)
{
	return rate->bytes_per_s || rate->ops_per_s;
}

static inline _Bool kfb_rate_equals(const struct kfb_rate *a,
				    const struct kfb_rate *b)
{
	return a->bytes_per_s == b->bytes_per_s && a->ops_per_s == b->ops_per_s;
}

/**
 * struct kfb_bucket - what of a rate has not been used
 * @rate: by which the bucket fills
 * @burst_ms: the bucket holds what the rate gives in this time
 * @piece_max_bytes: an operation of more bytes is cut, where it can be; 0: none is
 * @filled_ms: when the bucket was filled last
 * @bytes: 1/1000 bytes that are left; below 0: owed
 * @ops: 1/1000 operations that are left; below 0: owed
 */
struct kfb_bucket {
	struct kfb_rate rate;
	__u32 burst_ms;
	__u64 piece_max_bytes;
	__u64 filled_ms;
	__s64 bytes;
	__s64 ops;
};

/**
 * kfb_bucket_init - a full one
 * @b: filled
 * @rate: kfb_rate_ok()
 * @burst_ms: what it holds, 1 to 2^20
 * @now_ms: the time
 */
void kfb_bucket_init(struct kfb_bucket *b, const struct kfb_rate *rate,
		     __u32 burst_ms, __u64 now_ms);

/**
 * kfb_bucket_change - another rate from now on
 * @b: the bucket
 * @rate: kfb_rate_ok()
 * @now_ms: the time
 *
 * What has been owed is owed, but no more than the new rate gives in a burst: else a
 * rate that has become small would have to pay for one that was large. Nothing is owed
 * without a rate.
 */
void kfb_bucket_change(struct kfb_bucket *b, const struct kfb_rate *rate,
		       __u64 now_ms);

/* May an operation begin? Fills the bucket up to @now_ms. */
_Bool kfb_bucket_is_open(struct kfb_bucket *b, __u64 now_ms);

/* @n_ops operations of @bytes together begin, or have been seen. */
void kfb_bucket_take(struct kfb_bucket *b, __u64 bytes, __u64 n_ops);

/* One operation of @bytes has not begun after all. */
void kfb_bucket_give(struct kfb_bucket *b, __u64 bytes);

/* How much of @len bytes, not 0, goes as one operation? */
static inline __u64 kfb_bucket_piece(const struct kfb_bucket *b, __u64 len)
{
	return b->piece_max_bytes && len > b->piece_max_bytes
		       ? b->piece_max_bytes
		       : len;
}

/**
 * kfb_bucket_next_ms - when is it open?
 * @b: filled up to now by kfb_bucket_is_open()
 *
 * Return: the first millisecond in which an operation may begin.
 */
__u64 kfb_bucket_next_ms(const struct kfb_bucket *b);

#endif
