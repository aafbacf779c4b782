// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A hostile peer of a node: one that was added, and breaks the rules of the wire, of
 * whose kinds go which way, and of memory.
 *
 * Context: process.
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lt_hostile.h"

#define LT_CANARY      0xc3
#define LT_HIS	       0x3c /* bytes of the hostile peer's */
#define LT_SHORT_BYTES 100
#define LT_MR_KEY      0x6b6579
#define LT_TOO_LONG    200 /* bytes, for a receive of answers */
#define LT_TOO_MANY    70 /* such messages: more than it has */
#define LT_A_FEW       32 /* fewer than it has */
#define LT_PATIENT_MS  30000

/* ---- nodes ------------------------------------------------------------ */

static int lt_victim_match(void *context, struct klnd_incoming *in)
{
	struct lt_victim *v = context;
	size_t len = in->bytes;

	v->matched++;
	if (in->match == LT_SLOW)
		usleep_range(2000, 2500);
	else if (in->match == LT_LATE)
		msleep(50);
	else if (in->match == LT_NARROW)
		len--;
	else if (in->match == LT_WIDE)
		len *= 2;
	else if (in->match != LT_EXACT)
		return -ENOENT;
	if (len > LT_ROOM_BYTES)
		return -EMSGSIZE;
	in->buf = fi_buf_linear(v->bytes, len);
	return 0;
}

static void lt_victim_event(void *context, const struct klnd_incoming *in,
			    int status, u32 bytes)
{
	struct lt_victim *v = context;

	v->status = status;
	v->moved = bytes;
}

static const struct klnd_ops lt_victim_ops = { .match = lt_victim_match,
					       .event = lt_victim_event };

static int lt_victim_open(struct lt_victim *v, u64 nid, const char *prov,
			  const char *node, unsigned int port)
{
	char service[8];
	struct klnd_attr attr = {
		.nid = nid,
		.prov = prov,
		.node = node,
		.service = service,
		.ops = &lt_victim_ops,
		.context = v,
	};

	snprintf(service, sizeof(service), "%u", port);
	v->bytes = kvzalloc(LT_ROOM_BYTES, GFP_KERNEL);
	return v->bytes ? klnd_open(&attr, &v->net) : -ENOMEM;
}

static int lt_victim_add(struct lt_victim *v, u64 nid, const char *node,
			 unsigned int port)
{
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	return klnd_peer_add(v->net, nid, node, service);
}

static void lt_asked_over(struct klnd_request *req)
{
	struct lt_asked *asked = container_of(req, struct lt_asked, req);

	asked->took_ms = ktime_ms_delta(ktime_get(), asked->begun);
	if (asked->late)
		asked->late_ret =
			lt_raw_move(asked->late, req->match == LT_GET,
				    asked->key, asked->bytes, LT_LONG);
	complete(&asked->over);
}

/* Begin a request of a node's. */
int lt_ask(struct lt_victim *v, struct lt_asked *asked, enum lt_what what,
	   u64 nid, u8 *bytes, u32 timeout_ms)
{
	asked->req = (struct klnd_request){
		.nid = nid,
		.match = what,
		.buf = fi_buf_linear(bytes, bytes ? LT_LONG : 0),
		.timeout_ms = timeout_ms,
		.done = lt_asked_over,
	};
	init_completion(&asked->over);
	asked->begun = ktime_get();
	if (what == LT_PING)
		return klnd_ping(v->net, &asked->req);
	return what == LT_GET ? klnd_get(v->net, &asked->req)
			      : klnd_put(v->net, &asked->req);
}

/* ---- what is no message ----------------------------------------------- */

/* What was said before has arrived when it is. */
bool lt_is_answered(struct lt_raw *raw)
{
	struct lndw_msg ping = lt_raw_msg(raw, LNDW_PING), ack;

	return !lt_raw_tell(raw, &ping) &&
	       lt_raw_hear(raw, LNDW_ACK, ping.seq, &ack);
}

static u64 lt_verdicts(const struct klnd_counts *c)
{
	return c->repeated + c->over + c->busy + c->old + c->other + c->wrong;
}

