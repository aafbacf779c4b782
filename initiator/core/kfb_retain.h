/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Retention: which writes there are copies of, in what order, and where the
 * copies lie. Their bytes, and the memory for them, are the caller's.
 *
 * A write gets a copy before it is posted. When the write has completed the
 * copy is kept; when it has failed the copy is void. What is kept stays until
 * a flush of the whole device that began after the write's completion has
 * succeeded: if the brick loses what it had acknowledged, the copies are
 * written once more, in the order in which they were added.
 *
 * Why an old copy never reverts newer bytes:
 *
 * - every write has a copy while retention is on, one with FUA too, although it
 *   is durable when it ends: else an older copy of its bytes would come after
 *   it;
 * - of two writes to the same bytes one has completed before the other is
 *   posted (-EBUSY), so their order is nobody's guess;
 * - copies go in the order they came. A newer one never goes before an older.
 *
 * Pages are a ring, in the order of the copies; a copy's pages are consecutive.
 * Zeroes take none.
 *
 * Context: any; no allocation, no sleep. Locking: the caller's.
 */
#ifndef KFB_RETAIN_H
#define KFB_RETAIN_H

#include <linux/types.h>

#define KFB_RETAIN_PAGE_SHIFT 12
#define KFB_RETAIN_PAGE_BYTES (1U << KFB_RETAIN_PAGE_SHIFT)

/* Writes that are under way at one time. */
#define KFB_RETAIN_FLIGHT_MAX 128

/* Number of no copy. */
#define KFB_RETAIN_NONE (~(__u64)0)

enum kfb_copy_state {
	KFB_COPY_POSTED, /* its write is under way */
	KFB_COPY_KEPT, /* its write has completed */
	KFB_COPY_VOID, /* of no use */
};

/**
 * struct kfb_copy - of one write
 * @va: first byte
 * @len: bytes
 * @is_zero: all of them are 0: there are no pages
 * @state: &enum kfb_copy_state
 * @first: its first page
 * @n_pages: that it keeps others from using
 * @done: KEPT: the write was the so manieth to complete
 */
struct kfb_copy {
	__u64 va;
	__u64 done;
	__u32 len;
	__u32 first;
	__u32 n_pages;
	_Bool is_zero;
	__u8 state;
};

/* A copy that is POSTED; private. */
struct kfb_retain_flight {
	__u64 id;
	__u64 va;
	__u64 last;
};

/**
 * struct kfb_retain - the copies of a device
 * @copies: the caller's memory, a ring
 * @cap: copies that fit
 * @head: number of the next copy
 * @tail: number of the oldest one
 * @n_pages: pages that the caller has for bytes
 * @n_used: of these, in use
 * @next_page: the first that is not
 * @is_short: there was no room, and none has been given back since
 * @clock: writes that have completed
 * @safe: what completed by then is durable
 * @bytes: of the copies that are KEPT
 * @flight: writes under way
 * @n_flight: how many
 */
struct kfb_retain {
	struct kfb_copy *copies;
	__u32 cap;
	__u64 head;
	__u64 tail;
	__u32 n_pages;
	__u32 n_used;
	__u32 next_page;
	_Bool is_short;
	__u64 clock;
	__u64 safe;
	__u64 bytes;
	struct kfb_retain_flight flight[KFB_RETAIN_FLIGHT_MAX];
	__u32 n_flight;
};

/**
 * kfb_retain_init - no copies
 * @r: the copies
 * @copies: the caller's memory
 * @cap: copies that fit, a power of two
 * @n_pages: pages that the caller has for bytes
 *
 * Context: any.
 */
void kfb_retain_init(struct kfb_retain *r, struct kfb_copy *copies, __u32 cap,
		     __u32 n_pages);

/**
 * kfb_retain_add - a write is about to be posted
 * @r: the copies
 * @va: its first byte
 * @len: bytes, not 0; the range ends at or below 2^64
 * @is_zero: all of them are 0
 * @id: gets the copy's number
 *
 * The caller copies the bytes to kfb_retain_page() before it posts the write.
 *
 * Context: any.
 * Return: 0; -EBUSY a write to some of these bytes is under way, or too many
 * are: after the next completion; -EAGAIN no room: after a flush; -EMSGSIZE
 * there is never room for so much.
 */
int kfb_retain_add(struct kfb_retain *r, __u64 va, __u32 len, _Bool is_zero,
		   __u64 *id);

/**
 * kfb_retain_page - where the bytes of a copy begin
 * @r: the copies
 * @id: the copy's number
 *
 * Context: any.
 * Return: index of a page; the others follow.
 */
__u32 kfb_retain_page(const struct kfb_retain *r, __u64 id);

/**
 * kfb_retain_done - a write has completed
 * @r: the copies
 * @id: of its copy
 *
 * Context: any. The next flush already knows of the write.
 */
void kfb_retain_done(struct kfb_retain *r, __u64 id);

/**
 * kfb_retain_void - a write has not completed, and will not
 * @r: the copies
 * @id: of its copy; nothing happens unless it is POSTED
 *
 * Context: any.
 */
void kfb_retain_void(struct kfb_retain *r, __u64 id);

/**
 * kfb_retain_mark - a flush of the whole device begins
 * @r: the copies
 *
 * Context: any. The flush covers everything that has completed by now.
 * Return: for kfb_retain_flushed().
 */
__u64 kfb_retain_mark(const struct kfb_retain *r);

/**
 * kfb_retain_flushed - a flush of the whole device has succeeded
 * @r: the copies
 * @mark: from kfb_retain_mark() when it began
 *
 * Context: any.
 */
void kfb_retain_flushed(struct kfb_retain *r, __u64 mark);

/**
 * kfb_retain_drop - blocks are freed, or nothing may be written to them again
 * @r: the copies
 * @va: first byte of the first block
 * @len: bytes of all; the range ends at or below 2^64
 *
 * No write to them is under way. A copy never lies in two blocks.
 *
 * Context: any.
 */
void kfb_retain_drop(struct kfb_retain *r, __u64 va, __u64 len);

/**
 * kfb_retain_has - is there a copy of any of some bytes?
 * @r: the copies
 * @va: the first of them
 * @len: bytes, not 0; the range ends at or below 2^64
 *
 * Context: any.
 * Return: true when there is one that is of use, or may come to be.
 */
_Bool kfb_retain_has(const struct kfb_retain *r, __u64 va, __u64 len);

/**
 * kfb_retain_is_filling - is it time for a flush?
 * @r: the copies
 *
 * Context: any.
 * Return: true when half of the room is used, or there was too little, and a
 * flush would give some back.
 */
_Bool kfb_retain_is_filling(const struct kfb_retain *r);

/**
 * kfb_retain_rewind - everything that is KEPT is to be written once more
 * @r: the copies
 *
 * None of it is durable before a flush that begins when it has been written.
 *
 * Context: any.
 */
void kfb_retain_rewind(struct kfb_retain *r);

/**
 * kfb_retain_next - the next copy to be written once more
 * @r: the copies
 * @id: where to look from; gets the number of the copy; 0 is the oldest
 *
 * Context: any.
 * Return: the first copy from there on that is KEPT, or NULL.
 */
const struct kfb_copy *kfb_retain_next(const struct kfb_retain *r, __u64 *id);

#endif
