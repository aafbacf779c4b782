// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The room of a receive that takes several messages.
 *
 * Context: any.
 */
#include "rdmw_multi.h"

/* Less is left than it may have; an empty one takes one message, however small. */
static _Bool rdmw_multi_is_full(const struct rdmw_multi *multi)
{
	return multi->at && (multi->size - multi->at < multi->min ||
			     multi->at == multi->size);
}

_Bool rdmw_multi_take(struct rdmw_multi *multi, __u64 total, __u64 *at)
{
	__u64 left = multi->size - multi->at;

	if (multi->at && total > left) {
		multi->is_over = 1;
		return 0;
	}
	*at = multi->at;
	multi->at += total < left ? total : left;
	multi->users++;
	multi->is_over = rdmw_multi_is_full(multi);
	return 1;
}

_Bool rdmw_multi_done(struct rdmw_multi *multi)
{
	multi->users--;
	return multi->is_over && !multi->users;
}

void rdmw_multi_undo(struct rdmw_multi *multi, __u64 total, __u64 at)
{
	__u64 left = multi->size - at;

	multi->users--;
	if (multi->at != at + (total < left ? total : left))
		return;
	multi->at = at;
	multi->is_over = rdmw_multi_is_full(multi);
}
