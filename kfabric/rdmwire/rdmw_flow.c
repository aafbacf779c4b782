// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pieces, credits and farewells.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "../wire/wire_bytes.h"
#include "rdmw_flow.h"

#define AT_KIND	   1
#define AT_FLAGS   2
#define AT_CTX	   3
#define AT_BYTES   4
#define AT_CREDITS 6
#define AT_AT	   8
#define AT_WORD	   16
#define AT_TAG	   24
#define ALL_FLAGS  (RDMW_FIRST | RDMW_LAST | RDMW_WORD | RDMW_TAGGED)
/* What the first piece of a message alone can say. */
#define FIRST_FLAGS (RDMW_WORD | RDMW_TAGGED)

void rdmw_flow_init(struct rdmw_flow *flow, const struct rdmw_offer *ours,
		    const struct rdmw_offer *theirs)
{
	memset(flow, 0, sizeof(*flow));
	flow->features = ours->features & theirs->features;
	flow->window_out = theirs->window;
	flow->credits = theirs->window;
	flow->piece_out = theirs->piece_bytes;
	flow->window_in = ours->window;
	flow->piece_in = ours->piece_bytes;
	if (!(flow->features & RDMW_FEATURE_CTX))
		return;
	flow->ctx_out = theirs->last_ctx;
	flow->ctx_in = ours->last_ctx;
}

static void rdmw_piece_pack(const struct rdmw_piece *piece, __u8 *out)
{
	memset(out, 0, RDMW_HEADER_BYTES);
	out[0] = RDMW_VERSION;
	out[AT_KIND] = (__u8)piece->kind;
	out[AT_FLAGS] = (__u8)piece->flags;
	out[AT_CTX] = piece->ctx;
	wire_put(out + AT_BYTES, 2, piece->bytes);
	wire_put(out + AT_CREDITS, 2, piece->credits);
	wire_put(out + AT_AT, 8, piece->at);
	wire_put(out + AT_WORD, 8, piece->word);
	wire_put(out + AT_TAG, 8, piece->tag);
}

/* A message of credits has half a window: so two of them can be under way. */
static __u16 rdmw_credits_due(__u16 window)
{
	return (__u16)((window + 1) / 2);
}

static __u16 rdmw_take_owed(struct rdmw_flow *flow)
{
	__u16 owed = flow->owed;

	flow->owed = 0;
	return owed;
}

static _Bool rdmw_is_request(enum rdmw_kind kind)
{
	return kind == RDMW_WRITE || kind == RDMW_READ || kind == RDMW_ATOMIC;
}

_Bool rdmw_has_bytes(enum rdmw_kind kind)
{
	return kind == RDMW_DATA || kind == RDMW_ANSWER || kind == RDMW_GRANT ||
	       rdmw_is_request(kind);
}

/* It is about a grant that the receiver knows by its key. */
static _Bool rdmw_has_key(enum rdmw_kind kind)
{
	return kind == RDMW_REVOKE || kind == RDMW_RETURN;
}

__u32 rdmw_flow_may_send(const struct rdmw_flow *flow, enum rdmw_kind kind)
{
	if (!flow->credits || (flow->bye_out && kind != RDMW_ANSWER))
		return 0;
	if (rdmw_is_request(kind) && flow->asked == RDMW_ASKED_MAX)
		return 0;
	return flow->piece_out - RDMW_HEADER_BYTES;
}

_Bool rdmw_flow_is_over(const struct rdmw_flow *flow)
{
	return flow->bye_in && flow->bye_out && !flow->asked && !flow->due;
}

/* A piece is sent: its last one, perhaps. */
static void rdmw_count_out(struct rdmw_flow *flow,
			   const struct rdmw_message *message, _Bool last)
{
	flow->credits--;
	if (last && rdmw_is_request(message->kind))
		flow->asked++;
	if (last && message->kind == RDMW_ANSWER)
		flow->due = (__u16)(flow->due - 1 - message->tag);
}

