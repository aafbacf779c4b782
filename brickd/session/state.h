/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session is made of, and the table of all of them.
 *
 * Types only: the files of this folder work on them, each on its part, and call
 * each other through their own headers.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_STATE_H
#define BRICKD_SESSION_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/base/counters.h"
#include "brickd/base/flow.h"
#include "brickd/base/log.h"
#include "brickd/base/work.h"
#include "brickd/config/config.h"
#include "brickd/mapping/mapping.h"
#include "brickd/session/fences.h"
#include "brickd/session/lease.h"
#include "brickd/storage/flush.h"
#include "proto/codec/kfb_codec.h"
#include "proto/kfb_err.h"
#include "proto/kfb_rate.h"
#include "proto/kfb_session.h"
#include "proto/kfb_slot.h"

struct brick_conn;
struct brick_fabric;
struct brick_net;
struct brick_op;
struct brick_ops;
struct brick_session;
struct brick_sessions;
struct brick_stop;
struct brick_storage;

/* ---- queues ---- */

/*
 * struct brick_reply_record - a slot's last request
 * @op: KFB_OP_*
 * @status: of its reply
 * @mapping_id: MAP: what it made
 * @running: the request while it is executed
 */
struct brick_reply_record {
	uint16_t op;
	uint16_t status;
	uint64_t mapping_id;
	struct brick_op *running;
};

/*
 * struct brick_queue - a queue
 * @session: whose
 * @index: as HELLO names it
 * @generation: connections so far
 * @conn: NULL while there is none
 * @credits: what the client may still send on @conn
 * @slots: cookies
 * @records: one for each slot
 */
struct brick_queue {
	struct brick_session *session;
	uint16_t index;
	uint32_t generation;
	struct brick_conn *conn;
	struct kfb_credits credits;
	struct kfb_slots slots;
	struct brick_reply_record records[];
};

/* ---- what a session is told ---- */

/* So many ranges are named; when there are more, LIST has them all. */
#define BRICK_LOSSES_MAX 64

/*
 * struct brick_found_block - a page of it could not be had
 * @block: it; empty: none
 * @at_ms: when that was
 */
struct brick_found_block {
	struct brick_span block;
	uint64_t at_ms;
};

/*
 * struct brick_losses - of one session
 * @now: what is told; empty: what cannot be named
 * @next: blocks below it have been told
 * @n_told: ranges
 * @has_unnamed: there is something that cannot be named
 * @found: a block of which a page could not be had; empty: none that is not told
 */
struct brick_losses {
	struct brick_span now;
	uint64_t next;
	uint32_t n_told;
	bool has_unnamed;
	struct brick_span found;
};

/* Nobody is asked again sooner, unless what was asked for has been given. */
#define BRICK_RECALL_MIN_MS 1000

/*
 * struct brick_recall - what one session is asked for, while the EVENT holds
 * @mapping_id: this mapping
 * @until_ms: then nobody waits for it any more
 */
struct brick_recall {
	uint64_t mapping_id;
	uint64_t until_ms;
};

/*
 * struct brick_eviction - why a session ends
 * @cause: KFB_EVICTED_*
 * @uid: with KFB_EVICTED_ORDER: whose order it is; else 0
 */
struct brick_eviction {
	uint32_t cause;
	uint32_t uid;
};

/*
 * struct brick_events - of one session
 * @seq: number of the last one
 * @acked: number of the newest one that was acknowledged
 * @holds: by KFB_EVENT_*: is to be told
 * @sent: by KFB_EVENT_*: with this number; 0: not yet
 * @is_rate_old: the RATE that was sent has numbers of before
 * @losses: what MEDIA_ERROR is about
 * @recall: what RECALL is about
 * @eviction: what EVICTED is about
 */
struct brick_events {
	uint32_t seq;
	uint32_t acked;
	bool holds[KFB_EVENT_LAST + 1];
	uint32_t sent[KFB_EVENT_LAST + 1];
	bool is_rate_old;
	struct brick_losses losses;
	struct brick_recall recall;
	struct brick_eviction eviction;
};

/* ---- what it holds back ---- */

/* Separate extents of one session; more are merged into their hull. */
#define BRICK_QUARANTINE_MAX 4096
/* Frees of blocks that several sessions hold back, at a time. */
#define BRICK_HOLDS_MAX 256
/* Sessions that can hold one of them back. */
#define BRICK_HOLDERS_MAX 16