/* One message is said, and is nobody's. */
static void lt_is_strange(struct lt_scene *s, int said,
			  const struct klnd_counts *before, const char *what)
{
	bool is_answered = lt_is_answered(&s->raw);
	struct klnd_counts after;

	klnd_count(s->a.net, &after);
	lt_point(!said && is_answered && after.strange == before->strange + 1 &&
			 lt_verdicts(&after) == lt_verdicts(before),
		 "%s is not taken: %d, %llu strange", what, said,
		 after.strange - before->strange);
}

static void lt_say_strange(struct lt_scene *s, const struct lndw_msg *msg,
			   int more, const char *what)
{
	struct lt_raw_op *op = lt_raw_begin(&s->raw, msg);
	struct klnd_counts before;

	klnd_count(s->a.net, &before);
	if (op)
		op->bytes += more;
	lt_is_strange(s, lt_raw_say(op), &before, what);
}

static void lt_say_strange_tagged(struct lt_scene *s,
				  const struct lndw_msg *msg, u64 tag,
				  const char *what)
{
	struct lt_raw_op *op = lt_raw_begin(&s->raw, msg);
	struct klnd_counts before;

	klnd_count(s->a.net, &before);
	lt_is_strange(s, lt_raw_say_tagged(op, tag), &before, what);
}

static void lt_lengths(struct lt_scene *s)
{
	struct lndw_msg msg = lt_raw_msg(&s->raw, LNDW_PING);

	lt_say_strange(s, &msg, 1, "a ping with a byte more than it says");
	lt_say_strange(s, &msg, -1, "a ping with a byte fewer");
	lt_say_strange(s, &msg, -(int)lndw_head_bytes(LNDW_PING),
		       "a message of nothing");
	msg = lt_raw_msg(&s->raw, LNDW_IMMEDIATE);
	msg.match = LT_EXACT;
	msg.bytes = LT_SHORT_BYTES;
	lt_say_strange(s, &msg, 1, "an immediate put with a byte too many");
	lt_say_strange(s, &msg, -1, "an immediate put with a byte too few");
	msg = lt_raw_msg(&s->raw, LNDW_PUT);
	msg.match = LT_EXACT;
	msg.bytes = LNDW_BYTES_MAX + 1;
	lt_say_strange(s, &msg, 0, "a put of more than there is");
	lt_point(!s->a.matched, "nobody was asked for a buffer: %u",
		 s->a.matched);
}

/* Each of them ends a receive, which must be posted anew. */
static void lt_answers_too_long(struct lt_scene *s)
{
	struct lndw_msg msg = lt_raw_msg(&s->raw, LNDW_ACK);
	struct klnd_counts before, after;
	struct lt_raw_op *op;
	unsigned int n;
	bool is_answered;

	klnd_count(s->a.net, &before);
	for (n = 0; n < LT_TOO_MANY; n++) {
		/* None waits for a receive, so that a ping cannot overtake it. */
		if (n % LT_A_FEW == 0 && !lt_is_answered(&s->raw))
			break;
		op = lt_raw_begin(&s->raw, &msg);
		if (op)
			op->bytes = LT_TOO_LONG;
		if (lt_raw_say_tagged(op, msg.seq))
			break;
	}
	is_answered = lt_is_answered(&s->raw);
	klnd_count(s->a.net, &after);
	lt_point(is_answered && after.strange == before.strange + LT_TOO_MANY,
		 "answers that are too long are not taken: %llu strange of %u",
		 after.strange - before.strange, n);
}

static void lt_other_nodes(struct lt_scene *s)
{
	struct lndw_msg msg = lt_raw_msg(&s->raw, LNDW_PING);
	struct lt_asked asked = { 0 };

	msg.src_nid = LT_B;
	msg.src_incarnation = ~0ULL;
	lt_say_strange(s, &msg, 0, "a ping that is another node's");
	msg.src_nid = LT_ABSENT + 1;
	lt_say_strange(s, &msg, 0, "a ping of who was never added");
	if (!lt_ask(&s->a, &asked, LT_PING, LT_B, NULL, LT_PATIENT_MS))
		wait_for_completion(&asked.over);
	lt_point(!asked.req.status, "the other node is who it was: %d",
		 asked.req.status);
}