void rdmw_flow_data(struct rdmw_flow *flow, const struct rdmw_message *message,
		    __u64 at, __u16 bytes, __u8 *out)
{
	struct rdmw_piece piece = {
		.kind = message->kind,
		.bytes = bytes,
		.credits = rdmw_take_owed(flow),
		.at = at,
	};

	if (!at) {
		piece.flags |= RDMW_FIRST | message->flags;
		piece.ctx = message->ctx;
		piece.at = message->total;
		if ((message->flags & RDMW_WORD) ||
		    message->kind == RDMW_ANSWER)
			piece.word = message->word;
		if ((message->flags & RDMW_TAGGED) ||
		    message->kind == RDMW_ANSWER)
			piece.tag = message->tag;
	}
	if (at + bytes == message->total)
		piece.flags |= RDMW_LAST;
	rdmw_count_out(flow, message, piece.flags & RDMW_LAST);
	rdmw_piece_pack(&piece, out);
}

_Bool rdmw_flow_bare(struct rdmw_flow *flow, const struct rdmw_message *message,
		     __u64 at, __u16 bytes, __u32 *data)
{
	_Bool last = at + bytes == message->total;

	if (!(flow->features & RDMW_FEATURE_BARE) || !bytes)
		return 0;
	/* The first one of others has more to say. */
	if (!at && (message->kind != RDMW_DATA || message->flags ||
		    message->ctx || !last))
		return 0;
	*data = rdmw_take_owed(flow);
	if (!at)
		*data |= RDMW_BARE_FIRST;
	rdmw_count_out(flow, message, last);
	return 1;
}

_Bool rdmw_flow_owes(const struct rdmw_flow *flow)
{
	return flow->owed >= rdmw_credits_due(flow->window_in);
}

_Bool rdmw_flow_credit(struct rdmw_flow *flow, __u8 *out)
{
	struct rdmw_piece piece = { .kind = RDMW_CREDIT };

	if (!rdmw_flow_owes(flow))
		return 0;
	piece.credits = rdmw_take_owed(flow);
	piece.at = flow->growing;
	flow->window_in = (__u16)(flow->window_in + flow->growing);
	flow->growing = 0;
	rdmw_piece_pack(&piece, out);
	return 1;
}

__u16 rdmw_flow_may_grow(const struct rdmw_flow *flow)
{
	__u16 all = (__u16)(flow->window_in + flow->growing);

	if (!(flow->features & RDMW_FEATURE_GROW) || all >= RDMW_WINDOW_GROWN)
		return 0;
	return (__u16)(RDMW_WINDOW_GROWN - all);
}

void rdmw_flow_grow(struct rdmw_flow *flow, __u16 more)
{
	flow->growing = (__u16)(flow->growing + more);
}

_Bool rdmw_flow_bye(struct rdmw_flow *flow, __u8 *out)
{
	struct rdmw_piece piece = { .kind = RDMW_BYE };

	if (flow->bye_out)
		return 0;
	flow->bye_out = 1;
	rdmw_piece_pack(&piece, out);
	return 1;
}

_Bool rdmw_flow_revoke(struct rdmw_flow *flow, __u64 key, __u8 *out)
{
	struct rdmw_piece piece = { .kind = RDMW_REVOKE, .word = key };

	if (flow->is_revoking)
		return 0;
	flow->is_revoking = 1;
	flow->revoking = key;
	rdmw_piece_pack(&piece, out);
	return 1;
}

void rdmw_flow_return(struct rdmw_flow *flow, __u8 *out)
{
	struct rdmw_piece piece = { .kind = RDMW_RETURN,
				    .word = flow->revoked };

	flow->is_revoked = 0;
	rdmw_piece_pack(&piece, out);
}

