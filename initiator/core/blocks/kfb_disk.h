/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The states of a disk over a session, and what each event does in each.
 *
 *   ATTACHING --added--> UP <--usable-- CONNECTING <-.
 *       |                |  '--unusable--> |  ^      |
 *       |                |                 |  |      | unusable
 *       |                |          replay v  |      |
 *       |                |<--usable--- REPLAYING ----'
 *       |                |                    |
 *       |                |                    | retake
 *       '-- over, in any but LOSSY: FAILED ---'
 *
 *   lost, in UP, CONNECTING or REPLAYING: LOSSY; in FAILED, and over in LOSSY: DEAD
 *   detach, in any: DETACHING
 *
 * LOSSY: completed writes are lost. Reads go on, writes and flushes fail.
 * Nothing leads back to UP from LOSSY, DEAD or DETACHING, and from FAILED an order
 * only. docs/kfbrick.md has the whole table.
 *
 * Context: any; no allocation, no sleep. Locking: the caller's.
 */
#ifndef KFB_DISK_H
#define KFB_DISK_H

#include <linux/types.h>

/**
 * enum kfb_disk_state - what a disk is good for
 * @KFB_DISK_ATTACHING: there is no disk yet
 * @KFB_DISK_UP: requests are served
 * @KFB_DISK_CONNECTING: the connection is lost: requests wait
 * @KFB_DISK_REPLAYING: the connection is back; retained copies are written,
 *	requests wait
 * @KFB_DISK_LOSSY: completed writes are lost: reads go on
 * @KFB_DISK_FAILED: the session does not come back by itself: every request fails
 * @KFB_DISK_DEAD: completed writes are lost, and every request fails
 * @KFB_DISK_DETACHING: the disk is going away
 * @KFB_DISK_STATES: how many states there are
 */
enum kfb_disk_state {
	KFB_DISK_ATTACHING,
	KFB_DISK_UP,
	KFB_DISK_CONNECTING,
	KFB_DISK_REPLAYING,
	KFB_DISK_LOSSY,
	KFB_DISK_FAILED,
	KFB_DISK_DEAD,
	KFB_DISK_DETACHING,
	KFB_DISK_STATES
};

/**
 * enum kfb_disk_use - who else uses a disk's blocks while it is there
 * @KFB_DISK_ALONE: nobody
 * @KFB_DISK_READER: others, who read the blocks as the disk does
 * @KFB_DISK_SHARED: other hosts, who write the blocks as the disk does, and coordinate
 *	themselves
 * @KFB_DISK_USES: how many uses there are
 *
 * Only who is alone knows what is the newest of a block: it alone writes copies of
 * completed writes again, and allocates blocks. Of two that do, one finds what the
 * other has not mapped yet, and takes it back when it fails.
 */
enum kfb_disk_use {
	KFB_DISK_ALONE,
	KFB_DISK_READER,
	KFB_DISK_SHARED,
	KFB_DISK_USES
};

/**
 * enum kfb_disk_event - what happens to a disk
 * @KFB_DISK_ADDED: the disk is there
 * @KFB_DISK_USABLE: data can be moved on every queue
 * @KFB_DISK_REPLAY: data can be moved, but retained copies have to be first
 * @KFB_DISK_UNUSABLE: data cannot be moved
 * @KFB_DISK_LOST: completed writes are lost
 * @KFB_DISK_OVER: the session is over
 * @KFB_DISK_RETAKE: the disk's owner wants another try to come back
 * @KFB_DISK_DETACH: the disk's owner wants it no more
 * @KFB_DISK_EVENTS: how many events there are
 */
enum kfb_disk_event {
	KFB_DISK_ADDED,
	KFB_DISK_USABLE,
	KFB_DISK_REPLAY,
	KFB_DISK_UNUSABLE,
	KFB_DISK_LOST,
	KFB_DISK_OVER,
	KFB_DISK_RETAKE,
	KFB_DISK_DETACH,
	KFB_DISK_EVENTS
};

/* What is to be done: bits. Without UNQUIESCE and QUIESCE requests go on as they did. */
#define KFB_DISK_DO_UNQUIESCE (1U << 0) /* let requests in */
#define KFB_DISK_DO_QUIESCE   (1U << 1) /* let them wait */
#define KFB_DISK_DO_REPLAY    (1U << 2) /* write the retained copies */
#define KFB_DISK_DO_FAIL      (1U << 3) /* tell all who wait that it is over */

/**
 * kfb_disk_move - an event
 * @state: of the disk; changed unless the event is refused
 * @event: what happened
 *
 * Return: KFB_DISK_DO_*; -EINVAL: nothing of the kind can happen now.
 */
int kfb_disk_move(enum kfb_disk_state *state, enum kfb_disk_event event);

/* For people; "?" for a value that is no state. */
const char *kfb_disk_state_name(enum kfb_disk_state state);

/* For traces; "?" for a value that is no event. */
const char *kfb_disk_event_name(enum kfb_disk_event event);

/**
 * kfb_disk_map_flags - how the blocks of a disk are mapped
 * @use: by whom
 *
 * Return: KFB_MAP_RO or KFB_MAP_RW, and KFB_MAP_SHARED or KFB_MAP_EXCLUSIVE.
 */
__u32 kfb_disk_map_flags(enum kfb_disk_use use);

/* May it allocate blocks that are missing? */
static inline int kfb_disk_allocates(enum kfb_disk_use use)
{
	return use == KFB_DISK_ALONE;
}

/* May it write copies of completed writes again? */
static inline int kfb_disk_retains(enum kfb_disk_use use)
{
	return use == KFB_DISK_ALONE;
}

#endif
