// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of a disk's states and events.
 */
#include <linux/errno.h>
#include "blocks/kfb_disk.h"
#include "kfb_wire.h"

/* @does has MOVE in what is no hole of the table. */
struct disk_move {
	__u8 to;
	__u8 does;
};

#define MOVE (1U << 7)
#define TO(state, what)                         \
	{                                       \
		KFB_DISK_##state, MOVE | (what) \
	}
#define UNQUIESCE	    KFB_DISK_DO_UNQUIESCE
#define QUIESCE		    KFB_DISK_DO_QUIESCE
#define WRITE_AGAIN	    (KFB_DISK_DO_QUIESCE | KFB_DISK_DO_REPLAY)
#define END		    (KFB_DISK_DO_UNQUIESCE | KFB_DISK_DO_FAIL)
#define ON(event, to, what) [KFB_DISK_##event] = TO(to, what)

static const struct disk_move kfb_disk_moves[KFB_DISK_STATES][KFB_DISK_EVENTS] = {
	[KFB_DISK_ATTACHING] = {
		ON(ADDED, UP, 0),
		ON(USABLE, ATTACHING, UNQUIESCE),
		ON(UNUSABLE, ATTACHING, QUIESCE),
		ON(OVER, FAILED, END),
	},
	/* Whether requests go on or wait: what happens leads to the same. */
	[KFB_DISK_UP ... KFB_DISK_REPLAYING] = {
		ON(USABLE, UP, UNQUIESCE),
		ON(REPLAY, REPLAYING, WRITE_AGAIN),
		ON(UNUSABLE, CONNECTING, QUIESCE),
		ON(LOST, LOSSY, 0),
		ON(OVER, FAILED, END),
		ON(DETACH, DETACHING, 0),
	},
	[KFB_DISK_LOSSY] = {
		ON(USABLE, LOSSY, UNQUIESCE),
		ON(UNUSABLE, LOSSY, QUIESCE),
		ON(LOST, LOSSY, 0),
		ON(OVER, DEAD, END),
		ON(DETACH, DETACHING, 0),
	},
	[KFB_DISK_FAILED] = {
		ON(LOST, DEAD, 0),
		ON(OVER, FAILED, END),
		ON(RETAKE, CONNECTING, QUIESCE),
		ON(DETACH, DETACHING, 0),
	},
	[KFB_DISK_DEAD] = {
		ON(LOST, DEAD, 0),
		ON(OVER, DEAD, END),
		ON(DETACH, DETACHING, 0),
	},
	/* What was written last still has to become durable. */
	[KFB_DISK_DETACHING] = {
		ON(USABLE, DETACHING, UNQUIESCE),
		ON(REPLAY, DETACHING, WRITE_AGAIN),
		ON(UNUSABLE, DETACHING, QUIESCE),
		ON(LOST, DETACHING, 0),
		ON(OVER, DETACHING, END),
	},
};

int kfb_disk_move(enum kfb_disk_state *state, enum kfb_disk_event event)
{
	const struct disk_move *move;

	if ((__u32)*state >= KFB_DISK_STATES || (__u32)event >= KFB_DISK_EVENTS)
		return -EINVAL;
	move = &kfb_disk_moves[*state][event];
	if (!(move->does & MOVE))
		return -EINVAL;
	*state = (enum kfb_disk_state)move->to;
	return move->does & ~MOVE;
}

const char *kfb_disk_state_name(enum kfb_disk_state state)
{
	static const char *const names[KFB_DISK_STATES] = {
		[KFB_DISK_ATTACHING] = "attaching",
		[KFB_DISK_UP] = "up",
		[KFB_DISK_CONNECTING] = "connecting",
		[KFB_DISK_REPLAYING] = "replaying",
		[KFB_DISK_LOSSY] = "lossy",
		[KFB_DISK_FAILED] = "failed",
		[KFB_DISK_DEAD] = "dead",
		[KFB_DISK_DETACHING] = "detaching",
	};

	return (__u32)state < KFB_DISK_STATES ? names[state] : "?";
}

const char *kfb_disk_event_name(enum kfb_disk_event event)
{
	static const char *const names[KFB_DISK_EVENTS] = {
		[KFB_DISK_ADDED] = "added",   [KFB_DISK_USABLE] = "usable",
		[KFB_DISK_REPLAY] = "replay", [KFB_DISK_UNUSABLE] = "unusable",
		[KFB_DISK_LOST] = "lost",     [KFB_DISK_OVER] = "over",
		[KFB_DISK_RETAKE] = "retake", [KFB_DISK_DETACH] = "detach",
	};

	return (__u32)event < KFB_DISK_EVENTS ? names[event] : "?";
}

__u32 kfb_disk_map_flags(enum kfb_disk_use use)
{
	switch (use) {
	case KFB_DISK_READER:
		return KFB_MAP_RO | KFB_MAP_SHARED;
	case KFB_DISK_SHARED:
		return KFB_MAP_RW | KFB_MAP_SHARED;
	default:
		return KFB_MAP_RW | KFB_MAP_EXCLUSIVE;
	}
}