/* Does something begin with it that uses up a receive? */
static _Bool rdmw_is_received(const struct rdmw_piece *piece)
{
	return (piece->flags & RDMW_FIRST) &&
	       (piece->kind == RDMW_DATA ||
		(piece->kind == RDMW_WRITE && (piece->flags & RDMW_WORD)));
}

/* What a message says of itself, whatever came before it. */
static enum rdmw_violation rdmw_piece_parse(const __u8 *in, __u32 bytes,
					    struct rdmw_piece *piece)
{
	if (bytes < RDMW_HEADER_BYTES)
		return RDMW_BAD_LENGTH;
	if (in[0] != RDMW_VERSION)
		return RDMW_BAD_VERSION;
	if (in[AT_KIND] < RDMW_DATA || in[AT_KIND] > RDMW_ATOMIC)
		return RDMW_BAD_KIND;
	*piece = (struct rdmw_piece){
		.kind = (enum rdmw_kind)in[AT_KIND],
		.flags = in[AT_FLAGS],
		.ctx = in[AT_CTX],
		.bytes = (__u16)wire_get(in + AT_BYTES, 2),
		.credits = (__u16)wire_get(in + AT_CREDITS, 2),
		.at = wire_get(in + AT_AT, 8),
		.word = wire_get(in + AT_WORD, 8),
		.tag = wire_get(in + AT_TAG, 8),
	};
	if (bytes != (__u32)RDMW_HEADER_BYTES + piece->bytes)
		return RDMW_BAD_LENGTH;
	if ((piece->flags & ~ALL_FLAGS) ||
	    (piece->word && !(piece->flags & RDMW_WORD) &&
	     piece->kind != RDMW_ANSWER && !rdmw_has_key(piece->kind)) ||
	    (piece->tag && !(piece->flags & RDMW_TAGGED) &&
	     piece->kind != RDMW_ANSWER))
		return RDMW_BAD_RESERVED;
	if (!rdmw_has_bytes(piece->kind) &&
	    (piece->flags || piece->bytes ||
	     (piece->at && piece->kind != RDMW_CREDIT)))
		return RDMW_BAD_RESERVED;
	/* A tag is a message's, and data is one's or a write's. */
	if (((piece->flags & RDMW_TAGGED) && piece->kind != RDMW_DATA) ||
	    ((piece->flags & RDMW_WORD) && piece->kind != RDMW_DATA &&
	     piece->kind != RDMW_WRITE))
		return RDMW_BAD_RESERVED;
	if ((piece->kind == RDMW_BYE || rdmw_has_key(piece->kind)) &&
	    piece->credits)
		return RDMW_BAD_RESERVED;
	return piece->ctx && !rdmw_is_received(piece) ? RDMW_BAD_RESERVED
						      : RDMW_OK;
}

/* Is it one to what was asked, or to several that have nothing else to say? */
static enum rdmw_violation rdmw_check_answer(const struct rdmw_flow *flow,
					     const struct rdmw_piece *piece)
{
	__u64 statuses = flow->features & RDMW_FEATURE_ATOMIC ? RDMW_STATUSES
							      : RDMW_NO_ALIGN;

	if (piece->tag && !(flow->features & RDMW_FEATURE_JOINT))
		return RDMW_BAD_RESERVED;
	if (piece->tag >= flow->asked)
		return RDMW_BAD_ASK;
	if (piece->word >= statuses ||
	    (piece->at && (piece->word || piece->tag)) ||
	    (piece->word && piece->tag))
		return RDMW_BAD_FIELD;
	return RDMW_OK;
}

/* May something of its kind begin? */
static enum rdmw_violation rdmw_check_first(const struct rdmw_flow *flow,
					    const struct rdmw_piece *piece)
{
	if ((piece->kind == RDMW_READ || piece->kind == RDMW_GRANT ||
	     piece->kind == RDMW_ATOMIC) &&
	    !(piece->flags & RDMW_LAST))
		return RDMW_BAD_ORDER;
	if (piece->kind == RDMW_ANSWER)
		return rdmw_check_answer(flow, piece);
	if (flow->bye_in)
		return RDMW_BAD_ORDER;
	if (rdmw_is_request(piece->kind) && flow->due == RDMW_ASKED_MAX)
		return RDMW_BAD_ASK;
	return RDMW_OK;
}

