/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: the table of blocks, the cache of mappings, and who changes them:
 * maps.c, restore.c, blocks.c, discard.c, resize.c and mapcache.c.
 *
 * Context, locking, lifetime: kfbrick.h. Of all these only the map work and
 * the restore work change what is mapped.
 */
#ifndef KFBRICK_BLOCKS_H
#define KFBRICK_BLOCKS_H

#include <linux/atomic.h>
#include <linux/blk_types.h>
#include <linux/completion.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "blocks/kfb_block.h"
#include "blocks/kfb_mapcache.h"
#include "kfb_codec.h"

struct kfbk_device;
struct kfbk_rq;
struct request;

/* A disk is to grow; see resize.c. */
struct kfbk_resize {
	u64 n_blocks;
	int error;
	struct completion done;
};

/* Mappings that the brick wants back; see mapcache.c. */
struct kfbk_give {
	bool is_asked;
	u64 mapping_id;
	u64 first;
	u64 n;
};

/**
 * struct kfbk_cache - not all blocks are mapped at one time; see mapcache.c
 * @cap: mappings at one time; 0: everything is mapped at attach
 * @lock: guards @book
 * @book: which are mapped, and in use
 * @nodes: memory of @book
 * @widen_ms: the map work's: when more mappings are tried again, after the
 *	brick was short of memory
 * @give: under dev->lock
 * @n_asked: times that the brick wanted some back
 * @n_given: mappings that it got
 */
struct kfbk_cache {
	u32 cap;
	spinlock_t lock;
	struct kfb_mapcache book;
	struct kfb_mapcache_node *nodes;
	u64 widen_ms;
	struct kfbk_give give;
	atomic_long_t n_asked;
	atomic_long_t n_given;
};

/* maps.c */
int kfbk_maps_init(struct kfbk_device *dev);
void kfbk_maps_fini(struct kfbk_device *dev);
/* At attach: allocate what is missing, map. Context: process. */
int kfbk_maps_attach(struct kfbk_device *dev);
/* The same for the blocks from one on, in the map work. */
int kfbk_maps_add(struct kfbk_device *dev, u64 first);

/**
 * kfbk_map_run - map consecutive blocks
 * @dev: the device
 * @first: number of the first block
 * @n: blocks
 * @in_mapping: this restores what was mapped before
 *
 * The blocks' table entries become MAPPED in the end, all in one session.
 * Where an entry has a birth, the new one must be the same. Refusals that may
 * pass are tried again for a while.
 *
 * Context: process.
 * Return: 0, -ESTALE (another birth), -ECONNRESET (the session was lost: try
 * again), or what the brick answered.
 */
int kfbk_map_run(struct kfbk_device *dev, u64 first, u64 n, bool in_mapping);
/* The same, on and on where another try may go better. In the map work. */
int kfbk_map_again(struct kfbk_device *dev, u64 first, u64 n);
/* Map what is UNMAPPED of some blocks, again and again or once. */
int kfbk_map_unmapped(struct kfbk_device *dev, u64 first, u64 end, bool again);
/* Words on a MAP that failed, or NULL: that has been said. */
const char *kfbk_map_why(int error);
/* Until when a MAP is tried that is refused for now. */
u64 kfbk_patience_ms(const struct kfbk_device *dev, bool is_patient);
u64 kfbk_block_va(const struct kfbk_device *dev, u64 block);
/* The end of those from the first on that are in its state. */
u64 kfbk_run_end(const struct kfbk_device *dev, u64 first, u64 end);

/**
 * kfbk_block_move - an event; nobody else changes a block's state
 * @dev: the device
 * @block: number of the block
 * @event: what happened
 *
 * Context: dev->lock is held.
 * Return: 0, or what kfb_mapcache_move() says.
 */
int kfbk_block_move(struct kfbk_device *dev, u64 block,
		    enum kfb_block_event event);
