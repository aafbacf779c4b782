/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client engine: one connection (queue) to a brick, without I/O.
 *
 * Requests go in, messages and decisions come out; the caller moves the
 * messages and tells the time. The engine never waits and never allocates; the
 * memory for outgoing messages is the caller's.
 *
 * States and legal moves are those of kfb_session.h for a client:
 *
 *   IDLE, BACKOFF --hello--> CONNECTING --accepted--> AUTH, or READY at once
 *   when there is no client name; AUTH --the brick's proof is good--> READY;
 *   IDLE, BACKOFF --join--> CONNECTING --accepted, its proof good--> READY;
 *   any --lost, refused, bad message--> CLOSING --again, keep--> BACKOFF
 *
 * A call is one request in one slot, with one credit; AUTH has no slot. A call
 * whose deadline passes is abandoned: its outcome is unknown, its slot is held
 * until the reply comes late or the connection ends. When the connection is
 * lost, there are two ways on: kfb_engine_keep(), join the same session again
 * and send every unanswered request once more; or every call has an unknown
 * outcome, kfb_engine_next_lost() lists them, and kfb_engine_again() forgets.
 *
 * Context: any; functions do not sleep.
 * Locking: the caller's, one thread in an engine at a time.
 * Recovery: after CLOSING, keep, or list the calls and begin again.
 * kfb_client.h decides which.
 */
#ifndef KFB_ENGINE_H
#define KFB_ENGINE_H

#include <linux/types.h>
#include "kfb_auth.h"
#include "codec/kfb_codec.h"
#include "kfb_session.h"
#include "kfb_slot.h"
#include "kfb_time.h"

/*
 * Buffers for outgoing messages. A reply may overtake the completion of its
 * request's send, so there are some more than credits.
 */
#define KFB_ENGINE_TX_MAX   (KFB_CREDITS_MAX + 8)
#define KFB_ENGINE_TX_BYTES (KFB_ENGINE_TX_MAX * KFB_REQ_MAX_BYTES)

/* One call for each slot, and AUTH's. */
#define KFB_ENGINE_AUTH	 KFB_CREDITS_MAX
#define KFB_ENGINE_CALLS (KFB_CREDITS_MAX + 1)

/* EVENTs the caller may leave untaken; a brick sends no more unacknowledged. */
#define KFB_ENGINE_EVENTS_MAX KFB_EVENTS_UNACKED_MAX

/* The part of a lease, as a divisor, that is not used: clocks drift. */
#define KFB_ENGINE_LEASE_MARGIN_DIV 8

/*
 * A PING goes out when this part of a lease, as a divisor, has passed. With
 * kfb_client.h's timeout of another quarter a queue that has swallowed it is
 * given up while an eighth is left to come back on another connection.
 */
#define KFB_ENGINE_LEASE_RENEW_DIV 2

/* A call that is given up only with its connection. */
#define KFB_ENGINE_NO_TIMEOUT (~(__u32)0)

/* A client's grants, as AUTH told them. */
struct kfb_granted {
	__u32 n;
	struct kfb_grant list[KFB_GRANTS_MAX];
};

/**
 * struct kfb_engine_config - what the engine needs to know
 * @hmac: HMAC-SHA256
 * @client_name: NUL terminated, at most KFB_NAME_MAX; NULL: no AUTH
 * @key: KFB_KEY_BYTES, valid as long as the engine
 * @expect_uuid: the brick's uuid, or zero: any
 * @nonce: random, new for every connection
 * @features: KFB_FEATURE_* wanted
 * @last_instance_id: what this client last saw, or 0
 * @last_power_epoch: what this client last saw, or 0
 * @former_session_id: of this client, which the brick is to end first; or 0
 * @granted: filled by AUTH; NULL: nobody asks for it
 */
struct kfb_engine_config {
	struct kfb_hmac hmac;
	const char *client_name;
	const __u8 *key;
	__u8 expect_uuid[KFB_UUID_BYTES];
	__u8 nonce[KFB_NONCE_BYTES];
	__u32 features;
	__u64 last_instance_id;
	__u64 last_power_epoch;
	__u64 former_session_id;
	struct kfb_granted *granted;
};

/**
 * struct kfb_join - what a HELLO that joins a session needs
 * @queue: number of the session's queue; 0 resumes the session
 * @session_id: from the ACCEPT of the session's first queue
 * @instance_id: from the ACCEPT of the session's first queue
 * @counter: above all that this session has used
 * @key: the session's, KFB_KEY_BYTES, valid until the join is answered
 */
struct kfb_join {
	__u16 queue;
	__u64 session_id;
	__u64 instance_id;
	__u32 counter;
	const __u8 *key;
};

