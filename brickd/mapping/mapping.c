// SPDX-License-Identifier: BSD-2-Clause
/* The table of mappings: ids, order by address, conflicts. */
#include "brickd/mapping/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/kfb_wire.h"

#define TAG_SHIFT   40
#define COUNTER_MAX ((1ULL << TAG_SHIFT) - 1)
#define CAP_FIRST   64
#define MERGES_MAX  64 /* neighbours in one listed extent */

void brick_mappings_init(struct brick_mappings *all, uint64_t instance_id,
			 bool (*is_ending)(const struct brick_session *session))
{
	memset(all, 0, sizeof(*all));
	all->is_ending = is_ending;
	all->tag = instance_id << TAG_SHIFT;
	if (!all->tag)
		all->tag = 1ULL << TAG_SHIFT;
}

void brick_mappings_fini(struct brick_mappings *all)
{
	free(all->by_id);
	free(all->by_block);
}

struct brick_span brick_mapping_hull(const struct brick_mapping *m)
{
	return (struct brick_span){ m->handles[0].span.first,
				    m->handles[m->n - 1].span.end };
}

static int grow_table(struct brick_mappings *all)
{
	size_t cap = all->cap ? all->cap * 2 : CAP_FIRST;
	struct brick_mapping **list;

	if (all->n < all->cap)
		return 0;
	list = reallocarray(all->by_id, cap, sizeof(*list));
	if (!list)
		return -ENOMEM;
	all->by_id = list;
	list = reallocarray(all->by_block, cap, sizeof(*list));
	if (!list)
		return -ENOMEM;
	all->by_block = list;
	all->cap = cap;
	return 0;
}

/* Index of the first mapping by block that begins at or behind a block. */
static size_t from_block(const struct brick_mappings *all, size_t n,
			 uint64_t block)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all->by_block[mid]->handles[0].span.first < block)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t brick_mappings_from(const struct brick_mappings *all, uint64_t id)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all->by_id[mid]->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void insert_by_block(struct brick_mappings *all, size_t n,
			    struct brick_mapping *m)
{
	struct brick_span hull = brick_mapping_hull(m);
	size_t at = from_block(all, n, hull.first);

	memmove(&all->by_block[at + 1], &all->by_block[at],
		(n - at) * sizeof(*all->by_block));
	all->by_block[at] = m;
	if (hull.end - hull.first > all->widest)
		all->widest = hull.end - hull.first;
}

int brick_mappings_add(struct brick_mappings *all, struct brick_mapping *m)
{
	if (all->last >= COUNTER_MAX)
		return -ENOMEM;
	if (grow_table(all))
		return -ENOMEM;
	m->id = all->tag | ++all->last;
	insert_by_block(all, all->n, m);
	all->by_id[all->n++] = m; /* ids rise */
	return 0;
}

static void remove_at(struct brick_mapping **list, size_t n, size_t at)
{
	memmove(&list[at], &list[at + 1], (n - at - 1) * sizeof(*list));
}

static void remove_by_block(struct brick_mappings *all, struct brick_mapping *m)
{
	size_t at = from_block(all, all->n, m->handles[0].span.first);

	while (all->by_block[at] != m)
		at++;
	remove_at(all->by_block, all->n, at);
}

void brick_mappings_del(struct brick_mappings *all, struct brick_mapping *m)
{
	remove_by_block(all, m);
	remove_at(all->by_id, all->n, brick_mappings_from(all, m->id));
	all->n--;
}

void brick_mappings_take_handles(struct brick_mappings *all,
				 struct brick_mapping *m, size_t first,
				 size_t n, struct brick_handle *out)
{
	memcpy(out, &m->handles[first], n * sizeof(*out));
	if (n == m->n) {
		brick_mappings_del(all, m);
		m->n = 0;
		return;
	}
	remove_by_block(all, m);
	memmove(&m->handles[first], &m->handles[first + n],
		(m->n - first - n) * sizeof(*m->handles));
	m->n -= n;
	insert_by_block(all, all->n - 1, m);
}

