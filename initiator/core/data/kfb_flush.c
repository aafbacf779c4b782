// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flush bookkeeping of one queue, and tickets over several.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "data/kfb_flush.h"

void kfb_flush_init(struct kfb_flush_queue *queue, __u32 posted_max)
{
	memset(queue, 0, sizeof(*queue));
	if (posted_max < 1)
		posted_max = 1;
	if (posted_max > KFB_FLUSH_POSTED_MAX)
		posted_max = KFB_FLUSH_POSTED_MAX;
	queue->posted_max = posted_max;
}

static void kfb_flush_note(struct kfb_flush_queue *queue, struct kfb_dirty *set,
			   __u64 va, __u64 len)
{
	__u64 last = va + (len - 1);
	__u64 tail = last & ~(__u64)(KFB_READBACK_BYTES - 1);

	if (!len)
		return;
	queue->completed++;
	kfb_dirty_add(set, va, len);
	/* The aligned word of the last byte, as far as it was written. */
	queue->tail.va = tail < va ? va : tail;
	queue->tail.len = last - queue->tail.va + 1;
}

void kfb_flush_wrote(struct kfb_flush_queue *queue, __u64 va, __u64 len)
{
	kfb_flush_note(queue, &queue->dirty, va, len);
}

void kfb_flush_wrote_fua(struct kfb_flush_queue *queue, __u64 va, __u64 len)
{
	kfb_flush_note(queue, &queue->fua, va, len);
}

_Bool kfb_flush_is_dirty(const struct kfb_flush_queue *queue)
{
	return queue->completed > queue->flushed;
}

_Bool kfb_flush_is_dirty_in(const struct kfb_flush_queue *queue, __u64 va,
			    __u64 len)
{
	__u32 i;

	if (!kfb_flush_is_dirty(queue))
		return 0;
	if (kfb_dirty_overlaps(&queue->dirty, va, len) ||
	    kfb_dirty_overlaps(&queue->fua, va, len))
		return 1;
	for (i = 0; i < KFB_FLUSH_PLACES; i++) {
		const struct kfb_flush_op *op = &queue->ops[i];

		if (op->id && op->covers > queue->flushed &&
		    (kfb_dirty_overlaps(&op->dirty, va, len) ||
		     kfb_dirty_overlaps(&op->fua, va, len)))
			return 1;
	}
	return 0;
}

/* An op to be posted. It covers nothing but what others may fail to flush. */
static void kfb_flush_add_op(struct kfb_flush_queue *queue)
{
	struct kfb_flush_op *op = queue->ops;
	__u32 left = queue->n_posted;
	__u32 i;

	while (op->id)
		op++;
	kfb_dirty_clear(&op->dirty);
	kfb_dirty_clear(&op->fua);
	for (i = 0; left && i < KFB_FLUSH_PLACES; i++) {
		if (!queue->ops[i].id)
			continue;
		left--;
		if (queue->ops[i].covers > queue->flushed) {
			kfb_dirty_merge(&op->dirty, &queue->ops[i].dirty);
			kfb_dirty_merge(&op->fua, &queue->ops[i].fua);
		}
	}
	op->id = ++queue->last_id;
	queue->newest = op;
	queue->next = op;
}

__u64 kfb_flush_join(struct kfb_flush_queue *queue)
{
	struct kfb_flush_op *op;

	if (!kfb_flush_is_dirty(queue))
		return 0;
	/* Posted before a write completed: does not cover it, nor do older ones. */
	if (queue->newest && queue->newest->covers == queue->completed)
		return queue->last_id;
	if (!queue->next)
		kfb_flush_add_op(queue);
	op = queue->next;
	kfb_dirty_move(&op->dirty, &queue->dirty);
	kfb_dirty_move(&op->fua, &queue->fua);
	op->covers = queue->completed;
	op->tail = queue->tail;
	return op->id;
}

struct kfb_flush_op *kfb_flush_post(struct kfb_flush_queue *queue)
{
	struct kfb_flush_op *op = queue->next;

	if (!op || queue->n_posted == queue->posted_max)
		return NULL;
	queue->next = NULL;
	queue->n_posted++;
	return op;
}

void kfb_flush_unpost(struct kfb_flush_queue *queue, struct kfb_flush_op *op)
{
	queue->next = op;
	queue->n_posted--;
}

void kfb_flush_request(const struct kfb_flush_op *op, struct kfb_request *req)
{
	struct kfb_dirty both = op->dirty;

	memset(req, 0, sizeof(*req));
	req->op = KFB_OP_FLUSH;
	/* Neighbours of both sets are one range, as those of one are. */
	kfb_dirty_merge(&both, &op->fua);
	if (both.all) {
		req->u.flush.flags = KFB_FLUSH_ALL;
		return;
	}
	req->u.flush.n_ranges = both.n;
	memcpy(req->u.flush.ranges, both.ranges,
	       both.n * sizeof(both.ranges[0]));
}

/* What an op has not made durable is to be flushed once more. */
static void kfb_flush_give_back(struct kfb_flush_queue *queue,
				const struct kfb_flush_op *op)
{
	if (op->covers <= queue->flushed)
		return;
	kfb_dirty_merge(&queue->dirty, &op->dirty);
	kfb_dirty_merge(&queue->fua, &op->fua);
}

