/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which receive takes a message: receives that wait, in the order of posting, and
 * what each of them takes. Nothing of it goes over the wire.
 *
 * Context: any; the caller's lock protects a struct rdmw_wants and what is in it.
 */
#ifndef RDMW_MATCH_H
#define RDMW_MATCH_H

#include <linux/types.h>

/* Of who sends: a name is compared byte by byte. */
#define RDMW_NAME_BYTES 28

/**
 * struct rdmw_label - what of a message decides who takes it
 * @from: RDMW_NAME_BYTES of its sender
 * @is_tagged: it has a tag
 * @tag: if so
 */
struct rdmw_label {
	const __u8 *from;
	_Bool is_tagged;
	__u64 tag;
};

/**
 * struct rdmw_want - what a receive takes
 * @prev: of its queue
 * @next: of its queue
 * @seq: the place in the order of posting, which it keeps
 * @from: RDMW_NAME_BYTES of the only sender that it is for; NULL: any
 * @is_tagged: messages with a tag; else those without one
 * @tag: if so
 * @ignore: bits of the tag that do not count
 */
struct rdmw_want {
	struct rdmw_want *prev;
	struct rdmw_want *next;
	__u64 seq;
	const __u8 *from;
	_Bool is_tagged;
	__u64 tag;
	__u64 ignore;
};

/**
 * struct rdmw_wants - receives that wait, oldest first
 * @first: the oldest, or NULL
 * @last: the youngest, or NULL
 * @next_seq: of the next that is added
 */
struct rdmw_wants {
	struct rdmw_want *first;
	struct rdmw_want *last;
	__u64 next_seq;
};

/**
 * rdmw_want_add() - a receive is posted
 * @wants: gets it as the youngest; zeroed they are empty
 * @want: what it takes; in no queue
 */
void rdmw_want_add(struct rdmw_wants *wants, struct rdmw_want *want);

/**
 * rdmw_want_put() - a receive got nothing after all
 * @wants: get it at its old place
 * @want: was in this queue before
 */
void rdmw_want_put(struct rdmw_wants *wants, struct rdmw_want *want);

/**
 * rdmw_want_del() - a receive does not wait any more
 * @wants: that have it
 * @want: the receive
 */
void rdmw_want_del(struct rdmw_wants *wants, struct rdmw_want *want);

/**
 * rdmw_wants_from() - does a receive wait for any message of a sender?
 * @wants: to look at
 * @from: RDMW_NAME_BYTES of the sender
 *
 * Return: one does.
 */
_Bool rdmw_wants_from(const struct rdmw_wants *wants, const __u8 *from);

/**
 * rdmw_wants_find() - the receive that a message goes into
 * @wants: to look at
 * @label: of the message
 * @since: those with a lower number are known not to take it
 * @before: those from this number on do not count yet
 *
 * Return: the oldest one that takes it, or NULL.
 */
struct rdmw_want *rdmw_wants_find(const struct rdmw_wants *wants,
				  const struct rdmw_label *label, __u64 since,
				  __u64 before);

#endif
