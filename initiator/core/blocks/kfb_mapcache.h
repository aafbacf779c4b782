/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cache of mappings: which of a device's blocks are mapped when not all of
 * them may be at one time, and which of these goes for another.
 *
 * The states of blocks, and their moves, are those of kfb_block.h. A mapping
 * takes room from the move that begins it to the one that ends it, so there are
 * never more than the cache holds. One that is MAPPED is pinned by each request
 * that uses it, or waits for it. What is pinned is not unmapped; of what
 * nobody has pinned that goes first which was not used for longest.
 *
 * A request that had to wait gets its pin before anything is evicted for others
 * (kfb_mapcache_pin()), so each is served in its turn however small the cache
 * is.
 *
 * Blocks that are used one after the other are mapped ahead: at the second in a
 * stream the next ones are wanted, some steps in advance, each time that one of
 * them is used for the first time.
 *
 * Blocks are numbers below that of the nodes, which are the caller's memory,
 * one for each block of the device.
 *
 * Context: any; no allocation, no sleep. Locking: the caller's.
 */
#ifndef KFB_MAPCACHE_H
#define KFB_MAPCACHE_H

#include <linux/types.h>

#include "blocks/kfb_block.h"

/* The number of no block; a device has fewer. */
#define KFB_MAPCACHE_NONE (~(__u32)0)

/* Readahead streams: runs of blocks that are followed at one time. */
#define KFB_MAPCACHE_STREAMS 4

/* Blocks in advance, at most; and never more than a quarter of the cache. */
#define KFB_MAPCACHE_AHEAD_MAX 4

/**
 * struct kfb_mapcache_node - what is known of a block; private
 * @newer: of a block that can be read and is not pinned: which was used next
 * @older: of such a block: which was used before
 * @pins: requests that use it
 * @is_ahead: mapped in advance and not used yet
 */
struct kfb_mapcache_node {
	__u32 newer;
	__u32 older;
	__u32 pins;
	_Bool is_ahead;
};

/* Blocks used one after the other; private. */
struct kfb_mapcache_stream {
	__u32 last;
	__u32 n;
};

/**
 * struct kfb_mapcache - the mappings of a device
 * @nodes: the caller's memory
 * @blocks: the caller's table
 * @n_nodes: blocks of the device
 * @cap: mappings at one time, at most
 * @limit: mappings at one time for now; at most @cap
 * @n: mappings that take room
 * @newest: of the blocks that can be read and are not pinned
 * @oldest: of the blocks that can be read and are not pinned
 * @streams: readahead streams that are followed
 * @next_stream: the stream that is replaced next
 * @ahead: the next block that is wanted in advance
 * @ahead_end: the first block behind those that are wanted in advance
 * @hits: requests that found their mapping
 * @misses: requests that had to wait for their mapping
 * @evictions: mappings that went
 * @prefetches: mappings made in advance
 * @prefetch_hits: mappings made in advance that were used
 */
struct kfb_mapcache {
	struct kfb_mapcache_node *nodes;
	const struct kfb_block *blocks;
	__u32 n_nodes;
	__u32 cap;
	__u32 limit;
	__u32 n;
	__u32 newest;
	__u32 oldest;
	struct kfb_mapcache_stream streams[KFB_MAPCACHE_STREAMS];
	__u32 next_stream;
	__u32 ahead;
	__u32 ahead_end;
	__u64 hits;
	__u64 misses;
	__u64 evictions;
	__u64 prefetches;
	__u64 prefetch_hits;
};

/**
 * kfb_mapcache_init - nothing is mapped
 * @c: the cache
 * @nodes: the caller's memory; need not be zero
 * @blocks: the table, with no block that is mapped
 * @n_nodes: blocks of the device, fewer than KFB_MAPCACHE_NONE
 * @cap: mappings at one time, at least 1
 */
void kfb_mapcache_init(struct kfb_mapcache *c, struct kfb_mapcache_node *nodes,
		       const struct kfb_block *blocks, __u32 n_nodes,
		       __u32 cap);

/**
 * kfb_mapcache_grow - the device has more blocks
 * @c: the cache
 * @nodes: the new memory, zeroed behind @c->n_nodes: the caller's lock is held for
 *	as long as this takes; the old one is the caller's again
 * @blocks: the new table, which begins like the old one
 * @n_nodes: blocks of the device, not fewer than before
 */
void kfb_mapcache_grow(struct kfb_mapcache *c, struct kfb_mapcache_node *nodes,
		       const struct kfb_block *blocks, __u32 n_nodes);

/**
 * kfb_mapcache_set_limit - hold fewer mappings than there is room for
 * @c: the cache
 * @limit: mappings at one time; brought into the range of 1 to @cap
 *
 * What is there stays; nothing comes before enough has gone.
 */
void kfb_mapcache_set_limit(struct kfb_mapcache *c, __u32 limit);

/**
 * kfb_mapcache_get - a request needs a block
 * @c: the cache
 * @block: number of the block
 * @is_first: set when the block was mapped in advance and is used for the first time:
 *	there may be more to map, kfb_mapcache_ahead()
 *
 * Return: true: it is MAPPED, and pinned once more.
 */
_Bool kfb_mapcache_get(struct kfb_mapcache *c, __u32 block, _Bool *is_first);

/*
 * Give a block to a request that waited for it. True: it is MAPPED, and pinned
 * once more.
 */
_Bool kfb_mapcache_pin(struct kfb_mapcache *c, __u32 block);

/* A request does not need its block, which it has pinned, any more. */
void kfb_mapcache_put(struct kfb_mapcache *c, __u32 block);

/**
 * kfb_mapcache_move - an event
 * @c: the cache
 * @block: number of the block
 * @event: what happened
 * @to: the block's new state, which the caller stores before it lets go of its
 *	lock; unchanged if the event is refused
 *
 * Return: KFB_BLOCK_DO_*; -EINVAL nothing of the kind can happen now; -ENOSPC
 * there is no room: another one has to go first; -EBUSY the block is pinned.
 */
int kfb_mapcache_move(struct kfb_mapcache *c, __u32 block,
		      enum kfb_block_event event, enum kfb_block_state *to);

/**
 * kfb_mapcache_victim - choose a mapping that can be evicted
 * @c: the cache
 *
 * Return: the block that was not used for longest of those that are MAPPED and
 * not pinned, or KFB_MAPCACHE_NONE.
 */
__u32 kfb_mapcache_victim(const struct kfb_mapcache *c);

/**
 * kfb_mapcache_may_take - whether another block can be mapped
 * @c: the cache
 *
 * Return: true: there is room, or there is after the victim has gone; false: all
 * are pinned, or on their way. A block that is invalidated makes room without
 * having been a victim.
 */
_Bool kfb_mapcache_may_take(const struct kfb_mapcache *c);

/* True: none of @n blocks from @first on is pinned. */
_Bool kfb_mapcache_is_idle(const struct kfb_mapcache *c, __u32 first, __u32 n);

/**
 * kfb_mapcache_ahead - the next block that is to be mapped in advance
 * @c: the cache
 *
 * Each is named once; whether it can be mapped is the caller's to know.
 *
 * Return: a block that is UNMAPPED, or KFB_MAPCACHE_NONE.
 */
__u32 kfb_mapcache_ahead(struct kfb_mapcache *c);

#endif
