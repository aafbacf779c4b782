/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transport header of RPC-over-RDMA version 1 (RFC 8166), as a client has it: it
 * makes those of calls, and looks at those of replies before anything of them is used.
 *
 * A header is words of XDR: who it belongs to, how many credits, what kind of message,
 * then the read list, the write list and the reply chunk. Chunks say where in the
 * client's memory the server may read the call and write the reply.
 *
 * Context: any.
 */
#ifndef RPCW_HDR_H
#define RPCW_HDR_H

#include <linux/types.h>

/* What a message may have, header and all, if nobody has agreed on more. */
#define RPCW_INLINE_BYTES 1024U

/* A header without any chunk. */
#define RPCW_HEADER_MIN 28U
/* Of a list's segment: a read segment has these in front of what every one has. */
#define RPCW_SEGMENT_BYTES 16U
#define RPCW_READ_BYTES	   24U
/* What precedes the segments of a write chunk, and of the reply chunk. */
#define RPCW_WRITE_BYTES 8U
#define RPCW_REPLY_BYTES 4U

/* An RPC message that says that the server has failed. */
#define RPCW_FAILURE_BYTES 24U

/* Segments of a chunk: what is before, in, and behind the pages of a message. */
#define RPCW_SEGMENTS 3U

/* The longest header that a call has. */
#define RPCW_HEADER_MAX                                      \
	(RPCW_HEADER_MIN + RPCW_SEGMENTS * RPCW_READ_BYTES + \
	 RPCW_WRITE_BYTES + RPCW_REPLY_BYTES +               \
	 2 * RPCW_SEGMENTS * RPCW_SEGMENT_BYTES)

/**
 * enum rpcw_violation - why what came is no reply
 * @RPCW_OK: it is one
 * @RPCW_SHORT: it ends before its header does
 * @RPCW_VERSION: of another version of the protocol
 * @RPCW_KIND: of a kind that does not exist, or that servers do not send
 * @RPCW_READS: it asks the client to read
 * @RPCW_LIST: a mark of a list is neither 0 nor 1, or there is more than one write chunk
 * @RPCW_COUNT: more segments than any client offers
 * @RPCW_LONG: chunks with more bytes than can be, or bytes where there must be none
 * @RPCW_XID: header and message belong to different calls
 * @RPCW_DIRECTION: the message is neither a call nor a reply
 * @RPCW_UNASKED: a chunk that was not offered
 * @RPCW_SEGMENT: more bytes in a segment than were offered, or a gap before it
 * @RPCW_EMPTY: a reply without a message
 * @RPCW_VIOLATIONS: how many there are
 */
enum rpcw_violation {
	RPCW_OK,
	RPCW_SHORT,
	RPCW_VERSION,
	RPCW_KIND,
	RPCW_READS,
	RPCW_LIST,
	RPCW_COUNT,
	RPCW_LONG,
	RPCW_XID,
	RPCW_DIRECTION,
	RPCW_UNASKED,
	RPCW_SEGMENT,
	RPCW_EMPTY,
	RPCW_VIOLATIONS,
};

/**
 * enum rpcw_kind - what a message is; the numbers are RFC 8166's
 * @RPCW_MSG: the RPC message follows the header
 * @RPCW_NOMSG: it does not: a chunk has all of it
 * @RPCW_ERROR: the server cannot make anything of a call
 */
enum rpcw_kind {
	RPCW_MSG = 0,
	RPCW_NOMSG = 1,
	RPCW_ERROR = 4,
};

/* What RPCW_ERROR says. */
#define RPCW_ERR_VERS  1U
#define RPCW_ERR_CHUNK 2U

/**
 * struct rpcw_segment - a range of the client's memory
 * @handle: its key
 * @length: bytes
 * @offset: the address by which the server knows it
 */
struct rpcw_segment {
	__u32 handle;
	__u32 length;
	__u64 offset;
};

/**
 * struct rpcw_chunk - ranges that are used one after the other
 * @count: of @segments
 * @segments: ranges
 */
