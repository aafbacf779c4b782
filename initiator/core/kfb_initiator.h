/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The initiator: one client of one brick, with everything that decides.
 *
 * Above the client (kfb_client.h), which says what a session needs next, this
 * does it: it sends and keeps what cannot be sent yet, gives answers to those who
 * wait for them, flushes, and validates what a loss has done to writes. What
 * touches the world it asks of its port: struct kfb_initiator_ops. libkfbrick
 * and kfbrick.ko are two ports of it; what they do differently is what their
 * worlds are.
 *
 *   port                                core
 *   a connection's news, messages  -->  kfb_initiator_accepted(), _rejected(),
 *                                       _lost(), _received(), _sent()
 *   time passes, or was kicked     -->  kfb_initiator_run()
 *   a request and who waits        -->  kfb_initiator_call()
 *   a flush and who waits          -->  kfb_initiator_flush()
 *   a write or read is over        -->  kfb_initiator_moved()
 *   connect, close, send, ...      <--  ops
 *
 * Context: any; nothing here sleeps, allocates or takes a lock but through ops.
 *
 * Locking: three locks of the port's. The session's: everything is called, and
 * calls ops, with it held, unless a function says otherwise. A queue's, inside
 * it: what completes writes need not hold the session's. That of the copies, inside
 * both (kfb_initiator_retain.h).
 *
 * What comes late: an answer is told apart by the engine's slot, which nobody
 * else gets before the answer has come or the connection has ended, together
 * with the number of what was asked; a readback by its place and the flush op's
 * number. Neither is ever given to another of the same kind. A copy that is written
 * again is told by its slot alone: the port completes each operation once, also one of
 * a connection that has ended, and the slot is no other's before. A send is told by its
 * buffer, as long as its endpoint is there.
 */
#ifndef KFB_INITIATOR_H
#define KFB_INITIATOR_H

#include <linux/types.h>
#include "data/kfb_fate.h"
#include "data/kfb_flush.h"
#include "data/kfb_retain.h"
#include "data/kfb_window.h"
#include "kfb_ring.h"
#include "session/kfb_client.h"

/* Receives: a reply for every credit, and the EVENTs a brick may send. */
#define KFB_INITIATOR_RX_MAX (KFB_CREDITS_MAX + KFB_EVENTS_UNACKED_MAX)

/* Those that are posted before the brick has said how many credits it gives. */
#define KFB_INITIATOR_RX_FIRST (KFB_CREDITS_MIN + KFB_EVENTS_UNACKED_MAX)

/* Mappings that came late and are about to be given back. */
#define KFB_INITIATOR_LATE_MAX 16

/*
 * Lost blocks that are remembered, in ranges, and for how many ends of a connection: of
 * one that still ends them the brick tells again.
 */
#define KFB_INITIATOR_BAD_MAX  8
#define KFB_INITIATOR_BAD_ENDS 8
/* A brick that cannot give one back now is asked again. */
#define KFB_INITIATOR_LATE_MS 100
/* How long who leaves waits for the brick. */
#define KFB_INITIATOR_LEAVE_MS 1000

/* Operations that write copies again, under way at one time. */
#define KFB_INITIATOR_REPLAYS 32

/* A flush that is about every queue. */
#define KFB_INITIATOR_ALL_QUEUES (-1)

struct kfb_initiator;

/**
 * struct kfb_initiator_queue - one queue, in the port's memory
 * @initiator: whose
 * @index: the queue's number
 * @address: of the brick, by number, that it was connected to last
 * @is_connecting: the brick has not answered to the request to connect
 * @why: set by @connect of the port when that fails: words for the failure, which
 *	stay; NULL: those of its errno
 * @n_rx: receives posted
 * @n_early: messages that came before the brick's answer to the request to
 *	connect was looked at
 * @early: the messages that came early, in order; where they lie is the port's until
 *	they are taken
 * @n_unsent: messages that there was no room for
 * @unsent: messages that there was no room for, in order
 * @flush_ids: by the engine's slot: the number of a FLUSH request's op
 * @flush_until_ms: until then a FLUSH request waits that the session has no room for;
 *	0: none does
 * @refused_until_ms: until then a FLUSH that the brick refuses for now is sent again; 0:
 *	none was refused
 * @makes_mapping: by the engine's slot: a MAP that is not for a further page
 * @flush: what was written and is not durable; under the queue's lock, but for
 *	ops, which are joined and ended under both locks and posted under the
 *	session's
 * @window: of what is in flight; under the queue's lock
 * @heard_ms: when an operation was last over; under the queue's lock
 */
