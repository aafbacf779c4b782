// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Headers of RPC-over-RDMA version 1: calls are made, replies looked at (RFC 8166,
 * sections 4.1 to 4.5).
 *
 * Context: any.
 */
#include "rpcw_hdr.h"

#define RPCW_PROTOCOL 1U
#define WORD	      4U
/* Words of an RPC message that are looked at: its xid and its direction. */
#define BODY_BYTES 8U
#define RPC_CALL   0U
#define RPC_REPLY  1U
/* Of RFC 5531: the call was taken, by nobody who proves it, and could not be done. */
#define RPC_ACCEPTED   0U
#define RPC_AUTH_NONE  0U
#define RPC_SYSTEM_ERR 5U
/* Chunks of any length together stay far below what 32 bits count. */
#define CHUNK_BYTES_MAX (1U << 30)

/* Where the next word is made. */
static void rpcw_put(__u8 **at, __u32 word)
{
	(*at)[0] = (word >> 24) & 0xff;
	(*at)[1] = (word >> 16) & 0xff;
	(*at)[2] = (word >> 8) & 0xff;
	(*at)[3] = word & 0xff;
	*at += WORD;
}

static void rpcw_put_segment(__u8 **at, const struct rpcw_segment *segment)
{
	rpcw_put(at, segment->handle);
	rpcw_put(at, segment->length);
	rpcw_put(at, (__u32)(segment->offset >> 32));
	rpcw_put(at, (__u32)segment->offset);
}

static void rpcw_put_chunk(__u8 **at, const struct rpcw_chunk *chunk)
{
	__u32 i;

	rpcw_put(at, chunk->count);
	for (i = 0; i < chunk->count; i++)
		rpcw_put_segment(at, &chunk->segments[i]);
}

__u32 rpcw_call_bytes(const struct rpcw_call *call)
{
	__u32 bytes = RPCW_HEADER_MIN + call->read.count * RPCW_READ_BYTES;

	if (call->write.count)
		bytes += RPCW_WRITE_BYTES +
			 call->write.count * RPCW_SEGMENT_BYTES;
	if (call->reply.count)
		bytes += RPCW_REPLY_BYTES +
			 call->reply.count * RPCW_SEGMENT_BYTES;
	return bytes;
}

void rpcw_call_pack(const struct rpcw_call *call, __u8 *out)
{
	__u32 i;

	rpcw_put(&out, call->xid);
	rpcw_put(&out, RPCW_PROTOCOL);
	rpcw_put(&out, call->credits);
	rpcw_put(&out, (__u32)call->kind);
	for (i = 0; i < call->read.count; i++) {
		rpcw_put(&out, 1);
		rpcw_put(&out, call->position);
		rpcw_put_segment(&out, &call->read.segments[i]);
	}
	rpcw_put(&out, 0);
	if (call->write.count) {
		rpcw_put(&out, 1);
		rpcw_put_chunk(&out, &call->write);
	}
	rpcw_put(&out, 0);
	rpcw_put(&out, call->reply.count ? 1 : 0);
	if (call->reply.count)
		rpcw_put_chunk(&out, &call->reply);
}

void rpcw_failure_pack(__u32 xid, __u8 *out)
{
	rpcw_put(&out, xid);
	rpcw_put(&out, RPC_REPLY);
	rpcw_put(&out, RPC_ACCEPTED);
	rpcw_put(&out, RPC_AUTH_NONE);
	rpcw_put(&out, 0);
	rpcw_put(&out, RPC_SYSTEM_ERR);
}

/* ---- what came -------------------------------------------------------- */

/* What is left of a message. */
struct rpcw_rest {
	const __u8 *at;
	__u32 bytes;
};

static _Bool rpcw_take(struct rpcw_rest *rest, __u32 *word)
{
	const __u8 *b = rest->at;

	if (rest->bytes < WORD)
		return 0;
	*word = (__u32)b[0] << 24 | (__u32)b[1] << 16 | (__u32)b[2] << 8 | b[3];
	rest->at += WORD;
	rest->bytes -= WORD;
	return 1;
}

/* The mark of a list or of a chunk: is there one? */
static enum rpcw_violation rpcw_take_mark(struct rpcw_rest *rest,
					  _Bool *is_there)
{
	__u32 word;

	if (!rpcw_take(rest, &word))
		return RPCW_SHORT;
	if (word > 1)
		return RPCW_LIST;
	*is_there = word;
	return RPCW_OK;
}

/* Handles and offsets are this end's own, and come back for nothing. */
static enum rpcw_violation
rpcw_take_chunk(struct rpcw_rest *rest, struct rpcw_chunk *chunk, __u32 *bytes)
{
	__u32 i, unused;

	if (!rpcw_take(rest, &chunk->count))
		return RPCW_SHORT;
	if (chunk->count > RPCW_SEGMENTS)
		return RPCW_COUNT;
	*bytes = 0;
	for (i = 0; i < chunk->count; i++) {
		if (!rpcw_take(rest, &unused) ||
		    !rpcw_take(rest, &chunk->segments[i].length) ||
		    !rpcw_take(rest, &unused) || !rpcw_take(rest, &unused))
			return RPCW_SHORT;
		if (chunk->segments[i].length > CHUNK_BYTES_MAX - *bytes)
			return RPCW_LONG;
		*bytes += chunk->segments[i].length;
	}
	return RPCW_OK;
}

