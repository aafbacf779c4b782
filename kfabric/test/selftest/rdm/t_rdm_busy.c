// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: unconnected endpoints that have much to do: how long a post may take, and
 * what else goes on meanwhile. Times say something when the engine is made slow, as
 * the case kfabric-rdm-races does.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../st.h"

#define BASE	 ST_ROOM_BASE
#define QUEUE	 16 /* operations of a peer */
#define FLOOD	 (ST_ROOM_OPS - 1) /* messages: more than a connection takes */
#define POSTS	 230 /* one behind the other */
#define BEGUN	 10 /* of these, before anything is asked for */
#define SOON_MS	 1500 /* they post for longer */
#define TRIES	 20
#define QUICK_MS 40
#define BACK	 8 /* messages: more than half of a window */
#define BEHIND	 4 /* messages of one post */
#define TAG	 0x77
#define PEERS	 40
#define ROUNDS	 5
#define POST_MS	 150 /* if to look at one takes 5: no more than 30 */

static u64 st_ms_since(ktime_t begin)
{
	return ktime_to_ms(ktime_sub(ktime_get(), begin));
}

/* ---- who posts all the time ------------------------------------------------ */

/* Posts again and again, to a peer that takes no more. */
struct busy_poster {
	struct st_node *from;
	fi_addr_t to;
	unsigned int posts;
	struct completion begun;
};

static int st_busy_post(void *arg)
{
	struct busy_poster *p = arg;
	ktime_t begin;

	while (!kthread_should_stop()) {
		begin = ktime_get();
		if (p->posts < POSTS &&
		    !fi_inject(p->from->ep, "busy", 4, p->to))
			p->posts++;
		if (p->posts == BEGUN)
			complete(&p->begun);
		/* Another one is the engine, and the queue soon full. */
		if (!st_ms_since(begin))
			usleep_range(1000, 2000);
	}
	return 0;
}

/* What only the work does is done, however much is posted. */
static noinline_for_stack void st_busy_cancel(struct st *st, struct st_duo *d)
{
	struct busy_poster p = { .from = &d->a, .to = d->to_b };
	struct st_op *op = d->r.tx[FLOOD - 1];
	struct task_struct *poster;
	unsigned int posts;
	ktime_t begin;
	int i, ret = 0;
	u64 ms;

	init_completion(&p.begun);
	for (i = 0; i < FLOOD; i++)
		ret = ret
			      ?: st_node_send(&d->a, d->r.tx[i], d->r.src, BASE,
					      d->to_b);
	CHECK_EQ(st, ret, 0, "more is sent than a peer takes");
	st_cq_drain(d->a.cq, ST_QUIET_MS);
	poster = kthread_run(st_busy_post, &p, "kfi-poster");
	if (!CHECK(st, !IS_ERR(poster), "somebody posts all the time"))
		return;
	wait_for_completion(&p.begun);
	begin = ktime_get();
	ret = fi_cancel(&d->a.ep->fid, &op->ctx);
	ret = st_op_result(d->a.cq, op, ret);
	ms = st_ms_since(begin);
	posts = READ_ONCE(p.posts);
	CHECK_EQ(st, ret, ECANCELED, "a send is canceled meanwhile");
	kthread_stop(poster);
	/* Where the processors stand still nobody posts, either. */
	CHECKF(st, ms < SOON_MS || posts < POSTS,
	       "it has ended soon: in %llu ms, %u posts", ms, posts);
}

/* ---- what a post leaves to others ----------------------------------------- */

/* A context that the peer does not have: the post sees it, and ends nothing. */
static noinline_for_stack void st_busy_refused(struct st *st, struct st_duo *d)
{
	fi_addr_t beyond = fi_rx_addr(d->to_b, 1, ST_CTX_BITS);
	struct st_op *op = d->r.tx[0];
	int i, ret, refused = 0, quick = 0;
	ktime_t begin;

	CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 10), 0,
		 "a message arrives");
	for (i = 0; i < TRIES; i++) {
		begin = ktime_get();
		ret = st_node_send(&d->a, op, d->r.src, 10, beyond);
		refused += st_op_result(d->a.cq, op, ret) == EADDRNOTAVAIL;
		quick += st_ms_since(begin) < QUICK_MS;
	}
	CHECK_EQ(st, refused, TRIES, "messages that cannot be sent end so");
	CHECKF(st, quick > TRIES / 10, "and at once: %d of %d", quick, TRIES);
}

