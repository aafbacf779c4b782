/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client's session: its queues, and the way back after a loss.
 *
 * Above the engines, which are one connection each, this decides what comes
 * next: which queue to connect and with which HELLO, what to send again, when
 * to give a session up for a new one, and what has become of writes that were
 * completed and not flushed. It does no I/O: the caller asks
 * kfb_client_next() what to do, does it, and tells what happened.
 *
 *                      start
 *        IDLE ------------------------> OPENING <------------------.
 *                                        |  |                      |
 *                     INFO is answered   |  | another brick,       |
 *                                        v  | or too late          |
 *        .--- no queue is left ------ MAPPING '------> FAILED      |
 *        |                               |              ^          |
 *        |  every mapping is validated   |              | too late |
 *        v                               v              |          |
 *    DETACHED <--- no queue is left --- LIVE -----------'          |
 *        |                                                         |
 *        |--- joined again: LIVE, or MAPPING                       |
 *        '--- gone, as a proven brick says ------------------------'
 *
 *    FAILED --retake--> DETACHED, every state --close--> CLOSED
 *
 * One-sided operations may be posted in LIVE only, on queues that are READY,
 * while the lease lasts: kfb_client_usable(). docs/reconnect.md has the table.
 *
 * The rules behind it:
 *
 * - The endpoint of a lost queue is closed before anything else happens on
 *   that queue, and all of a session's endpoints are closed before a new
 *   session begins: a write that is sent again never meets its former self.
 * - Nothing but HELLO and AUTH goes to a brick that is not proven, and nothing
 *   it says ends anything: a join is proven by its ACCEPT, a new session by
 *   AUTH's answer. Until then every refusal means: again, later.
 * - A new session takes the place of an old one only when a proven brick has
 *   ended the old one (kfb_client_ask.c): else the old one's writes could still
 *   land.
 * - All queues of a session are at one of the brick's addresses. When none of them
 *   lives any more the next address is tried, and one after the other from then on.
 * - Within a session a request is sent again with its cookie; in a new one it
 *   is not sent again here: its outcome is unknown.
 *
 * Context: any; functions do not sleep and do not allocate.
 * Locking: the caller's, one thread in a client at a time.
 */
#ifndef KFB_CLIENT_H
#define KFB_CLIENT_H

#include <linux/types.h>
#include "data/kfb_fate.h"
#include "engine/kfb_engine.h"

/* Queues of one session, at this side. */
#define KFB_CLIENT_QUEUES_MAX 8

/* Where one brick can be reached. */
#define KFB_CLIENT_ADDRESSES_MAX 4

/* Bytes of memory for outgoing messages of so many queues. */
#define KFB_CLIENT_TX_BYTES(n_queues) (((n_queues) + 1) * KFB_ENGINE_TX_BYTES)

/* How long to try: never give up. */
#define KFB_CLIENT_FOREVER (~(__u32)0)

/* Between two tries, before jitter. */
#define KFB_CLIENT_RETRY_MIN_MS 20
#define KFB_CLIENT_RETRY_MAX_MS 2000

/**
 * enum kfb_client_state - what the session is good for
 * @KFB_CLIENT_IDLE: nothing has begun
 * @KFB_CLIENT_OPENING: a new session is being made
 * @KFB_CLIENT_MAPPING: the session is there; its mappings are being made
 * @KFB_CLIENT_LIVE: requests, and one-sided operations
 * @KFB_CLIENT_DETACHED: no queue is connected; the session may still live
 * @KFB_CLIENT_FAILED: the session does not come back; kfb_client_error() says why
 * @KFB_CLIENT_CLOSED: what is left of it is told, then nothing, for ever
 * @KFB_CLIENT_STATES: how many states there are
 */
enum kfb_client_state {
	KFB_CLIENT_IDLE,
	KFB_CLIENT_OPENING,
	KFB_CLIENT_MAPPING,
	KFB_CLIENT_LIVE,
	KFB_CLIENT_DETACHED,
	KFB_CLIENT_FAILED,
	KFB_CLIENT_CLOSED,
	KFB_CLIENT_STATES
};

/**
 * struct kfb_client_config - what a client needs to know
 * @engine: of every queue; the nonce is filled in here
 * @random: fills memory with random bytes, from a generator fit for nonces
 * @random_ctx: passed to @random
 * @info_flags: KFB_INFO_* that hold whatever the brick says, because of how
 *	this side does its writes
 * @n_queues: connections wanted, 1 to KFB_CLIENT_QUEUES_MAX
 * @n_addresses: of the brick, 1 to KFB_CLIENT_ADDRESSES_MAX; 0 is 1
 * @timeout_ms: of one try to connect, and of a request that is sent again
 * @reconnect_ms: how long a queue may be away; 0: a loss is the end;
 *	KFB_CLIENT_FOREVER
 */
