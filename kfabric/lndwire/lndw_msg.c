// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writing and reading messages of the LNet-like driver. What is read is checked for
 * all that can be known of a message alone.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "../wire/wire_bytes.h"
#include "lndw_msg.h"

#define HEADER_BYTES ((__u32)sizeof(struct lndw_wire_header))

/* What follows the header has a request's form. */
static _Bool lndw_has_request(enum lndw_kind kind)
{
	return lndw_is_request(kind) && kind != LNDW_PING;
}

__u32 lndw_head_bytes(enum lndw_kind kind)
{
	if (lndw_has_request(kind))
		return HEADER_BYTES + (__u32)sizeof(struct lndw_wire_request);
	if (lndw_is_answer(kind))
		return HEADER_BYTES + (__u32)sizeof(struct lndw_wire_answer);
	return HEADER_BYTES;
}

static __u32 lndw_message_bytes(const struct lndw_msg *msg)
{
	return lndw_head_bytes(msg->kind) +
	       (msg->kind == LNDW_IMMEDIATE ? msg->bytes : 0);
}

void lndw_encode(const struct lndw_msg *msg, __u8 *out)
{
	struct lndw_wire_header header = { 0 };
	struct lndw_wire_request request = { 0 };
	struct lndw_wire_answer answer = { 0 };

	WIRE_PUT(header.magic, LNDW_MAGIC);
	header.version = LNDW_VERSION;
	header.kind = (__u8)msg->kind;
	WIRE_PUT(header.bytes, lndw_message_bytes(msg));
	WIRE_PUT(header.src_nid, msg->src_nid);
	WIRE_PUT(header.dst_nid, msg->dst_nid);
	WIRE_PUT(header.src_incarnation, msg->src_incarnation);
	WIRE_PUT(header.dst_incarnation, msg->dst_incarnation);
	WIRE_PUT(header.seq, msg->seq);
	WIRE_PUT(header.floor, msg->floor);
	WIRE_PUT(header.credits, msg->credits);
	header.status = msg->status;
	memcpy(out, &header, sizeof(header));
	if (lndw_has_request(msg->kind)) {
		WIRE_PUT(request.match, msg->match);
		WIRE_PUT(request.word, msg->word);
		WIRE_PUT(request.key, msg->key);
		WIRE_PUT(request.bytes, msg->bytes);
		WIRE_PUT(request.left_ms, msg->left_ms);
		memcpy(out + HEADER_BYTES, &request, sizeof(request));
	} else if (lndw_is_answer(msg->kind)) {
		WIRE_PUT(answer.bytes, msg->bytes);
		memcpy(out + HEADER_BYTES, &answer, sizeof(answer));
	}
}

static int lndw_decode_header(const struct lndw_wire_header *header,
			      struct lndw_msg *msg)
{
	if (WIRE_GET(header->magic) != LNDW_MAGIC ||
	    header->version != LNDW_VERSION || !header->kind ||
	    header->kind >= LNDW_KINDS || WIRE_GET(header->reserved))
		return -EBADMSG;
	*msg = (struct lndw_msg){
		.kind = (enum lndw_kind)header->kind,
		.src_nid = WIRE_GET(header->src_nid),
		.dst_nid = WIRE_GET(header->dst_nid),
		.src_incarnation = WIRE_GET(header->src_incarnation),
		.dst_incarnation = WIRE_GET(header->dst_incarnation),
		.seq = WIRE_GET(header->seq),
		.floor = WIRE_GET(header->floor),
		.credits = (__u16)WIRE_GET(header->credits),
		.status = header->status,
	};
	return 0;
}

/* Is the header one that its kind may have? */
static _Bool lndw_header_is_sound(const struct lndw_msg *msg)
{
	__u8 statuses = lndw_is_answer(msg->kind) ? LNDW_WIRE_STATUSES
			: msg->kind == LNDW_NACK  ? LNDW_REASONS
						  : 1;

	if (!msg->src_nid || !msg->dst_nid || !msg->src_incarnation)
		return 0;
	if (!msg->dst_incarnation && msg->kind != LNDW_HELLO)
		return 0;
	if (!msg->credits || msg->credits > LNDW_CREDITS_MAX)
		return 0;
	if (msg->status >= statuses)
		return 0;
	if (lndw_is_request(msg->kind))
		return msg->seq >= msg->floor &&
		       msg->seq - msg->floor < LNDW_CREDITS_MAX;
	return lndw_is_answer(msg->kind) || !msg->seq;
}

static _Bool lndw_request_is_sound(const struct lndw_msg *msg)
{
	if (!msg->left_ms)
		return 0;
	if (msg->kind == LNDW_IMMEDIATE)
		return !msg->key && msg->bytes <= LNDW_IMMEDIATE_MAX;
	return msg->bytes && msg->bytes <= LNDW_BYTES_MAX;
}

int lndw_decode(const __u8 *in, __u32 bytes, struct lndw_msg *msg)
{
	struct lndw_wire_header header;
	struct lndw_wire_request request;
	struct lndw_wire_answer answer;
	struct lndw_msg m;

	if (bytes < HEADER_BYTES)
		return -EBADMSG;
	memcpy(&header, in, sizeof(header));
	if (lndw_decode_header(&header, &m) || !lndw_header_is_sound(&m) ||
	    bytes < lndw_head_bytes(m.kind))
		return -EBADMSG;
	if (lndw_has_request(m.kind)) {
		memcpy(&request, in + HEADER_BYTES, sizeof(request));
		m.match = WIRE_GET(request.match);
		m.word = WIRE_GET(request.word);
		m.key = WIRE_GET(request.key);
		m.bytes = (__u32)WIRE_GET(request.bytes);
		m.left_ms = (__u32)WIRE_GET(request.left_ms);
		if (!lndw_request_is_sound(&m))
			return -EBADMSG;
	} else if (lndw_is_answer(m.kind)) {
		memcpy(&answer, in + HEADER_BYTES, sizeof(answer));
		m.bytes = (__u32)WIRE_GET(answer.bytes);
		if (WIRE_GET(answer.reserved) || m.bytes > LNDW_BYTES_MAX)
			return -EBADMSG;
	}
	if (bytes != lndw_message_bytes(&m) || WIRE_GET(header.bytes) != bytes)
		return -EBADMSG;
	*msg = m;
	return 0;
}