/* ---- who waits goes first ---------------------------------------------------- */

/* A receive that more are to come behind has the messages that wait not looked at. */
static int st_busy_recv_more(struct st_duo *d, struct st_op *op)
{
	const struct fi_msg msg = { .buf = fi_buf_linear(d->r.dst, BASE),
				    .addr = FI_ADDR_UNSPEC,
				    .context = &op->ctx };

	st_op_reset(op);
	return fi_recvmsg(d->b.ep, &msg, FI_MORE);
}

/* A message waits, and the next one comes when there is a receive. */
static int st_busy_pass_by(struct st_duo *d)
{
	struct st_op **rx = d->r.rx;
	int ret = st_node_send(&d->a, d->r.tx[0], d->r.src, 10, d->to_b);

	ret = st_op_result(d->a.cq, d->r.tx[0], ret);
	schedule_timeout_uninterruptible(msecs_to_jiffies(ST_QUIET_MS));
	ret = ret ?: st_busy_recv_more(d, rx[0]);
	ret = ret ?: st_node_send(&d->a, d->r.tx[0], d->r.src, 20, d->to_b);
	ret = st_op_result(d->a.cq, d->r.tx[0], ret);
	ret = st_op_result(d->b.cq, rx[0], ret);
	ret = ret ?: st_node_recv(&d->b, rx[1], d->r.dst, BASE);
	ret = st_op_result(d->b.cq, rx[1], ret);
	if (ret)
		return ret;
	return rx[0]->entry.len == 10 && rx[1]->entry.len == 20;
}

/* Messages that more are to come behind, and one that has them all sent. */
static int st_busy_send_behind(struct st_duo *d)
{
	struct fi_msg msg = { .addr = d->to_b };
	int i, ret = 0, in_order = 1;

	for (i = 0; i < BEHIND && !ret; i++)
		ret = st_node_recv(&d->b, d->r.rx[i], d->r.dst, BASE);
	for (i = 0; i < BEHIND && !ret; i++) {
		st_op_reset(d->r.tx[i]);
		msg.buf = fi_buf_linear(d->r.src, 10 + i);
		msg.context = &d->r.tx[i]->ctx;
		ret = fi_sendmsg(d->a.ep, &msg, i < BEHIND - 1 ? FI_MORE : 0);
	}
	for (i = 0; i < BEHIND && !ret; i++) {
		ret = st_op_result(d->a.cq, d->r.tx[i], ret);
		ret = st_op_result(d->b.cq, d->r.rx[i], ret);
		in_order &= d->r.rx[i]->entry.len == 10 + i;
	}
	return ret ?: in_order;
}

static void st_busy_tries(struct st *st, struct st_duo *d,
			  int (*try)(struct st_duo *d), const char *what)
{
	int i, ret = 1, ok = 0;

	for (i = 0; i < TRIES && ret >= 0; i++) {
		ret = try(d);
		ok += ret == 1;
	}
	CHECKF(st, ok == TRIES, "%s: %d of %d, %d", what, ok, TRIES, ret);
}

static noinline_for_stack void st_busy_order(struct st *st, struct st_duo *d)
{
	st_busy_tries(st, d, st_busy_pass_by, "who waits is not passed by");
	st_busy_tries(st, d, st_busy_send_behind,
		      "what is posted behind others is sent behind them");
}

/* ---- a provider below that takes nothing for a while ------------------------ */

/* As many as are given back by a message of their own. */
static int st_again_credits(struct st_duo *d)
{
	int i, ret = 0;

	for (i = 0; i < BACK; i++)
		ret = ret ?: st_node_recv(&d->a, d->r.rx[i], d->r.dst, BASE);
	for (i = 0; i < BACK; i++)
		ret = ret
			      ?: st_node_send(&d->b, d->r.tx[i], d->r.src, 10,
					      d->to_a);
	for (i = 0; i < BACK; i++) {
		ret = st_op_result(d->b.cq, d->r.tx[i], ret);
		ret = st_op_result(d->a.cq, d->r.rx[i], ret);
	}
	return ret;
}

