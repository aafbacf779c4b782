// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer that says the same thing on and on, and what becomes of others meanwhile.
 *
 * Context: process.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>

#include "lt_hostile.h"

#define LT_FLOOD_MS 500 /* before anything is asked */
#define LT_FLOOD_MESSAGES \
	500 /* and so many, which are more than a net has sends */
#define LT_FLOOD_MOST	    (20 * HZ)
#define LT_FLOOD_BYTES	    64
#define LT_ASKED_MS	    1000
#define LT_ASKED_AT_MOST_MS 3000

/* What is said on and on. */
enum lt_flood {
	LT_HELLOS,
	LT_PINGS,
	LT_MISTAKES, /* of an incarnation that is gone */
	LT_PUTS, /* which take time */
};

static int lt_flood_once(struct lt_raw *raw, enum lt_flood what)
{
	static const enum lndw_kind kinds[] = {
		[LT_HELLOS] = LNDW_HELLO,
		[LT_PINGS] = LNDW_PING,
		[LT_MISTAKES] = LNDW_PING,
		[LT_PUTS] = LNDW_IMMEDIATE,
	};
	struct lndw_msg msg = lt_raw_msg(raw, kinds[what]);

	if (what == LT_MISTAKES)
		msg.src_incarnation--;
	if (what == LT_PUTS) {
		msg.match = LT_SLOW;
		msg.bytes = LT_FLOOD_BYTES;
	}
	return lt_raw_tell(raw, &msg);
}

/* Say it until so much is over. Return: how often it was said. */
static unsigned int lt_flood(struct lt_raw *raw, enum lt_flood what,
			     struct completion *over)
{
	unsigned long enough = jiffies + msecs_to_jiffies(LT_FLOOD_MS);
	unsigned long most = jiffies + LT_FLOOD_MOST;
	struct lndw_msg msg;
	unsigned int n = 0;

	while (time_before(jiffies, most)) {
		if (over ? completion_done(over)
			 : n >= LT_FLOOD_MESSAGES &&
				    time_after(jiffies, enough))
			break;
		/* Who is not deaf makes room. */
		lt_raw_has_heard(raw, LNDW_KINDS, 0, &msg);
		if (lt_flood_once(raw, what))
			return n;
		n++;
	}
	return n;
}

/* A request of the node's to somebody else, in the middle of it. */
static void lt_flood_and_ask(struct lt_scene *s, struct lt_raw *raw,
			     enum lt_flood what, struct lt_asked *asked,
			     u64 nid)
{
	unsigned int n = lt_flood(raw, what, NULL);
	int ret = lt_ask(&s->a, asked, LT_PING, nid, NULL, LT_ASKED_MS);

	if (ret) {
		asked->req.status = ret;
		return;
	}
	n += lt_flood(raw, what, &asked->over);
	wait_for_completion(&asked->over);
	lt_line("# said %u times", n);
}

static void lt_flood_unread(struct lt_scene *s, enum lt_flood what,
			    const char *name)
{
	struct lt_asked asked = { 0 };

	lt_flood_and_ask(s, &s->deaf, what, &asked, LT_B);
	lt_point(
		!asked.req.status,
		"%s without end, whose answers are not read: another is served: %d",
		name, asked.req.status);
}

static void lt_flood_slow(struct lt_scene *s)
{
	struct lt_asked asked = { 0 };

	lt_flood_and_ask(s, &s->raw, LT_PUTS, &asked, LT_ABSENT);
	lt_point(
		asked.req.status == -EHOSTUNREACH &&
			asked.took_ms <= LT_ASKED_AT_MOST_MS,
		"puts without end: a request to who is not there ends in time: %d, %lld ms",
		asked.req.status, asked.took_ms);
	lt_flood_and_ask(s, &s->raw, LT_PUTS, &asked, LT_B);
	lt_point(!asked.req.status, "and another is served: %d",
		 asked.req.status);
	lt_point(lt_is_answered(&s->raw), "and so is he who did it");
}

void lt_floods(struct lt_scene *s)
{
	lt_flood_unread(s, LT_HELLOS, "hellos");
	lt_flood_unread(s, LT_PINGS, "pings");
	lt_flood_unread(s, LT_MISTAKES, "mistakes");
	lt_flood_slow(s);
	/* Many are on their way. */
	lt_flood(&s->raw, LT_PUTS, NULL);
	klnd_close(s->a.net);
	s->a.net = NULL;
	lt_point(true, "a net closes under puts without end");
}