/* Is it the piece that must come next? */
static enum rdmw_violation rdmw_check_order(const struct rdmw_flow *flow,
					    const struct rdmw_piece *piece)
{
	_Bool first = piece->flags & RDMW_FIRST;
	__u64 total = first ? piece->at : flow->total;
	__u64 got = first ? 0 : flow->got;
	__u64 most = RDMW_MESSAGE_MAX;

	if (piece->kind == RDMW_WRITE)
		most += RDMW_HEAD_MAX;
	if (first == flow->in_message)
		return RDMW_BAD_ORDER;
	if (first && total > most)
		return RDMW_BAD_FIELD;
	if (!first &&
	    (piece->kind != flow->kind ||
	     (piece->kind == RDMW_ANSWER && (piece->word || piece->tag))))
		return RDMW_BAD_ORDER;
	if (!first && ((piece->flags & FIRST_FLAGS) || piece->at != got))
		return RDMW_BAD_ORDER;
	if (piece->bytes > total - got ||
	    (piece->bytes == total - got) != !!(piece->flags & RDMW_LAST))
		return RDMW_BAD_ORDER;
	/* No endless messages of empty pieces. */
	return piece->bytes || (piece->flags & RDMW_LAST) ? RDMW_OK
							  : RDMW_BAD_ORDER;
}

static enum rdmw_violation rdmw_take_data(struct rdmw_flow *flow,
					  const struct rdmw_piece *piece)
{
	enum rdmw_violation bad = rdmw_check_order(flow, piece);

	if (!bad && (piece->flags & RDMW_FIRST))
		bad = rdmw_check_first(flow, piece);
	if (bad)
		return bad;
	if (flow->held + flow->owed >= flow->window_in)
		return RDMW_BAD_CREDIT;
	flow->held++;
	if (piece->flags & RDMW_FIRST) {
		flow->total = piece->at;
		flow->got = 0;
		flow->kind = piece->kind;
	}
	flow->got += piece->bytes;
	flow->in_message = !(piece->flags & RDMW_LAST);
	if (!flow->in_message && rdmw_is_request(piece->kind))
		flow->due++;
	if (!flow->in_message && piece->kind == RDMW_ANSWER)
		flow->asked = (__u16)(flow->asked - 1 - piece->tag);
	return RDMW_OK;
}

/* Something that needs no credit, and may come within a message, but a farewell. */
static enum rdmw_violation rdmw_take_control(struct rdmw_flow *flow,
					     const struct rdmw_piece *piece)
{
	switch (piece->kind) {
	case RDMW_BYE:
		if (flow->bye_in || flow->in_message)
			return RDMW_BAD_ORDER;
		flow->bye_in = 1;
		return RDMW_OK;
	case RDMW_REVOKE:
		if (flow->is_revoked)
			return RDMW_BAD_GRANT;
		flow->is_revoked = 1;
		flow->revoked = piece->word;
		return RDMW_OK;
	case RDMW_RETURN:
		if (!flow->is_revoking || flow->revoking != piece->word)
			return RDMW_BAD_GRANT;
		flow->is_revoking = 0;
		return RDMW_OK;
	default:
		return RDMW_OK;
	}
}