int brick_mappings_find(const struct brick_mappings *all, uint64_t id,
			struct brick_mapping **out)
{
	size_t at;

	if ((id & ~COUNTER_MAX) != all->tag)
		return -ESTALE;
	at = brick_mappings_from(all, id);
	if (at == all->n || all->by_id[at]->id != id)
		return -ENOENT;
	*out = all->by_id[at];
	return 0;
}

/* Index of the first handle that ends behind a block. */
static size_t handle_from(const struct brick_mapping *m, uint64_t block)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->handles[mid].span.end <= block)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Index of the first mapping by block that can reach a block. */
static size_t first_reaching(const struct brick_mappings *all, uint64_t block)
{
	return from_block(all, all->n,
			  block > all->widest ? block - all->widest : 0);
}

static bool covers_any(const struct brick_mapping *m, struct brick_span span)
{
	size_t at = handle_from(m, span.first);

	return at < m->n && m->handles[at].span.first < span.end;
}

int brick_mappings_conflict(const struct brick_mappings *all,
			    struct brick_span span, bool shared)
{
	size_t end = from_block(all, all->n, span.end);
	int rc = 0;

	for (size_t i = first_reaching(all, span.first); i < end; i++) {
		const struct brick_mapping *m = all->by_block[i];

		if (!covers_any(m, span))
			continue;
		if (shared && m->flags & KFB_MAP_SHARED)
			continue;
		if (!all->is_ending(m->session))
			return -EBUSY;
		rc = -EAGAIN;
	}
	return rc;
}

static uint32_t extent_flags(const struct brick_mapping *m)
{
	return KFB_EXTENT_MAPPED | (m->flags & KFB_MAP_RW ? KFB_EXTENT_RW : 0) |
	       (m->flags & KFB_MAP_EXCLUSIVE ? KFB_EXTENT_EXCLUSIVE : 0);
}

/* What covers a block, and up to where nothing begins or ends. */
static uint32_t flags_at(const struct brick_mappings *all, uint64_t block,
			 uint64_t *until)
{
	uint32_t flags = 0;

	*until = UINT64_MAX;
	for (size_t i = first_reaching(all, block); i < all->n; i++) {
		const struct brick_mapping *m = all->by_block[i];
		uint64_t border;
		size_t at;

		/* Sorted: what begins behind the nearest border is no use. */
		if (m->handles[0].span.first >= *until)
			break;
		at = handle_from(m, block);
		if (at == m->n)
			continue;
		border = m->handles[at].span.first;
		if (border <= block) {
			flags |= extent_flags(m);
			border = m->handles[at].span.end;
		}
		if (border < *until)
			*until = border;
	}
	return flags;
}

int brick_mappings_union(const struct brick_mappings *all, uint64_t from,
			 struct brick_span *out, uint32_t *flags)
{
	uint64_t until, next;
	uint32_t here;

	here = flags_at(all, from, &until);
	if (!here) {
		if (until == UINT64_MAX)
			return -ENOENT;
		from = until;
		here = flags_at(all, from, &until);
	}
	for (int i = 0; i < MERGES_MAX && until != UINT64_MAX; i++) {
		if (flags_at(all, until, &next) != here)
			break;
		until = next;
	}
	out->first = from;
	out->end = until;
	*flags = here;
	return 0;
}

int brick_mapping_cut(const struct brick_mapping *m, struct brick_span span,
		      size_t *first, size_t *n)
{
	size_t from = handle_from(m, span.first);
	uint64_t block = span.first;
	bool whole;
	size_t at;

	whole = from < m->n && m->handles[from].span.first == span.first;
	for (at = from; at < m->n && block < span.end; at++) {
		if (m->handles[at].span.first > block)
			return -ENOENT;
		block = m->handles[at].span.end;
	}
	if (block < span.end)
		return -ENOENT;
	if (!whole || block != span.end)
		return -EINVAL;
	*first = from;
	*n = at - from;
	return 0;
}