/*
 * A send whose piece may be refused is canceled, and its memory is gone; what goes to
 * the peer next is in the buffer that it would have had. Return how it ended.
 */
static int st_again_cancel(struct st_duo *d)
{
	struct st_op *op = st_op_new(d->a.st);
	int ret, end;

	if (!op)
		return -ENOMEM;
	ret = st_node_recv(&d->b, d->r.rx[BACK], d->r.dst, BASE);
	ret = ret ?: st_node_send(&d->a, op, d->r.src, 1000, d->to_b);
	if (ret) {
		kfree(op);
		return ret;
	}
	fi_cancel(&d->a.ep->fid, &op->ctx);
	end = st_op_result(d->a.cq, op, 0);
	if (end == -ETIME)
		return end;
	kfree(op);
	if (end)
		fi_cancel(&d->b.ep->fid, &d->r.rx[BACK]->ctx);
	ret = st_op_result(d->b.cq, d->r.rx[BACK], 0);
	return st_again_credits(d) ?: (end == ret ? end : -EPROTO);
}

void st_test_rdm_again(struct st *st)
{
	int i, ended = 0, canceled = 0, ret = 0;
	struct st_duo d = {};

	if (st_duo_open(&d, st) &&
	    CHECK_EQ(st, st_pass(&d.r, &d.a, &d.b, d.to_b, 10), 0,
		     "a message arrives")) {
		for (i = 0; i < TRIES && ret >= 0; i++) {
			ret = st_again_cancel(&d);
			ended += !ret || ret == ECANCELED;
			canceled += ret == ECANCELED;
		}
		CHECKF(st, ended == TRIES,
		       "%d of %d messages end, %d of them canceled: %d", ended,
		       TRIES, canceled, ret);
		CHECK_EQ(st, st_pass(&d.r, &d.a, &d.b, d.to_b, 10), 0,
			 "another one arrives");
	}
	st_duo_close(&d);
}

/* ---- many peers ----------------------------------------------------------- */

struct busy_peer {
	struct st_node node;
	struct st_op *tx, *rx;
	fi_addr_t number;
};

struct busy {
	struct st *st;
	struct st_node hub;
	struct busy_peer peers[PEERS];
	u8 bytes[BASE];
};

static int st_busy_open(struct busy *b)
{
	struct busy_peer *p;
	int ret = st_node_open(&b->hub, b->st, 0, 0);

	b->st->queue_size = QUEUE;
	for (p = b->peers; p < b->peers + PEERS && !ret; p++) {
		p->tx = st_op_new(b->st);
		p->rx = st_op_new(b->st);
		ret = p->tx && p->rx ? 0 : -ENOMEM;
		ret = ret ?: st_node_open(&p->node, b->st, 0, 0);
		if (!ret)
			p->number = st_node_knows(&b->hub, &p->node);
	}
	b->st->queue_size = 0;
	return ret;
}

static void st_busy_close(struct busy *b)
{
	struct busy_peer *p;

	for (p = b->peers; p < b->peers + PEERS; p++)
		st_node_close(&p->node);
	st_node_close(&b->hub);
	for (p = b->peers; p < b->peers + PEERS; p++) {
		kfree(p->tx);
		kfree(p->rx);
	}
}

/* A message to each of them; the last post has them all sent. */
static int st_busy_round(struct busy *b, u64 *ms)
{
	struct fi_msg msg = { .buf = fi_buf_linear(b->bytes, 8) };
	struct busy_peer *p, *last = b->peers + PEERS - 1;
	ktime_t begin;
	int ret = 0;

	for (p = b->peers; p <= last && !ret; p++) {
		ret = st_node_recv(&p->node, p->rx, b->bytes, BASE);
		st_op_reset(p->tx);
		msg.addr = p->number;
		msg.context = &p->tx->ctx;
		/* Whoever has the rest is not to have it here meanwhile. */
		preempt_disable();
		begin = ktime_get();
		ret = ret
			      ?: fi_sendmsg(b->hub.ep, &msg,
					    p < last ? FI_MORE : 0);
		*ms = st_ms_since(begin);
		preempt_enable();
	}
	for (p = b->peers; p <= last; p++) {
		ret = st_op_result(b->hub.cq, p->tx, ret);
		ret = st_op_result(p->node.cq, p->rx, ret);
	}
	/* Nobody is the engine when the next one is posted. */
	schedule_timeout_uninterruptible(msecs_to_jiffies(ST_QUIET_MS));
	return ret;
}

