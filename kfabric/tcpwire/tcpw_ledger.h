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
#ifndef TCPW_LEDGER_H
#define TCPW_LEDGER_H

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
 * struct tcpw_ledger - all that is owed on a connection
 * @acks: acknowledgements
 * @reads: read responses
 * @limit: how many of each at most
 */
struct tcpw_ledger {
	struct tcpw_due_queue acks;
	struct tcpw_due_queue reads;
	__u32 limit;
};

void tcpw_ledger_init(struct tcpw_ledger *ledger, __u32 limit);

/**
 * tcpw_ledger_add_ack - an operation that asked for an ACK is out
 * @ledger: of the connection
 * @due: stays the ledger's until it is taken
 *
 * Context: under the connection's lock.
 * Return: 0, or -ENOSPC at the limit.
 */
int tcpw_ledger_add_ack(struct tcpw_ledger *ledger, struct tcpw_due *due);

/**
 * tcpw_ledger_add_read - a read request is out
 * @ledger: of the connection
 * @due: stays the ledger's until it is taken
 * @bytes: how much was asked for
 *
 * Context: under the connection's lock.
 * Return: 0, or -ENOSPC at the limit.
 */
int tcpw_ledger_add_read(struct tcpw_ledger *ledger, struct tcpw_due *due,
			 __u64 bytes);

/* The next that is due, or NULL; taking it strikes it out. */
struct tcpw_due *tcpw_ledger_take_ack(struct tcpw_ledger *ledger);
struct tcpw_due *tcpw_ledger_first_read(const struct tcpw_ledger *ledger);
struct tcpw_due *tcpw_ledger_take_read(struct tcpw_ledger *ledger);

#endif