/* No more come back than were taken; those of new buffers come besides. */
static enum rdmw_violation rdmw_take_credits(struct rdmw_flow *flow,
					     const struct rdmw_piece *piece)
{
	__u64 more = piece->kind == RDMW_CREDIT ? piece->at : 0;

	if (more && !(flow->features & RDMW_FEATURE_GROW))
		return RDMW_BAD_RESERVED;
	/* The first one keeps the sum from being too large a number. */
	if (more && (more > RDMW_WINDOW_GROWN ||
		     flow->window_out + more > RDMW_WINDOW_GROWN))
		return RDMW_BAD_CREDIT;
	if (piece->credits > flow->window_out - flow->credits ||
	    (piece->kind == RDMW_CREDIT &&
	     piece->credits < rdmw_credits_due(flow->window_out)))
		return RDMW_BAD_CREDIT;
	flow->window_out = (__u16)(flow->window_out + more);
	flow->credits = (__u16)(flow->credits + piece->credits + more);
	return RDMW_OK;
}

/* What a piece without a header is, by what came before it. */
static enum rdmw_violation rdmw_bare_parse(const struct rdmw_flow *flow,
					   __u64 data, __u32 bytes,
					   struct rdmw_piece *piece)
{
	_Bool first = !!(data & RDMW_BARE_FIRST);

	if (!(flow->features & RDMW_FEATURE_BARE) ||
	    (data & ~(__u64)(RDMW_BARE_FIRST | RDMW_BARE_CREDITS)))
		return RDMW_BAD_RESERVED;
	if (!bytes || bytes > (__u32)flow->piece_in - RDMW_HEADER_BYTES)
		return RDMW_BAD_LENGTH;
	/* Whether one may begin, or goes on, is checked as of all pieces. */
	*piece = (struct rdmw_piece){
		.kind = first ? RDMW_DATA : flow->kind,
		.flags = first ? RDMW_FIRST | RDMW_LAST : 0,
		.bytes = (__u16)bytes,
		.credits = (__u16)(data & RDMW_BARE_CREDITS),
		.at = first ? bytes : flow->got,
	};
	if (!first && bytes == flow->total - flow->got)
		piece->flags |= RDMW_LAST;
	return RDMW_OK;
}

enum rdmw_violation rdmw_flow_bare_arrived(struct rdmw_flow *flow, __u64 data,
					   __u32 bytes,
					   struct rdmw_piece *piece)
{
	enum rdmw_violation bad = rdmw_bare_parse(flow, data, bytes, piece);

	if (bad)
		return bad;
	bad = rdmw_take_credits(flow, piece);
	return bad ? bad : rdmw_take_data(flow, piece);
}

/* The features that something of a kind needs. */
static __u32 rdmw_feature_of(enum rdmw_kind kind)
{
	switch (kind) {
	case RDMW_WRITE:
	case RDMW_READ:
	case RDMW_ANSWER:
		return RDMW_FEATURE_RMA;
	case RDMW_GRANT:
	case RDMW_REVOKE:
	case RDMW_RETURN:
		return RDMW_FEATURE_RMA | RDMW_FEATURE_GRANT;
	case RDMW_ATOMIC:
		return RDMW_FEATURE_RMA | RDMW_FEATURE_ATOMIC;
	default:
		return 0;
	}
}

enum rdmw_violation rdmw_flow_arrived(struct rdmw_flow *flow, const __u8 *in,
				      __u32 bytes, struct rdmw_piece *piece)
{
	enum rdmw_violation bad = rdmw_piece_parse(in, bytes, piece);

	if (bad)
		return bad;
	if (bytes > flow->piece_in)
		return RDMW_BAD_LENGTH;
	if ((piece->flags & RDMW_TAGGED) &&
	    !(flow->features & RDMW_FEATURE_TAGS))
		return RDMW_BAD_RESERVED;
	if (rdmw_feature_of(piece->kind) & ~flow->features)
		return RDMW_BAD_KIND;
	if (piece->ctx > flow->ctx_in)
		return RDMW_BAD_FIELD;
	bad = rdmw_take_credits(flow, piece);
	if (bad)
		return bad;
	if (rdmw_has_bytes(piece->kind))
		return rdmw_take_data(flow, piece);
	return rdmw_take_control(flow, piece);
}

void rdmw_flow_freed(struct rdmw_flow *flow)
{
	flow->held--;
	flow->owed++;
}