/**
 * struct brick_hold - freed slots that more than one session holds back
 * @token: names them to the store; 0: not in use
 * @n: quarantines
 * @ids: theirs; the last one to end releases the slots
 */
struct brick_hold {
	uint64_t token;
	uint32_t n;
	uint64_t ids[BRICK_HOLDERS_MAX];
};

/**
 * struct brick_session_quarantine - of one session
 * @n: spans in use
 * @spans: sorted, disjoint; NULL until needed
 * @id: random, never used twice; 0 until needed
 * @is_token: @id names freed slots to the store
 */
struct brick_session_quarantine {
	uint32_t n;
	struct brick_span *spans;
	uint64_t id;
	bool is_token;
};

/* ---- what it moves ---- */

/**
 * struct brick_usage - of one session that has a rate
 * @bucket: what it may still move
 * @told_ms: what was moved until then was moved before it could know of its rate
 * @looked_ms: when its connections were last looked at
 * @named_until_ms: the log has had its name, and does not have it again before
 */
struct brick_usage {
	struct kfb_bucket bucket;
	uint64_t told_ms;
	uint64_t looked_ms;
	uint64_t named_until_ms;
};

/* ---- a session ---- */

#define BRICK_SESSION_WHO_BYTES 80
#define BRICK_DEVICE_BYTES	64

/*
 * struct brick_session - one client's session
 * @all: the table it is in
 * @id_link: there, with others whose ids are alike
 * @device: whose domain it is, as libfabric calls it
 * @commits: writes may ask to be durable when they are acknowledged
 * @state: changed by brick_session_move() only
 * @client: who it is, NULL before AUTH
 * @flow: in whose turns the loop does what it wants: the client's, or before AUTH
 *	that of all strangers
 * @counters: its client's, NULL before AUTH
 * @who: id and client, for the log
 * @peer: where its newest connection came from
 * @key: proves joins
 * @key_id: which of its client's keys AUTH was proven by; 0: none was asked for
 * @join_counter: of the newest join
 * @lease: runs while it is LIVE or DETACHED
 * @is_used: it has sent a request: there may be something to come back for
 * @is_told: a SHUTDOWN was sent
 * @events: what it is to be told
 * @rate: how much it may move; changed by brick_usage_take_rate() only
 * @usage: whether it moves more, where that can be counted
 * @rated_link: among those that have a rate
 * @n_conns: connections
 * @queues: by index, NULL where there was no connection yet
 * @n_ops: requests in flight
 * @n_pending: of these, waiting for their blocks
 * @waiting: these, and those that wait for other sessions
 * @n_handles: registrations
 * @counts: requests so far, by op
 * @n_failed: of these, answered with another status than OK
 * @holdings: what its client has; its own before AUTH
 * @late_link: in those, where its device does not fence
 * @quarantine: blocks that late writes of this session may still reach
 * @quarantine_link: among those that have any
 * @flushes: its turns in the flush worker
 * @reserve_use: for op_reserve.c, within one turn: what its requests do with blocks
 * @reserve_marks: of the RESERVEs that wait for its end
 * @is_cancelling: @teardown finishes requests that wait
 * @is_torn_down: @teardown or @flush is under way
 * @teardown: then closes the registrations, and forgets the mappings
 * @flush: then makes durable what was written
 */
struct brick_session {
	TAILQ_ENTRY(brick_session) link;
	LIST_ENTRY(brick_session) id_link;
	struct brick_sessions *all;
	struct brick_fabric *fabric;
	struct fid_domain *domain;
	char device[BRICK_DEVICE_BYTES];
	bool commits;
	uint64_t id;
	uint32_t features;
	enum kfb_session_state state;
	const struct brick_client *client;
	struct brick_flow *flow;
	struct brick_client_counters *counters;
	char who[BRICK_SESSION_WHO_BYTES];
	char peer[BRICK_PEER_BYTES];
	uint8_t key[KFB_KEY_BYTES];
	uint64_t key_id;
	uint32_t join_counter;
	struct brick_lease lease;
	bool is_used;
	bool is_told;
	struct brick_events events;
	struct kfb_rate rate;
	struct brick_usage usage;
	TAILQ_ENTRY(brick_session) rated_link;
	uint32_t n_conns;
	struct brick_queue *queues[BRICK_QUEUES_MAX];
	uint32_t n_ops;
	uint32_t n_pending;
	TAILQ_HEAD(, brick_op) waiting;
	uint64_t n_mappings;
	uint64_t n_handles;
	uint64_t counts[KFB_OP_LAST + 1];
	uint64_t n_failed;
	struct brick_mapping_list mappings;
	struct brick_holdings *holdings;
	TAILQ_ENTRY(brick_session) late_link;
	struct brick_session_quarantine quarantine;
	LIST_ENTRY(brick_session) quarantine_link;
	struct brick_flush_queue flushes;
	uint32_t reserve_use;
	uint64_t reserve_marks;
	bool is_cancelling;
	bool is_torn_down;
	struct brick_work teardown;
	struct brick_flush flush;
};