/* What waits for a reply; private to the engine. */
struct kfb_call {
	void *owner;
	__u64 deadline_ms;
	__u64 sent_ms;
	__u16 op;
	__u16 tx; /* the buffer that holds the request until it is answered */
	__u32 len; /* of the request, bytes */
	_Bool waiting;
	_Bool abandoned; /* nobody waits any more */
	_Bool lost; /* outcome unknown, not listed yet */
	_Bool resend; /* on the next connection */
};

/* Who uses a buffer for outgoing messages; private to the engine. */
#define KFB_TX_SENDING 1 /* the fabric */
#define KFB_TX_CALL    2 /* a call that may have to be sent again */

/**
 * struct kfb_engine - one connection
 * @config: copied
 * @state: private; use kfb_engine_state()
 * @hello: as asked for
 * @hello_raw: as sent for a new session, for the transcript
 * @accept_raw: as received for a new session, for the transcript
 * @join_raw: as sent to join
 * @accept: what the brick answered
 * @brick_uuid: proven by AUTH
 * @power_epoch: from AUTH's reply
 * @n_grants: of this client, by AUTH
 * @tx: KFB_ENGINE_TX_BYTES of the caller
 * @tx_busy: who uses each buffer, KFB_TX_*
 * @joined_session_id: the session this HELLO names; 0: a new one
 * @joined_instance_id: the instance that session belongs to
 * @joined_key: the session's key, while the join has no answer
 * @credits: requests that may go out
 * @slots: of the queue
 * @calls: by slot, AUTH last
 * @n_waiting: calls that wait for a reply
 * @lease: until when handles are good: it counts from the sending of the
 *	request that renewed it, less a margin
 * @lease_ms: from INFO; 0: unknown or endless
 * @renewed_ms: when the newest request that was answered was sent
 * @event_seen: number of the newest EVENT
 * @event_acked: number of the newest EVENT acknowledged
 * @events_unacked: EVENTs since the last acknowledgement
 * @event_credits: to be returned to the brick with the next request
 * @events: EVENTs that the caller has not taken
 * @n_events: how many EVENTs the caller has not taken
 */
struct kfb_engine {
	struct kfb_engine_config config;
	enum kfb_conn_state state;
	struct kfb_hello hello;
	__u8 hello_raw[KFB_HELLO_BYTES];
	__u8 accept_raw[KFB_ACCEPT_BYTES];
	__u8 join_raw[KFB_HELLO_BYTES];
	struct kfb_accept accept;
	__u8 brick_uuid[KFB_UUID_BYTES];
	__u64 power_epoch;
	__u32 n_grants;
	__u8 *tx;
	__u8 tx_busy[KFB_ENGINE_TX_MAX];
	__u64 joined_session_id;
	__u64 joined_instance_id;
	const __u8 *joined_key;
	struct kfb_credits credits;
	struct kfb_slots slots;
	struct kfb_call calls[KFB_ENGINE_CALLS];
	__u32 n_waiting;
	struct kfb_lease lease;
	__u32 lease_ms;
	__u64 renewed_ms;
	__u32 event_seen;
	__u32 event_acked;
	__u32 events_unacked;
	__u32 event_credits;
	struct kfb_event events[KFB_ENGINE_EVENTS_MAX];
	__u32 n_events;
};

/**
 * struct kfb_message - a message to send
 * @tx: number of the buffer, for kfb_engine_sent()
 * @slot: of the call; KFB_ENGINE_AUTH for AUTH
 * @len: bytes
 * @data: in the tx memory
 */
struct kfb_message {
	__u16 tx;
	__u16 slot;
	__u32 len;
	const __u8 *data;
};

enum kfb_outcome_kind {
	KFB_OUTCOME_REPLY, /* of a call; error is the brick's answer */
	KFB_OUTCOME_LATE, /* of an abandoned call: undo what it did */
	KFB_OUTCOME_EVENT, /* kfb_engine_take_event() has it, but for EVICTED */
	KFB_OUTCOME_READY, /* AUTH is done, in time or late */
	KFB_OUTCOME_TIMEOUT, /* abandoned; outcome unknown */
	KFB_OUTCOME_LOST, /* connection lost; outcome unknown */
};

/**
 * struct kfb_outcome - what became of a call, or news from the brick
 * @kind: what it is
 * @slot: of the call; KFB_ENGINE_AUTH for AUTH
 * @op: of the call
 * @error: 0 or a negative errno
 * @status: the brick's, 0 when it did not answer
 * @owner: of the call
 */
