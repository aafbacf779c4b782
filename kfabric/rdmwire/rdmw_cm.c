// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hello, welcome and refusal; which of two connections lives.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "../wire/wire_bytes.h"
#include "rdmw_cm.h"

/* All three begin so. */
#define AT_KIND	   1
#define AT_LENGTH  2
#define HEAD_BYTES 8
/* Hello and welcome. */
#define AT_FEATURES    4
#define FEATURES_BYTES (RDMW_FEATURE_BITS / 8)
#define AT_INSTANCE    8
#define AT_SERIAL      16
#define AT_WINDOW      24
#define AT_PIECE       26
#define AT_ROOM	       28
#define ROOM_BYTES     4
/*
 * The last receive context. Who does not know the feature takes a hello's for
 * more features, and would not take a hello with anything in its room.
 */
#define AT_HELLO_CTX   7
#define AT_WELCOME_CTX AT_ROOM
/* Hello. */
#define AT_ADDR 32
#define AT_PORT 48
#define AT_END	50
/* Refusal. */
#define AT_REASON 4

static void rdmw_cm_head_pack(enum rdmw_kind kind, __u16 bytes, __u8 *out)
{
	memset(out, 0, bytes);
	out[0] = RDMW_VERSION;
	out[AT_KIND] = (__u8)kind;
	wire_put(out + AT_LENGTH, 2, bytes);
}

static enum rdmw_violation rdmw_cm_head_parse(enum rdmw_kind kind, __u32 due,
					      const __u8 *in, __u32 bytes)
{
	if (bytes < HEAD_BYTES)
		return RDMW_BAD_LENGTH;
	if (in[0] != RDMW_VERSION)
		return RDMW_BAD_VERSION;
	if (in[AT_KIND] != kind)
		return RDMW_BAD_KIND;
	/* Private data may arrive with bytes behind it that nobody sent. */
	if (wire_get(in + AT_LENGTH, 2) != due || bytes < due)
		return RDMW_BAD_LENGTH;
	return RDMW_OK;
}

static void rdmw_offer_pack(const struct rdmw_offer *offer, __u8 *ctx,
			    __u8 *out)
{
	wire_put(out + AT_FEATURES, FEATURES_BYTES, offer->features);
	wire_put(out + AT_INSTANCE, 8, offer->instance);
	wire_put(out + AT_SERIAL, 8, offer->serial);
	wire_put(out + AT_WINDOW, 2, offer->window);
	wire_put(out + AT_PIECE, 2, offer->piece_bytes);
	if (offer->features & RDMW_FEATURE_CTX)
		*ctx = offer->last_ctx;
}

/* @room: what is left of the room behind all else. */
static enum rdmw_violation rdmw_offer_parse(const __u8 *in, __u8 last_ctx,
					    const __u8 *room,
					    struct rdmw_offer *offer)
{
	struct rdmw_offer o = {
		.instance = wire_get(in + AT_INSTANCE, 8),
		.serial = wire_get(in + AT_SERIAL, 8),
		.features = (__u32)wire_get(in + AT_FEATURES, FEATURES_BYTES),
		.window = (__u16)wire_get(in + AT_WINDOW, 2),
		.piece_bytes = (__u16)wire_get(in + AT_PIECE, 2),
		.last_ctx = last_ctx,
	};

	if (!o.instance || !o.serial || !o.window ||
	    o.window > RDMW_WINDOW_MAX || o.piece_bytes < RDMW_PIECE_MIN)
		return RDMW_BAD_FIELD;
	if (o.last_ctx && !(o.features & RDMW_FEATURE_CTX))
		return RDMW_BAD_RESERVED;
	if (!wire_is_zero(room,
			  (unsigned int)(in + AT_ROOM + ROOM_BYTES - room)))
		return RDMW_BAD_RESERVED;
	*offer = o;
	return RDMW_OK;
}

void rdmw_hello_pack(const struct rdmw_hello *hello, __u8 *out)
{
	rdmw_cm_head_pack(RDMW_HELLO, RDMW_HELLO_BYTES, out);
	rdmw_offer_pack(&hello->offer, out + AT_HELLO_CTX, out);
	memcpy(out + AT_ADDR, hello->addr, RDMW_ADDR_BYTES);
	wire_put(out + AT_PORT, 2, hello->port);
}

