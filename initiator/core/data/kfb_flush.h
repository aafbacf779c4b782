/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flush bookkeeping: which queues need a readback or a FLUSH message, and
 * which flush may share one that is already there.
 *
 * Every completed write of a queue gets the queue's next number. A flush op
 * (one readback or one FLUSH message on one queue) covers the writes completed
 * when the newest flush joined it: all of them that are not known to be durable,
 * so that an op stands for itself, whatever becomes of the ops before it. A flush
 * joins
 *
 *   nothing             when everything completed is durable already,
 *   the newest op       when that is posted and covers everything completed by
 *                       now,
 *   the op to be posted otherwise, which covers all that from now on; there is
 *                       at most one per queue.
 *
 * Ops are numbered; an op keeps its number from the first flush that joined it
 * until it is done. The caller keeps who waits for which number (or uses
 * tickets).
 *
 * Context: any; no allocation, no sleep. Locking: the caller's, per queue. Who
 * joins, posts and ends ops may have a lock of its own, and post with that alone:
 * what completes writes looks at no op.
 * Recovery: a failed op leaves its writes dirty: the next flush names them again,
 * and a new power epoch finds them unflushed. kfb_flush_tell() says who hears of
 * it.
 * When the connection is lost, kfb_flush_lost(): what was posted proves nothing
 * any more. Then kfb_fate.h says whether the writes stay dirty here, or are
 * taken out as lost.
 */
#ifndef KFB_FLUSH_H
#define KFB_FLUSH_H

#include <linux/types.h>
#include "data/kfb_dirty.h"

/* Ops of one queue on their way at one time. */
#define KFB_FLUSH_POSTED_MAX 4

/* Places for ops: for those, and for the one that is to be posted. */
#define KFB_FLUSH_PLACES (KFB_FLUSH_POSTED_MAX + 1)

/* Bytes a readback reads: a power of two, so it never needs two handles. */
#define KFB_READBACK_BYTES 8

/* Queues a ticket can wait for. */
#define KFB_FLUSH_QUEUES_MAX 16

/**
 * struct kfb_flush_op - one readback or FLUSH message
 * @id: number of the op; 0: not in use
 * @covers: the number of the last write that the op covers
 * @tail: the last bytes written, for a readback; at most KFB_READBACK_BYTES
 * @dirty: what the op makes durable, for a message
 * @fua: what the op makes durable, of writes that nobody was told of before
 */
struct kfb_flush_op {
	__u64 id;
	__u64 covers;
	struct kfb_flush_range tail;
	struct kfb_dirty dirty;
	struct kfb_dirty fua;
};

/**
 * struct kfb_flush_queue - the bookkeeping of one queue
 * @completed: number of the last completed write
 * @flushed: every write up to this number is durable
 * @last_id: number of the newest op
 * @posted_max: ops on their way at one time
 * @n_posted: how many ops are on their way
 * @newest: the op of number @last_id, if it is not done
 * @next: the newest op when it is to be posted, or NULL
 * @tail: the last bytes written
 * @dirty: written and not covered by an op
 * @fua: written and not covered, but nobody was told yet
 * @ops: those that are on their way, and @next
 */
struct kfb_flush_queue {
	__u64 completed;
	__u64 flushed;
	__u64 last_id;
	__u32 posted_max;
	__u32 n_posted;
	struct kfb_flush_op *newest;
	struct kfb_flush_op *next;
	struct kfb_flush_range tail;
	struct kfb_dirty dirty;
	struct kfb_dirty fua;
	struct kfb_flush_op ops[KFB_FLUSH_PLACES];
};

/**
 * kfb_flush_init - nothing written, nothing posted
 * @queue: the queue
 * @posted_max: ops that may be on their way, 1 to KFB_FLUSH_POSTED_MAX; other
 *	values are brought into this range
 */
void kfb_flush_init(struct kfb_flush_queue *queue, __u32 posted_max);

/**
 * kfb_flush_wrote - a write has completed
 * @queue: the queue it went down
 * @va: first byte
 * @len: bytes; the range ends at or below 2^64; 0 is ignored
 */
void kfb_flush_wrote(struct kfb_flush_queue *queue, __u64 va, __u64 len);

/**
 * kfb_flush_wrote_fua - a write has completed that is to be durable before anybody
 *	is told of it
 * @queue: the queue it went down
 * @va: first byte
 * @len: bytes; the range ends at or below 2^64; 0 is ignored
 *
 * When it is lost it is sent again, and nothing has happened; what lies below it,
 * or has been written over it since, is lost all the same. So they are kept apart.
 */
void kfb_flush_wrote_fua(struct kfb_flush_queue *queue, __u64 va, __u64 len);

/* Are there completed writes that may not be durable? */
_Bool kfb_flush_is_dirty(const struct kfb_flush_queue *queue);

/**
 * kfb_flush_is_dirty_in - is a completed write to a range not durable yet?
 * @queue: the queue
 * @va: first byte
 * @len: bytes, not 0
 *
 * Return: true when one may be.
 */
_Bool kfb_flush_is_dirty_in(const struct kfb_flush_queue *queue, __u64 va,
			    __u64 len);

/**
 * kfb_flush_join - start a flush of a queue
 * @queue: the queue
 *
 * Return: the number of the op to wait for, 0 when there is nothing to do.
 */