struct kfb_outcome {
	enum kfb_outcome_kind kind;
	__u16 slot;
	__u16 op;
	int error;
	__u16 status;
	void *owner;
};

/**
 * kfb_engine_init - an engine, IDLE
 * @e: the engine
 * @config: copied; the key and the name must outlive the engine
 * @tx: KFB_ENGINE_TX_BYTES for outgoing messages
 *
 * Return: 0, or -EINVAL: a name without key or hmac, or too long a name.
 */
int kfb_engine_init(struct kfb_engine *e,
		    const struct kfb_engine_config *config, __u8 *tx);

/**
 * kfb_engine_again - forget the lost connection, keep the configuration
 * @e: the engine, CLOSING or BACKOFF; BACKOFF afterwards
 * @nonce: a new random nonce
 *
 * What the brick last said of its instance and power epoch goes into the next
 * AUTH.
 *
 * Return: 0, or -EBUSY: another state, or lost calls are not listed yet.
 */
int kfb_engine_again(struct kfb_engine *e, const __u8 nonce[KFB_NONCE_BYTES]);

/**
 * kfb_engine_keep - keep the unanswered calls over a lost connection
 * @e: the engine, CLOSING; BACKOFF afterwards
 *
 * For a queue that will join its session again. AUTH is not kept: without its
 * answer there is no session. Deadlines stand still until the calls are sent
 * again.
 *
 * Return: 0, or -EBUSY: not CLOSING.
 */
int kfb_engine_keep(struct kfb_engine *e);

/**
 * kfb_engine_drop - the session of kept calls is gone
 * @e: the engine; nothing happens unless it is BACKOFF
 *
 * kfb_engine_next_lost() lists them then.
 */
void kfb_engine_drop(struct kfb_engine *e);

/**
 * kfb_engine_join - begin: the private data of a request that joins
 * @e: the engine, IDLE or BACKOFF
 * @join: the session
 * @out: where the bytes are
 * @len: how many bytes
 *
 * Return: 0, -EINVAL (no session, not encodable), -EISCONN (another state), or
 * what hmac returned.
 */
int kfb_engine_join(struct kfb_engine *e, const struct kfb_join *join,
		    const __u8 **out, __u32 *len);

/**
 * kfb_engine_resend - the next request that must be sent again
 * @e: the engine, READY after a join
 * @now_ms: the time, ms
 * @timeout_ms: for the reply
 * @out: the message to send, its cookie unchanged
 *
 * New requests may go out before; slots and credits are taken already.
 *
 * Return: true when there was one; ask again.
 */
_Bool kfb_engine_resend(struct kfb_engine *e, __u64 now_ms, __u32 timeout_ms,
			struct kfb_message *out);

/**
 * kfb_engine_session_key - the key this session's joins are proven with
 * @e: the engine of queue 0, READY after a new session was made
 * @key: filled
 *
 * Without AUTH it is made of a key, a name, a uuid and an epoch of zeros.
 *
 * Return: 0, -EINVAL (no hmac), or what hmac returned.
 */
int kfb_engine_session_key(const struct kfb_engine *e, __u8 key[KFB_KEY_BYTES]);

/* Where the connection is. */
enum kfb_conn_state kfb_engine_state(const struct kfb_engine *e);

/**
 * kfb_engine_hello - begin: the private data of the connection request
 * @e: the engine, IDLE or BACKOFF
 * @out: where the bytes are
 * @len: how many bytes
 *
 * Return: 0, -EINVAL (not encodable) or -EISCONN (another state).
 */
int kfb_engine_hello(struct kfb_engine *e, const __u8 **out, __u32 *len);

/**
 * kfb_engine_accepted - the brick has accepted
 * @e: the engine, CONNECTING
 * @data: private data as received
 * @len: bytes
 *
 * The ACCEPT of a join must prove that the brick has the session's key: only
 * then is the engine READY.
 *
 * Return: 0; -EPROTO (not an ACCEPT, or one that no brick may send),
 * -EKEYREJECTED (a join's without the proof), or what hmac returned: the engine
 * is CLOSING; -EISCONN (not CONNECTING).
 */
int kfb_engine_accepted(struct kfb_engine *e, const void *data, __u32 len);

/**
 * kfb_engine_rejected - the brick has refused
 * @e: the engine, CONNECTING; CLOSING afterwards
 * @data: private data as received
 * @len: bytes, may be 0
 * @out: the brick's words, if they are a REJECT; else zero
 *
 * Return: always an error: that of the status, or -ECONNREFUSED.
 */
int kfb_engine_rejected(struct kfb_engine *e, const void *data, __u32 len,
			struct kfb_reject *out);

