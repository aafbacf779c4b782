// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cache of mappings: one list, of those that are IN and not pinned, in the
 * order of their last use.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_mapcache.h"

#define NONE KFB_MAPCACHE_NONE

/* So many in a row make a row. */
#define ROW_MIN 2

/* Of the cache, what may be mapped in advance: one in so many. */
#define AHEAD_SHARE 4

void kfb_mapcache_init(struct kfb_mapcache *c, struct kfb_mapcache_node *nodes,
		       __u32 n_nodes, __u32 cap)
{
	__u32 i;

	memset(c, 0, sizeof(*c));
	memset(nodes, 0, n_nodes * sizeof(*nodes));
	c->nodes = nodes;
	c->n_nodes = n_nodes;
	c->cap = cap;
	c->limit = cap;
	c->newest = NONE;
	c->oldest = NONE;
	for (i = 0; i < KFB_MAPCACHE_ROWS; i++)
		c->rows[i].last = NONE;
}

void kfb_mapcache_grow(struct kfb_mapcache *c, struct kfb_mapcache_node *nodes,
		       __u32 n_nodes)
{
	memcpy(nodes, c->nodes, c->n_nodes * sizeof(*nodes));
	c->nodes = nodes;
	c->n_nodes = n_nodes;
}

void kfb_mapcache_set_limit(struct kfb_mapcache *c, __u32 limit)
{
	if (limit < 1)
		limit = 1;
	c->limit = limit < c->cap ? limit : c->cap;
}

/* ---- the list --------------------------------------------------------- */

static void add_newest(struct kfb_mapcache *c, __u32 block)
{
	struct kfb_mapcache_node *node = &c->nodes[block];

	node->newer = NONE;
	node->older = c->newest;
	if (c->newest != NONE)
		c->nodes[c->newest].newer = block;
	else
		c->oldest = block;
	c->newest = block;
}

static void del(struct kfb_mapcache *c, __u32 block)
{
	struct kfb_mapcache_node *node = &c->nodes[block];

	if (node->newer != NONE)
		c->nodes[node->newer].older = node->older;
	else
		c->newest = node->older;
	if (node->older != NONE)
		c->nodes[node->older].newer = node->newer;
	else
		c->oldest = node->newer;
}

/* ---- in advance ------------------------------------------------------- */

static __u32 depth(const struct kfb_mapcache *c)
{
	__u32 n = c->limit / AHEAD_SHARE;

	return n < KFB_MAPCACHE_AHEAD_MAX ? n : KFB_MAPCACHE_AHEAD_MAX;
}

static void want_from(struct kfb_mapcache *c, __u32 block)
{
	__u32 left = c->n_nodes - 1 - block;
	__u32 n = depth(c);

	c->ahead = block + 1;
	c->ahead_end = c->ahead + (n < left ? n : left);
}

/* A block is used, and not only once more. */
static void saw(struct kfb_mapcache *c, __u32 block)
{
	struct kfb_mapcache_row *row;
	__u32 i;

	for (i = 0; i < KFB_MAPCACHE_ROWS; i++) {
		row = &c->rows[i];
		if (row->last == block)
			return;
		if (row->last == NONE || row->last + 1 != block)
			continue;
		row->last = block;
		if (++row->n >= ROW_MIN)
			want_from(c, block);
		return;
	}
	row = &c->rows[c->next_row];
	c->next_row = (c->next_row + 1) % KFB_MAPCACHE_ROWS;
	row->last = block;
	row->n = 1;
}

__u32 kfb_mapcache_ahead(struct kfb_mapcache *c)
{
	while (c->ahead < c->ahead_end) {
		__u32 block = c->ahead++;

		if (c->nodes[block].state == KFB_MAPCACHE_OUT)
			return block;
	}
	return NONE;
}

/* ---- use -------------------------------------------------------------- */

static _Bool pin(struct kfb_mapcache *c, __u32 block, _Bool *is_first)
{
	struct kfb_mapcache_node *node = &c->nodes[block];

	*is_first = 0;
	if (node->state != KFB_MAPCACHE_IN)
		return 0;
	if (!node->pins++)
		del(c, block);
	if (node->is_ahead) {
		node->is_ahead = 0;
		c->prefetch_hits++;
		saw(c, block);
		*is_first = 1;
	}
	return 1;
}

_Bool kfb_mapcache_get(struct kfb_mapcache *c, __u32 block, _Bool *is_first)
{
	if (!pin(c, block, is_first))
		return 0;
	c->hits++;
	return 1;
}

_Bool kfb_mapcache_pin(struct kfb_mapcache *c, __u32 block)
{
	_Bool is_first;

	if (!pin(c, block, &is_first))
		return 0;
	c->misses++;
	saw(c, block);
	return 1;
}

void kfb_mapcache_put(struct kfb_mapcache *c, __u32 block)
{
	if (!--c->nodes[block].pins)
		add_newest(c, block);
}

_Bool kfb_mapcache_is_idle(const struct kfb_mapcache *c, __u32 first, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++) {
		if (c->nodes[first + i].pins)
			return 0;
	}
	return 1;
}

/* ---- coming ----------------------------------------------------------- */

int kfb_mapcache_begin(struct kfb_mapcache *c, __u32 block)
{
	if (c->nodes[block].state != KFB_MAPCACHE_OUT)
		return -EEXIST;
	if (c->n >= c->limit)
		return -ENOSPC;
	c->nodes[block].state = KFB_MAPCACHE_COMING;
	c->n++;
	return 0;
}

void kfb_mapcache_done(struct kfb_mapcache *c, __u32 block, _Bool is_ahead)
{
	c->nodes[block].state = KFB_MAPCACHE_IN;
	c->nodes[block].is_ahead = is_ahead;
	c->prefetches += is_ahead;
	add_newest(c, block);
}

void kfb_mapcache_fail(struct kfb_mapcache *c, __u32 block)
{
	c->nodes[block].state = KFB_MAPCACHE_OUT;
	c->n--;
}

/* ---- going ------------------------------------------------------------ */

int kfb_mapcache_take(struct kfb_mapcache *c, __u32 block)
{
	struct kfb_mapcache_node *node = &c->nodes[block];

	if (node->state != KFB_MAPCACHE_IN)
		return -ENOENT;
	if (node->pins)
		return -EBUSY;
	del(c, block);
	node->state = KFB_MAPCACHE_GOING;
	return 0;
}

__u32 kfb_mapcache_victim(struct kfb_mapcache *c)
{
	__u32 block = c->oldest;

	if (block != NONE)
		kfb_mapcache_take(c, block);
	return block;
}

void kfb_mapcache_keep(struct kfb_mapcache *c, __u32 block)
{
	c->nodes[block].state = KFB_MAPCACHE_IN;
	add_newest(c, block);
}

void kfb_mapcache_gone(struct kfb_mapcache *c, __u32 block)
{
	c->nodes[block].state = KFB_MAPCACHE_OUT;
	c->nodes[block].is_ahead = 0;
	c->n--;
	c->evictions++;
}
