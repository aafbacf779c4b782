// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two queues with a bound.
 *
 * Context: any. Locking: the owner's.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "tcpw_ledger.h"

void tcpw_ledger_init(struct tcpw_ledger *ledger, __u32 limit)
{
	memset(ledger, 0, sizeof(*ledger));
	ledger->limit = limit;
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

int tcpw_ledger_add_ack(struct tcpw_ledger *ledger, struct tcpw_due *due)
{
	due->bytes = 0;
	return tcpw_queue_add(&ledger->acks, ledger->limit, due);
}

int tcpw_ledger_add_read(struct tcpw_ledger *ledger, struct tcpw_due *due,
			 __u64 bytes)
{
	due->bytes = bytes;
	return tcpw_queue_add(&ledger->reads, ledger->limit, due);
}

struct tcpw_due *tcpw_ledger_take_ack(struct tcpw_ledger *ledger)
{
	return tcpw_queue_take(&ledger->acks);
}

struct tcpw_due *tcpw_ledger_first_read(const struct tcpw_ledger *ledger)
{
	return ledger->reads.first;
}

struct tcpw_due *tcpw_ledger_take_read(struct tcpw_ledger *ledger)
{
	return tcpw_queue_take(&ledger->reads);
}
