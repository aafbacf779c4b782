/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cache of mappings: which of a device's blocks are mapped when not all of
 * them may be at one time, and which of these goes for another.
 *
 *           begin          done            victim, take          gone
 *   OUT ----------> COMING ----> IN <----------------------> GOING ----> OUT
 *    ^                |                        keep
 *    '----- fail -----'
 *
 * A mapping that is IN is pinned by each request that uses it, or has been
 * promised it. Only what nobody has pinned goes, that which was not used for
 * longest first. COMING and GOING ones take room, too: there are never more
 * mappings than the cache holds.
 *
 * A request that had to wait gets its pin before anybody else is served
 * (kfb_mapcache_pin()), so each is served in its turn however small the cache
 * is.
 *
 * Blocks that are used one after the other are mapped ahead: at the second in a
 * row the next ones are wanted, some steps in advance, each time that one of
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

/* The number of no block; a device has fewer. */
#define KFB_MAPCACHE_NONE (~(__u32)0)

/* Rows of blocks that are followed at one time. */
#define KFB_MAPCACHE_ROWS 4

/* Blocks in advance, at most; and never more than a quarter of the cache. */
#define KFB_MAPCACHE_AHEAD_MAX 4

enum kfb_mapcache_state {
	KFB_MAPCACHE_OUT, /* not mapped */
	KFB_MAPCACHE_COMING, /* being mapped */
	KFB_MAPCACHE_IN, /* mapped */
	KFB_MAPCACHE_GOING, /* about to be unmapped */
};

/**
 * struct kfb_mapcache_node - what is known of a block; private
 * @newer: IN and not pinned: the block that was used next
 * @older: likewise, before
 * @pins: requests that use it
 * @state: &enum kfb_mapcache_state
 * @is_ahead: mapped in advance and not used yet
 */
struct kfb_mapcache_node {
	__u32 newer;
	__u32 older;
	__u32 pins;
	__u8 state;
	_Bool is_ahead;
};

/* Blocks used one after the other; private. */
struct kfb_mapcache_row {
	__u32 last;
	__u32 n;
};

/**
 * struct kfb_mapcache - the mappings of a device
 * @nodes: the caller's memory
 * @n_nodes: blocks of the device
 * @cap: mappings at one time, at most
 * @limit: for now; at most @cap
 * @n: mappings that are not OUT
 * @newest: of those that are IN and not pinned
 * @oldest: likewise
 * @rows: that are followed
 * @next_row: the one that is replaced next
 * @ahead: the next block that is wanted in advance
 * @ahead_end: the first one behind those
 * @hits: requests that found their mapping
 * @misses: requests that had to wait for it
 * @evictions: mappings that went
 * @prefetches: mappings made in advance
 * @prefetch_hits: of those, used
 */
