/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The states of a block of 2 MiB, and what each event does in each.
 *
 *                  fill                done
 *       ABSENT ----------> FILLING -----------------.
 *       ^  |  ^--- failed ---'                      |
 * freed |  | found                                  v   calm, evict
 *       |  v       map, ahead          done         |  ------------>
 *       UNMAPPED --------> MAPPING -----------> MAPPED <--- stay --- QUIET
 *       ^  ^  ^--- failed ---'                  |   ^                 |
 *       |  '----------- invalidate -------------'   | stay            | unmap
 *       '----------------- gone ----------------- UNMAPPING <---------'
 *
 * A block can be read while it is MAPPED or QUIET, and requests may use it while
 * it is MAPPED. MAPPED and QUIET blocks may be mapped again, in a new session.
 * docs/kfbrick.md has the whole table.
 *
 * Context: any; no allocation, no sleep. Locking: the caller's.
 */
#ifndef KFB_BLOCK_H
#define KFB_BLOCK_H

#include <linux/types.h>

/**
 * enum kfb_block_state - what is mapped of a block
 * @KFB_BLOCK_ABSENT: not allocated, as far as is known: reads as zeros
 * @KFB_BLOCK_FILLING: being allocated and mapped for a write; reads as zeros
 * @KFB_BLOCK_UNMAPPED: allocated; requests wait until it is mapped
 * @KFB_BLOCK_MAPPING: being mapped: requests wait
 * @KFB_BLOCK_MAPPED: key and address are good
 * @KFB_BLOCK_QUIET: key and address are good, but new requests wait: the block is to
 *	be unmapped
 * @KFB_BLOCK_UNMAPPING: the key is about to die: requests wait
 * @KFB_BLOCK_STATES: how many states there are
 */
enum kfb_block_state {
	KFB_BLOCK_ABSENT,
	KFB_BLOCK_FILLING,
	KFB_BLOCK_UNMAPPED,
	KFB_BLOCK_MAPPING,
	KFB_BLOCK_MAPPED,
	KFB_BLOCK_QUIET,
	KFB_BLOCK_UNMAPPING,
	KFB_BLOCK_STATES
};

/**
 * enum kfb_block_event - what happens to a block
 * @KFB_BLOCK_FILL: the block's first write is there
 * @KFB_BLOCK_FOUND: the block is allocated
 * @KFB_BLOCK_MAP: the block is to be mapped
 * @KFB_BLOCK_AHEAD: the block is to be mapped, and nobody waits for it
 * @KFB_BLOCK_DONE: the block has been mapped
 * @KFB_BLOCK_FAILED: the block could not be mapped
 * @KFB_BLOCK_CALM: the block is to be unmapped for a discard; requests end by and by
 * @KFB_BLOCK_EVICT: the block is to be unmapped for others; no request has it
 * @KFB_BLOCK_STAY: the block is not to be unmapped after all, or could not be
 * @KFB_BLOCK_UNMAP: all that was written to the block is durable: its key goes
 * @KFB_BLOCK_GONE: the block has been unmapped, or went with its session
 * @KFB_BLOCK_INVALIDATE: the block's session is over, and nobody needs it in the next
 * @KFB_BLOCK_FREED: the block is not allocated any more
 * @KFB_BLOCK_EVENTS: how many events there are
 */
enum kfb_block_event {
	KFB_BLOCK_FILL,
	KFB_BLOCK_FOUND,
	KFB_BLOCK_MAP,
	KFB_BLOCK_AHEAD,
	KFB_BLOCK_DONE,
	KFB_BLOCK_FAILED,
	KFB_BLOCK_CALM,
	KFB_BLOCK_EVICT,
	KFB_BLOCK_STAY,
	KFB_BLOCK_UNMAP,
	KFB_BLOCK_GONE,
	KFB_BLOCK_INVALIDATE,
	KFB_BLOCK_FREED,
	KFB_BLOCK_EVENTS
};

/* What a move asks of a cache of mappings, or does to it: bits. */
#define KFB_BLOCK_DO_TAKE     (1U << 0) /* there has to be room for a mapping */
#define KFB_BLOCK_DO_RELEASE  (1U << 1) /* there is room for one more */
#define KFB_BLOCK_DO_LIST     (1U << 2) /* it is one that can be evicted */
#define KFB_BLOCK_DO_UNLIST   (1U << 3) /* it is none; it may not be pinned */
#define KFB_BLOCK_DO_UNPINNED (1U << 4) /* it may not be pinned */

/**
 * struct kfb_block - where a block is
 * @key: of its handle
 * @raddr: remote address of the block's first byte
 * @mapping_id: whose handle it is; 0: it is not mapped
 * @birth: of the block's life
 * @state: &enum kfb_block_state; the others are good when it is MAPPED
 * @is_first: a handle begins here
 * @has_birth: @birth is known: another one means that it changed hands
 * @is_new: this attach has allocated it
 * @may_be_gone: to free it was asked for, and not answered
 */
struct kfb_block {
	__u64 key;
	__u64 raddr;
	__u64 mapping_id;
	__u32 birth;
	__u8 state;
	_Bool is_first :1;
	_Bool has_birth :1;
	_Bool is_new :1;
	_Bool may_be_gone :1;
};

/**
 * kfb_block_move - an event
 * @state: of the block; changed unless the event is refused
 * @event: what happened
 *
 * With a cache of mappings kfb_mapcache_move() does this.
 *
 * Return: KFB_BLOCK_DO_*; -EINVAL: nothing of the kind can happen now.
 */
int kfb_block_move(enum kfb_block_state *state, enum kfb_block_event event);

/* Are key and address of a block good? */
static inline _Bool kfb_block_is_readable(const struct kfb_block *b)
{
	return b->state == KFB_BLOCK_MAPPED || b->state == KFB_BLOCK_QUIET;
}

/* For people; "?" for a value that is no state. */
const char *kfb_block_state_name(enum kfb_block_state state);

/* For traces; "?" for a value that is no event. */
const char *kfb_block_event_name(enum kfb_block_event event);

#endif