struct kfb_initiator_queue {
	struct kfb_initiator *initiator;
	__u32 index;
	__u32 address;
	_Bool is_connecting;
	const char *why;
	__u32 n_rx;
	__u32 n_early;
	struct {
		const void *data;
		__u32 len;
		__u16 index;
	} early[KFB_INITIATOR_RX_FIRST];
	__u32 n_unsent;
	struct kfb_message unsent[KFB_ENGINE_TX_MAX];
	__u64 flush_ids[KFB_ENGINE_CALLS];
	__u64 flush_until_ms;
	__u64 refused_until_ms;
	_Bool makes_mapping[KFB_ENGINE_CALLS];
	struct kfb_flush_queue flush;
	struct kfb_window window;
	__u64 heard_ms;
};

/**
 * struct kfb_initiator_call - a request that somebody waits for, on queue 0
 * @node: in the initiator's ring until it is sent; the core's
 * @req: op and body
 * @in_mapping: may be sent before the session is LIVE: it makes mappings
 * @in_session: lost with this session, sent or not; 0: any will do
 * @reply: gets the decoded reply, or NULL
 * @session_id: of the session it was sent in; 0: it was not
 * @until_ms: when it is given up, while a session has no room for it; the core's
 * @outcome: when @is_done; KFB_OUTCOME_TIMEOUT without @session_id: it was not sent,
 *	as the brick did not answer earlier ones for the time that requests have
 * @is_done: nobody waits any more
 */
struct kfb_initiator_call {
	struct kfb_ring node;
	struct kfb_request req;
	_Bool in_mapping;
	__u64 in_session;
	struct kfb_reply *reply;
	__u64 session_id;
	__u64 until_ms;
	struct kfb_outcome outcome;
	_Bool is_done;
};

/**
 * struct kfb_initiator_flush - somebody who waits for a flush
 * @node: in the initiator's ring while it waits; the core's
 * @ticket: which ops the flush waits for
 * @only: the queue the flush is about, or KFB_INITIATOR_ALL_QUEUES
 * @is_of_write: of one write that is to be durable: the flush answers for that alone
 * @is_told: whoever waits is told of every failure of the medium that nobody was
 *	told of
 * @is_due: the flush begins (again) when the session is LIVE
 * @copy: of the write that is to be durable, or KFB_RETAIN_NONE
 * @mark: the core's: which retained copies it makes superfluous
 * @error: the flush's own, when it is over
 */
struct kfb_initiator_flush {
	struct kfb_ring node;
	struct kfb_flush_ticket ticket;
	int only;
	_Bool is_of_write;
	_Bool is_told;
	_Bool is_due;
	__u64 copy;
	__u64 mark;
	int error;
};

/**
 * struct kfb_initiator_place - where bytes are
 * @raddr: remote address
 * @key: of the handle
 */
struct kfb_initiator_place {
	__u64 raddr;
	__u64 key;
};

/**
 * enum kfb_initiator_level - who is to hear words
 * @KFB_SAY_WHY: whoever asks for the newest trouble
 * @KFB_SAY_LOG: whoever asks for the newest trouble, and the log: an operator must
 *	know, or can do something
 */
enum kfb_initiator_level {
	KFB_SAY_WHY,
	KFB_SAY_LOG,
};