/**
 * kfb_engine_auth - the AUTH request
 * @e: the engine, AUTH
 * @now_ms: the time, ms
 * @timeout_ms: for the reply
 * @owner: of the call
 * @out: the message to send
 *
 * Return: 0, -ENOTCONN (not AUTH), -EALREADY, or what hmac returned.
 */
int kfb_engine_auth(struct kfb_engine *e, __u64 now_ms, __u32 timeout_ms,
		    void *owner, struct kfb_message *out);

/**
 * kfb_engine_start - a request becomes a message
 * @e: the engine, READY
 * @req: op and body; credits and cookie are the engine's
 * @now_ms: the time, ms
 * @timeout_ms: for the reply
 * @owner: comes back in the outcome
 * @out: the message to send; kfb_engine_sent() when the send has completed
 *
 * Two credits are kept for PING and UNMAP, the last one of them for PING, and another
 * one for FLUSH while none is under way. PING and UNMAP acknowledge the newest EVENT
 * when their event_seq is 0.
 *
 * Return: 0; -EAGAIN: no credit, slot or buffer, or kfb_engine_resend() is to send others
 * again before; -ENOTCONN: not READY; -EINVAL: not
 * encodable, or AUTH.
 */
int kfb_engine_start(struct kfb_engine *e, const struct kfb_request *req,
		     __u64 now_ms, __u32 timeout_ms, void *owner,
		     struct kfb_message *out);

/* Is a request in that slot whose owner waits no more, without an answer yet? */
_Bool kfb_engine_is_given_up(const struct kfb_engine *e, __u16 slot);

/**
 * kfb_engine_wait_again - somebody waits for the answer to a request once more
 * @e: the engine
 * @slot: kfb_engine_is_given_up()
 * @until_ms: as long as that
 * @owner: comes back in the outcome
 *
 * Who would ask the same again needs no second slot for it.
 */
void kfb_engine_wait_again(struct kfb_engine *e, __u16 slot, __u64 until_ms,
			   void *owner);

/* The buffer of message @tx is free again. */
void kfb_engine_sent(struct kfb_engine *e, __u16 tx);

/**
 * kfb_engine_receive - a message from the brick
 * @e: the engine
 * @data: as received
 * @len: bytes
 * @reply: decoded here, valid with KFB_OUTCOME_REPLY, LATE and EVENT
 * @out: what it means
 *
 * Return: 0; -EPROTO: not what a brick may send; -EKEYREJECTED: the brick
 * could not prove itself. After an error the engine is CLOSING: end the
 * connection.
 */
int kfb_engine_receive(struct kfb_engine *e, const void *data, __u32 len,
		       struct kfb_reply *reply, struct kfb_outcome *out);

/*
 * True: @out is the oldest EVENT that was not taken yet. None is left of a connection
 * that has ended; EVICTED, which always comes with the end, is in the reply alone.
 */
_Bool kfb_engine_take_event(struct kfb_engine *e, struct kfb_event *out);

/**
 * kfb_engine_wants_ping - must a PING go out?
 * @e: the engine
 * @now_ms: the time, ms
 *
 * Return: true when an EVENT is not acknowledged, or half of the lease has passed
 * since the newest request that was answered was sent, or the newest PING; false
 * without a credit.
 */
_Bool kfb_engine_wants_ping(const struct kfb_engine *e, __u64 now_ms);

/**
 * kfb_engine_next_ms - when the engine wants to be asked again
 * @e: the engine
 *
 * Return: the earliest deadline of a call or time of a PING; KFB_TIME_NEVER:
 * none.
 */
__u64 kfb_engine_next_ms(const struct kfb_engine *e);

/**
 * kfb_engine_expire - the next call whose deadline has passed
 * @e: the engine
 * @now_ms: the time, ms
 * @out: KFB_OUTCOME_TIMEOUT, -ETIMEDOUT
 *
 * Return: true when there was one; ask again.
 */
_Bool kfb_engine_expire(struct kfb_engine *e, __u64 now_ms,
			struct kfb_outcome *out);

/**
 * kfb_engine_lost - the connection is gone
 * @e: the engine
 *
 * Its endpoint must be closed, so that no send buffer is in use any more.
 */
void kfb_engine_lost(struct kfb_engine *e);

/**
 * kfb_engine_next_lost - the next call that the lost connection leaves open
 * @e: the engine, CLOSING or BACKOFF
 * @out: KFB_OUTCOME_LOST, -ECONNRESET
 *
 * Return: true when there was one; ask again.
 */
_Bool kfb_engine_next_lost(struct kfb_engine *e, struct kfb_outcome *out);

#endif
