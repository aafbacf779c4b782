/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The LNet-like driver's wire: what a message looks like. The rules are in
 * docs/kfabric-lnd.md.
 *
 * A message is a header, behind it a request or an answer where its kind has one, and
 * behind that the bytes of an immediate put. All numbers are little endian.
 *
 * Context: any. No state but the caller's.
 */
#ifndef LNDW_MSG_H
#define LNDW_MSG_H

#include <linux/types.h>

#define LNDW_MAGIC   0x444e4c4bU /* "KLND" */
#define LNDW_VERSION 1

/* Most transactions that one node may have outstanding at another. */
#define LNDW_CREDITS_MAX 16

/* Most bytes of a put or get. */
#define LNDW_BYTES_MAX (1U << 20)

/**
 * enum lndw_kind - kinds of messages
 * @LNDW_HELLO: asks for the receiver's incarnation
 * @LNDW_WELCOME: answers a hello
 * @LNDW_PUT: request: the sender offers memory, which the receiver is to read
 * @LNDW_IMMEDIATE: request: a put whose bytes are in the message
 * @LNDW_GET: request: the sender offers memory, which the receiver is to write
 * @LNDW_PING: request: nothing but an answer is wanted
 * @LNDW_ACK: answer to a put, an immediate put or a ping
 * @LNDW_REPLY: answer to a get; the bytes are in the memory that was offered
 * @LNDW_NACK: a message was refused because of an incarnation
 * @LNDW_KINDS: how many there are, and 0, which is none
 */
enum lndw_kind {
	LNDW_HELLO = 1,
	LNDW_WELCOME = 2,
	LNDW_PUT = 3,
	LNDW_IMMEDIATE = 4,
	LNDW_GET = 5,
	LNDW_PING = 6,
	LNDW_ACK = 7,
	LNDW_REPLY = 8,
	LNDW_NACK = 9,
	LNDW_KINDS,
};

/**
 * enum lndw_status - how a transaction ended
 * @LNDW_DONE: it was done, once
 * @LNDW_NO_MATCH: nobody at the target wanted it; nothing was done
 * @LNDW_TOO_LONG: the target's buffer is too short; nothing was done
 * @LNDW_FAILED: the target could not move the bytes
 * @LNDW_WIRE_STATUSES: those before this travel in answers; the others are found here
 * @LNDW_TIMED_OUT: there was no answer before the deadline; perhaps it was done
 * @LNDW_UNREACHED: it was not sent before the deadline; nothing was done
 * @LNDW_RESTARTED: the target has restarted meanwhile; perhaps it was done before
 * @LNDW_OUTDATED: the target knows a later incarnation of this node; nothing was done
 *	since it does
 * @LNDW_CLOSED: this node is closed; perhaps it was done
 * @LNDW_STATUSES: how many there are
 */
enum lndw_status {
	LNDW_DONE,
	LNDW_NO_MATCH,
	LNDW_TOO_LONG,
	LNDW_FAILED,
	LNDW_WIRE_STATUSES,
	LNDW_TIMED_OUT = LNDW_WIRE_STATUSES,
	LNDW_UNREACHED,
	LNDW_RESTARTED,
	LNDW_OUTDATED,
	LNDW_CLOSED,
	LNDW_STATUSES,
};

/**
 * enum lndw_reason - why a message was refused: the status of a LNDW_NACK
 * @LNDW_NOT_ME: it was for another incarnation of the receiver
 * @LNDW_NOT_YOU: the receiver knows a later incarnation of the sender
 * @LNDW_REASONS: how many there are
 */
enum lndw_reason {
	LNDW_NOT_ME,
	LNDW_NOT_YOU,
	LNDW_REASONS,
};

/**
 * struct lndw_wire_header - how each message begins
 * @magic: LNDW_MAGIC
 * @version: LNDW_VERSION
 * @kind: &enum lndw_kind
 * @bytes: of the message, this header included
 * @src_nid: node that sent it, not 0
 * @dst_nid: node that it is for, not 0
 * @src_incarnation: of the sender, not 0
 * @dst_incarnation: that the sender believes the receiver to have; of a nack that of
 *	the message that is refused; 0 in a hello alone, if none is known
 * @seq: request and answer: number of the transaction, else 0
 * @floor: all transactions of the sender with a lower number are over
 * @credits: transactions that the receiver may have outstanding at the sender
 * @status: answer: &enum lndw_status; nack: &enum lndw_reason; else 0
 * @reserved: 0
 */