static enum rpcw_violation rpcw_take_lists(struct rpcw_rest *rest,
					   struct rpcw_reply *reply)
{
	enum rpcw_violation bad;
	_Bool is_there;

	bad = rpcw_take_mark(rest, &is_there);
	if (bad)
		return bad;
	if (is_there)
		return RPCW_READS;
	bad = rpcw_take_mark(rest, &reply->has_write);
	if (!bad && reply->has_write) {
		bad = rpcw_take_chunk(rest, &reply->write, &reply->write_bytes);
		if (!bad)
			bad = rpcw_take_mark(rest, &is_there);
		if (!bad && is_there)
			return RPCW_LIST;
	}
	if (!bad)
		bad = rpcw_take_mark(rest, &reply->has_reply);
	if (!bad && reply->has_reply)
		bad = rpcw_take_chunk(rest, &reply->reply, &reply->reply_bytes);
	return bad;
}

/* The message behind the header is of the same call, and has a direction. */
static enum rpcw_violation rpcw_look_at_body(struct rpcw_rest rest,
					     struct rpcw_reply *reply)
{
	__u32 xid, direction;

	if (rest.bytes < BODY_BYTES)
		return RPCW_SHORT;
	rpcw_take(&rest, &xid);
	rpcw_take(&rest, &direction);
	if (xid != reply->xid)
		return RPCW_XID;
	if (direction != RPC_CALL && direction != RPC_REPLY)
		return RPCW_DIRECTION;
	reply->is_call = direction == RPC_CALL;
	if (reply->is_call && (reply->has_write || reply->has_reply))
		return RPCW_UNASKED;
	return RPCW_OK;
}

static enum rpcw_violation rpcw_parse_kind(struct rpcw_rest *rest, __u32 kind,
					   struct rpcw_reply *reply)
{
	enum rpcw_violation bad;

	reply->kind = (enum rpcw_kind)kind;
	switch (kind) {
	case RPCW_ERROR:
		return rpcw_take(rest, &reply->error) ? RPCW_OK : RPCW_SHORT;
	case RPCW_MSG:
		bad = rpcw_take_lists(rest, reply);
		return bad ? bad : rpcw_look_at_body(*rest, reply);
	case RPCW_NOMSG:
		bad = rpcw_take_lists(rest, reply);
		if (!bad && rest->bytes)
			bad = RPCW_LONG;
		return bad;
	default:
		return RPCW_KIND;
	}
}

enum rpcw_violation rpcw_reply_parse(const __u8 *in, __u32 bytes,
				     struct rpcw_reply *reply)
{
	struct rpcw_rest rest = { .at = in, .bytes = bytes };
	struct rpcw_reply made = { .error = 0 };
	enum rpcw_violation bad;
	__u32 version, kind;

	if (!rpcw_take(&rest, &made.xid) || !rpcw_take(&rest, &version) ||
	    !rpcw_take(&rest, &made.credits) || !rpcw_take(&rest, &kind))
		return RPCW_SHORT;
	if (version != RPCW_PROTOCOL)
		return RPCW_VERSION;
	/* With none nobody could ever send again. */
	if (!made.credits)
		made.credits = 1;
	bad = rpcw_parse_kind(&rest, kind, &made);
	if (bad)
		return bad;
	made.header_bytes = bytes - rest.bytes;
	*reply = made;
	return RPCW_OK;
}

/* A segment is full before the next one has a byte: what was written is one range. */
static enum rpcw_violation rpcw_check_chunk(const struct rpcw_chunk *offered,
					    const struct rpcw_chunk *used)
{
	_Bool is_over = 0;
	__u32 i;

	if (used->count > offered->count)
		return RPCW_UNASKED;
	for (i = 0; i < used->count; i++) {
		if (used->segments[i].length > offered->segments[i].length ||
		    (is_over && used->segments[i].length))
			return RPCW_SEGMENT;
		if (used->segments[i].length < offered->segments[i].length)
			is_over = 1;
	}
	return RPCW_OK;
}

enum rpcw_violation rpcw_reply_check(const struct rpcw_call *call,
				     const struct rpcw_reply *reply)
{
	enum rpcw_violation bad;

	if (reply->kind == RPCW_ERROR)
		return RPCW_OK;
	if ((reply->has_write && !call->write.count) ||
	    (reply->has_reply && !call->reply.count))
		return RPCW_UNASKED;
	bad = rpcw_check_chunk(&call->write, &reply->write);
	if (bad)
		return bad;
	bad = rpcw_check_chunk(&call->reply, &reply->reply);
	if (bad)
		return bad;
	/* The message is behind the header, or in the reply chunk. */
	if (reply->kind == RPCW_NOMSG && !reply->reply_bytes)
		return RPCW_EMPTY;
	if (reply->kind == RPCW_MSG && reply->reply_bytes)
		return RPCW_LONG;
	return RPCW_OK;
}