struct rpcw_chunk {
	__u32 count;
	struct rpcw_segment segments[RPCW_SEGMENTS];
};

/**
 * struct rpcw_call - what the header of a call says; that of an answer has no chunks
 * @xid: whose call it is
 * @credits: calls that this end can have under way; of an answer the server's
 * @kind: RPCW_MSG or RPCW_NOMSG
 * @position: where in the message the bytes of @read belong; 0: it is all of it
 * @read: what the server reads; no segments: nothing
 * @write: where the bytes of the reply go that need not be in it; no segments: nowhere
 * @reply: where the reply goes if it is long; no segments: it is not
 */
struct rpcw_call {
	__u32 xid;
	__u32 credits;
	enum rpcw_kind kind;
	__u32 position;
	struct rpcw_chunk read;
	struct rpcw_chunk write;
	struct rpcw_chunk reply;
};

/**
 * struct rpcw_reply - what the header of a reply says
 * @xid: of the call
 * @credits: calls that may be under way, 1 or more
 * @kind: what it is
 * @error: with RPCW_ERROR: RPCW_ERR_VERS, RPCW_ERR_CHUNK, or what else the server says
 * @is_call: it is no reply, but a call of the server's own
 * @has_write: the write list is not empty
 * @has_reply: there is a reply chunk
 * @write: of the write list's chunk, lengths alone
 * @reply: of the reply chunk, lengths alone
 * @write_bytes: in all
 * @reply_bytes: in all
 * @header_bytes: where the message begins
 */
struct rpcw_reply {
	__u32 xid;
	__u32 credits;
	enum rpcw_kind kind;
	__u32 error;
	_Bool is_call;
	_Bool has_write;
	_Bool has_reply;
	struct rpcw_chunk write;
	struct rpcw_chunk reply;
	__u32 write_bytes;
	__u32 reply_bytes;
	__u32 header_bytes;
};

/**
 * rpcw_call_bytes() - how long the header of a call is
 * @call: call, whose chunks need have their counts alone
 *
 * Return: bytes, RPCW_HEADER_MAX at most.
 */
__u32 rpcw_call_bytes(const struct rpcw_call *call);

/**
 * rpcw_call_pack() - make the header of a call, or of an answer to one of the server's
 * @call: call
 * @out: room for rpcw_call_bytes()
 */
void rpcw_call_pack(const struct rpcw_call *call, __u8 *out);

/**
 * rpcw_failure_pack() - make the reply that a server has not made
 * @xid: of the call
 * @out: room for RPCW_FAILURE_BYTES
 *
 * RPCW_ERROR is of the transport alone. For who waits for a reply it is one that says
 * SYSTEM_ERR (RFC 5531), without a header.
 */
void rpcw_failure_pack(__u32 xid, __u8 *out);

/**
 * rpcw_reply_parse() - look at what a server has sent
 * @in: message
 * @bytes: of it
 * @reply: out, if it is well-formed
 *
 * That it fits its call is for rpcw_reply_check() to say.
 *
 * Return: RPCW_OK, or what is wrong.
 */
enum rpcw_violation rpcw_reply_parse(const __u8 *in, __u32 bytes,
				     struct rpcw_reply *reply);

/**
 * rpcw_reply_check() - does a reply keep to what its call has offered?
 * @call: call with the same xid
 * @reply: reply
 *
 * Return: RPCW_OK, or what is wrong.
 */
enum rpcw_violation rpcw_reply_check(const struct rpcw_call *call,
				     const struct rpcw_reply *reply);

/**
 * rpcw_reply_room() - what a reply may have behind its header
 * @write_segments: of the write chunk that is offered
 *
 * Return: bytes of the message that a reply without a reply chunk has at most.
 */
static inline __u32 rpcw_reply_room(__u32 write_segments)
{
	__u32 header = RPCW_HEADER_MIN;

	if (write_segments)
		header +=
			RPCW_WRITE_BYTES + write_segments * RPCW_SEGMENT_BYTES;
	return RPCW_INLINE_BYTES - header;
}

#endif /* RPCW_HDR_H */