/* Who posts may have interrupts off, and does not serve all peers. */
static noinline_for_stack void st_busy_budget(struct st *st, struct busy *b)
{
	int i, ret = 0, quick = 0;
	u64 ms, most = 0;

	ret = st_busy_round(b, &ms);
	CHECKF(st, !ret, "an endpoint talks to %d peers: %d", PEERS, ret);
	for (i = 0; i < ROUNDS && !ret; i++) {
		ret = st_busy_round(b, &ms);
		quick += ms < POST_MS;
		most = max(most, ms);
	}
	CHECKF(st, !ret && quick,
	       "a post does not do the work of many: %d of %d quick, %llu ms",
	       quick, ROUNDS, most);
}

/* Each of them sends to the hub, with a tag or without; how many could. */
static int st_busy_to_hub(struct busy *b, bool tagged)
{
	struct busy_peer *p;
	int ok = 0, ret;
	fi_addr_t hub;

	for (p = b->peers; p < b->peers + PEERS; p++) {
		hub = st_node_knows(&p->node, &b->hub);
		if (tagged)
			ret = fi_tinject(p->node.ep, "tag", 3, hub, TAG);
		else
			ret = fi_inject(p->node.ep, "none", 4, hub);
		/* One after the other. */
		if (!ret && !tagged)
			ret = st_cq_take(b->hub.cq, ST_WAIT_MS, NULL) != 1;
		ok += !ret;
	}
	return ok;
}

/*
 * A message of each of many peers waits, and others come: the case counts how many
 * of those that wait are looked at.
 */
static noinline_for_stack void st_busy_crowd(struct st *st, struct busy *b)
{
	struct busy_peer *p;
	int ret = 0;

	for (p = b->peers; p < b->peers + PEERS && !ret; p++)
		ret = st_node_recv(&b->hub, p->rx, b->bytes, BASE);
	CHECK_EQ(st, ret ?: st_busy_to_hub(b, true), PEERS,
		 "messages come that no receive takes");
	CHECK_EQ(st, st_cq_drain(b->hub.cq, ST_QUIET_MS), 0, "they wait");
	CHECK_EQ(st, st_busy_to_hub(b, false), PEERS,
		 "others of the same peers pass them");
	for (p = b->peers, ret = 0; p < b->peers + PEERS && !ret; p++) {
		st_op_reset(p->rx);
		ret = fi_trecv(b->hub.ep, b->bytes, BASE, NULL, p->number, TAG,
			       0, &p->rx->ctx);
	}
	for (p = b->peers; p < b->peers + PEERS; p++)
		ret = st_op_result(b->hub.cq, p->rx, ret);
	CHECK_EQ(st, ret, 0, "those that waited arrive when they may");
}

/* With many peers. */
static void st_busy_with(struct st *st,
			 void (*run)(struct st *st, struct busy *b))
{
	struct busy *b = kvzalloc(sizeof(*b), GFP_KERNEL);

	if (!CHECK(st, b, "there is memory for many endpoints"))
		return;
	b->st = st;
	if (CHECK_EQ(st, st_busy_open(b), 0, "many endpoints open"))
		run(st, b);
	st_busy_close(b);
	kvfree(b);
	CHECK(st, st_settled(st), "nothing is left of them");
}

void st_test_rdm_crowd(struct st *st)
{
	st_busy_with(st, st_busy_crowd);
}

/* With a connection of its own: windows are those of the beginning. */
static void st_busy_duo(struct st *st,
			void (*run)(struct st *st, struct st_duo *d))
{
	struct st_duo d = {};

	if (st_duo_open(&d, st))
		run(st, &d);
	st_duo_close(&d);
}

void st_test_rdm_busy(struct st *st)
{
	st_busy_duo(st, st_busy_order);
	st_busy_duo(st, st_busy_refused);
	st_busy_duo(st, st_busy_cancel);
	st_busy_with(st, st_busy_budget);
}