__u64 kfb_flush_join(struct kfb_flush_queue *queue);

/**
 * kfb_flush_post - take the op that must be posted now
 * @queue: the queue
 *
 * Post what it says, then kfb_flush_done() when it has completed; when it
 * cannot be posted, kfb_flush_unpost() at once.
 *
 * Return: the op, owned by @queue; NULL: nothing to post (now).
 */
struct kfb_flush_op *kfb_flush_post(struct kfb_flush_queue *queue);

/**
 * kfb_flush_unpost - the op just taken could not be posted
 * @queue: the queue
 * @op: from the last kfb_flush_post()
 *
 * It keeps its number and will be offered again.
 */
void kfb_flush_unpost(struct kfb_flush_queue *queue, struct kfb_flush_op *op);

/* The FLUSH request that an op is, in mode message. */
void kfb_flush_request(const struct kfb_flush_op *op, struct kfb_request *req);

/**
 * kfb_flush_done - a posted op has completed
 * @queue: the queue
 * @id: the op's number
 * @error: 0 or a negative errno
 *
 * Return: 0, or -ENOENT: no such op is on its way.
 */
int kfb_flush_done(struct kfb_flush_queue *queue, __u64 id, int error);

/**
 * kfb_flush_tell - what somebody hears who asked for a flush of everything
 * @untold: -EIO: the brick has said that its medium failed, in answer to a FLUSH
 *	whose end nobody of that kind has heard; 0 afterwards
 * @error: of the ops that this flush has waited for, 0 or a negative errno
 *
 * What a medium did not keep once may be gone although it makes the next flush
 * good: the failure is told, whoever the failed op was for, and whether or not
 * somebody waited for it by the time its answer came.
 *
 * Return: the failure that was not told, or @error.
 */
int kfb_flush_tell(int *untold, int error);

/**
 * kfb_flush_lost - the queue's connection is gone
 * @queue: the queue
 *
 * There is no op any more, posted or not: whoever waits joins again.
 * Their writes are dirty again.
 */
void kfb_flush_lost(struct kfb_flush_queue *queue);

/**
 * kfb_flush_take - take out all completed writes that are not durable
 * @queue: the queue; no op is on its way; nothing is dirty afterwards
 * @told: gets them in addition to what it has
 * @fua: gets those that nobody was told of; may be @told
 *
 * No op is to be posted any more: whoever waits joins again.
 */
void kfb_flush_take(struct kfb_flush_queue *queue, struct kfb_dirty *told,
		    struct kfb_dirty *fua);

/**
 * kfb_flush_take_in - take out those that touched a range
 * @queue: the queue; no op is on its way
 * @va: first byte
 * @len: bytes, not 0
 * @out: gets them in addition to what it has
 *
 * Whoever waits for an op that was to be posted joins again.
 */
void kfb_flush_take_in(struct kfb_flush_queue *queue, __u64 va, __u64 len,
		       struct kfb_dirty *out);

/**
 * kfb_flush_put - completed writes of another queue are this one's to flush
 * @queue: the queue
 * @told: what was taken out there
 * @fua: what was taken out of which nobody was told
 */
void kfb_flush_put(struct kfb_flush_queue *queue, const struct kfb_dirty *told,
		   const struct kfb_dirty *fua);

/**
 * struct kfb_flush_ticket - one flush over several queues
 * @op: per queue, the op it waits for
 * @waiting: bit i: @op[i] is not done
 * @error: the first error, also of ops that it waited for before it began again
 */
struct kfb_flush_ticket {
	__u64 op[KFB_FLUSH_QUEUES_MAX];
	__u32 waiting;
	int error;
};

/* A flush that waits for nothing and has heard nothing. */
void kfb_flush_ticket_init(struct kfb_flush_ticket *ticket);

/**
 * kfb_flush_ticket_again - a flush begins again because a connection died
 * @ticket: waits for nothing afterwards. Its error stays: what a medium did not
 *	keep once may be gone although it makes the next FLUSH good
 */
void kfb_flush_ticket_again(struct kfb_flush_ticket *ticket);

/**
 * kfb_flush_ticket_join - flush a queue, if it has written
 * @ticket: from kfb_flush_ticket_init() or kfb_flush_ticket_again()
 * @index: the queue's, below KFB_FLUSH_QUEUES_MAX
 * @queue: the queue
 *
 * Return: true when there is an op to wait for; when no queue has one the end is
 * @ticket's error.
 */
_Bool kfb_flush_ticket_join(struct kfb_flush_ticket *ticket, __u32 index,
			    struct kfb_flush_queue *queue);

/* Does a flush wait for that op of a queue? */
_Bool kfb_flush_ticket_waits(const struct kfb_flush_ticket *ticket, __u32 queue,
			     __u64 id);

/**
 * kfb_flush_ticket_done - an op of a queue is done
 * @ticket: the ticket
 * @queue: the queue's index
 * @id: the op's number
 * @error: 0 or a negative errno
 *
 * Return: true when this was the last op the ticket waited for.
 */
_Bool kfb_flush_ticket_done(struct kfb_flush_ticket *ticket, __u32 queue,
			    __u64 id, int error);

#endif