enum rdmw_violation rdmw_hello_parse(const __u8 *in, __u32 bytes,
				     struct rdmw_hello *hello)
{
	enum rdmw_violation bad =
		rdmw_cm_head_parse(RDMW_HELLO, RDMW_HELLO_BYTES, in, bytes);
	struct rdmw_offer offer;

	if (!bad)
		bad = rdmw_offer_parse(in, in[AT_HELLO_CTX], in + AT_ROOM,
				       &offer);
	if (bad)
		return bad;
	if (!wire_get(in + AT_PORT, 2))
		return RDMW_BAD_FIELD;
	if (!wire_is_zero(in + AT_END, RDMW_HELLO_BYTES - AT_END))
		return RDMW_BAD_RESERVED;
	hello->offer = offer;
	hello->port = (__u16)wire_get(in + AT_PORT, 2);
	memcpy(hello->addr, in + AT_ADDR, RDMW_ADDR_BYTES);
	return RDMW_OK;
}

void rdmw_welcome_pack(const struct rdmw_offer *offer, __u8 *out)
{
	rdmw_cm_head_pack(RDMW_WELCOME, RDMW_WELCOME_BYTES, out);
	rdmw_offer_pack(offer, out + AT_WELCOME_CTX, out);
}

enum rdmw_violation rdmw_welcome_parse(const __u8 *in, __u32 bytes,
				       const struct rdmw_offer *ours,
				       struct rdmw_offer *offer)
{
	enum rdmw_violation bad =
		rdmw_cm_head_parse(RDMW_WELCOME, RDMW_WELCOME_BYTES, in, bytes);

	if (bad)
		return bad;
	if (wire_get(in + AT_FEATURES, 4) & ~ours->features)
		return RDMW_BAD_RESERVED;
	return rdmw_offer_parse(in, in[AT_WELCOME_CTX], in + AT_WELCOME_CTX + 1,
				offer);
}

void rdmw_refuse_pack(enum rdmw_reason reason, __u8 *out)
{
	rdmw_cm_head_pack(RDMW_REFUSE, RDMW_REFUSE_BYTES, out);
	wire_put(out + AT_REASON, 4, reason);
}

enum rdmw_violation rdmw_refuse_parse(const __u8 *in, __u32 bytes,
				      enum rdmw_reason *reason)
{
	enum rdmw_violation bad =
		rdmw_cm_head_parse(RDMW_REFUSE, RDMW_REFUSE_BYTES, in, bytes);
	__u64 value;

	if (bad)
		return bad;
	value = wire_get(in + AT_REASON, 4);
	if (!value || value >= RDMW_REASONS)
		return RDMW_BAD_FIELD;
	*reason = (enum rdmw_reason)value;
	return RDMW_OK;
}

void rdmw_learn(struct rdmw_peer *peer, const struct rdmw_offer *offer)
{
	if (peer->instance == offer->instance && peer->floor > offer->serial)
		return;
	peer->instance = offer->instance;
	peer->floor = offer->serial;
}

enum rdmw_verdict rdmw_decide(struct rdmw_peer *peer, __u64 own,
			      enum rdmw_link link,
			      const struct rdmw_offer *offer)
{
	_Bool is_known = peer->instance == offer->instance;
	enum rdmw_verdict verdict = RDMW_ACCEPT;

	if (offer->instance == own)
		return RDMW_BESIDE;
	if (is_known && offer->serial < peer->floor)
		return RDMW_REFUSE_STALE;
	if (link == RDMW_DIALING && own < offer->instance)
		return RDMW_REFUSE_CROSSED;
	if (link == RDMW_DIALING)
		verdict = RDMW_TAKE;
	else if (link == RDMW_LINKED)
		verdict = is_known ? RDMW_BESIDE : RDMW_REPLACE;
	peer->instance = offer->instance;
	peer->floor = offer->serial + 1;
	return verdict;
}
