/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: the table of blocks, the cache of mappings, and who changes them. Only
 * the map work and the restore work change what is mapped.
 */
#ifndef KFBRICK_MAPPINGS_H
#define KFBRICK_MAPPINGS_H

#include "session/kfb_refusal.h"
#include "../device/device.h"

/* maps.c */
/* NULL, or why a disk cannot have so many blocks, for people. Context: any. */
const char *kfbk_maps_check(u64 n_blocks);
int kfbk_maps_init(struct kfbk_device *dev);
void kfbk_maps_fini(struct kfbk_device *dev);

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
/* kfbk_map_run() while another try may go better. Context: the map work. */
int kfbk_map_again(struct kfbk_device *dev, u64 first, u64 n,
		   enum kfb_patience who);
/*
 * Map what is UNMAPPED of some blocks, as kfbk_map_again(); KFB_PATIENCE_NONE: once. What
 * a FREE without an answer has freed is ABSENT then.
 */
int kfbk_map_unmapped(struct kfbk_device *dev, u64 first, u64 end,
		      enum kfb_patience who);
/* Until when a MAP is tried that is refused for now. */
u64 kfbk_map_deadline_ms(const struct kfbk_device *dev,
			 bool is_waiting_for_brick);
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
/* An event for those blocks that are @from. Context: dev->lock is held. */
void kfbk_blocks_move(struct kfbk_device *dev, u64 first, u64 end,
		      enum kfb_block_state from, enum kfb_block_event event);

/*
 * Take dev->lock when mappings and copies stay as they are while it is held:
 * no restore work runs and nothing is written again. Context: the map work.
 * Return: 0, or -EIO: the session is over. The lock is held either way.
 */
int kfbk_lock_settled(struct kfbk_device *dev) __acquires(&dev->lock);

/*
 * One handle, as a whole, whose blocks became UNMAPPING in that session. What
 * cannot be unmapped stays. Context: the map work.
 */
int kfbk_unmap(struct kfbk_device *dev, u64 first, u64 end, u64 session_id);
/* What could not be unmapped stays, unless it went with its session. */
void kfbk_settle_unmap(struct kfbk_device *dev, u64 first, u64 end,
		       u64 session_id, int error);
/* A block that could not be mapped was to be freed, and has been: it is ABSENT. */
bool kfbk_block_is_gone(struct kfbk_device *dev, u64 block, int error);
/* A block is another's now: the device fails. Context: process. */
void kfbk_changed_hands(struct kfbk_device *dev);

/* allocate.c */
/* At attach: allocate what is missing, map. Nothing is left when it fails. Context: process. */
int kfbk_maps_attach(struct kfbk_device *dev);
/*
 * An attach has failed behind that: what it has allocated is given back, or the log
 * says what is not. Context: process; no disk is there.
 */
void kfbk_maps_undo(struct kfbk_device *dev);
/*
 * UNMAP each handle of a range by itself, as far as it became UNMAPPING in that session,
 * until one cannot be: it stays, and what is behind it. Context: as kfbk_unmap().
 */
int kfbk_unmap_handles(struct kfbk_device *dev, u64 first, u64 end,
		       u64 session_id);
/*
 * Allocate what is missing from a block on, map. The table may have more, of a try to
 * grow that failed. Context: process.
 */
int kfbk_maps_add(struct kfbk_device *dev, u64 first, u64 n_blocks);

/* mapcache.c */
int kfbk_cache_open(struct kfbk_device *dev);
/*
 * There is a larger table: new memory, if there is a cache, goes in, and the old
 * one comes out. Context: dev->lock is held.
 */
void kfbk_cache_grow(struct kfbk_device *dev, struct kfb_mapcache_node **nodes,
		     const struct kfb_block *blocks, u64 n_blocks);

/*
 * In a new session: what nobody uses, and nothing is to be flushed or written
 * again of, is not mapped any more. Context: the restore work.
 */
bool kfbk_cache_invalidate(struct kfbk_device *dev, u64 block);

/* For the map work: */

/* A block's FILL, MAP or AHEAD, for which another one may have to go. */
int kfbk_cache_reserve(struct kfbk_device *dev, u64 block,
		       enum kfb_block_event event);
/* Map a block for which there is room. What may pass is waited for. */
int kfbk_cache_map(struct kfbk_device *dev, u64 block);
/* Map a block that is UNMAPPED; one that is another's now is the device's end. */
int kfbk_cache_load(struct kfbk_device *dev, u64 block);
/* So many blocks can be mapped one after the other before the first has to go. */
u64 kfbk_cache_batch(struct kfbk_device *dev);
/* Map one block in advance; false: none is wanted. */
bool kfbk_cache_ahead(struct kfbk_device *dev);
/* The brick gets back what it wants, and is not in use. */
void kfbk_cache_recall(struct kfbk_device *dev);

/* restore.c */
/*
 * What holds data cannot be mapped again in that session: it is over, as if the brick
 * had not come back, for the brick may map it later. Of a block that is another's now
 * nothing is to be had any more. Context: process.
 */
void kfbk_restore_failed(struct kfbk_device *dev, u64 session_id, int error);
void kfbk_restore(struct work_struct *work);

/* discard.c */
/**
 * kfbk_free_blocks - free whole blocks
 * @dev: the device
 * @first: number of the first block
 * @n: blocks; becomes how many of them it was about
 *
 * Context: the map work.
 * Return: 0, or why not.
 */
int kfbk_free_blocks(struct kfbk_device *dev, u64 first, u64 *n);

/* resize.c */
/* What dev->resize wants. Context: the map work. */
void kfbk_resize_run(struct kfbk_device *dev);
/* Context: process. */
int kfbk_resize_wait(struct kfbk_device *dev, u64 n_blocks);

/* blocks.c */
void kfbk_map_work(struct work_struct *work);

#endif /* KFBRICK_MAPPINGS_H */