/* What is said by the way that another kind takes. */
static void lt_ways(struct lt_scene *s)
{
	struct lndw_msg ping = lt_raw_msg(&s->raw, LNDW_PING), asks, ack;
	struct lndw_msg hello = lt_raw_msg(&s->raw, LNDW_HELLO);
	struct lt_asked asked = { 0 };

	lt_say_strange_tagged(s, &ping, ping.seq, "a ping with a tag");
	lt_say_strange_tagged(s, &hello, 0, "a hello with a tag");
	if (!lt_point(!lt_ask(&s->a, &asked, LT_PING, LT_RAW, NULL,
			      LT_PATIENT_MS),
		      "the hostile one is asked"))
		return;
	if (lt_point(lt_raw_hear_new(&s->raw, LNDW_PING, &asks), "and hears")) {
		ack = lt_raw_msg(&s->raw, LNDW_ACK);
		ack.seq = asks.seq;
		lt_say_strange(s, &ack, 0, "an answer without a tag");
		lt_say_strange_tagged(s, &ack, ack.seq + 1,
				      "an answer with another's tag");
		lt_point(!completion_done(&asked.over), "nothing is over");
		lt_raw_tell(&s->raw, &ack);
	}
	wait_for_completion(&asked.over);
	lt_point(!asked.req.status, "until the right answer comes: %d",
		 asked.req.status);
}

/* ---- memory ----------------------------------------------------------- */

static bool lt_is_all(const u8 *bytes, u8 byte, size_t len)
{
	return !memchr_inv(bytes, byte, len);
}

/* Ask the node for something, and hear what became of it. */
static bool lt_demand(struct lt_scene *s, enum lndw_kind kind, u64 match,
		      u64 key, u32 left_ms, struct lndw_msg *answer)
{
	struct lndw_msg msg = lt_raw_msg(&s->raw, kind);

	memset(s->bytes, LT_HIS, LT_ROOM_BYTES);
	memset(s->a.bytes, LT_CANARY, LT_ROOM_BYTES);
	s->a.status = 1;
	msg.match = match;
	msg.key = kind == LNDW_IMMEDIATE ? 0 : key;
	msg.bytes = kind == LNDW_IMMEDIATE ? LT_SHORT_BYTES : LT_LONG;
	msg.left_ms = left_ms;
	return !lt_raw_tell(&s->raw, &msg) &&
	       lt_raw_hear(&s->raw, kind == LNDW_GET ? LNDW_REPLY : LNDW_ACK,
			   msg.seq, answer);
}

static void lt_immediate(struct lt_scene *s)
{
	const u8 *bytes = s->a.bytes;
	struct lndw_msg answer;

	lt_point(
		lt_demand(s, LNDW_IMMEDIATE, LT_NARROW, 0, LT_PATIENT_MS,
			  &answer) &&
			answer.status == LNDW_TOO_LONG &&
			s->a.status == -EMSGSIZE &&
			lt_is_all(bytes, LT_CANARY, LT_ROOM_BYTES),
		"an immediate put does not go into a buffer that is too short");
	lt_point(lt_demand(s, LNDW_IMMEDIATE, LT_WIDE, 0, LT_PATIENT_MS,
			   &answer) &&
			 answer.status == LNDW_DONE &&
			 answer.bytes == LT_SHORT_BYTES &&
			 s->a.moved == LT_SHORT_BYTES &&
			 lt_is_all(bytes, LT_RAW_FILLER, LT_SHORT_BYTES) &&
			 lt_is_all(bytes + LT_SHORT_BYTES, LT_CANARY,
				   LT_ROOM_BYTES - LT_SHORT_BYTES),
		 "an immediate put has the bytes that came");
}

