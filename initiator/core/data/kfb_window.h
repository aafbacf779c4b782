/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much of a queue's data may be in flight.
 *
 * What is in flight delays what comes behind it: the PING that keeps the lease,
 * the FLUSH that somebody waits for. So its bytes are bounded by what the link
 * moves in a small part of the lease. An operation that was over soon lets the
 * window grow by its bytes, which doubles it within a round trip; one that took
 * too long makes the window what the link has moved meanwhile, scaled to the
 * time that it should have taken. A link that is never too slow has a window
 * beyond all that is ever posted.
 *
 * Time on the way does not count, however far the brick is away: the shortest
 * that an operation has taken is taken from all. With the smallest window it is
 * learned anew, for the way may become longer.
 *
 * Context: any; functions do not sleep.
 * Locking: the caller's, one thread in a window at a time.
 */
#ifndef KFB_WINDOW_H
#define KFB_WINDOW_H

#include <linux/types.h>

/* At first, and at least. */
#define KFB_WINDOW_FIRST_BYTES (64U << 10)
#define KFB_WINDOW_MIN_BYTES   (16U << 10)
/* No bound: more than there are operations for. */
#define KFB_WINDOW_MAX_BYTES (1U << 30)

/*
 * One operation has at most this part of the window in whole pages, or one page:
 * its own time on the wire is to be short beside that of all.
 */
#define KFB_WINDOW_PIECES	   8
#define KFB_WINDOW_PIECE_MIN_BYTES 4096

/*
 * Of a lease, what is in flight may take this part to arrive, but not less than
 * that: 78 ms of the default. What is longer on the way than packets wait in
 * the queues of a network makes TCP lose them.
 */
#define KFB_WINDOW_LEASE_DIV 128
#define KFB_WINDOW_MS_MIN    50
/* The same for a lease without end. */
#define KFB_WINDOW_MS_DEFAULT 80

/**
 * struct kfb_window - of one connection
 * @target_ms: time in which what is in flight is to be over
 * @shortest_ms: shortest time that an operation has taken; KFB_TIME_NEVER: none is over
 * @limit_bytes: bytes that may be in flight
 * @in_flight_bytes: bytes that are in flight
 * @moved_bytes: bytes of operations that are over
 */
struct kfb_window {
	__u32 target_ms;
	__u64 shortest_ms;
	__u64 limit_bytes;
	__u64 in_flight_bytes;
	__u64 moved_bytes;
};

/**
 * struct kfb_window_mark - of one operation, from post to completion
 * @posted_ms: when it was posted
 * @moved_bytes: of the window, then
 */
struct kfb_window_mark {
	__u64 posted_ms;
	__u64 moved_bytes;
};

/**
 * kfb_window_init - nothing is in flight on a new connection
 * @w: the window
 * @lease_ms: of the session; 0: without end, or not known yet
 */
void kfb_window_init(struct kfb_window *w, __u32 lease_ms);

/**
 * kfb_window_lease - the lease is known, or another one
 * @w: the window
 * @lease_ms: of the session; 0: without end
 */
void kfb_window_lease(struct kfb_window *w, __u32 lease_ms);

/**
 * kfb_window_piece - how much may be posted as one operation now?
 * @w: the window
 * @len: bytes there are to post, not 0
 *
 * When nothing is in flight there is always room.
 *
 * Return: 1 to @len, or 0: there is no room before something is over.
 */
__u64 kfb_window_piece(const struct kfb_window *w, __u64 len);

/**
 * kfb_window_is_open - may an operation that cannot be cut be posted now?
 * @w: the window
 *
 * However large it is: else smaller ones, which always fit, could keep it out
 * for ever. What is in flight may be more than the window by one operation.
 *
 * Return: true when it may; always when nothing is in flight.
 */
static inline _Bool kfb_window_is_open(const struct kfb_window *w)
{
	return w->in_flight_bytes < w->limit_bytes;
}

/**
 * kfb_window_posted - an operation is in flight
 * @w: the window
 * @len: the operation's bytes
 * @now_ms: the time, ms
 * @mark: filled
 */
void kfb_window_posted(struct kfb_window *w, __u64 len, __u64 now_ms,
		       struct kfb_window_mark *mark);

/* An operation of @len bytes is not in flight after all. */
void kfb_window_unposted(struct kfb_window *w, __u64 len);

/**
 * kfb_window_moved - an operation is over, and its bytes are where they belong
 * @w: the window
 * @len: the operation's bytes
 * @now_ms: the time, ms
 * @mark: of its post
 */
void kfb_window_moved(struct kfb_window *w, __u64 len, __u64 now_ms,
		      const struct kfb_window_mark *mark);

#endif
