// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of a block's states and events.
 */
#include <linux/errno.h>
#include "blocks/kfb_block.h"

/* @does has MOVE in what is no hole of the table. */
struct block_move {
	__u8 to;
	__u8 does;
};

#define MOVE	 (1U << 7)
#define TAKE	 KFB_BLOCK_DO_TAKE
#define RELEASE	 KFB_BLOCK_DO_RELEASE
#define LIST	 KFB_BLOCK_DO_LIST
#define UNLIST	 KFB_BLOCK_DO_UNLIST
#define UNPINNED KFB_BLOCK_DO_UNPINNED
#define ON(event, to, what) \
	[KFB_BLOCK_##event] = { KFB_BLOCK_##to, MOVE | (what) }

static const struct block_move kfb_block_moves[KFB_BLOCK_STATES][KFB_BLOCK_EVENTS] = {
	[KFB_BLOCK_ABSENT] = {
		ON(FILL, FILLING, TAKE),
		ON(FOUND, UNMAPPED, 0),
	},
	[KFB_BLOCK_FILLING] = {
		ON(DONE, MAPPED, LIST),
		ON(FAILED, ABSENT, RELEASE),
	},
	[KFB_BLOCK_UNMAPPED] = {
		ON(MAP, MAPPING, TAKE),
		ON(AHEAD, MAPPING, TAKE),
		ON(FREED, ABSENT, 0),
	},
	[KFB_BLOCK_MAPPING] = {
		ON(DONE, MAPPED, LIST),
		ON(FAILED, UNMAPPED, RELEASE),
	},
	[KFB_BLOCK_MAPPED] = {
		ON(DONE, MAPPED, 0),
		ON(CALM, QUIET, 0),
		ON(EVICT, QUIET, UNPINNED),
		ON(INVALIDATE, UNMAPPED, UNLIST | RELEASE),
	},
	[KFB_BLOCK_QUIET] = {
		ON(DONE, QUIET, 0),
		ON(STAY, MAPPED, 0),
		ON(UNMAP, UNMAPPING, UNLIST),
	},
	[KFB_BLOCK_UNMAPPING] = {
		ON(STAY, MAPPED, LIST),
		ON(GONE, UNMAPPED, RELEASE),
	},
};

int kfb_block_move(enum kfb_block_state *state, enum kfb_block_event event)
{
	const struct block_move *move;

	if ((__u32)*state >= KFB_BLOCK_STATES ||
	    (__u32)event >= KFB_BLOCK_EVENTS)
		return -EINVAL;
	move = &kfb_block_moves[*state][event];
	if (!(move->does & MOVE))
		return -EINVAL;
	*state = (enum kfb_block_state)move->to;
	return move->does & ~MOVE;
}

const char *kfb_block_state_name(enum kfb_block_state state)
{
	static const char *const names[KFB_BLOCK_STATES] = {
		[KFB_BLOCK_ABSENT] = "absent",
		[KFB_BLOCK_FILLING] = "filling",
		[KFB_BLOCK_UNMAPPED] = "unmapped",
		[KFB_BLOCK_MAPPING] = "mapping",
		[KFB_BLOCK_MAPPED] = "mapped",
		[KFB_BLOCK_QUIET] = "quiet",
		[KFB_BLOCK_UNMAPPING] = "unmapping",
	};

	return (__u32)state < KFB_BLOCK_STATES ? names[state] : "?";
}

const char *kfb_block_event_name(enum kfb_block_event event)
{
	static const char *const names[KFB_BLOCK_EVENTS] = {
		[KFB_BLOCK_FILL] = "fill",
		[KFB_BLOCK_FOUND] = "found",
		[KFB_BLOCK_MAP] = "map",
		[KFB_BLOCK_AHEAD] = "ahead",
		[KFB_BLOCK_DONE] = "done",
		[KFB_BLOCK_FAILED] = "failed",
		[KFB_BLOCK_CALM] = "calm",
		[KFB_BLOCK_EVICT] = "evict",
		[KFB_BLOCK_STAY] = "stay",
		[KFB_BLOCK_UNMAP] = "unmap",
		[KFB_BLOCK_GONE] = "gone",
		[KFB_BLOCK_INVALIDATE] = "invalidate",
		[KFB_BLOCK_FREED] = "freed",
	};

	return (__u32)event < KFB_BLOCK_EVENTS ? names[event] : "?";
}