/**
 * struct kfb_initiator_ops - what the world does for an initiator
 * @connect: make an endpoint and connect it to @address with @hello; 0, or why not. It may
 *	drop the session's lock, and takes it again
 * @close: close the endpoint: when it returns nothing of it moves any more. It
 *	may drop the session's lock, and takes it again
 * @receive: post receive buffer @index again, of KFB_REPLY_MAX_BYTES; 0 or an
 *	errno
 * @send: send a message; 0, and kfb_initiator_sent() when its memory is not in
 *	use any more; -EAGAIN: no room, kfb_initiator_send_unsent() when there may
 *	be; else the port sees to it that the queue is lost
 * @locate: where some bytes of one block can be read, and written if a copy of
 *	them is there; 0, or an errno: nowhere
 * @locate_any: the address of a byte that can be read on any queue; NULL, or
 *	-ENOENT: there is none; -ENODATA: there is no mapping at all, and what was
 *	written through others went with them: whoever ended them was told if that
 *	may not be durable
 * @read_back: read @len bytes into nowhere, behind all writes that are posted;
 *	kfb_initiator_flushed() with @id when it has completed, if it has not
 *	failed; -EAGAIN: no room, kfb_initiator_pump_flushes() when there may be.
 *	@place is below KFB_FLUSH_PLACES, and free
 * @flush_posted: for counts and traces; or NULL
 * @flush_done: a flush is over, and has left the ring; @error is what its owner
 *	is to be told
 * @take_back: post a write again that waited for its flush, which has left the
 *	ring; it ends by itself. NULL: it fails
 * @write_copy: write bytes of a copy again, as many as one operation takes;
 *	returns how many, and kfb_initiator_replayed() when it is over; -EAGAIN:
 *	no room, kfb_initiator_replay_pump() when there may be; else the port sees
 *	to it that the queue is lost. NULL where there are no copies
 * @copies_may_fit: who found no room for a copy may try again; or NULL
 * @call_done: a call is done
 * @make_mappings: in a new session: every mapping is to be made, then
 *	kfb_client_mapped()
 * @set_rate: how much the session may move from now on, kfb_rate_ok(); or NULL. What
 *	is under way goes on
 * @writes_lost: completed writes are lost, which every flush says from now on, and
 *	the port fails all writes; NULL: it goes on writing
 * @can_commit: can writes be durable when they complete? NULL: not all of them
 * @can_read_back: can a queue be flushed by reading? NULL: always
 * @over: the client does not come back, and nothing of it is open; those who
 *	wait are told next
 * @say: words for people: what happened, NULL or a detail, 0 or an errno
 * @now_ms: the time since some moment; it goes on while the machine sleeps
 * @wake_at: kfb_initiator_run() not later than then; or NULL: the port asks
 *	kfb_initiator_next_ms()
 * @kick: kfb_initiator_run() soon
 * @take_news: call kfb_initiator_accepted(), _rejected() and _lost() with what
 *	nobody has taken yet; or NULL: the port does so by itself
 * @moved_bytes: what the transport has moved on a queue's connection; 0 where
 *	nobody can tell
 * @lock_queue: take a queue's lock; the session's is held; or NULL
 * @unlock_queue: give a queue's lock back; or NULL
 * @lock_copies: take the copies' lock; others may be held; or NULL
 * @unlock_copies: give the copies' lock back; or NULL
 */
