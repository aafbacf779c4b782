/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A brick for tests of the library: one thread, one connection at a time,
 * memory instead of a store, and rules that make it misbehave.
 *
 * Context: the test's thread sets the rules before the start, or between
 * calls; both sides go through atomics.
 */
#ifndef FAKE_BRICK_H
#define FAKE_BRICK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "codec/kfb_codec.h"

#define FAKE_BLOCKS 8
#define FAKE_BYTES  (FAKE_BLOCKS * KFB_BLOCK_BYTES)
/* Address of the first block; all are always allocated. */
#define FAKE_VA	 0x40000000ULL
#define FAKE_UID 1000

struct fake_rules {
	_Atomic uint16_t reject_status; /* of a connection request */
	_Atomic bool foreign_accept; /* accept without our private data */
	_Atomic bool bad_proof; /* the brick's own proof, of AUTH */
	_Atomic bool bad_join; /* the brick's own proof, of a join */
	_Atomic bool no_answer; /* ignore connection requests */
	_Atomic uint32_t flush_mode;
	_Atomic uint32_t lease_ms;
	_Atomic uint32_t quota_blocks; /* 0: none, and nobody knows of any */
	_Atomic uint32_t owned_blocks;
	_Atomic bool quota_untold; /* in INFO without being asked for */
	_Atomic uint64_t rate_bytes; /* in a second; with rate_ops 0: no rate */
	_Atomic uint32_t rate_ops; /* in a second; an EVENT tells of both */
	_Atomic bool rate_untold; /* in INFO without being asked for */
	_Atomic uint16_t silent_op; /* never answered */
	_Atomic uint16_t hold_op; /* answered when this is cleared */
	_Atomic bool hold_page; /* a MAP that goes on is held, once */
	_Atomic uint16_t drop_op; /* ends the connection */
	_Atomic uint16_t drop_once; /* the same, once */
	_Atomic bool forget; /* the session, when it is to be joined, once */
	_Atomic uint64_t instance_id; /* added to the first one's */
	_Atomic uint64_t power_epoch; /* added to the first one's */
	_Atomic uint16_t garbage_op; /* answered with garbage */
	_Atomic uint16_t refuse_op; /* answered with refuse_status */
	_Atomic uint16_t refuse_status;
	_Atomic uint32_t refuse_skip; /* but not so many of them, before */
	_Atomic uint32_t refuse_max; /* and no more than these; 0: all */
	_Atomic uint16_t no_memory_op; /* answered with NO_MEMORY, once */
	_Atomic uint64_t list_step; /* empty pages, the cursor rises by it */
	_Atomic uint32_t shown_lists; /* so many show blocks, before */
	_Atomic uint32_t hidden_lists; /* so many show no blocks */
	_Atomic uint32_t map_again; /* answer so many MAPs with EAGAIN */
	_Atomic bool nowait_again; /* answer MAP with NOWAIT with EAGAIN */
	_Atomic uint32_t handles_per_page; /* 0: all */
	_Atomic bool wrong_handles; /* of another address */
	_Atomic bool no_handles; /* pages without any, without end */
	_Atomic uint64_t key_offset; /* added to the key: a wrong one */
	_Atomic uint32_t event_after_ping; /* KFB_EVENT_* */
};

struct fake_brick;

struct fake_brick *fake_brick_start(void);
void fake_brick_stop(struct fake_brick *b);

struct fake_rules *fake_brick_rules(struct fake_brick *b);
/* tcp://127.0.0.1:PORT */
const char *fake_brick_url(const struct fake_brick *b);
const uint8_t *fake_brick_key(const struct fake_brick *b);
const uint8_t *fake_brick_uuid(const struct fake_brick *b);
uint8_t *fake_brick_memory(struct fake_brick *b);
/* Connection requests so far. */
unsigned int fake_brick_hellos(const struct fake_brick *b);
/* Requests of an op seen so far. */
unsigned int fake_brick_seen(const struct fake_brick *b, uint16_t op);
/* The newest FLUSH and PING. */
struct kfb_flush fake_brick_last_flush(struct fake_brick *b);
uint32_t fake_brick_last_ack(struct fake_brick *b);

#endif