static void lt_puts(struct lt_scene *s)
{
	const u8 *bytes = s->a.bytes;
	struct lndw_msg answer;

	lt_point(lt_demand(s, LNDW_PUT, LT_NARROW, LT_MR_KEY, LT_PATIENT_MS,
			   &answer) &&
			 answer.status == LNDW_TOO_LONG &&
			 lt_is_all(bytes, LT_CANARY, LT_ROOM_BYTES),
		 "a put does not go into a buffer that is too short");
	lt_point(lt_demand(s, LNDW_PUT, LT_WIDE, LT_MR_KEY, LT_PATIENT_MS,
			   &answer) &&
			 answer.status == LNDW_DONE &&
			 answer.bytes == LT_LONG && s->a.moved == LT_LONG &&
			 lt_is_all(bytes, LT_HIS, LT_LONG) &&
			 lt_is_all(bytes + LT_LONG, LT_CANARY,
				   LT_ROOM_BYTES - LT_LONG),
		 "a put has no more bytes than it was of");
	lt_point(lt_demand(s, LNDW_PUT, LT_EXACT, LT_MR_KEY + 1, LT_PATIENT_MS,
			   &answer) &&
			 answer.status == LNDW_FAILED && s->a.status == -EIO,
		 "a put from memory that was not offered fails");
	lt_point(lt_demand(s, LNDW_PUT, LT_LATE, LT_MR_KEY, 10, &answer) &&
			 answer.status == LNDW_FAILED && s->a.status == -EIO &&
			 lt_is_all(bytes, LT_CANARY, LT_ROOM_BYTES),
		 "a put whose time is over is not done");
}

static void lt_gets(struct lt_scene *s)
{
	const size_t n = LT_LONG - 1;
	struct lndw_msg answer;

	lt_point(lt_demand(s, LNDW_GET, LT_WIDE, LT_MR_KEY, LT_PATIENT_MS,
			   &answer) &&
			 answer.status == LNDW_TOO_LONG &&
			 lt_is_all(s->bytes, LT_HIS, LT_ROOM_BYTES),
		 "a get gets nothing that is longer than was asked");
	lt_point(lt_demand(s, LNDW_GET, LT_NARROW, LT_MR_KEY, LT_PATIENT_MS,
			   &answer) &&
			 answer.status == LNDW_DONE && answer.bytes == n &&
			 lt_is_all(s->bytes, LT_CANARY, n) &&
			 lt_is_all(s->bytes + n, LT_HIS, LT_ROOM_BYTES - n),
		 "the bytes of a get are there before its reply");
	lt_point(lt_demand(s, LNDW_GET, LT_EXACT, LT_MR_KEY + 1, LT_PATIENT_MS,
			   &answer) &&
			 answer.status == LNDW_FAILED && s->a.status == -EIO,
		 "a get into memory that was not offered fails");
	lt_point(lt_is_answered(&s->raw), "the node is answering as before");
}

/* Who has answered, or has not, moves bytes when the request is over. */
static void lt_late(struct lt_scene *s, enum lt_what what, bool answers,
		    u32 timeout_ms, const char *name)
{
	enum lndw_kind kind = what == LT_GET ? LNDW_GET : LNDW_PUT;
	struct lt_asked asked = { .bytes = s->bytes, .late_ret = 1 };
	u8 *bytes = s->b.bytes;
	struct lndw_msg asks, answer;

	memset(bytes, LT_CANARY, LT_LONG);
	memset(s->bytes, LT_HIS, LT_ROOM_BYTES);
	if (!lt_point(!lt_ask(&s->a, &asked, what, LT_RAW, bytes, timeout_ms),
		      "the hostile one is asked for %s", name))
		return;
	if (lt_raw_hear_new(&s->raw, kind, &asks)) {
		asked.key = asks.key;
		asked.late = &s->raw;
		answer = lt_raw_msg(&s->raw,
				    what == LT_GET ? LNDW_REPLY : LNDW_ACK);
		answer.seq = asks.seq;
		if (answers)
			lt_raw_tell(&s->raw, &answer);
	}
	wait_for_completion(&asked.over);
	lt_point(asked.req.status == (answers ? 0 : -ETIMEDOUT) &&
			 asked.late_ret < 0 && asked.late_ret != -ETIME &&
			 lt_is_all(bytes, LT_CANARY, LT_LONG) &&
			 lt_is_all(s->bytes, LT_HIS, LT_LONG),
		 "nobody reaches the memory of %s: %d, %d", name,
		 asked.req.status, asked.late_ret);
}

