// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The transactions that a node begins: a few at a time, each followed by the next, and at
 * last the comparison of what ended well here with what was done there.
 *
 * Context: process.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "lt.h"

struct lt_slot {
	struct klnd_request req; /* first */
	struct lt_node *node;
	enum lt_what what;
	u8 *bytes;
};

struct lt_single {
	struct klnd_request req; /* first */
	struct completion over;
};

static void lt_single_over(struct klnd_request *req)
{
	struct lt_single *one = container_of(req, struct lt_single, req);

	complete(&one->over);
}

static int lt_start(struct lt_node *n, struct klnd_request *req,
		    enum lt_what what)
{
	if (what == LT_PUT)
		return klnd_put(n->net, req);
	return what == LT_GET ? klnd_get(n->net, req) : klnd_ping(n->net, req);
}

static int lt_run_single(struct lt_node *n, struct lt_single *one,
			 enum lt_what what)
{
	int ret;

	init_completion(&one->over);
	one->req.done = lt_single_over;
	ret = lt_start(n, &one->req, what);
	if (ret)
		return ret;
	/* It ends by its own deadline; short waits are no hung task. */
	while (!wait_for_completion_timeout(&one->over, HZ))
		;
	return one->req.status;
}

/* One transaction alone, and how it ended. */
int lt_once(struct lt_node *n, enum lt_what what, u64 peer, u64 match,
	    void *bytes, size_t len, u32 timeout_ms)
{
	struct lt_single one = {
		.req = { .nid = peer,
			 .match = match,
			 .buf = fi_buf_linear(bytes, len),
			 .timeout_ms = timeout_ms },
	};

	return lt_run_single(n, &one, what);
}

static void lt_slot_over(struct klnd_request *req);

static void lt_slot_choose(struct lt_slot *slot, u64 number)
{
	unsigned int die = get_random_u32();
	size_t len = LT_BYTES_MIN << die % 11;

	slot->what = (die >> 8) % 3;
	if (slot->what == LT_PUT)
		lt_pattern_fill(slot->bytes, len, number);
	else if (slot->what == LT_GET)
		memset(slot->bytes, 0, len);
	slot->req = (struct klnd_request){
		.nid = slot->node->peer,
		.match = LT_DATA,
		.word = number,
		.buf = fi_buf_linear(slot->bytes, len),
		.timeout_ms = lt_timeout_ms,
		.done = lt_slot_over,
	};
}

/* The next transaction of a slot, if there is to be one. */
static void lt_slot_next(struct lt_slot *slot)
{
	struct lt_node *n = slot->node;
	bool goes_on;
	u64 number;
	int ret;

	spin_lock(&n->lock);
	number = n->next;
	goes_on = number < LT_NUMBERS && (!lt_count || number < lt_count) &&
		  time_before(jiffies, n->until);
	if (goes_on)
		n->next++;
	else
		n->under_way--;
	spin_unlock(&n->lock);
	if (!goes_on) {
		wake_up(&n->idle);
		return;
	}
	lt_slot_choose(slot, number);
	ret = lt_start(n, &slot->req, slot->what);
	if (!ret)
		return;
	spin_lock(&n->lock);
	n->failed++;
	n->last_error = ret;
	set_bit(number, n->ended);
	n->under_way--;
	spin_unlock(&n->lock);
	wake_up(&n->idle);
}

static void lt_slot_over(struct klnd_request *req)
{
	struct lt_slot *slot = container_of(req, struct lt_slot, req);
	struct lt_node *n = slot->node;
	bool is_bad = !req->status && slot->what == LT_GET &&
		      (req->bytes != req->buf.len ||
		       !lt_pattern_is(slot->bytes, req->bytes, req->word));

	spin_lock(&n->lock);
	n->twice += test_and_set_bit(req->word, n->ended);
	if (req->status) {
		n->failed++;
		n->last_error = req->status;
	} else {
		n->puts += slot->what == LT_PUT;
		n->gets += slot->what == LT_GET;
		n->pings += slot->what == LT_PING;
		n->mib += req->bytes;
		/* Pings are nothing that the other's upper layer knows of. */
		if (slot->what != LT_PING)
			set_bit(req->word, n->done);
	}
	n->bad += is_bad;
	spin_unlock(&n->lock);
	lt_slot_next(slot);
}

