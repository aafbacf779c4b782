/* SPDX-License-Identifier: BSD-2-Clause */
/* A session whose queue 0 is connected to nothing: what it is sent is kept. */
#ifndef EVENT_RIG_H
#define EVENT_RIG_H

#include "brickd/mapping/mapping.h"
#include "brickd/net/conn.h"
#include "brickd/session/state.h"

#define RIG_BUFS 16

/*
 * struct event_rig - one session
 * @last: the newest message
 * @n_sent: messages
 */
struct event_rig {
	struct brick_session s;
	struct brick_conn conn;
	struct brick_buf bufs[RIG_BUFS];
	uint8_t memory[RIG_BUFS][KFB_REPLY_MAX_BYTES];
	struct kfb_reply last;
	unsigned int n_sent;
};

/* Zeroes it, and makes it a LIVE session of some; 0 or -1. */
int rig_begin(struct event_rig *rig, struct brick_sessions *all);
void rig_end(struct event_rig *rig);

/* A mapping of one block; whoever forgets it frees it and its handle. */
struct brick_mapping *rig_map(struct brick_session *s, uint64_t block,
			      uint32_t flags);

/* Gives it a connection that understands EVENTs; nothing was sent on it. */
void rig_connect(struct event_rig *rig);

/* A PING or UNMAP comes, with the number of an EVENT. */
void rig_ack(struct event_rig *rig, uint16_t op, uint32_t seq);

#endif