struct kfb_initiator_ops {
	int (*connect)(struct kfb_initiator_queue *q, const __u8 *hello,
		       __u32 len);
	void (*close)(struct kfb_initiator_queue *q);
	int (*receive)(struct kfb_initiator_queue *q, __u16 index);
	int (*send)(struct kfb_initiator_queue *q,
		    const struct kfb_message *message);
	int (*locate)(struct kfb_initiator *i, const struct kfb_flush_range *at,
		      struct kfb_initiator_place *place);
	int (*locate_any)(struct kfb_initiator *i, __u64 *va);
	int (*read_back)(struct kfb_initiator_queue *q, __u32 place, __u64 id,
			 const struct kfb_initiator_place *from, __u32 len);
	void (*flush_posted)(struct kfb_initiator_queue *q,
			     const struct kfb_flush_op *op, int error);
	void (*flush_done)(struct kfb_initiator *i,
			   struct kfb_initiator_flush *flush, int error);
	void (*take_back)(struct kfb_initiator *i,
			  struct kfb_initiator_flush *flush);
	int (*write_copy)(struct kfb_initiator_queue *q, __u32 slot,
			  const struct kfb_retain_piece *piece, __u32 page,
			  const struct kfb_initiator_place *to);
	void (*copies_may_fit)(struct kfb_initiator *i);
	void (*call_done)(struct kfb_initiator *i,
			  struct kfb_initiator_call *call);
	void (*make_mappings)(struct kfb_initiator *i);
	void (*set_rate)(struct kfb_initiator *i, const struct kfb_rate *rate);
	void (*writes_lost)(struct kfb_initiator *i,
			    const struct kfb_dirty *writes);
	_Bool (*can_commit)(struct kfb_initiator *i);
	_Bool (*can_read_back)(struct kfb_initiator *i);
	void (*over)(struct kfb_initiator *i);
	void (*say)(struct kfb_initiator *i, enum kfb_initiator_level level,
		    const char *what, const char *detail, int error);
	__u64 (*now_ms)(const struct kfb_initiator *i);
	void (*wake_at)(struct kfb_initiator *i, __u64 at_ms);
	void (*kick)(struct kfb_initiator *i);
	void (*take_news)(struct kfb_initiator *i);
	__u64 (*moved_bytes)(struct kfb_initiator_queue *q);
	void (*lock_queue)(struct kfb_initiator_queue *q);
	void (*unlock_queue)(struct kfb_initiator_queue *q);
	void (*lock_copies)(struct kfb_initiator *i);
	void (*unlock_copies)(struct kfb_initiator *i);
};

/**
 * struct kfb_initiator_config - what an initiator needs to know
 * @client: of its client
 * @volatile_error: of a flush where nothing is durable: 0, or why it fails
 * @over_error: of a flush that waits when all is over
 * @gives_flushes_up: a FLUSH without an answer in time is an error; else its
 *	connection is ended, and it is tried anew
 */
struct kfb_initiator_config {
	struct kfb_client_config client;
	int volatile_error;
	int over_error;
	_Bool gives_flushes_up;
};

/**
 * struct kfb_initiator_retain - copies of writes; see kfb_initiator_retain.h
 * @is_on: there is room for copies; constant
 * @book: which copies there are; under the copies' lock, as all up to @n_waits
 * @is_flushing: @flush is under way
 * @is_wanted: somebody found no room
 * @error: of the last flush of everything
 * @n_flushes: flushes that were begun in the background
 * @n_waits: times that somebody waited for room
 * @flush: the one in the background
 * @runs: copies are being written again
 * @has_failed: copies are to be written again from the beginning
 * @strikes: connections that a copy was at fault for
 * @at: up to where copies are posted, or newer ones have their bytes
 * @in_flight: bits of @parts
 * @parts: of copies on their way; each is one operation
 * @n_replays: replays that were begun
 * @n_replayed: operations that wrote copies again
 */
struct kfb_initiator_retain {
	_Bool is_on;
	struct kfb_retain book;
	_Bool is_flushing;
	_Bool is_wanted;
	int error;
	__u64 n_flushes;
	__u64 n_waits;
	struct kfb_initiator_flush flush;
	_Bool runs;
	_Bool has_failed;
	__u32 strikes;
	struct kfb_retain_cursor at;
	__u32 in_flight;
	struct {
		__u64 va;
		__u32 len;
	} parts[KFB_INITIATOR_REPLAYS];
	__u64 n_replays;
	__u64 n_replayed;
};

