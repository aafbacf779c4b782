/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a hostile peer has before it: two nodes, of which it is a peer of the first, and a
 * request that one of them makes meanwhile.
 */
#ifndef LT_HOSTILE_H
#define LT_HOSTILE_H

#include <linux/completion.h>

#include "lt.h"
#include "lt_raw.h"

/* Numbers of nodes. */
#define LT_A	  1
#define LT_B	  2
#define LT_RAW	  3
#define LT_DEAF	  4
#define LT_ABSENT 5

/* Match bits that a node knows here: how long the buffer is that is found. */
#define LT_EXACT  1
#define LT_NARROW 2 /* a byte too short */
#define LT_WIDE	  3 /* twice as long */
#define LT_SLOW	  4 /* it takes two milliseconds to find */
#define LT_LATE	  5 /* it takes fifty */

#define LT_LONG	      8192 /* bytes of what is no immediate put */
#define LT_ROOM_BYTES (4 * LT_LONG)

/**
 * struct lt_victim - a node
 * @net: its net
 * @bytes: LT_ROOM_BYTES, for puts and gets of peers
 * @matched: how often its match() was called
 * @status: of the last event()
 * @moved: bytes of the last event()
 */
struct lt_victim {
	struct klnd_net *net;
	u8 *bytes;
	unsigned int matched;
	int status;
	u32 moved;
};

/**
 * struct lt_asked - a request of a node's
 * @req: the request; first
 * @over: it is
 * @begun: when it was begun, ktime
 * @took_ms: until it was over
 * @late: who moves bytes when it is over, or NULL
 * @key: of what @late moves
 * @bytes: of it
 * @late_ret: how that ended
 */
struct lt_asked {
	struct klnd_request req;
	struct completion over;
	ktime_t begun;
	s64 took_ms;
	struct lt_raw *late;
	u64 key;
	u8 *bytes;
	int late_ret;
};

/**
 * struct lt_scene - all of them
 * @a: whom @raw and @deaf talk to
 * @b: whom @a talks to as well
 * @raw: hears what it is told
 * @deaf: takes nothing
 * @mr: region of @raw, which can be read and written
 * @bytes: LT_ROOM_BYTES of it
 */
struct lt_scene {
	struct lt_victim a;
	struct lt_victim b;
	struct lt_raw raw;
	struct lt_raw deaf;
	struct fid_mr *mr;
	u8 *bytes;
};

/* hostile.c */
int lt_ask(struct lt_victim *v, struct lt_asked *asked, enum lt_what what,
	   u64 nid, u8 *bytes, u32 timeout_ms);
bool lt_is_answered(struct lt_raw *raw);

/* flood.c */
void lt_floods(struct lt_scene *s);

#endif /* LT_HOSTILE_H */
