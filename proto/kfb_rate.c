// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rates of sessions.
 *
 * Context: any.
 */
#include "kfb_divide.h"
#include "kfb_rate.h"
#include "kfb_wire.h"

/* A bucket is full long before, and products stay in 63 bits. */
#define KFB_RATE_ELAPSED_MAX_MS (1U << 20)

/* More than a connection moves; what is owed is not counted beyond it. */
#define KFB_RATE_TAKEN_MAX (1ULL << 40)

const struct kfb_rate kfb_rate_none;

_Bool kfb_rate_ok(const struct kfb_rate *rate)
{
	if (rate->bytes_per_s && (rate->bytes_per_s < KFB_RATE_BYTES_MIN ||
				  rate->bytes_per_s > KFB_RATE_BYTES_MAX))
		return 0;
	return !rate->ops_per_s || rate->ops_per_s >= KFB_RATE_OPS_MIN;
}

static __s64 kfb_bucket_room(__u64 per_s, const struct kfb_bucket *b)
{
	return (__s64)(per_s * b->burst_ms);
}

static __s64 kfb_bucket_filled(__s64 level, __u64 per_s, __u64 elapsed_ms,
			       const struct kfb_bucket *b)
{
	__s64 room = kfb_bucket_room(per_s, b);

	level += (__s64)(per_s * elapsed_ms);
	return level < room ? level : room;
}

/* Whole pages: a sector is not torn by the end of a piece. */
static __u64 kfb_bucket_piece_max(const struct kfb_bucket *b)
{
	__u64 max = kfb_divide(b->rate.bytes_per_s * b->burst_ms, 1000);

	max -= max % KFB_RATE_PIECE_MIN_BYTES;
	return max ? max : KFB_RATE_PIECE_MIN_BYTES;
}

void kfb_bucket_init(struct kfb_bucket *b, const struct kfb_rate *rate,
		     __u32 burst_ms, __u64 now_ms)
{
	b->rate = *rate;
	b->burst_ms = burst_ms;
	b->piece_max_bytes = rate->bytes_per_s ? kfb_bucket_piece_max(b) : 0;
	b->filled_ms = now_ms;
	b->bytes = kfb_bucket_room(rate->bytes_per_s, b);
	b->ops = kfb_bucket_room(rate->ops_per_s, b);
}

static void kfb_bucket_fill(struct kfb_bucket *b, __u64 now_ms)
{
	__u64 elapsed_ms = now_ms > b->filled_ms ? now_ms - b->filled_ms : 0;

	if (elapsed_ms > KFB_RATE_ELAPSED_MAX_MS)
		elapsed_ms = KFB_RATE_ELAPSED_MAX_MS;
	b->bytes =
		kfb_bucket_filled(b->bytes, b->rate.bytes_per_s, elapsed_ms, b);
	b->ops = kfb_bucket_filled(b->ops, b->rate.ops_per_s, elapsed_ms, b);
	if (now_ms > b->filled_ms)
		b->filled_ms = now_ms;
}

/* What one rate leaves to the next, which gives it as long as a burst to be paid. */
static __s64 kfb_bucket_carried(__s64 old, __u64 old_per_s, __s64 room,
				__u64 per_s)
{
	if (!old_per_s || !per_s || old > room)
		return room;
	return old > -room ? old : -room;
}

void kfb_bucket_change(struct kfb_bucket *b, const struct kfb_rate *rate,
		       __u64 now_ms)
{
	struct kfb_bucket old;

	kfb_bucket_fill(b, now_ms);
	old = *b;
	kfb_bucket_init(b, rate, b->burst_ms, b->filled_ms);
	b->bytes = kfb_bucket_carried(old.bytes, old.rate.bytes_per_s, b->bytes,
				      rate->bytes_per_s);
	b->ops = kfb_bucket_carried(old.ops, old.rate.ops_per_s, b->ops,
				    rate->ops_per_s);
}

_Bool kfb_bucket_is_open(struct kfb_bucket *b, __u64 now_ms)
{
	kfb_bucket_fill(b, now_ms);
	return (!b->rate.bytes_per_s || b->bytes > 0) &&
	       (!b->rate.ops_per_s || b->ops > 0);
}

void kfb_bucket_take(struct kfb_bucket *b, __u64 bytes, __u64 n_ops)
{
	__s64 least = -(__s64)(KFB_RATE_TAKEN_MAX * 1000);

	if (bytes > KFB_RATE_TAKEN_MAX)
		bytes = KFB_RATE_TAKEN_MAX;
	if (n_ops > KFB_RATE_TAKEN_MAX)
		n_ops = KFB_RATE_TAKEN_MAX;
	b->bytes -= (__s64)(bytes * 1000);
	b->ops -= (__s64)(n_ops * 1000);
	if (b->bytes < least)
		b->bytes = least;
	if (b->ops < least)
		b->ops = least;
}

void kfb_bucket_give(struct kfb_bucket *b, __u64 bytes)
{
	b->bytes += (__s64)(bytes * 1000);
	b->ops += 1000;
}

/* How long it takes until more than nothing is there. */
static __u64 kfb_bucket_wait_ms(__s64 level, __u64 per_s)
{
	if (!per_s || level > 0)
		return 0;
	return kfb_divide((__u64)-level, per_s) + 1;
}

__u64 kfb_bucket_next_ms(const struct kfb_bucket *b)
{
	__u64 bytes_ms = kfb_bucket_wait_ms(b->bytes, b->rate.bytes_per_s);
	__u64 ops_ms = kfb_bucket_wait_ms(b->ops, b->rate.ops_per_s);

	return b->filled_ms + (bytes_ms > ops_ms ? bytes_ms : ops_ms);
}