/**
 * struct kfb_initiator - one client of one brick
 * @ops: of its port
 * @timeout_ms: of every request of the port's
 * @volatile_error: as configured
 * @over_error: as configured
 * @gives_flushes_up: as configured
 * @client: the session
 * @queues: client.config.n_queues of them
 * @session_id: of the session that the port's mappings are of
 * @retain: copies of writes
 * @losses: completed writes that are lost
 * @flush_mode: KFB_FLUSH_*: how writes become durable in this session
 * @has_promised: somebody was told whether there is a cache: it stays so
 * @retains: there is a copy of each write that may be lost; not any more after a loss,
 *	where ops->writes_lost says that writes fail
 * @replay_due: copies are to be written again before anything else; as @retains
 * @is_over: nobody will ever answer
 * @are_due: some of @flushes are to begin
 * @flush_again_ms: no FLUSH goes out before, for the brick has refused one; or 0
 * @untold_error: of the medium, until a flush of everything returns it
 * @n_closed: endpoints that were closed; as long as it stays what was flushed
 *	has not been written again
 * @calls: requests that are not sent yet, in order
 * @flushes: &struct kfb_initiator_flush that wait
 * @late: mappings that nobody waits for any more, until the brick has taken them
 *	back, or the session is over; is_sent: an UNMAP of it is under way
 * @n_late: how many @late has
 * @unmaps: by queue 0's slot: what its UNMAP gives back; @mapping_id 0: it has none
 * @late_at_ms: when those of @late that are not sent go out; 0: as soon as they can
 * @bad: blocks that the brick has called lost, the newest ranges, each with @n_closed
 *	as it was then
 * @n_bad: ranges that it has told
 * @bad_id: the session in which it has
 * @evicted: the EVENT that the session was evicted, until it is taken; its kind is 0
 *	when the session was not
 * @reply: the newest reply, decoded
 */
struct kfb_initiator {
	const struct kfb_initiator_ops *ops;
	__u32 timeout_ms;
	int volatile_error;
	int over_error;
	_Bool gives_flushes_up;
	struct kfb_client client;
	struct kfb_initiator_queue *queues[KFB_CLIENT_QUEUES_MAX];
	__u64 session_id;
	struct kfb_initiator_retain retain;
	struct kfb_losses losses;
	__u32 flush_mode;
	_Bool has_promised;
	_Bool retains;
	_Bool replay_due;
	_Bool is_over;
	_Bool are_due;
	__u64 flush_again_ms;
	int untold_error;
	__u64 n_closed;
	struct kfb_ring calls;
	struct kfb_ring flushes;
	struct {
		__u64 mapping_id;
		_Bool is_sent;
	} late[KFB_INITIATOR_LATE_MAX];
	__u32 n_late;
	struct kfb_unmap unmaps[KFB_ENGINE_CALLS];
	__u64 late_at_ms;
	struct {
		struct kfb_range range;
		__u64 n_closed;
	} bad[KFB_INITIATOR_BAD_MAX];
	__u32 n_bad;
	__u64 bad_id;
	struct kfb_event evicted;
	struct kfb_reply reply;
};

/* ---- the session: kfb_initiator.c -------------------------------------- */

/**
 * kfb_initiator_init - an initiator without queues, IDLE
 * @i: zeroed
 * @ops: of the port
 * @config: copied; what it points to must outlive the initiator
 * @tx: KFB_CLIENT_TX_BYTES(config->client.n_queues)
 *
 * Every queue needs kfb_initiator_add_queue() before kfb_client_start().
 *
 * Return: 0, or -EINVAL: a configuration that no client can have.
 */
int kfb_initiator_init(struct kfb_initiator *i,
		       const struct kfb_initiator_ops *ops,
		       const struct kfb_initiator_config *config, __u8 *tx);

/**
 * kfb_initiator_add_queue - the memory of a queue
 * @i: the initiator
 * @q: zeroed
 * @index: number of the queue, below config->client.n_queues of kfb_initiator_init()
 */
void kfb_initiator_add_queue(struct kfb_initiator *i,
			     struct kfb_initiator_queue *q, __u32 index);

/*
 * Do all that is to be done now. True: something was done, or the client has
 * another state.
 */
_Bool kfb_initiator_run(struct kfb_initiator *i);

