/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reliable datagrams' wire: what goes over a connection that is up: messages
 * in pieces, credits, farewells. Format and rules are in docs/kfabric-rdm.md.
 *
 * A struct rdmw_flow is one end of a connection. Who sends asks it for a header;
 * who receives shows it what came, and nothing of it is used before it says so.
 *
 * Context: any; a struct rdmw_flow belongs to one thread at a time.
 */
#ifndef RDMW_FLOW_H
#define RDMW_FLOW_H

#include "rdmw_cm.h"

#define RDMW_HEADER_BYTES 32

/* Completion data of a bare piece; RDMW_FEATURE_BARE. */
#define RDMW_BARE_CREDITS 0xffffU
#define RDMW_BARE_FIRST	  0x10000U /* and only piece of a message */

/*
 * Buffers to have besides the window, for what needs no credit: two messages of
 * credits, a farewell, a grant that is revoked and one that is returned.
 */
#define RDMW_CONTROL_BUFFERS 5

/* Most bytes of a message. */
#define RDMW_MESSAGE_MAX (1U << 30)

/* Of a request: rdmw_rma.h. */
#define RDMW_RANGES_MAX 4

/* Bytes of a head, all of which are in the first piece. */
#define RDMW_HEAD_BYTES(count) (8 + 24 * (count))
#define RDMW_HEAD_MAX	       RDMW_HEAD_BYTES(RDMW_RANGES_MAX)

/* Requests that may be without answer. */
#define RDMW_ASKED_MAX 16

/**
 * enum rdmw_status - what became of a request; an answer's word
 * @RDMW_DONE: it was done: what was written is in memory
 * @RDMW_NO_KEY: there is no such region
 * @RDMW_NO_ACCESS: it is not for that
 * @RDMW_NO_RANGE: it does not have all of the range
 * @RDMW_NO_ALIGN: its memory does not lie as elements must; of an atomic operation
 * @RDMW_STATUSES: how many there are
 */
enum rdmw_status {
	RDMW_DONE,
	RDMW_NO_KEY,
	RDMW_NO_ACCESS,
	RDMW_NO_RANGE,
	RDMW_NO_ALIGN,
	RDMW_STATUSES,
};

/* Flags of a piece. */
#define RDMW_FIRST  1
#define RDMW_LAST   2
#define RDMW_WORD   4 /* of a first piece: there is data for the completion */
#define RDMW_TAGGED 8 /* of a first piece: there is a tag; RDMW_FEATURE_TAGS */

/**
 * struct rdmw_piece - a message on the wire, without its bytes
 * @kind: RDMW_DATA or above
 * @flags: RDMW_FIRST, RDMW_LAST, RDMW_WORD, RDMW_TAGGED
 * @ctx: of a first piece: the receive context that the message is for, or that
 *	has the receive for a write's word
 * @bytes: of it, behind the header
 * @credits: buffers that are free again
 * @at: first piece: bytes of the whole message, else of what came before; of credits
 *	how many buffers there are more than before, which are credits, too
 * @word: with RDMW_WORD; of the first piece of an answer &enum rdmw_status; the key
 *	of a grant that is revoked or returned
 * @tag: with RDMW_TAGGED; of an answer how many more requests it is to
 */
struct rdmw_piece {
	enum rdmw_kind kind;
	__u16 flags;
	__u8 ctx;
	__u16 bytes;
	__u16 credits;
	__u64 at;
	__u64 word;
	__u64 tag;
};

/**
 * struct rdmw_message - what is to be sent, without its bytes
 * @kind: RDMW_DATA, RDMW_WRITE, RDMW_READ, RDMW_ATOMIC, RDMW_ANSWER or RDMW_GRANT
 * @total: how many bytes, a request's head included
 * @flags: RDMW_WORD, RDMW_TAGGED
 * @ctx: the receive context that it is for; 0 where nothing is received
 * @word: with RDMW_WORD; of an answer &enum rdmw_status
 * @tag: with RDMW_TAGGED; of an answer how many more requests it is to, with
 *	RDMW_FEATURE_JOINT, if it is done and has no bytes
 */
struct rdmw_message {
	enum rdmw_kind kind;
	__u64 total;
	__u16 flags;
	__u8 ctx;
	__u64 word;
	__u64 tag;
};

/**
 * struct rdmw_flow - one end of a connection
 * @features: that both ends have
 * @window_out: the peer's buffers
 * @credits: of these, how many we may send to
 * @piece_out: bytes of each, header included
 * @window_in: our buffers
 * @held: of these, how many hold a piece
 * @owed: of these, how many are free and not given back
 * @growing: buffers besides them that the peer has not been told of
 * @piece_in: bytes of each, header included
 * @ctx_out: number of the peer's last receive context; 0 if they did not agree
 * @ctx_in: of ours
 * @total: of the message that arrives
 * @got: of these, how many bytes have come
 * @kind: of the message that arrives
 * @in_message: a message has begun to arrive
 * @asked: our requests without answer
 * @due: the peer's
 * @bye_in: the peer begins nothing more but answers
 * @bye_out: we do not
 * @is_revoking: the peer has not returned @revoking yet
 * @is_revoked: we have not returned @revoked yet
 * @revoking: the key of our grant that is to be returned
 * @revoked: the key of the peer's
 */
