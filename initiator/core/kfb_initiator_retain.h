/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Retained copies: of writes that may not be durable, and writing them again.
 * Which bytes of which copies, and why that reverts nothing, is kfb_retain.h's.
 *
 * A write gets a copy before it is posted. One that finds no room, or another to
 * the same bytes under way, is put off. When half of the room is used a flush of
 * everything begins in the background: nobody waits for it but those who find no
 * room.
 *
 * When completed writes are suspect or gone, what copies say of them is written
 * again before any other operation goes (the port sees to that), and no flush
 * begins. What is written so is dirty like any other write; the flush that
 * somebody waits for covers it. Operations that other queues still have under
 * way are waited for first.
 *
 *   due --usable, no write under way--> running --all written--> (not due)
 *    ^                                     |
 *    '------------- a failure -------------'  and nothing in flight any more
 *
 * Locking: the copies' lock of the port, inside of all others and held over
 * nothing that posts, guards the book; the rest is under the session's. The
 * bytes of a copy are its write's until that is over.
 */
#ifndef KFB_INITIATOR_RETAIN_H
#define KFB_INITIATOR_RETAIN_H

#include "kfb_initiator.h"

/* What the end of a write asks for: bits. */
#define KFB_COPY_FILLS	(1U << 0) /* kfb_initiator_retain_pump() */
#define KFB_COPY_IDLE	(1U << 1) /* kfb_initiator_replay(): it waited for this */
#define KFB_COPY_WANTED (1U << 2) /* who found no room may try again */

/**
 * enum kfb_copy_end - what has become of a write
 * @KFB_COPY_END_VOID: the write was not done; nobody knows what is there
 * @KFB_COPY_END_DONE: the write is placed
 * @KFB_COPY_END_DURABLE: the write is placed and durable
 */
enum kfb_copy_end {
	KFB_COPY_END_VOID,
	KFB_COPY_END_DONE,
	KFB_COPY_END_DURABLE,
};

/**
 * kfb_initiator_retain_open - copies are kept from now on
 * @i: the initiator; nothing has been written
 * @copies: the caller's memory, @cap of them
 * @newest: the caller's memory, @cap of them
 * @cap: a power of two
 * @n_pages: of KFB_RETAIN_PAGE_BYTES that the port has for bytes
 */
void kfb_initiator_retain_open(struct kfb_initiator *i, struct kfb_copy *copies,
			       __u64 *newest, __u32 cap, __u32 n_pages);

/**
 * kfb_initiator_copy - a write is about to be posted
 * @i: the initiator
 * @va: first byte
 * @len: bytes, in one block
 * @is_zero: all bytes are 0
 * @copy: gets the copy's number
 * @page: gets its first page, to copy the bytes to before the write is posted
 *
 * Context: the copies' lock is held, by the port itself: every write comes here.
 * Return: as kfb_retain_add(). After -EAGAIN kfb_initiator_retain_pump().
 */
int kfb_initiator_copy(struct kfb_initiator *i, __u64 va, __u32 len,
		       _Bool is_zero, __u64 *copy, __u32 *page);

/**
 * kfb_initiator_copy_over - the write of a copy is over
 * @i: the initiator
 * @copy: the copy's number; KFB_RETAIN_NONE: nothing happens
 * @end: how
 *
 * Context: as kfb_initiator_copy().
 * Return: KFB_COPY_*.
 */
__u32 kfb_initiator_copy_over(struct kfb_initiator *i, __u64 copy,
			      enum kfb_copy_end end);

/* Begin a flush in the background if it is time for one. */
void kfb_initiator_retain_pump(struct kfb_initiator *i);

/**
 * kfb_initiator_retain_has - is there a copy of what was written to a range?
 * @i: the initiator
 * @va: first byte
 * @len: bytes, not 0
 *
 * Context: any; the copies' lock is not held.
 * Return: true when there is one that is of use, or may come to be.
 */
_Bool kfb_initiator_retain_has(struct kfb_initiator *i, __u64 va, __u64 len);

/**
 * kfb_initiator_retain_drop - the copies of some blocks are of no use
 * @i: the initiator
 * @va: first byte of the first block
 * @len: bytes of all
 *
 * Context: any; the copies' lock is not held.
 */
void kfb_initiator_retain_drop(struct kfb_initiator *i, __u64 va, __u64 len);

/**
 * kfb_initiator_replay - write copies again, if they are due
 * @i: the initiator; one-sided operations may be posted on every queue, and the
 *	port posts no others
 */
void kfb_initiator_replay(struct kfb_initiator *i);

/* There may be room for a copy that could not be posted. */
void kfb_initiator_replay_pump(struct kfb_initiator *i);

/**
 * kfb_initiator_replayed - a write of a copy is over
 * @q: the queue
 * @slot: of ops->write_copy
 * @error: 0 or a negative errno, for kfb_is_at_fault()
 */
void kfb_initiator_replayed(struct kfb_initiator_queue *q, __u32 slot,
			    int error);

#endif