int kfb_flush_done(struct kfb_flush_queue *queue, __u64 id, int error)
{
	struct kfb_flush_op *op = NULL;
	__u32 i;

	for (i = 0; id && !op && i < KFB_FLUSH_PLACES; i++) {
		if (queue->ops[i].id == id)
			op = &queue->ops[i];
	}
	if (!op || op == queue->next)
		return -ENOENT;

	op->id = 0;
	queue->n_posted--;
	if (op == queue->newest)
		queue->newest = NULL;
	if (error) {
		kfb_flush_give_back(queue, op);
		return 0;
	}
	if (op->covers > queue->flushed)
		queue->flushed = op->covers;
	if (!kfb_flush_is_dirty(queue)) {
		kfb_dirty_clear(&queue->dirty);
		kfb_dirty_clear(&queue->fua);
	}
	return 0;
}

int kfb_flush_tell(int *untold, int error)
{
	if (*untold)
		error = *untold;
	*untold = 0;
	return error;
}

void kfb_flush_lost(struct kfb_flush_queue *queue)
{
	__u32 i;

	for (i = 0; i < KFB_FLUSH_PLACES; i++) {
		struct kfb_flush_op *op = &queue->ops[i];

		if (op->id)
			kfb_flush_give_back(queue, op);
		op->id = 0;
	}
	queue->n_posted = 0;
	queue->newest = NULL;
	queue->next = NULL;
}

void kfb_flush_take(struct kfb_flush_queue *queue, struct kfb_dirty *told,
		    struct kfb_dirty *fua)
{
	kfb_flush_lost(queue);
	if (kfb_flush_is_dirty(queue)) {
		kfb_dirty_merge(told, &queue->dirty);
		kfb_dirty_merge(fua, &queue->fua);
	}
	kfb_dirty_clear(&queue->dirty);
	kfb_dirty_clear(&queue->fua);
	queue->flushed = queue->completed;
}

/* A readback is to read where something was written that is to be flushed. */
static void kfb_flush_point_tail(struct kfb_flush_queue *queue,
				 const struct kfb_dirty *ranges)
{
	const struct kfb_flush_range *last;

	if (!ranges->n)
		return;
	last = &ranges->ranges[ranges->n - 1];
	queue->tail.va = last->va + (last->len - 1);
	queue->tail.len = 1;
}

void kfb_flush_take_in(struct kfb_flush_queue *queue, __u64 va, __u64 len,
		       struct kfb_dirty *out)
{
	_Bool is_wanted = queue->next != NULL;

	if (!kfb_flush_is_dirty(queue))
		return;
	kfb_flush_lost(queue);
	kfb_dirty_cut(&queue->dirty, va, len, out);
	kfb_dirty_cut(&queue->fua, va, len, out);
	if (kfb_dirty_is_empty(&queue->dirty) &&
	    kfb_dirty_is_empty(&queue->fua)) {
		kfb_flush_take(queue, out, out);
		return;
	}
	kfb_flush_point_tail(queue, &queue->fua);
	kfb_flush_point_tail(queue, &queue->dirty);
	if (is_wanted)
		kfb_flush_join(queue);
}

void kfb_flush_put(struct kfb_flush_queue *queue, const struct kfb_dirty *told,
		   const struct kfb_dirty *fua)
{
	if (kfb_dirty_is_empty(told) && kfb_dirty_is_empty(fua))
		return;
	kfb_dirty_merge(&queue->dirty, told);
	kfb_dirty_merge(&queue->fua, fua);
	queue->completed++;
	kfb_flush_point_tail(queue, fua);
	kfb_flush_point_tail(queue, told);
}

void kfb_flush_ticket_init(struct kfb_flush_ticket *ticket)
{
	/* An op's number counts while its bit does. */
	ticket->waiting = 0;
	ticket->error = 0;
}

void kfb_flush_ticket_again(struct kfb_flush_ticket *ticket)
{
	ticket->waiting = 0;
}

_Bool kfb_flush_ticket_join(struct kfb_flush_ticket *ticket, __u32 index,
			    struct kfb_flush_queue *queue)
{
	ticket->op[index] = kfb_flush_join(queue);
	if (ticket->op[index])
		ticket->waiting |= (__u32)1 << index;
	return ticket->op[index] != 0;
}

_Bool kfb_flush_ticket_waits(const struct kfb_flush_ticket *ticket, __u32 queue,
			     __u64 id)
{
	return queue < KFB_FLUSH_QUEUES_MAX &&
	       ticket->waiting & (__u32)1 << queue && ticket->op[queue] == id;
}

_Bool kfb_flush_ticket_done(struct kfb_flush_ticket *ticket, __u32 queue,
			    __u64 id, int error)
{
	if (!kfb_flush_ticket_waits(ticket, queue, id))
		return 0;
	ticket->waiting &= ~((__u32)1 << queue);
	if (error && !ticket->error)
		ticket->error = error;
	return !ticket->waiting;
}
