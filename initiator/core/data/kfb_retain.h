/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Retention: which writes there are copies of, in what order, and where the
 * copies lie. Their bytes, and the memory for them, are the caller's.
 *
 * A write gets a copy before it is posted. When the write has completed the
 * copy is kept; when it has failed the copy is void. What is kept stays until
 * a flush of the whole device that began after the write's completion has
 * succeeded: if the brick loses what it had acknowledged, the copies are
 * written once more.
 *
 * Why that never reverts newer bytes, not even for a moment, so that neither a
 * client that dies in the middle of it nor a loss of power leaves older bytes
 * where newer ones had been:
 *
 * - every write has a copy while retention is on, one with FUA too, although it
 *   is durable when it ends: else nothing would say that an older copy of its
 *   bytes is not the newest;
 * - of two writes to the same bytes one has completed before the other is
 *   posted (-EBUSY), so their order is nobody's guess;
 * - copies go in the order they came. A newer one never goes before an older;
 * - no copy is written while a write is under way (kfb_retain_rewind()):
 *   connections die one by one, and on another one a newer write of the same
 *   bytes may still have to land, or may never. Only when that is known is it
 *   known which copy is the newest, and a flush that comes behind the copies
 *   covers either;
 * - of each copy only those bytes are written that no newer copy has. What is
 *   on the brick then becomes the newest completed write at once, whatever the
 *   order is in which copies arrive;
 * - what is known to be durable is not written at all: the copies that a flush
 *   of the device has covered and that wait behind an older one, and those of
 *   writes with FUA (kfb_retain_durable()). They still hide older copies.
 *
 * The flush of one queue that makes a FUA write durable makes others of that
 * queue durable, too; nobody says so of them here, and they are written once
 * more: the same bytes, so that nothing changes.
 *
 * Pages are a ring, in the order of the copies; a copy's pages are consecutive.
 * Zeroes take none. The copies of a block are a list, the newest first; blocks
 * may share one.
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
 * @is_zero: all bytes are 0: there are no pages
 * @state: &enum kfb_copy_state
 * @first: the copy's first page
 * @n_pages: pages that the copy keeps others from using
 * @done: KEPT: the write was the so manieth to complete; 0: it is durable
 * @older: number of the copy before this one in the list of its block, or
 *	%KFB_RETAIN_NONE; the list ends there, or with one that is gone
 */