/* An event for those of some blocks that are in a state. Likewise. */
void kfbk_blocks_move(struct kfbk_device *dev, u64 first, u64 end,
		      enum kfb_block_state from, enum kfb_block_event event);

/* restore.c */
void kfbk_restore(struct work_struct *work);
/* A block is another's now: the device fails. Context: process. */
void kfbk_changed_hands(struct kfbk_device *dev);

/* discard.c */
/* Whole blocks, none of them in use by others. Context: the map work. */
int kfbk_free_blocks(struct kfbk_device *dev, u64 first, u64 n);
/*
 * One handle, as a whole, whose blocks became UNMAPPING in that session. What
 * cannot be unmapped stays. Context: the map work.
 */
int kfbk_unmap(struct kfbk_device *dev, u64 first, u64 end, u64 session_id);

/* resize.c */
/* What dev->resize wants. Context: the map work. */
void kfbk_resize_run(struct kfbk_device *dev);
/* Context: process. */
int kfbk_resize_wait(struct kfbk_device *dev, u64 n_blocks);

/* blocks.c: for the map work */
int kfbk_free_run(struct kfbk_device *dev, u64 first, u64 n);
blk_status_t kfbk_status_of(int error);
void kfbk_map_work(struct work_struct *work);
/* A request for a block that is not MAPPED. Context: any. */
void kfbk_blocks_wait(struct kfbk_device *dev, struct request *rq);

/* mapcache.c */
int kfbk_cache_open(struct kfbk_device *dev);
void kfbk_cache_close(struct kfbk_device *dev);
/*
 * There is a larger table: new memory, if there is a cache, goes in, and the old
 * one comes out. Context: dev->lock is held.
 */
void kfbk_cache_grow(struct kfbk_device *dev, struct kfb_mapcache_node **nodes,
		     const struct kfb_block *blocks, u64 n_blocks);

/**
 * kfbk_cache_get - pin the block of a request, unless it is already
 * @dev: the device, with a cache
 * @krq: the request; va is that of its step
 *
 * Context: queue_rq().
 * Return: true: the block stays MAPPED until kfbk_cache_put(); false: it is
 * not, the request waits for the map work.
 */
bool kfbk_cache_get(struct kfbk_device *dev, struct kfbk_rq *krq);
/* A request needs its block no more; nothing happens if it has none. */
void kfbk_cache_put(struct kfbk_device *dev, struct kfbk_rq *krq);
/* A waiting request gets its block. Context: dev->lock is held. */
bool kfbk_cache_promise(struct kfbk_device *dev, struct kfbk_rq *krq);
/* Does no request have any of these? Context: any. */
bool kfbk_cache_is_idle(struct kfbk_device *dev, u64 first, u64 n);
/* A block with a mapping that can be read. Context: any. */
bool kfbk_cache_any(struct kfbk_device *dev, u64 *block);

/*
 * In a new session: what nobody uses, and nothing is to be flushed or written
 * again of, is not mapped any more. Context: the restore work.
 */
bool kfbk_cache_lapse(struct kfbk_device *dev, u64 block);

/* For the map work: */

/* A block's FILL, MAP or AHEAD, for which another one may have to go. */
int kfbk_cache_reserve(struct kfbk_device *dev, u64 block,
		       enum kfb_block_event event);
/* Map a block for which there is room. What may pass is waited for. */
int kfbk_cache_map(struct kfbk_device *dev, u64 block);
/* Map a block that is UNMAPPED. */
int kfbk_cache_load(struct kfbk_device *dev, u64 block);
/* Map one block in advance; false: none is wanted. */
bool kfbk_cache_ahead(struct kfbk_device *dev);
/* The brick wants mappings back. Context: dev->lock is held. */
void kfbk_cache_asked(struct kfbk_device *dev, const struct kfb_event *event);
/* It gets what is not in use. */
void kfbk_cache_give(struct kfbk_device *dev);

#endif /* KFBRICK_BLOCKS_H */
