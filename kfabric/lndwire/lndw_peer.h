/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The LNet-like driver: what is between this node and one peer: whose incarnation is
 * known, which transactions are outstanding in either direction, what is to be sent.
 *
 *                something is wanted                  the peer has spoken
 *    DOWN ------------------------------> GREETING -----------------------> UP
 *     ^ \                                    |                              |
 *     |  \ the peer has spoken: UP           |                              |
 *     +--- nothing is wanted any more -------+                              |
 *    from any state: the peer knows a later incarnation of this node ---> OUTDATED
 *
 * "The peer has spoken" is a hello, or a message for this incarnation of this node. It
 * tells the peer's incarnation. Incarnations of a node rise, so that the greatest one is
 * the last one, and nothing of a lower one is taken.
 *
 * A transaction of ours is a place in @tx from lndw_tx_begin() to ops->end(), which comes
 * exactly once. Its request is sent again until it is answered. A transaction of the peer's
 * is a place in @rx from ops->begin() on, which comes once however often the request does,
 * until one that is LNDW_CREDITS_MAX later takes the place: so a request whose answer was
 * lost is known again, and is answered again.
 *
 *    tx: FREE - begin -> WAITING - sent, answered, over -> FREE
 *    rx: FREE, DONE - request -> DOING - lndw_rx_done() -> DONE
 *        DOING - the peer has restarted -> ABANDONED - lndw_rx_done() -> FREE
 *
 * Nothing here allocates, sends, or looks at a clock: the driver hands in what came and
 * what time it is, and fetches what is to be sent by lndw_next().
 *
 * Context: any. A struct lndw_peer belongs to one thread at a time. Callbacks may call
 * lndw_tx_begin() and lndw_rx_done() of the same peer.
 */
#ifndef LNDW_PEER_H
#define LNDW_PEER_H

#include "lndw_msg.h"

/* When a hello or a request without answer is sent again: doubled each time. */
#define LNDW_RESEND_MS	   500
#define LNDW_RESEND_MAX_MS 4000
/* When one that could not be sent is. */
#define LNDW_AGAIN_MS 100

/* Messages to one peer that are being sent: of each place one, and of each other kind. */
#define LNDW_SENDING_MAX (2 * LNDW_CREDITS_MAX + 3)

struct lndw_peer;

/**
 * struct lndw_ops - what a node does for its peers' transactions, and ours
 * @begin: take on a put, an immediate put or a get of the peer's. lndw_rx_done() must
 *	follow, now or later. @place names it until then
 * @end: a transaction of ours is over. @bytes: that were moved, if it is LNDW_DONE
 */
struct lndw_ops {
	void (*begin)(struct lndw_peer *peer, unsigned int place,
		      const struct lndw_msg *msg);
	void (*end)(struct lndw_peer *peer, __u64 cookie,
		    enum lndw_status status, __u32 bytes);
};

/**
 * struct lndw_node - this node
 * @nid: its number, not 0
 * @incarnation: greater than those it had before, not 0
 * @credits: transactions that a peer may have outstanding here, 1 to LNDW_CREDITS_MAX
 * @ops: what is done
 */
struct lndw_node {
	__u64 nid;
	__u64 incarnation;
	__u16 credits;
	const struct lndw_ops *ops;
};

/**
 * enum lndw_state - of a peer; drawing at the head of the file
 * @LNDW_DOWN: nothing is known, and nothing wanted
 * @LNDW_GREETING: a hello is sent again and again
 * @LNDW_UP: the peer's incarnation is known
 * @LNDW_OLD_HERE: OUTDATED: the peer takes nothing of this node any more
 * @LNDW_STATES: how many there are
 */
enum lndw_state {
	LNDW_DOWN,
	LNDW_GREETING,
	LNDW_UP,
	LNDW_OLD_HERE,
	LNDW_STATES,
};

/**
 * enum lndw_event - what moves a peer from state to state
 * @LNDW_WANTED: a transaction has begun
 * @LNDW_SPOKEN: the peer has
 * @LNDW_IDLE: no transaction of ours is left
 * @LNDW_TOLD_OLD: the peer knows a later incarnation of this node
 * @LNDW_EVENTS: how many there are
 */
enum lndw_event {
	LNDW_WANTED,
	LNDW_SPOKEN,
	LNDW_IDLE,
	LNDW_TOLD_OLD,
	LNDW_EVENTS,
};

/**
 * enum lndw_verdict - what became of a message that came
 * @LNDW_TAKEN: it was used
 * @LNDW_REPEATED: its request was here before
 * @LNDW_OVER: its sender, or this node, does not wait for it any more
 * @LNDW_BUSY: its place is taken by what goes on here; it will come again
 * @LNDW_OLD: it is of an incarnation of the sender that is gone
 * @LNDW_OTHER: it is for an incarnation of this node that is gone
 * @LNDW_WRONG: it breaks the rules
 * @LNDW_VERDICTS: how many there are
 */
enum lndw_verdict {
	LNDW_TAKEN,
	LNDW_REPEATED,
	LNDW_OVER,
	LNDW_BUSY,
	LNDW_OLD,
	LNDW_OTHER,
	LNDW_WRONG,
	LNDW_VERDICTS,
};

/* private: a transaction of ours, and of the peer's. */
struct lndw_tx {
	__u64 cookie;
	__u64 seq;
	__u64 match;
	__u64 word;
	__u64 key;
	__u64 deadline_ms;
	__u64 send_ms; /* not before */
	__u32 bytes;
	__u8 kind; /* 0: free */
	__u8 tries;
	_Bool is_sending;
};