/* ---- the scene -------------------------------------------------------- */

static int lt_scene_open(struct lt_scene *s, const char *prov, const char *node,
			 unsigned int port)
{
	struct fi_mr_attr attr = {
		.access = FI_REMOTE_READ | FI_REMOTE_WRITE,
		.requested_key = LT_MR_KEY,
	};
	int ret;

	s->raw.nid = LT_RAW;
	s->deaf.nid = LT_DEAF;
	s->raw.incarnation = s->deaf.incarnation = 5;
	s->raw.peer = s->deaf.peer = LT_A;
	s->bytes = kvzalloc(LT_ROOM_BYTES, GFP_KERNEL);
	if (!s->bytes)
		return -ENOMEM;
	attr.buf = fi_buf_linear(s->bytes, LT_ROOM_BYTES);
	ret = lt_victim_open(&s->a, LT_A, prov, node, port);
	ret = ret ?: lt_victim_open(&s->b, LT_B, prov, node, port + 1);
	ret = ret ?: lt_victim_add(&s->a, LT_B, node, port + 1);
	ret = ret ?: lt_victim_add(&s->b, LT_A, node, port);
	ret = ret ?: lt_victim_add(&s->a, LT_RAW, node, port + 2);
	ret = ret ?: lt_victim_add(&s->a, LT_DEAF, node, port + 3);
	ret = ret ?: lt_victim_add(&s->a, LT_ABSENT, node, 9);
	ret = ret ?: lt_raw_open(&s->raw, prov, node, port + 2, port, false);
	ret = ret ?: lt_raw_open(&s->deaf, prov, node, port + 3, port, true);
	return ret ?: fi_mr_regattr(s->raw.domain, &attr, 0, &s->mr);
}

static void lt_scene_close(struct lt_scene *s)
{
	if (s->a.net)
		klnd_close(s->a.net);
	if (s->b.net)
		klnd_close(s->b.net);
	if (s->mr)
		WARN_ON_ONCE(fi_close(&s->mr->fid));
	lt_raw_close(&s->deaf);
	lt_raw_close(&s->raw);
	kvfree(s->a.bytes);
	kvfree(s->b.bytes);
	kvfree(s->bytes);
}

static bool lt_scene_greet(struct lt_scene *s)
{
	struct lndw_msg hello = lt_raw_msg(&s->raw, LNDW_HELLO), welcome;

	if (lt_raw_tell(&s->raw, &hello) ||
	    !lt_raw_hear(&s->raw, LNDW_WELCOME, 0, &welcome))
		return false;
	s->raw.peer_incarnation = welcome.src_incarnation;
	s->deaf.peer_incarnation = welcome.src_incarnation;
	return true;
}

static void lt_scene_play(struct lt_scene *s)
{
	lt_ways(s);
	lt_other_nodes(s);
	lt_lengths(s);
	lt_answers_too_long(s);
	lt_ways(s);
	lt_immediate(s);
	lt_puts(s);
	lt_gets(s);
	lt_late(s, LT_GET, true, LT_PATIENT_MS, "a get that is over");
	lt_late(s, LT_PUT, true, LT_PATIENT_MS, "a put that is over");
	lt_late(s, LT_GET, false, 2000, "a get that is too late");
	lt_late(s, LT_PUT, false, 2000, "a put that is too late");
	lt_floods(s);
}

void lt_hostile(const char *prov, const char *node, unsigned int port)
{
	struct lt_scene *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret = s ? lt_scene_open(s, prov, node, port) : -ENOMEM;

	if (lt_point(!ret, "there are nodes and peers over %s: %d", prov,
		     ret) &&
	    lt_point(lt_scene_greet(s), "the hostile one is welcome"))
		lt_scene_play(s);
	if (s)
		lt_scene_close(s);
	kfree(s);
}