/**
 * kfb_initiator_take_event - what has the brick said unasked?
 * @i: the initiator
 * @out: filled when there is something
 *
 * That the session was evicted outlives it; the others are of this session.
 *
 * Return: true when there was something.
 */
_Bool kfb_initiator_take_event(struct kfb_initiator *i, struct kfb_event *out);

/**
 * kfb_initiator_retake - try to come back after all
 * @i: the initiator, which is over
 *
 * As after a loss that was noticed just now: what was completed and not flushed
 * is validated, copies are written again, ops->make_mappings is called.
 *
 * Return: 0: kfb_initiator_run() goes on; -EINVAL: it is not over, or was closed by
 * its owner, or was never LIVE; -EIO: completed writes are lost.
 */
int kfb_initiator_retake(struct kfb_initiator *i);

/**
 * kfb_initiator_opened - ops->connect has made an endpoint
 * @q: the queue
 *
 * Receives are posted on it, for what may come right after the accept. To be
 * called before the request to connect goes out.
 *
 * Return: 0, or why ops->connect fails.
 */
int kfb_initiator_opened(struct kfb_initiator_queue *q);

/**
 * kfb_initiator_accepted - the brick has accepted a queue
 * @q: the queue
 * @data: private data as received
 * @len: bytes
 */
void kfb_initiator_accepted(struct kfb_initiator_queue *q, const void *data,
			    __u32 len);

/**
 * kfb_initiator_rejected - a queue could not be connected
 * @q: the queue
 * @error: why, a positive errno
 * @data: private data as received
 * @len: bytes, may be 0
 */
void kfb_initiator_rejected(struct kfb_initiator_queue *q, int error,
			    const void *data, __u32 len);

/**
 * kfb_initiator_lost - the connection of a queue is of no use any more
 * @q: the queue
 * @error: why, a negative errno
 * @what: in words; the first reason is the reason
 * @detail: more of them, or NULL: those of @error
 */
void kfb_initiator_lost(struct kfb_initiator_queue *q, int error,
			const char *what, const char *detail);

/**
 * kfb_initiator_received - a message has come
 * @q: the queue
 * @index: of the receive buffer
 * @data: as received
 * @len: bytes
 *
 * Return: true when kfb_initiator_run() may have something to do.
 */
_Bool kfb_initiator_received(struct kfb_initiator_queue *q, __u16 index,
			     const void *data, __u32 len);

/* The memory of message @tx is not in use any more. */
void kfb_initiator_sent(struct kfb_initiator_queue *q, __u16 tx);

/* There may be room on a queue for what could not be sent. */
void kfb_initiator_send_unsent(struct kfb_initiator_queue *q);

/* True: a queue has no connection, or it is about to be closed. */
_Bool kfb_initiator_is_lost(const struct kfb_initiator_queue *q);

/* May one-sided operations be posted on every queue? */
_Bool kfb_initiator_is_usable(const struct kfb_initiator *i);

/* ---- requests: kfb_initiator_call.c ------------------------------------ */

/**
 * kfb_initiator_call - send a request when it can be, on queue 0
 * @i: the initiator
 * @call: with @req, @in_mapping, @in_session and @reply; kept until ops->call_done
 */
void kfb_initiator_call(struct kfb_initiator *i,
			struct kfb_initiator_call *call);

/**
 * kfb_initiator_next_ms - when to run again if nothing happens
 * @i: the initiator
 *
 * Return: the time, or KFB_TIME_NEVER.
 */
__u64 kfb_initiator_next_ms(const struct kfb_initiator *i);

/**
 * kfb_initiator_leave - disconnect, and come back to no session
 * @i: the initiator
 * @end: gets the request that ends the session; kept until ops->call_done
 *
 * Otherwise what the session has, also what it has only just begun to map, stays the
 * session's until its lease is over. No request that is sent from now on waits for
 * longer than KFB_INITIATOR_LEAVE_MS.
 *
 * Return: true: @end is under way, and worth to be waited for; false: no session can
 * be told.
 */
_Bool kfb_initiator_leave(struct kfb_initiator *i,
			  struct kfb_initiator_call *end);

