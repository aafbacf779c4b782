// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two queues with a bound.
 *
 * Context: any. Locking: the owner's.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "tcpw_tracker.h"

void tcpw_tracker_init(struct tcpw_tracker *tracker, __u32 limit)
{
	memset(tracker, 0, sizeof(*tracker));
	tracker->limit = limit;
}

static int tcpw_queue_add(struct tcpw_due_queue *queue, __u32 limit,
			  struct tcpw_due *due)
{
	if (queue->n >= limit)
		return -ENOSPC;
	due->next = NULL;
	if (queue->last)
		queue->last->next = due;
	else
		queue->first = due;
	queue->last = due;
	queue->n++;
	return 0;
}

static struct tcpw_due *tcpw_queue_take(struct tcpw_due_queue *queue)
{
	struct tcpw_due *due = queue->first;

	if (!due)
		return NULL;
	queue->first = due->next;
	if (!queue->first)
		queue->last = NULL;
	queue->n--;
	due->next = NULL;
	return due;
}

int tcpw_tracker_add_ack(struct tcpw_tracker *tracker, struct tcpw_due *due)
{
	due->bytes = 0;
	return tcpw_queue_add(&tracker->acks, tracker->limit, due);
}

int tcpw_tracker_add_read(struct tcpw_tracker *tracker, struct tcpw_due *due,
			  __u64 bytes)
{
	due->bytes = bytes;
	return tcpw_queue_add(&tracker->reads, tracker->limit, due);
}

struct tcpw_due *tcpw_tracker_take_ack(struct tcpw_tracker *tracker)
{
	return tcpw_queue_take(&tracker->acks);
}

struct tcpw_due *tcpw_tracker_first_read(const struct tcpw_tracker *tracker)
{
	return tracker->reads.first;
}

struct tcpw_due *tcpw_tracker_take_read(struct tcpw_tracker *tracker)
{
	return tcpw_queue_take(&tracker->reads);
}
