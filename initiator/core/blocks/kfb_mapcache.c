// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cache of mappings: one list, of those that can be read and are not pinned, in
 * the order of their last use.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "blocks/kfb_mapcache.h"

#define NONE KFB_MAPCACHE_NONE

/* A stream is at least this many blocks, used in sequence. */
#define STREAM_MIN 2

/* One in so many of the cache's mappings may be made in advance. */
#define AHEAD_SHARE 4

void kfb_mapcache_init(struct kfb_mapcache *c, struct kfb_mapcache_node *nodes,
		       const struct kfb_block *blocks, __u32 n_nodes, __u32 cap)
{
	__u32 i;

	memset(c, 0, sizeof(*c));
	memset(nodes, 0, n_nodes * sizeof(*nodes));
	c->nodes = nodes;
	c->blocks = blocks;
	c->n_nodes = n_nodes;
	c->cap = cap;
	c->limit = cap;
	c->newest = NONE;
	c->oldest = NONE;
	for (i = 0; i < KFB_MAPCACHE_STREAMS; i++)
		c->streams[i].last = NONE;
}

void kfb_mapcache_grow(struct kfb_mapcache *c, struct kfb_mapcache_node *nodes,
		       const struct kfb_block *blocks, __u32 n_nodes)
{
	memcpy(nodes, c->nodes, c->n_nodes * sizeof(*nodes));
	c->nodes = nodes;
	c->blocks = blocks;
	c->n_nodes = n_nodes;
}

void kfb_mapcache_set_limit(struct kfb_mapcache *c, __u32 limit)
{
	if (limit < 1)
		limit = 1;
	c->limit = limit < c->cap ? limit : c->cap;
}

/* ---- the list --------------------------------------------------------- */

static void kfb_add_newest(struct kfb_mapcache *c, __u32 block)
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

static void kfb_del_node(struct kfb_mapcache *c, __u32 block)
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

/* A block comes into use: the stream that it goes on wants the next ones. */
static void kfb_note_use(struct kfb_mapcache *c, __u32 block)
{
	struct kfb_mapcache_stream *stream;
	__u32 left = c->n_nodes - 1 - block;
	__u32 n = c->limit / AHEAD_SHARE;
	__u32 i;

	if (n > KFB_MAPCACHE_AHEAD_MAX)
		n = KFB_MAPCACHE_AHEAD_MAX;
	for (i = 0; i < KFB_MAPCACHE_STREAMS; i++) {
		stream = &c->streams[i];
		if (stream->last == block)
			return;
		if (stream->last == NONE || stream->last + 1 != block)
			continue;
		stream->last = block;
		if (++stream->n < STREAM_MIN)
			return;
		c->ahead = block + 1;
		c->ahead_end = c->ahead + (n < left ? n : left);
		return;
	}
	stream = &c->streams[c->next_stream];
	c->next_stream = (c->next_stream + 1) % KFB_MAPCACHE_STREAMS;
	stream->last = block;
	stream->n = 1;
}

__u32 kfb_mapcache_ahead(struct kfb_mapcache *c)
{
	while (c->ahead < c->ahead_end) {
		__u32 block = c->ahead++;

		if (c->blocks[block].state == KFB_BLOCK_UNMAPPED)
			return block;
	}
	return NONE;
}

/* ---- use -------------------------------------------------------------- */

static _Bool kfb_pin_block(struct kfb_mapcache *c, __u32 block, _Bool *is_first)
{
	struct kfb_mapcache_node *node = &c->nodes[block];

	*is_first = 0;
	if (c->blocks[block].state != KFB_BLOCK_MAPPED)
		return 0;
	if (!node->pins++)
		kfb_del_node(c, block);
	if (node->is_ahead) {
		node->is_ahead = 0;
		c->prefetch_hits++;
		kfb_note_use(c, block);
		*is_first = 1;
	}
	return 1;
}

_Bool kfb_mapcache_get(struct kfb_mapcache *c, __u32 block, _Bool *is_first)
{
	if (!kfb_pin_block(c, block, is_first))
		return 0;
	c->hits++;
	return 1;
}

_Bool kfb_mapcache_pin(struct kfb_mapcache *c, __u32 block)
{
	_Bool is_first;

	if (!kfb_pin_block(c, block, &is_first))
		return 0;
	c->misses++;
	kfb_note_use(c, block);
	return 1;
}

void kfb_mapcache_put(struct kfb_mapcache *c, __u32 block)
{
	if (!--c->nodes[block].pins)
		kfb_add_newest(c, block);
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

/* ---- coming and going ------------------------------------------------- */

int kfb_mapcache_move(struct kfb_mapcache *c, __u32 block,
		      enum kfb_block_event event, enum kfb_block_state *to)
{
	struct kfb_mapcache_node *node = &c->nodes[block];
	enum kfb_block_state state = c->blocks[block].state;
	int does = kfb_block_move(&state, event);

	if (does < 0)
		return does;
	if (does & KFB_BLOCK_DO_TAKE && c->n >= c->limit)
		return -ENOSPC;
	if (does & (KFB_BLOCK_DO_UNLIST | KFB_BLOCK_DO_UNPINNED) && node->pins)
		return -EBUSY;
	*to = state;
	if (does & KFB_BLOCK_DO_TAKE) {
		node->is_ahead = event == KFB_BLOCK_AHEAD;
		c->n++;
	}
	if (does & KFB_BLOCK_DO_LIST)
		kfb_add_newest(c, block);
	if (event == KFB_BLOCK_DONE && does & KFB_BLOCK_DO_LIST)
		c->prefetches += node->is_ahead;
	if (does & KFB_BLOCK_DO_UNLIST)
		kfb_del_node(c, block);
	if (does & KFB_BLOCK_DO_RELEASE) {
		c->n--;
		c->evictions += event != KFB_BLOCK_FAILED;
	}
	return does;
}

__u32 kfb_mapcache_victim(const struct kfb_mapcache *c)
{
	__u32 block = c->oldest;

	while (block != NONE && c->blocks[block].state != KFB_BLOCK_MAPPED)
		block = c->nodes[block].newer;
	return block;
}

_Bool kfb_mapcache_may_take(const struct kfb_mapcache *c)
{
	return c->n < c->limit || kfb_mapcache_victim(c) != NONE;
}
