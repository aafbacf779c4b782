// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How much of a queue's data may be in flight.
 */
#include <linux/string.h>
#include "data/kfb_window.h"
#include "kfb_divide.h"
#include "kfb_time.h"

/* A longer time says no more, and with this one products stay in 64 bits. */
#define TOOK_MAX_MS (1U << 20)

void kfb_window_lease(struct kfb_window *w, __u32 lease_ms)
{
	w->target_ms = KFB_WINDOW_MS_DEFAULT;
	if (lease_ms)
		w->target_ms = lease_ms / KFB_WINDOW_LEASE_DIV;
	if (w->target_ms < KFB_WINDOW_MS_MIN)
		w->target_ms = KFB_WINDOW_MS_MIN;
}

void kfb_window_init(struct kfb_window *w, __u32 lease_ms)
{
	memset(w, 0, sizeof(*w));
	kfb_window_lease(w, lease_ms);
	w->shortest_ms = KFB_TIME_NEVER;
	w->limit_bytes = KFB_WINDOW_FIRST_BYTES;
}

/* Whole pages: a sector is not torn by the end of a piece. */
static __u64 kfb_window_piece_max(const struct kfb_window *w)
{
	__u64 max = w->limit_bytes / KFB_WINDOW_PIECES;

	max -= max % KFB_WINDOW_PIECE_MIN_BYTES;
	return max ? max : KFB_WINDOW_PIECE_MIN_BYTES;
}

__u64 kfb_window_piece(const struct kfb_window *w, __u64 len)
{
	__u64 max = kfb_window_piece_max(w);
	__u64 piece = len < max ? len : max;

	/* One that is alone always fits. */
	if (w->in_flight_bytes && w->in_flight_bytes + piece > w->limit_bytes)
		return 0;
	return piece;
}

void kfb_window_posted(struct kfb_window *w, __u64 len, __u64 now_ms,
		       struct kfb_window_mark *mark)
{
	mark->posted_ms = now_ms;
	mark->moved_bytes = w->moved_bytes;
	w->in_flight_bytes += len;
}

void kfb_window_unposted(struct kfb_window *w, __u64 len)
{
	w->in_flight_bytes -= len;
}

void kfb_window_moved(struct kfb_window *w, __u64 len, __u64 now_ms,
		      const struct kfb_window_mark *mark)
{
	__u64 took_ms = now_ms - mark->posted_ms;
	__u64 may_take_ms, moved, limit;

	if (took_ms > TOOK_MAX_MS)
		took_ms = TOOK_MAX_MS;
	if (took_ms < w->shortest_ms)
		w->shortest_ms = took_ms;
	may_take_ms = w->shortest_ms + w->target_ms;
	w->moved_bytes += len;
	if (took_ms > may_take_ms) {
		/* What has moved says how much does in the time allowed. */
		moved = w->moved_bytes - mark->moved_bytes;
		limit = kfb_divide(moved * may_take_ms, took_ms);
		if (limit < KFB_WINDOW_MIN_BYTES) {
			limit = KFB_WINDOW_MIN_BYTES;
			/* Few bytes wait for no others: the way is longer. */
			w->shortest_ms = took_ms;
		}
		if (limit < w->limit_bytes)
			w->limit_bytes = limit;
	} else if (took_ms <= w->shortest_ms + w->target_ms / 2 &&
		   w->in_flight_bytes >= kfb_window_piece_max(w)) {
		/* Growing what is not used would say nothing of the link. */
		w->limit_bytes += len;
		if (w->limit_bytes > KFB_WINDOW_MAX_BYTES)
			w->limit_bytes = KFB_WINDOW_MAX_BYTES;
	}
	w->in_flight_bytes -= len;
}