struct lndw_wire_header {
	__le32 magic;
	__u8 version;
	__u8 kind;
	__le16 bytes;
	__le64 src_nid;
	__le64 dst_nid;
	__le64 src_incarnation;
	__le64 dst_incarnation;
	__le64 seq;
	__le64 floor;
	__le16 credits;
	__u8 status;
	__u8 reserved[5];
};

/**
 * struct lndw_wire_request - what follows in a put, an immediate put and a get
 * @match: which of the target's buffers is meant
 * @word: for the target's upper layer
 * @key: of the memory that is offered; 0 in an immediate put
 * @bytes: of it
 * @left_ms: until the sender gives up, not 0
 */
struct lndw_wire_request {
	__le64 match;
	__le64 word;
	__le64 key;
	__le32 bytes;
	__le32 left_ms;
};

/**
 * struct lndw_wire_answer - what follows in an answer
 * @bytes: that were moved
 * @reserved: 0
 */
struct lndw_wire_answer {
	__le32 bytes;
	__le32 reserved;
};

_Static_assert(sizeof(struct lndw_wire_header) == 64, "header on the wire");
_Static_assert(sizeof(struct lndw_wire_request) == 32, "request on the wire");
_Static_assert(sizeof(struct lndw_wire_answer) == 8, "answer on the wire");

/* A message without the bytes of an immediate put. */
#define LNDW_HEAD_MAX \
	(sizeof(struct lndw_wire_header) + sizeof(struct lndw_wire_request))
/* A message is as long as what reliable datagrams send in one piece. */
#define LNDW_MESSAGE_MAX   4096
#define LNDW_IMMEDIATE_MAX (LNDW_MESSAGE_MAX - (__u32)LNDW_HEAD_MAX)

/**
 * struct lndw_msg - a message of any kind
 * @kind: of it; which of the following say something depends on it
 * @src_nid: see &struct lndw_wire_header
 * @dst_nid: see there
 * @src_incarnation: see there
 * @dst_incarnation: see there
 * @seq: see there
 * @floor: see there
 * @credits: see there
 * @status: see there
 * @match: see &struct lndw_wire_request
 * @word: see there
 * @key: see there
 * @bytes: see there and &struct lndw_wire_answer
 * @left_ms: see there
 * @cookie: does not travel: of a request to send, that of lndw_tx_begin()
 */
struct lndw_msg {
	enum lndw_kind kind;
	__u64 src_nid;
	__u64 dst_nid;
	__u64 src_incarnation;
	__u64 dst_incarnation;
	__u64 seq;
	__u64 floor;
	__u16 credits;
	__u8 status;
	__u64 match;
	__u64 word;
	__u64 key;
	__u32 bytes;
	__u32 left_ms;
	__u64 cookie;
};

/**
 * lndw_is_request() - does a transaction begin with it?
 * @kind: of a message
 *
 * Return: it does.
 */
static inline _Bool lndw_is_request(enum lndw_kind kind)
{
	return kind >= LNDW_PUT && kind <= LNDW_PING;
}

/**
 * lndw_is_answer() - does a transaction end with it?
 * @kind: of a message
 *
 * Return: it does.
 */
static inline _Bool lndw_is_answer(enum lndw_kind kind)
{
	return kind == LNDW_ACK || kind == LNDW_REPLY;
}

/**
 * lndw_head_bytes() - how long a message is without the bytes of an immediate put
 * @kind: of it
 *
 * Return: bytes, up to LNDW_HEAD_MAX.
 */
__u32 lndw_head_bytes(enum lndw_kind kind);

/**
 * lndw_encode() - write a message
 * @msg: what decoding takes
 * @out: lndw_head_bytes() of it; the bytes of an immediate put go behind them
 */
void lndw_encode(const struct lndw_msg *msg, __u8 *out);

/**
 * lndw_decode() - read a message
 * @in: bytes that came
 * @bytes: how many
 * @msg: out: the message, which is sound in itself; unchanged on failure. The bytes of
 *	an immediate put are the last @msg->bytes of @in
 *
 * Return: 0; -EBADMSG it is none, or of another version.
 */
int lndw_decode(const __u8 *in, __u32 bytes, struct lndw_msg *msg);

#endif