struct kfb_mapcache {
	struct kfb_mapcache_node *nodes;
	__u32 n_nodes;
	__u32 cap;
	__u32 limit;
	__u32 n;
	__u32 newest;
	__u32 oldest;
	struct kfb_mapcache_row rows[KFB_MAPCACHE_ROWS];
	__u32 next_row;
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
 * @n_nodes: blocks of the device, fewer than KFB_MAPCACHE_NONE
 * @cap: mappings at one time, at least 1
 *
 * Context: any.
 */
void kfb_mapcache_init(struct kfb_mapcache *c, struct kfb_mapcache_node *nodes,
		       __u32 n_nodes, __u32 cap);

/**
 * kfb_mapcache_grow - the device has more blocks
 * @c: the cache
 * @nodes: the new memory, zeroed behind @c->n_nodes: the caller's lock is held for
 *	as long as this takes; the old one is the caller's again
 * @n_nodes: blocks of the device, not fewer than before
 *
 * Context: any.
 */
void kfb_mapcache_grow(struct kfb_mapcache *c, struct kfb_mapcache_node *nodes,
		       __u32 n_nodes);

/**
 * kfb_mapcache_set_limit - hold fewer mappings than there is room for
 * @c: the cache
 * @limit: so many; brought into the range of 1 to @cap
 *
 * What is there stays; nothing comes before enough has gone.
 *
 * Context: any.
 */
void kfb_mapcache_set_limit(struct kfb_mapcache *c, __u32 limit);

/**
 * kfb_mapcache_get - a request needs a block
 * @c: the cache
 * @block: which
 * @is_first: set when it was mapped in advance and is used for the first time:
 *	there may be more to map, kfb_mapcache_ahead()
 *
 * Context: any.
 * Return: true: it is IN, and pinned once more.
 */
_Bool kfb_mapcache_get(struct kfb_mapcache *c, __u32 block, _Bool *is_first);

/**
 * kfb_mapcache_pin - give a block to a request that waited for it
 * @c: the cache
 * @block: which
 *
 * Context: any.
 * Return: true: it is IN, and pinned once more.
 */
_Bool kfb_mapcache_pin(struct kfb_mapcache *c, __u32 block);

/**
 * kfb_mapcache_put - a request does not need its block any more
 * @c: the cache
 * @block: which; pinned
 *
 * Context: any.
 */
void kfb_mapcache_put(struct kfb_mapcache *c, __u32 block);

/**
 * kfb_mapcache_begin - a block is about to be mapped
 * @c: the cache
 * @block: which
 *
 * Context: any.
 * Return: 0, it is COMING; -EEXIST it was not OUT; -ENOSPC there is no room:
 * one has to go first.
 */
int kfb_mapcache_begin(struct kfb_mapcache *c, __u32 block);

/**
 * kfb_mapcache_done - a block that was COMING is mapped
 * @c: the cache
 * @block: which; nobody has pinned it yet
 * @is_ahead: nobody waits for it
 *
 * Context: any.
 */
void kfb_mapcache_done(struct kfb_mapcache *c, __u32 block, _Bool is_ahead);

/**
 * kfb_mapcache_fail - a block that was COMING could not be mapped
 * @c: the cache
 * @block: which
 *
 * Context: any.
 */
void kfb_mapcache_fail(struct kfb_mapcache *c, __u32 block);

/**
 * kfb_mapcache_victim - choose a mapping that goes
 * @c: the cache
 *
 * Context: any.
 * Return: the block that was not used for longest, now GOING;
 * KFB_MAPCACHE_NONE: all are pinned.
 */
__u32 kfb_mapcache_victim(struct kfb_mapcache *c);

/**
 * kfb_mapcache_take - a certain mapping goes
 * @c: the cache
 * @block: which
 *
 * Context: any.
 * Return: 0, it is GOING; -ENOENT it is not IN; -EBUSY it is pinned.
 */
int kfb_mapcache_take(struct kfb_mapcache *c, __u32 block);

/**
 * kfb_mapcache_keep - what was GOING stays
 * @c: the cache
 * @block: which
 *
 * Context: any.
 */
void kfb_mapcache_keep(struct kfb_mapcache *c, __u32 block);

/**
 * kfb_mapcache_gone - what was GOING is unmapped
 * @c: the cache
 * @block: which
 *
 * Context: any.
 */
void kfb_mapcache_gone(struct kfb_mapcache *c, __u32 block);

/**
 * kfb_mapcache_is_idle - does nobody use any of some blocks?
 * @c: the cache
 * @first: the first of them
 * @n: how many
 *
 * Context: any.
 * Return: true when none is pinned.
 */
_Bool kfb_mapcache_is_idle(const struct kfb_mapcache *c, __u32 first, __u32 n);

/**
 * kfb_mapcache_ahead - the next block that is to be mapped in advance
 * @c: the cache
 *
 * Each is named once; whether it can be mapped is the caller's to know.
 *
 * Context: any.
 * Return: a block that is OUT, or KFB_MAPCACHE_NONE.
 */
__u32 kfb_mapcache_ahead(struct kfb_mapcache *c);

#endif