/* Is it to have nothing any more? */
static inline bool brick_session_is_ending(const struct brick_session *session)
{
	return session->state == KFB_SESSION_FENCING ||
	       session->state == KFB_SESSION_ENDED;
}

/* ---- all of them ---- */

TAILQ_HEAD(brick_session_list, brick_session);
LIST_HEAD(brick_session_bucket, brick_session);

/* A power of two; of as many sessions as there may be each has sixteen. */
#define BRICK_SESSION_BUCKETS 4096

/*
 * struct brick_session_ops - what the end of a session means to those above
 * @cancel: finishes one of its requests that still wait for their blocks, or for other
 *	sessions; false: none does
 * @ended: one of its client's sessions has: nothing of it lands any more
 * @rest: its handles are closed for good: nobody uses their blocks through them
 */
struct brick_session_ops {
	bool (*cancel)(struct brick_session *session);
	void (*ended)(struct brick_sessions *all,
		      const struct brick_client *client);
	void (*rest)(struct brick_sessions *all,
		     const struct brick_handle *handles, size_t n);
};

/*
 * struct brick_sessions - all sessions, and what they share
 * @ops: constant after the start
 * @stop: the daemon's
 * @busy: what the loop is at; NULL: nobody wants to know
 * @requests: who executes them; not looked into here
 * @list: all, also those that are ending; no request looks through it, as
 *	there may be tens of thousands
 * @by_id: all sessions, by the low bits of their ids, which are random
 * @n: how many sessions there are
 * @n_in: how many are in each state
 * @n_admitted: how many sessions have or had a client
 * @anonymous: the client of sessions without AUTH
 * @of_clients: what each client has had done, by its number; the last one:
 *	whoever is served without AUTH. Counted by any thread
 * @holdings: of each client by the same numbers; NULL: it has no session
 * @flows: of each client by the same numbers
 * @strangers: of all sessions before AUTH
 * @fences: clients that are kept out
 * @rated: sessions with a rate; the one that has not been looked at longest is first
 * @quarantined: sessions with blocks in quarantine
 * @n_quarantined: these blocks, of each session
 * @holds: freed slots that several sessions hold back
 * @found: the newest block of which a page could not be had
 * @registrar: the worker that registers and closes registrations
 * @lines: bound on log lines that tell of sessions
 */
struct brick_sessions {
	const struct brick_session_ops *ops;
	const struct brick_config *config;
	const struct brick_stop *stop;
	struct brick_storage *storage;
	struct brick_found_block found;
	struct brick_net *net;
	struct brick_counters *counters;
	struct brick_busy *busy;
	struct brick_ops *requests;
	struct brick_session_list list;
	struct brick_session_bucket by_id[BRICK_SESSION_BUCKETS];
	uint64_t n;
	uint64_t n_in[KFB_SESSION_STATES];
	uint64_t n_admitted;
	struct brick_client anonymous;
	struct brick_client_counters of_clients[BRICK_CLIENTS_MAX + 1];
	struct brick_holdings *holdings[BRICK_CLIENTS_MAX + 1];
	struct brick_flow flows[BRICK_CLIENTS_MAX + 1];
	struct brick_flow strangers;
	struct brick_fences fences;
	struct brick_session_list rated;
	struct brick_session_bucket quarantined;
	uint64_t n_quarantined;
	struct brick_mappings mappings;
	struct brick_hold holds[BRICK_HOLDS_MAX];
	struct brick_leases leases;
	struct brick_worker registrar;
	struct brick_ratelimit lines;
};

#endif