struct lndw_rx {
	__u64 seq;
	__u32 bytes;
	__u8 kind;
	__u8 state; /* enum lndw_rx_state */
	__u8 status;
	_Bool is_due; /* its answer is */
	_Bool is_sending;
};

/**
 * struct lndw_peer - a peer
 * @node: whose it is
 * @nid: the peer's number
 * @incarnation: the latest that is known; 0: none
 * @state: see there
 * @outstanding: transactions of ours that are not over
 */
struct lndw_peer {
	const struct lndw_node *node;
	__u64 nid;
	__u64 incarnation;
	enum lndw_state state;
	unsigned int outstanding;
	/* private: ours */
	__u64 next_seq;
	__u64 floor; /* those below are over */
	__u64 hello_ms; /* not before */
	__u16 credits; /* the peer's last word */
	__u8 hellos;
	_Bool is_greeting; /* a hello is being sent */
	_Bool is_welcome_due;
	_Bool is_welcoming; /* one is being sent */
	_Bool is_nack_due;
	_Bool is_nacking; /* one is being sent */
	__u8 nack_reason;
	__u64 nack_to; /* the incarnation whose message was refused */
	/* private: the peer's */
	__u64 rx_floor;
	struct lndw_tx tx[LNDW_CREDITS_MAX];
	struct lndw_rx rx[LNDW_CREDITS_MAX];
};

/**
 * struct lndw_want - a transaction to begin
 * @kind: LNDW_PUT, LNDW_IMMEDIATE, LNDW_GET or LNDW_PING
 * @match: see &struct lndw_wire_request
 * @word: see there
 * @key: see there; of memory that can be reached from now to ops->end()
 * @bytes: of it, 1 to LNDW_BYTES_MAX; of an immediate put 0 to LNDW_IMMEDIATE_MAX
 * @deadline_ms: when it is over in any case
 * @cookie: for ops->end() and &struct lndw_msg
 */
struct lndw_want {
	enum lndw_kind kind;
	__u64 match;
	__u64 word;
	__u64 key;
	__u32 bytes;
	__u64 deadline_ms;
	__u64 cookie;
};

/**
 * lndw_peer_init() - nothing is known of a peer yet
 * @peer: to set up
 * @node: whose it is; must stay
 * @nid: the peer's number, not 0
 */
void lndw_peer_init(struct lndw_peer *peer, const struct lndw_node *node,
		    __u64 nid);

/**
 * lndw_state_after() - the table of states
 * @state: of a peer
 * @event: what happens
 *
 * Return: the state after that.
 */
enum lndw_state lndw_state_after(enum lndw_state state, enum lndw_event event);

/**
 * lndw_tx_begin() - begin a transaction
 * @peer: with whom
 * @want: which
 * @now_ms: the time
 *
 * Return: 0: ops->end() will come, once; -EAGAIN there is no room before another one is
 * over; -ESTALE the peer knows a later incarnation of this node.
 */
int lndw_tx_begin(struct lndw_peer *peer, const struct lndw_want *want,
		  __u64 now_ms);

/**
 * lndw_tx_end_all() - end all transactions of ours
 * @peer: with whom
 * @status: how
 */
void lndw_tx_end_all(struct lndw_peer *peer, enum lndw_status status);

/**
 * lndw_rx_done() - what ops->begin() took on is over
 * @peer: whose transaction it is
 * @place: as it was given to ops->begin()
 * @status: LNDW_DONE to LNDW_FAILED
 * @bytes: that were moved
 */
void lndw_rx_done(struct lndw_peer *peer, unsigned int place,
		  enum lndw_status status, __u32 bytes);

/**
 * lndw_rx_is_wanted() - does the peer still wait for what ops->begin() took on?
 * @peer: whose transaction it is
 * @place: as it was given to ops->begin(); lndw_rx_done() did not follow yet
 *
 * Return: it may. Else the peer has ended it, or has restarted.
 */
_Bool lndw_rx_is_wanted(const struct lndw_peer *peer, unsigned int place);

/**
 * lndw_arrived() - a message has come
 * @peer: the one with the message's src_nid
 * @msg: as lndw_decode() gave it
 * @now_ms: the time
 *
 * Return: what became of it.
 */
enum lndw_verdict lndw_arrived(struct lndw_peer *peer,
			       const struct lndw_msg *msg, __u64 now_ms);

/**
 * lndw_tick() - time has passed: end what is too late
 * @peer: the peer; costs next to nothing if nothing of ours is outstanding
 * @now_ms: the time
 */
void lndw_tick(struct lndw_peer *peer, __u64 now_ms);

/**
 * lndw_next() - fetch a message that is to be sent now
 * @peer: the peer that it is for
 * @now_ms: the time
 * @msg: out: the message
 *
 * lndw_sent() must follow for each. So long no other hello, welcome or nack is given out,
 * nor another request or answer of the same place, also if what has the place now is
 * another transaction: whatever the peer does, LNDW_SENDING_MAX messages to it are being
 * sent at most.
 *
 * Return: there is one.
 */
_Bool lndw_next(struct lndw_peer *peer, __u64 now_ms, struct lndw_msg *msg);

/**
 * lndw_sent() - a message of lndw_next() is off this node's hands
 * @peer: the peer
 * @kind: of the message
 * @seq: of the message; its transaction may be over
 * @is_sent: it has gone out; else it is known that it could not
 * @now_ms: the time
 */
void lndw_sent(struct lndw_peer *peer, enum lndw_kind kind, __u64 seq,
	       _Bool is_sent, __u64 now_ms);

#endif