struct kfb_copy {
	__u64 va;
	__u64 done;
	__u64 older;
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
 * struct kfb_retain_piece - bytes of a copy that are to be written once more
 * @id: number of the copy
 * @offset: where the bytes begin in the copy
 * @va: address of the first byte
 * @len: how many bytes
 * @is_zero: all bytes are 0
 */
struct kfb_retain_piece {
	__u64 id;
	__u32 offset;
	__u64 va;
	__u32 len;
	_Bool is_zero;
};

/**
 * struct kfb_retain_cursor - up to where copies have been written once more
 * @id: number of the copy that is looked at
 * @offset: what is before it in the copy was written, or newer ones have it
 * @len: private: bytes from there on that no newer copy has that was looked at;
 *	0: none was
 * @newer: private: the next one to look at
 * @head: private: number of the next copy when @newer was the newest
 *
 * All 0 is the beginning.
 */
struct kfb_retain_cursor {
	__u64 id;
	__u64 newer;
	__u64 head;
	__u32 offset;
	__u32 len;
};

/**
 * struct kfb_retain - the copies of a device
 * @copies: the caller's memory, a ring
 * @newest: the caller's memory: where the list of a block begins
 * @cap: copies that fit
 * @head: number of the next copy
 * @tail: number of the oldest copy
 * @n_pages: pages that the caller has for bytes
 * @n_used: pages that are in use
 * @next_page: the first page that is not in use
 * @is_short: there was no room, and none has been given back since
 * @is_read: see kfb_retain_hold()
 * @clock: writes that have completed
 * @safe: what completed by then is durable
 * @bytes: of the copies that are KEPT
 * @flight: writes under way
 * @n_flight: how many writes are under way
 */
struct kfb_retain {
	struct kfb_copy *copies;
	__u64 *newest;
	__u32 cap;
	__u64 head;
	__u64 tail;
	__u32 n_pages;
	__u32 n_used;
	__u32 next_page;
	_Bool is_short;
	_Bool is_read;
	__u64 clock;
	__u64 safe;
	__u64 bytes;
	struct kfb_retain_flight flight[KFB_RETAIN_FLIGHT_MAX];
	__u32 n_flight;
};

/**
 * kfb_retain_init - no copies
 * @r: the copies
 * @copies: the caller's memory, @cap of them
 * @newest: the caller's memory, @cap of them
 * @cap: copies that fit, a power of two
 * @n_pages: pages that the caller has for bytes
 */
void kfb_retain_init(struct kfb_retain *r, struct kfb_copy *copies,
		     __u64 *newest, __u32 cap, __u32 n_pages);

/**
 * kfb_retain_add - a write is about to be posted
 * @r: the copies
 * @va: first byte of the write
 * @len: bytes, not 0, in one block
 * @is_zero: all bytes are 0
 * @id: gets the copy's number
 *
 * The caller copies the bytes to kfb_retain_page() before it posts the write.
 *
 * Return: 0; -EBUSY a write to some of these bytes is under way, or too many
 * are: after the next completion; -EAGAIN no room: after a flush; -EMSGSIZE
 * there is never room for so much; -EINVAL they are in two blocks.
 */
int kfb_retain_add(struct kfb_retain *r, __u64 va, __u32 len, _Bool is_zero,
		   __u64 *id);

/**
 * kfb_retain_page - where the bytes of a copy begin
 * @r: the copies
 * @id: the copy's number
 *
 * Return: index of a page; the others follow.
 */
__u32 kfb_retain_page(const struct kfb_retain *r, __u64 id);

/**
 * kfb_retain_done - a write has completed
 * @r: the copies
 * @id: of its copy; nothing happens unless it is POSTED
 *
 * Context: any. The next flush already knows of the write.
 */
void kfb_retain_done(struct kfb_retain *r, __u64 id);

/**
 * kfb_retain_void - a write has not completed, and will not
 * @r: the copies
 * @id: of its copy; nothing happens unless it is POSTED
 */
void kfb_retain_void(struct kfb_retain *r, __u64 id);

/**
 * kfb_retain_durable - a write is durable, whatever became of others
 * @r: the copies
 * @id: of its copy; nothing happens unless it is KEPT
 *
 * One with FUA, when its own flush has succeeded. If it was written once more
 * the flush began after that.
 */
void kfb_retain_durable(struct kfb_retain *r, __u64 id);

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
 */
void kfb_retain_flushed(struct kfb_retain *r, __u64 mark);

/**
 * kfb_retain_drop - blocks are freed, or nothing may be written to them again
 * @r: the copies
 * @va: first byte of the first block
 * @len: bytes of all; the range ends at or below 2^64
 *
 * No write to them is under way. A copy never lies in two blocks.
 */
void kfb_retain_drop(struct kfb_retain *r, __u64 va, __u64 len);

/**
 * kfb_retain_has - is there a copy of any of some bytes?
 * @r: the copies
 * @va: the first of them
 * @len: bytes, not 0; the range ends at or below 2^64
 *
 * Return: true when there is one that is of use, or may come to be.
 */
_Bool kfb_retain_has(const struct kfb_retain *r, __u64 va, __u64 len);

/**
 * kfb_retain_is_filling - is it time for a flush?
 * @r: the copies
 *
 * Return: true when half of the room is used, or there was too little, and a
 * flush would give some back.
 */
_Bool kfb_retain_is_filling(const struct kfb_retain *r);

/**
 * kfb_retain_hold - pages are read, or are not any more
 * @r: the copies
 * @is_read: writes of copies are under way, which read them
 *
 * Meanwhile no page is given back, also of what has come to be of no use.
 */
void kfb_retain_hold(struct kfb_retain *r, _Bool is_read);

/**
 * kfb_retain_rewind - what is not durable is to be written once more
 * @r: the copies
 *
 * It becomes durable by a flush that begins when it has been written. Nothing
 * may be added before that.
 *
 * Return: 0; -EBUSY writes are under way: after the last of them has completed,
 * or is known not to.
 */
int kfb_retain_rewind(struct kfb_retain *r);

/**
 * kfb_retain_next - the next bytes to be written once more
 * @r: the copies, rewound
 * @at: where to look from; moves over what need not be written
 * @steps: steps to take at most, not 0
 * @piece: filled
 *
 * A step passes one copy, or compares one with one newer copy of its block, or
 * finds a piece: whatever is there, a call looks at no more than 2 * @steps
 * copies. The sum of all steps of a replay is not bounded by that: each copy
 * may be compared with all newer ones of its block once for each piece of it.
 * Between two calls the lock may be given up. Copies that are dropped or become
 * durable meanwhile are passed.
 *
 * It is the same piece again until kfb_retain_took().
 *
 * Return: 1; 0: there are none from there on; -EAGAIN: not known after so many
 * steps; call again.
 */
int kfb_retain_next(const struct kfb_retain *r, struct kfb_retain_cursor *at,
		    __u32 steps, struct kfb_retain_piece *piece);

/**
 * kfb_retain_took - bytes are being written once more
 * @at: as kfb_retain_next() left it
 * @len: how many bytes of the piece that kfb_retain_next() found
 */
void kfb_retain_took(struct kfb_retain_cursor *at, __u32 len);

#endif