struct kfb_client_config {
	struct kfb_engine_config engine;
	void (*random)(void *ctx, void *buf, __u32 len);
	void *random_ctx;
	__u32 info_flags;
	__u32 n_queues;
	__u32 n_addresses;
	__u32 timeout_ms;
	__u32 reconnect_ms;
};

/* So many bytes that moved are a sign of life. */
#define KFB_CLIENT_MOVED_MIN_BYTES 1024

/**
 * struct kfb_client_queue - one queue; private but for @engine
 * @engine: for kfb_engine_start(), kfb_engine_sent(), kfb_engine_take_event()
 * @retry: between tries
 * @retry_at_ms: not before
 * @connect_until_ms: CONNECTING and AUTH end then
 * @give_up_ms: when the queue has been @is_connecting for too long
 * @is_connecting: lost, and not of use yet
 * @is_open: there is an endpoint, or one is being made
 * @was_ready: the queue was READY in this session
 * @moved_bytes: as told when bytes were last a sign of life, or at the PING
 * @is_marked: since the newest PING was sent
 * @heard_ms: when bytes have last moved, or a message came
 * @is_silent: the queue was lost because the brick did not answer in time
 * @needs_validation: the queue was lost with writes that nobody has validated yet
 * @fate_due: @fate must be told
 * @fate: of the writes with which the queue was lost
 */
struct kfb_client_queue {
	struct kfb_engine engine;
	struct kfb_retry retry;
	__u64 retry_at_ms;
	__u64 connect_until_ms;
	__u64 give_up_ms;
	__u64 moved_bytes;
	__u64 heard_ms;
	_Bool is_marked;
	_Bool is_connecting;
	_Bool is_open;
	_Bool was_ready;
	_Bool is_silent;
	_Bool needs_validation;
	_Bool fate_due;
	enum kfb_fate fate;
};

/**
 * struct kfb_client - one client of one brick
 * @config: copied
 * @state: changed in one place; use kfb_client_state()
 * @queues: config.n_queues of them are in use
 * @n_offered: how many queues the brick has not refused
 * @n_used: how many queues LIVE began with; one-sided operations use these
 * @address: of the brick, by number, where the session is, or is looked for
 * @session_id: of the session; 0: none
 * @instance_id: of the brick that has it
 * @kept: while it is asked whether the session is gone: queue 0's engine; after
 *	that, calls of it that are not told yet
 * @spare_tx: memory for outgoing messages that no engine uses
 * @is_doubted: somebody has said that the session is gone: ask
 * @is_asking: queue 0 asks whether the session is gone
 * @is_replaced: a new session has taken the place of the old one, and is not LIVE yet
 * @is_retaken: the old session was given up: only a new one leads on
 * @session_key: joins are proven with it
 * @join_counter: the last one used
 * @info: the brick's newest INFO
 * @has_info: there is an INFO
 * @is_first: no session has been LIVE yet: a failure is the end
 * @is_mapped: the session's mappings have been made
 * @map_due: the mappings of the session must be made
 * @error: of the last loss or refusal: when it is FAILED, why
 */
struct kfb_client {
	struct kfb_client_config config;
	enum kfb_client_state state;
	struct kfb_client_queue queues[KFB_CLIENT_QUEUES_MAX];
	__u32 n_offered;
	__u32 n_used;
	__u32 address;
	__u64 session_id;
	__u64 instance_id;
	struct kfb_engine kept;
	__u8 *spare_tx;
	_Bool is_doubted;
	_Bool is_asking;
	_Bool is_replaced;
	_Bool is_retaken;
	__u8 session_key[KFB_KEY_BYTES];
	__u32 join_counter;
	struct kfb_info info;
	_Bool has_info;
	_Bool is_first;
	_Bool is_mapped;
	_Bool map_due;
	int error;
};

/**
 * enum kfb_client_do - what is to be done now
 * @KFB_DO_CONNECT: make an endpoint for @queue and connect it to @address with
 *	@hello; then kfb_client_accepted(), _rejected() or _lost()
 * @KFB_DO_CLOSE: close the endpoint of @queue, so that nothing of it moves any
 *	more; then kfb_client_closed()
 * @KFB_DO_SEND: send @message on @queue
 * @KFB_DO_OUTCOME: @outcome is that of one of the caller's calls on @queue:
 *	TIMEOUT or LOST
 * @KFB_DO_FATE: @fate is that of the writes of @queue that were completed and
 *	not flushed when it was lost
 * @KFB_DO_MAP: make every mapping (again, and compare births), then
 *	kfb_client_mapped(); look at client.info first
 */
enum kfb_client_do {
	KFB_DO_CONNECT,
	KFB_DO_CLOSE,
	KFB_DO_SEND,
	KFB_DO_OUTCOME,
	KFB_DO_FATE,
	KFB_DO_MAP,
};