struct rdmw_flow {
	__u32 features;
	__u16 window_out;
	__u16 credits;
	__u16 piece_out;
	__u16 window_in;
	__u16 held;
	__u16 owed;
	__u16 growing;
	__u16 piece_in;
	__u8 ctx_out;
	__u8 ctx_in;
	__u64 total;
	__u64 got;
	enum rdmw_kind kind;
	__u16 asked;
	__u16 due;
	_Bool in_message;
	_Bool bye_in;
	_Bool bye_out;
	_Bool is_revoking;
	_Bool is_revoked;
	__u64 revoking;
	__u64 revoked;
};

/**
 * rdmw_flow_init() - a connection is up
 * @flow: to set up
 * @ours: what we offered
 * @theirs: what the peer offered
 */
void rdmw_flow_init(struct rdmw_flow *flow, const struct rdmw_offer *ours,
		    const struct rdmw_offer *theirs);

/**
 * rdmw_has_bytes() - do bytes go with a piece? Such a one takes a credit
 * @kind: of which kind
 *
 * Return: yes or no.
 */
_Bool rdmw_has_bytes(enum rdmw_kind kind);

/**
 * rdmw_flow_may_send() - may a piece be sent now?
 * @flow: the connection's
 * @kind: of which kind
 *
 * Return: most bytes that it may have, which are more than 0; 0: not now.
 */
__u32 rdmw_flow_may_send(const struct rdmw_flow *flow, enum rdmw_kind kind);

/**
 * rdmw_flow_is_over() - is nothing left to be said on a connection?
 * @flow: the connection's
 *
 * Return: both ends have said farewell, and no request is without answer.
 */
_Bool rdmw_flow_is_over(const struct rdmw_flow *flow);

/**
 * rdmw_flow_data() - the header of the next piece
 * @flow: the connection's, of which rdmw_flow_may_send() says so; it has what the
 *	message's flags need
 * @message: the message
 * @at: bytes that went before
 * @bytes: of this piece
 * @out: RDMW_HEADER_BYTES
 */
void rdmw_flow_data(struct rdmw_flow *flow, const struct rdmw_message *message,
		    __u64 at, __u16 bytes, __u8 *out);

/**
 * rdmw_flow_bare() - the next piece without a header, if it needs none
 * @flow: the connection's, as for rdmw_flow_data()
 * @message: the message
 * @at: bytes that went before
 * @bytes: of this piece
 * @data: out: completion data to send with the bytes
 *
 * Return: it needs none. Else nothing has changed.
 */
_Bool rdmw_flow_bare(struct rdmw_flow *flow, const struct rdmw_message *message,
		     __u64 at, __u16 bytes, __u32 *data);

/**
 * rdmw_flow_owes() - is a message due that gives credits back?
 * @flow: the connection's
 *
 * Return: it is.
 */
_Bool rdmw_flow_owes(const struct rdmw_flow *flow);

/**
 * rdmw_flow_credit() - a message that gives credits back, if it is due
 * @flow: the connection's
 * @out: RDMW_HEADER_BYTES
 *
 * Return: it is.
 */
_Bool rdmw_flow_credit(struct rdmw_flow *flow, __u8 *out);

/**
 * rdmw_flow_may_grow() - can the peer be told of more buffers?
 * @flow: the connection's
 *
 * Return: of how many at most; 0: of none.
 */
__u16 rdmw_flow_may_grow(const struct rdmw_flow *flow);

/**
 * rdmw_flow_grow() - there are more buffers: the next message of credits says so
 * @flow: the connection's
 * @more: how many, as rdmw_flow_may_grow() allows
 */
void rdmw_flow_grow(struct rdmw_flow *flow, __u16 more);

/**
 * rdmw_flow_bye() - a farewell, if none was sent
 * @flow: the connection's
 * @out: RDMW_HEADER_BYTES
 *
 * Return: it is to be sent.
 */
_Bool rdmw_flow_bye(struct rdmw_flow *flow, __u8 *out);

/**
 * rdmw_flow_revoke() - a message that a grant is to be returned, one at a time
 * @flow: the connection's
 * @key: of the grant, which the peer was sent
 * @out: RDMW_HEADER_BYTES
 *
 * Return: it is to be sent; 0: another one is not returned yet.
 */
_Bool rdmw_flow_revoke(struct rdmw_flow *flow, __u64 key, __u8 *out);

/**
 * rdmw_flow_return() - a message that a grant was revoked, and is not used any more
 * @flow: the connection's, of which @flow->is_revoked says so
 * @out: RDMW_HEADER_BYTES
 */
void rdmw_flow_return(struct rdmw_flow *flow, __u8 *out);

/**
 * rdmw_flow_arrived() - a message has come
 * @flow: the connection's; unusable after a violation
 * @in: its bytes
 * @bytes: how many
 * @piece: out: what it is; its bytes follow the header
 *
 * Return: RDMW_OK, or why the connection must end.
 */
enum rdmw_violation rdmw_flow_arrived(struct rdmw_flow *flow, const __u8 *in,
				      __u32 bytes, struct rdmw_piece *piece);

/**
 * rdmw_flow_bare_arrived() - a piece without a header has come
 * @flow: the connection's; unusable after a violation
 * @data: the completion data that came with it
 * @bytes: how many there are
 * @piece: out: what it is
 *
 * Return: RDMW_OK, or why the connection must end.
 */
enum rdmw_violation rdmw_flow_bare_arrived(struct rdmw_flow *flow, __u64 data,
					   __u32 bytes,
					   struct rdmw_piece *piece);

/**
 * rdmw_flow_freed() - the buffer of a piece of data can take another
 * @flow: the connection's
 */
void rdmw_flow_freed(struct rdmw_flow *flow);

#endif