/* Send the requests that can be sent, and end those that wait for room too long. */
void kfb_initiator_pump_calls(struct kfb_initiator *i);

/**
 * kfb_initiator_unmap_late - give a mapping back that nobody waits for
 * @i: the initiator
 * @mapping_id: the mapping's id
 *
 * As long as the session lives the brick is asked again when it has no memory for
 * that, or too much to do. When there are too many the mapping stays, which is said.
 */
void kfb_initiator_unmap_late(struct kfb_initiator *i, __u64 mapping_id);

/* ---- flushes and losses: kfb_initiator_flush.c -------------------------- */

/**
 * kfb_initiator_flush - make durable what has been written
 * @i: the initiator
 * @flush: with @only, @is_of_write and @is_told; in no ring. Kept until
 *	ops->flush_done, which may be called before this returns
 */
void kfb_initiator_flush(struct kfb_initiator *i,
			 struct kfb_initiator_flush *flush);

/*
 * Begin the flushes that are due, and post what there is room for. True:
 * something was begun or posted.
 */
_Bool kfb_initiator_pump_flushes(struct kfb_initiator *i);

/**
 * kfb_initiator_flushed - a readback has completed
 * @q: the queue
 * @id: as it was posted
 * @error: 0 or a negative errno
 */
void kfb_initiator_flushed(struct kfb_initiator_queue *q, __u64 id, int error);

/* Every flush that waits begins again. */
void kfb_initiator_flushes_anew(struct kfb_initiator *i);

/**
 * kfb_initiator_lose - completed writes are lost
 * @i: the initiator
 * @writes: what is lost
 * @why: KFB_LOSS_*
 *
 * Those who wait for a flush fail.
 */
void kfb_initiator_lose(struct kfb_initiator *i, const struct kfb_dirty *writes,
			__u32 why);

/* May completed writes not be durable? */
_Bool kfb_initiator_is_dirty(struct kfb_initiator *i);

/* True: completed writes need a flush, which helps. */
static inline _Bool kfb_flush_mode_has_cache(__u32 flush_mode)
{
	return flush_mode == KFB_FLUSH_MESSAGE ||
	       flush_mode == KFB_FLUSH_READBACK;
}

/* ---- the data path; under the queue's lock alone ------------------------ */

/* An operation that was at fault for so many ends of a connection is given up. */
#define KFB_STRIKES_MAX 3

/**
 * kfb_is_at_fault - was a one-sided operation why its connection has ended?
 * @error: a negative errno, of its completion or of its post
 *
 * It was not when the connection, the way to the brick or the brick itself went, or
 * when memory was short: then it goes again as often as that comes back. What the
 * brick or the fabric refuses ends every connection that it is posted on. Over tcp both
 * look like the end of the connection: kfb_initiator_is_at_fault() knows more.
 *
 * Context: any; no lock is needed.
 */
_Bool kfb_is_at_fault(int error);

/**
 * kfb_initiator_is_at_fault - kfb_is_at_fault(), or is its memory lost?
 * @i: the initiator
 * @error: a negative errno, of its completion
 * @va: where it has written or read
 * @len: bytes
 *
 * The brick tells by an EVENT of blocks of which it could not have a page. What ends
 * together with its connection, and goes to one of them, is taken to be why, as long as
 * that is not long ago.
 *
 * Context: the port's lock is held.
 */
_Bool kfb_initiator_is_at_fault(const struct kfb_initiator *i, int error,
				__u64 va, __u64 len);

/**
 * kfb_initiator_moved - a one-sided operation is over, and went well
 * @q: the queue
 * @len: the operation's bytes
 * @mark: of its post
 * @now_ms: the time, ms
 */
static inline void kfb_initiator_moved(struct kfb_initiator_queue *q, __u64 len,
				       const struct kfb_window_mark *mark,
				       __u64 now_ms)
{
	q->heard_ms = now_ms;
	kfb_window_moved(&q->window, len, now_ms, mark);
}

#endif