void lt_load_begin(struct lt_node *n)
{
	unsigned int i;

	n->until = jiffies + (unsigned long)(lt_seconds ?: 3600) * HZ;
	n->under_way = lt_depth;
	for (i = 0; i < lt_depth; i++)
		lt_slot_next(&n->slots[i]);
}

/* Wait until all are over: each has a deadline. */
void lt_load_end(struct lt_node *n)
{
	while (!wait_event_timeout(n->idle, !READ_ONCE(n->under_way), HZ))
		;
}

static int lt_fetch(struct lt_node *n, struct lt_report *report)
{
	struct lt_single one;
	size_t at, len;
	int ret;

	for (at = 0; at < sizeof(*report); at += len) {
		len = min_t(size_t, sizeof(*report) - at, LT_BYTES_MAX);
		one.req = (struct klnd_request){
			.nid = n->peer,
			.match = LT_REPORT,
			.word = at,
			.buf = fi_buf_linear((u8 *)report + at, len),
			.timeout_ms = lt_timeout_ms,
		};
		ret = lt_run_single(n, &one, LT_GET);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * What is done here is taken on and done there. The other way round, nothing is taken on or
 * done there that did not end well here, be it a number that nobody had: this load has
 * nothing that may end otherwise.
 */
static void lt_load_compare(struct lt_node *n, const struct lt_report *theirs)
{
	u64 i, lost = 0, extra = 0, unknown = 0;

	for (i = 0; i < LT_NUMBERS; i++) {
		bool is_begun = test_bit(i, theirs->begun);
		bool is_done = test_bit(i, theirs->done);

		if (test_bit(i, n->done))
			lost += !is_begun || !is_done;
		else
			extra += is_begun || is_done;
		unknown += i < n->next && !test_bit(i, n->ended);
	}
	lt_line("# node %llu: %llu puts, %llu gets, %llu pings are done, %llu MiB; %llu failed, the last with %d",
		n->nid, n->puts, n->gets, n->pings, n->mib >> 20, n->failed,
		n->last_error);
	lt_point(n->puts && n->gets && n->pings,
		 "node %llu has done puts, gets and pings", n->nid);
	lt_point(!unknown, "node %llu: all have ended, but for %llu", n->nid,
		 unknown);
	lt_point(!lost, "node %llu: %llu lost", n->nid, lost);
	lt_point(!extra,
		 "node %llu: %llu that the other alone knows to be done",
		 n->nid, extra);
	lt_point(!theirs->twice && !n->twice, "node %llu: %llu twice", n->nid,
		 theirs->twice + n->twice);
	lt_point(!theirs->bad && !n->bad, "node %llu: %llu with wrong bytes",
		 n->nid, theirs->bad + n->bad);
	lt_point(!n->failed, "node %llu: %llu failed", n->nid, n->failed);
}

void lt_load_verify(struct lt_node *n)
{
	struct lt_report *theirs = vzalloc(sizeof(*theirs));
	struct klnd_counts c;

	if (lt_point(theirs && !lt_fetch(n, theirs),
		     "node %llu gets the other's report", n->nid))
		lt_load_compare(n, theirs);
	vfree(theirs);
	klnd_count(n->net, &c);
	lt_line("# node %llu: sent %llu unsent %llu repeated %llu over %llu busy %llu old %llu other %llu again %llu",
		n->nid, c.sent, c.unsent, c.repeated, c.over, c.busy, c.old,
		c.other, c.again);
	lt_point(!c.wrong && !c.strange,
		 "node %llu: %llu messages were wrong, %llu strange", n->nid,
		 c.wrong, c.strange);
}

int lt_load_alloc(struct lt_node *n)
{
	unsigned int i;

	n->done = vzalloc(BITS_TO_LONGS(LT_NUMBERS) * sizeof(long));
	n->ended = vzalloc(BITS_TO_LONGS(LT_NUMBERS) * sizeof(long));
	n->slots = kcalloc(lt_depth, sizeof(*n->slots), GFP_KERNEL);
	if (!n->done || !n->ended || !n->slots)
		return -ENOMEM;
	for (i = 0; i < lt_depth; i++) {
		n->slots[i].node = n;
		n->slots[i].bytes = vmalloc(LT_BYTES_MAX);
		if (!n->slots[i].bytes)
			return -ENOMEM;
	}
	return 0;
}

void lt_load_free(struct lt_node *n)
{
	unsigned int i;

	for (i = 0; n->slots && i < lt_depth; i++)
		vfree(n->slots[i].bytes);
	kfree(n->slots);
	vfree(n->done);
	vfree(n->ended);
}
