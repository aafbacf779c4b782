// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which receive takes a message.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "rdmw_match.h"

/* Behind another one, or as the first. */
static void rdmw_want_link(struct rdmw_wants *wants, struct rdmw_want *want,
			   struct rdmw_want *prev)
{
	struct rdmw_want *next = prev ? prev->next : wants->first;

	want->prev = prev;
	want->next = next;
	if (prev)
		prev->next = want;
	else
		wants->first = want;
	if (next)
		next->prev = want;
	else
		wants->last = want;
}

void rdmw_want_add(struct rdmw_wants *wants, struct rdmw_want *want)
{
	want->seq = wants->next_seq++;
	rdmw_want_link(wants, want, wants->last);
}

void rdmw_want_put(struct rdmw_wants *wants, struct rdmw_want *want)
{
	struct rdmw_want *prev = wants->last;

	while (prev && prev->seq > want->seq)
		prev = prev->prev;
	rdmw_want_link(wants, want, prev);
}

void rdmw_want_del(struct rdmw_wants *wants, struct rdmw_want *want)
{
	if (want->prev)
		want->prev->next = want->next;
	else
		wants->first = want->next;
	if (want->next)
		want->next->prev = want->prev;
	else
		wants->last = want->prev;
	want->prev = NULL;
	want->next = NULL;
}

static _Bool rdmw_want_is_for(const struct rdmw_want *want, const __u8 *from)
{
	return !want->from || !memcmp(want->from, from, RDMW_NAME_BYTES);
}

_Bool rdmw_wants_from(const struct rdmw_wants *wants, const __u8 *from)
{
	const struct rdmw_want *want;

	for (want = wants->first; want; want = want->next)
		if (rdmw_want_is_for(want, from))
			return 1;
	return 0;
}

static _Bool rdmw_want_takes(const struct rdmw_want *want,
			     const struct rdmw_label *label)
{
	if (want->is_tagged != label->is_tagged)
		return 0;
	if (want->is_tagged && ((want->tag ^ label->tag) & ~want->ignore))
		return 0;
	return rdmw_want_is_for(want, label->from);
}

struct rdmw_want *rdmw_wants_find(const struct rdmw_wants *wants,
				  const struct rdmw_label *label, __u64 since,
				  __u64 before)
{
	struct rdmw_want *want;

	/* Mostly there is none that such a message has not been shown to. */
	if (!wants->last || wants->last->seq < since)
		return NULL;
	for (want = wants->first; want && want->seq < before; want = want->next)
		if (want->seq >= since && rdmw_want_takes(want, label))
			return want;
	return NULL;
}