/**
 * struct kfb_client_action - one thing to do
 * @what: which thing, KFB_DO_*
 * @queue: index of the queue
 * @address: CONNECT: of the brick, by number
 * @hello: private data of the connection request
 * @hello_len: length of @hello, bytes
 * @message: to be sent
 * @outcome: of a call
 * @fate: of writes
 * @is_silent: CLOSE: the brick did not answer in time, which nobody has said yet
 */
struct kfb_client_action {
	enum kfb_client_do what;
	__u32 queue;
	__u32 address;
	const __u8 *hello;
	__u32 hello_len;
	struct kfb_message message;
	struct kfb_outcome outcome;
	enum kfb_fate fate;
	_Bool is_silent;
};

/**
 * kfb_client_init - a client, IDLE
 * @c: the client
 * @config: copied; the key and the name must outlive the client
 * @tx: KFB_CLIENT_TX_BYTES(config->n_queues)
 *
 * Return: 0, or -EINVAL: a configuration that no client can have.
 */
int kfb_client_init(struct kfb_client *c,
		    const struct kfb_client_config *config, __u8 *tx);

/**
 * kfb_client_start - begin to connect
 * @c: the client, IDLE
 *
 * Until the first session is LIVE, a failure is the end: FAILED. Addresses that
 * nothing is heard from are no failure as long as there is another one.
 *
 * Return: 0, or -EISCONN: not IDLE.
 */
int kfb_client_start(struct kfb_client *c);

/**
 * kfb_client_next - what is to be done now?
 * @c: the client
 * @now_ms: the time, ms
 * @out: filled when there is something
 *
 * Return: true when there is something; do it, then ask again.
 */
_Bool kfb_client_next(struct kfb_client *c, __u64 now_ms,
		      struct kfb_client_action *out);

/**
 * kfb_client_next_ms - when to ask again if nothing happens
 * @c: the client
 *
 * Return: a time, ms; KFB_TIME_NEVER: none.
 */
__u64 kfb_client_next_ms(const struct kfb_client *c);

/**
 * kfb_client_accepted - the brick has accepted a queue
 * @c: the client
 * @queue: number of the queue
 * @data: private data as received
 * @len: bytes
 * @now_ms: the time, ms
 *
 * -EKEYREJECTED: whoever accepted has not proven to be the brick.
 *
 * Return: 0, or why the queue is of no use: it will be closed.
 */
int kfb_client_accepted(struct kfb_client *c, __u32 queue, const void *data,
			__u32 len, __u64 now_ms);

/**
 * kfb_client_rejected - the brick has refused a queue, or cannot be reached
 * @c: the client
 * @queue: number of the queue
 * @data: private data as received
 * @len: bytes, may be 0
 * @now_ms: the time, ms
 * @out: the brick's words, if they are a REJECT; else zero
 *
 * Return: 0: the brick has fewer queues for a session than are wanted, which is no
 * failure of it. Otherwise the error of the status, or -ECONNREFUSED.
 */
int kfb_client_rejected(struct kfb_client *c, __u32 queue, const void *data,
			__u32 len, __u64 now_ms, struct kfb_reject *out);

/**
 * kfb_client_lost - the connection of a queue has failed
 * @c: the client
 * @queue: number of the queue
 * @now_ms: the time, ms
 * @error: why, a negative errno: what the caller sees when that is the end
 *
 * KFB_DO_CLOSE follows.
 */
void kfb_client_lost(struct kfb_client *c, __u32 queue, __u64 now_ms,
		     int error);

/**
 * kfb_client_closed - the endpoint of a queue is closed
 * @c: the client
 * @queue: number of the queue
 *
 * No operation of it is in flight any more, here or at the brick's end of what
 * this side has sent.
 */
void kfb_client_closed(struct kfb_client *c, __u32 queue);

/**
 * kfb_client_receive - a message from the brick
 * @c: the client
 * @queue: where it came
 * @data: as received
 * @len: bytes
 * @now_ms: the time, ms
 * @reply: decoded here
 * @out: what it means, for the caller
 *
 * Return: 1: @out is for the caller; 0: it was the client's own affair; else
 * as kfb_engine_receive(), and the queue will be closed.
 */
int kfb_client_receive(struct kfb_client *c, __u32 queue, const void *data,
		       __u32 len, __u64 now_ms, struct kfb_reply *reply,
		       struct kfb_outcome *out);

/**
 * kfb_client_heard - an operation of a queue is over
 * @c: the client
 * @queue: number of the queue
 * @at_ms: when, ms
 *
 * It is the same to silence as kfb_client_moved(), and may be told at any time.
 */
