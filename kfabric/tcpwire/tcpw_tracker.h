/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the peer still owes us, in the order in which it must come: an
 * acknowledgement for each operation that asked for one, a response for each
 * read. The wire has no request numbers: order is all there is, and what comes
 * unasked is a violation.
 *
 * Entries are the owner's, usually part of its own operation; one waits for
 * one thing at a time. An operation is entered when its last byte was given to
 * the socket, not before: the peer can answer no earlier.
 *
 * Context: any. Locking: the owner's lock of the connection.
 */
#ifndef TCPW_TRACKER_H
#define TCPW_TRACKER_H

#include <linux/types.h>

/**
 * struct tcpw_due - something that is owed
 * @next: what is owed after it
 * @bytes: of a read: how long its response must be
 */
struct tcpw_due {
	struct tcpw_due *next;
	__u64 bytes;
};

struct tcpw_due_queue {
	struct tcpw_due *first;
	struct tcpw_due *last;
	__u32 n;
};

/**
 * struct tcpw_tracker - all that is owed on a connection
 * @acks: acknowledgements
 * @reads: read responses
 * @limit: how many of each at most
 */
struct tcpw_tracker {
	struct tcpw_due_queue acks;
	struct tcpw_due_queue reads;
	__u32 limit;
};

void tcpw_tracker_init(struct tcpw_tracker *tracker, __u32 limit);

/**
 * tcpw_tracker_add_ack - an operation that asked for an ACK is out
 * @tracker: of the connection
 * @due: stays the tracker's until it is taken
 *
 * Context: under the connection's lock.
 * Return: 0, or -ENOSPC at the limit.
 */
int tcpw_tracker_add_ack(struct tcpw_tracker *tracker, struct tcpw_due *due);

/**
 * tcpw_tracker_add_read - a read request is out
 * @tracker: of the connection
 * @due: stays the tracker's until it is taken
 * @bytes: how much was asked for
 *
 * Context: under the connection's lock.
 * Return: 0, or -ENOSPC at the limit.
 */
int tcpw_tracker_add_read(struct tcpw_tracker *tracker, struct tcpw_due *due,
			  __u64 bytes);

/* The next that is due, or NULL; taking it strikes it out. */
struct tcpw_due *tcpw_tracker_take_ack(struct tcpw_tracker *tracker);
struct tcpw_due *tcpw_tracker_first_read(const struct tcpw_tracker *tracker);
struct tcpw_due *tcpw_tracker_take_read(struct tcpw_tracker *tracker);

#endif
