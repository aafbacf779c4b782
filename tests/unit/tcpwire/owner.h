/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An owner of a receive machine that writes down what happens to it, so that
 * two ways of feeding the same bytes can be compared. Used by unit tests and
 * the fuzzer; aborts when the machine breaks a promise of tcpw_rx.h.
 */
#ifndef TCPWIRE_OWNER_H
#define TCPWIRE_OWNER_H

#include <stddef.h>
#include <stdint.h>

#include "tcpw_rx.h"

#define OWNER_DUES 8

/**
 * struct owner - a connection's receiving end
 * @rx: the machine
 * @tracker: what the peer owes
 * @acks: entries for acknowledgements
 * @reads: entries for read responses
 * @seg: where the next payload byte belongs, by our own account
 * @offset: within that segment
 * @left: bytes of payload that are to come
 * @targets: operations that were looked at
 * @log: a line for each operation, with its payload, and for the violation
 * @log_len: its length; what has no room is not written
 */
struct owner {
	struct tcpw_rx rx;
	struct tcpw_tracker tracker;
	struct tcpw_due acks[OWNER_DUES];
	struct tcpw_due reads[OWNER_DUES];
	uint32_t seg;
	uint64_t offset;
	uint64_t left;
	unsigned int targets;
	char log[16384];
	size_t log_len;
};

/* n_acks, n_reads: what the peer owes; the reads are of these lengths. */
void owner_init(struct owner *o, enum tcpw_order order, unsigned int n_acks,
		const uint64_t *reads, unsigned int n_reads);

/* Feeds in pieces of at most chunk bytes; stops at a violation. */
void owner_feed(struct owner *o, const uint8_t *bytes, size_t len,
		size_t chunk);

#endif