void kfb_client_heard(struct kfb_client *c, __u32 queue, __u64 at_ms);

/**
 * kfb_client_moved - how many bytes have moved on a queue?
 * @c: the client
 * @queue: number of the queue
 * @bytes: by the transport's word, also of operations that are not over; of the
 *	queue's connection; always 0 where nobody can tell
 * @now_ms: the time, ms
 *
 * Who moves bytes is not silent, however long the answer to a PING that is
 * behind them may take. The lease is another matter: only an answer renews it.
 * To be told while kfb_client_listens(), and right after the PING was sent: what
 * has moved by then is no sign of life.
 */
void kfb_client_moved(struct kfb_client *c, __u32 queue, __u64 bytes,
		      __u64 now_ms);

/**
 * kfb_client_listens - is a PING of a queue without an answer?
 * @c: the client
 * @queue: number of the queue
 *
 * Return: true when it matters whether bytes move.
 */
_Bool kfb_client_listens(const struct kfb_client *c, __u32 queue);

/**
 * kfb_client_mapped - every mapping is made, or known to be dead
 * @c: the client, in the session that KFB_DO_MAP was for: MAPPING, or DETACHED
 *	when its connections have been lost meanwhile
 *
 * Return: 0, or -EINVAL: nobody has asked for it.
 */
int kfb_client_mapped(struct kfb_client *c);

/**
 * kfb_client_close - no more
 * @c: the client; CLOSED afterwards
 *
 * KFB_DO_CLOSE follows for each endpoint, and KFB_DO_OUTCOME for each call that
 * had no answer: whoever waits for one waits no longer.
 */
void kfb_client_close(struct kfb_client *c);

/**
 * kfb_client_fail - no more, until it is taken up again
 * @c: the client; FAILED afterwards, unless it was over already
 * @error: why
 *
 * As kfb_client_close(), but as if the brick had not come back in time.
 */
void kfb_client_fail(struct kfb_client *c, int error);

/**
 * kfb_client_retake - try to come back after all
 * @c: the client, FAILED with every endpoint closed
 * @now_ms: the time, ms
 *
 * A new session takes the place of the old one, as if the loss had just been
 * noticed: what was completed and not flushed has its fate told, and mappings are to
 * be made again. Calls of the old session have had their outcome. A client whose
 * losses are the end (reconnect_ms 0) tries once.
 *
 * Return: 0, and the client is DETACHED; -EINVAL: it has not failed, or was never
 * LIVE; -EBUSY: an endpoint is still to be closed.
 */
int kfb_client_retake(struct kfb_client *c, __u64 now_ms);

/* Where the session is. */
static inline enum kfb_client_state kfb_client_state(const struct kfb_client *c)
{
	return c->state;
}

/* For logs and traces; "?" for a value that is no state. */
const char *kfb_client_state_name(enum kfb_client_state state);

/* Why the client FAILED, a negative errno; 0 when it has not. */
int kfb_client_error(const struct kfb_client *c);

/**
 * kfb_client_lease_until_ms - until when may handles be used?
 * @c: the client
 *
 * Any message on any queue renews the lease, from when it was sent.
 *
 * Return: a time, ms; KFB_TIME_NEVER: the lease has no end.
 */
__u64 kfb_client_lease_until_ms(const struct kfb_client *c);

/* May handles be used at @now_ms? */
_Bool kfb_client_lease_ok(const struct kfb_client *c, __u64 now_ms);

/**
 * kfb_client_usable - may one-sided operations be posted on a queue?
 * @c: the client
 * @queue: number of the queue
 * @now_ms: the time, ms
 *
 * Return: true when LIVE, the queue is READY, its writes are validated, and the
 * lease lasts.
 */
_Bool kfb_client_usable(const struct kfb_client *c, __u32 queue, __u64 now_ms);

/**
 * kfb_client_can_call - may requests be sent on a queue?
 * @c: the client
 * @queue: number of the queue
 *
 * Those of KFB_DO_MAP, too: it is true in MAPPING.
 *
 * Return: true when kfb_engine_start() makes sense.
 */
_Bool kfb_client_can_call(const struct kfb_client *c, __u32 queue);

/**
 * kfb_info_overpromises - is a brick unsafe because of what it says of writes?
 * @info: the brick's INFO
 *
 * Else KFB_INFO_UNSAFE is about who may come in.
 *
 * Return: true when its flushes rest on what nobody knows of the platform.
 */
_Bool kfb_info_overpromises(const struct kfb_info *info);

/**
 * kfb_queue_of - the queue of a block
 * @va: any byte address in it
 * @n_queues: queues in use, not 0
 *
 * All I/O of a block goes down one queue: between queues there is no order.
 *
 * Return: the queue's index.
 */
__u32 kfb_queue_of(__u64 va, __u32 n_queues);

#endif
