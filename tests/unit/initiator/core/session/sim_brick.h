/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A brick without a fabric, for tests of the core's client: sessions, queues,
 * slots with recorded replies, blocks with births, and memory that a flush
 * makes durable. It follows docs/protocol.md, and checks that its client does.
 *
 * Context: one thread. Time is the test's.
 */
#ifndef SIM_BRICK_H
#define SIM_BRICK_H

#include <stdbool.h>
#include <stdint.h>

#include "kfb_auth.h"
#include "codec/kfb_codec.h"
#include "kfb_slot.h"

#define SIM_SESSIONS 4
#define SIM_QUEUES   4
#define SIM_BLOCKS   8
#define SIM_CELLS    4 /* of a block; a cell's value is a number */
#define SIM_CREDITS  8
#define SIM_VA	     0x40000000ULL
#define SIM_PENDING  64
/* Addresses above this are for ALLOC only: each is used once. */
#define SIM_ALLOC_VA 0x100000000000ULL
#define SIM_ALLOCS   4096

struct sim_record {
	uint16_t op;
	uint16_t status;
	uint64_t mapping_id;
};

struct sim_queue {
	bool connected;
	uint32_t connections;
	struct kfb_credits credits;
	struct kfb_slots slots;
	struct sim_record records[SIM_CREDITS];
};

struct sim_mapping {
	uint64_t id;
	uint32_t block;
	uint32_t birth;
};

struct sim_session {
	uint64_t id; /* 0: not in use */
	bool proven;
	uint32_t join_counter;
	uint8_t hello[KFB_HELLO_BYTES];
	uint8_t accept[KFB_ACCEPT_BYTES];
	uint8_t key[KFB_KEY_BYTES];
	struct sim_queue queues[SIM_QUEUES];
	struct sim_mapping mappings[SIM_BLOCKS];
};

struct sim_block {
	uint32_t birth;
	uint32_t memory[SIM_CELLS];
	uint32_t durable[SIM_CELLS];
};

/* A write that the NIC has acknowledged and not placed. */
struct sim_pending {
	uint64_t session_id;
	uint32_t queue;
	uint32_t block;
	uint32_t cell;
	uint32_t value;
};

struct sim_brick {
	uint64_t instance_id;
	uint64_t power_epoch;
	uint64_t next_session;
	uint64_t next_mapping;
	uint32_t n_queues; /* it offers */
	uint32_t lease_ms;
	bool ack_is_placed;
	bool anonymous;
	uint16_t reject_status; /* of every HELLO */
	uint16_t reject_new; /* of those that want a new session */
	uint32_t reject_after_ms;
	bool other_uuid;
	bool wrong_instance; /* a join is accepted in another one */
	bool volatile_medium;
	bool medium_fails; /* the next FLUSH finds that out */
	bool has_failed; /* it has: no FLUSH is good before a restart */
	struct sim_session sessions[SIM_SESSIONS];
	struct sim_block blocks[SIM_BLOCKS];
	struct sim_pending pending[SIM_PENDING];
	uint32_t n_pending;
	bool allocated[SIM_ALLOCS];
	uint32_t executed[SIM_ALLOCS]; /* ALLOCs, how often */
	uint32_t n_joins;
	uint32_t n_openings;
	uint32_t n_auths;
	uint32_t n_replaced; /* sessions that a client has left for a new one */
	uint32_t n_pings;
	uint32_t n_flushes;
	uint32_t n_resent; /* answered from a record */
};

extern const uint8_t sim_key[KFB_KEY_BYTES];

void sim_init(struct sim_brick *b);

/**
 * sim_hello - a connection request
 * @b: the brick
 * @data: HELLO
 * @len: bytes
 * @out: ACCEPT or REJECT
 * @session: of the connection when it was accepted
 * @queue: of the connection when it was accepted
 *
 * Return: bytes in @out; negative when it is a REJECT (-bytes).
 */
int sim_hello(struct sim_brick *b, const void *data, uint32_t len, uint8_t *out,
	      uint64_t *session, uint32_t *queue);
/**
 * sim_message - a request comes
 * @b: the brick
 * @session: of the connection
 * @queue: of the connection
 * @data: the message
 * @len: bytes
 * @out: the reply
 *
 * Return: bytes in @out; 0: the brick ended the connection.
 */
int sim_message(struct sim_brick *b, uint64_t session, uint32_t queue,
		const void *data, uint32_t len, uint8_t *out);
/* A connection ends. What it had not placed is placed, or not: @drop. */
void sim_disconnect(struct sim_brick *b, uint64_t session, uint32_t queue,
		    bool drop);
/* A one-sided write with the key of a mapping; false: the key is dead. */
bool sim_write(struct sim_brick *b, uint64_t session, uint32_t queue,
	       uint64_t key, uint32_t cell, uint32_t value);
/* The lease is over, or it is evicted. */
void sim_end_session(struct sim_brick *b, uint64_t session);
/* Another process on the same host. */
void sim_restart(struct sim_brick *b);
/* The power fails: what was not flushed is gone. */
void sim_power_cut(struct sim_brick *b);
/* Another client maps a block for writing, and writes; false: it is mapped. */
bool sim_take_over(struct sim_brick *b, uint32_t block, uint32_t value);
struct sim_session *sim_session(struct sim_brick *b, uint64_t id);

#endif
