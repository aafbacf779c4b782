// SPDX-License-Identifier: BSD-2-Clause
/* Which addresses a client may use: merging and checking. */
#include "brickd/config/grants.h"

#include <errno.h>
#include <string.h>

/* Inserts a span into a sorted, disjoint list and merges what touches it. */
static void spans_insert(struct brick_span *list, uint32_t *n,
			 struct brick_span add)
{
	uint32_t from = 0, to;

	while (from < *n && list[from].end < add.first)
		from++;
	for (to = from; to < *n && list[to].first <= add.end; to++) {
		if (list[to].first < add.first)
			add.first = list[to].first;
		if (list[to].end > add.end)
			add.end = list[to].end;
	}
	memmove(&list[from + 1], &list[to], (*n - to) * sizeof(*list));
	list[from] = add;
	*n = *n - (to - from) + 1;
}

int brick_grants_add(struct brick_grants *g, const struct kfb_grant *grant)
{
	struct brick_span span = brick_span_of(grant->va, grant->n_blocks);

	if (g->n >= KFB_GRANTS_MAX)
		return -ENOSPC;
	g->list[g->n++] = *grant;
	/* Never more spans than grants: each insertion adds at most one. */
	spans_insert(g->ro, &g->n_ro, span);
	if (grant->access == KFB_GRANT_RW)
		spans_insert(g->rw, &g->n_rw, span);
	return 0;
}

bool brick_grants_allow(const struct brick_grants *g, struct brick_span span,
			bool write)
{
	const struct brick_span *list = write ? g->rw : g->ro;
	uint32_t n = write ? g->n_rw : g->n_ro;

	for (uint32_t i = 0; i < n; i++)
		if (list[i].first <= span.first && span.end <= list[i].end)
			return true;
	return false;
}
