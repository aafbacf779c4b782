// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: unconnected endpoints and their peers: those that connect at one time,
 * are away, die and come back, take nothing; many, and many who post and cancel.
 */
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../st.h"

#define CROSSINGS 10
#define CLOSINGS  3
#define SHORT_MS  1500 /* time-out of what is to end by it */
#define LONG_MS	  30000 /* of what is to be done */
#define AGAIN_MS  100 /* what was sent until then has not arrived */
#define BYTES	  4000 /* of a message: one piece */
#define FLOOD	  ST_ROOM_OPS /* messages: more than a connection's buffers */
#define FLOOD_ON  (4 * FLOOD) /* that come before one must be refused */
#define PEERS	  8
#define WORKERS	  4
#define EACH	  50 /* messages of a worker */
#define RACE	  300 /* messages while receives are canceled */
#define BASE	  ST_ROOM_BASE

/* ---- crossing -------------------------------------------------------------- */

/* Both connect at one time: their engines run before any request comes. */
static int st_cross_once(struct st *st, struct st_room *r)
{
	struct st_node a = {}, b = {};
	fi_addr_t to_a, to_b;
	int ret;

	ret = st_node_open(&a, st, 0, 0);
	ret = ret ?: st_node_open(&b, st, 0, 0);
	if (!ret) {
		to_b = st_node_knows(&a, &b);
		to_a = st_node_knows(&b, &a);
		ret = st_node_recv(&a, r->rx[0], r->dst, BASE);
		ret = ret ?: st_node_recv(&b, r->rx[1], r->dst + BASE, BASE);
		ret = ret ?: st_node_send(&a, r->tx[0], r->src, 10, to_b);
		ret = ret ?: st_node_send(&b, r->tx[1], r->src, 20, to_a);
		ret = st_op_result(a.cq, r->tx[0], ret);
		ret = st_op_result(b.cq, r->tx[1], ret);
		ret = st_op_result(a.cq, r->rx[0], ret);
		ret = st_op_result(b.cq, r->rx[1], ret);
	}
	if (!ret && (r->rx[0]->entry.len != 20 || r->rx[1]->entry.len != 10 ||
		     r->rx[0]->entry.src_addr != to_b ||
		     r->rx[1]->entry.src_addr != to_a))
		ret = -EPROTO;
	st_node_close(&a);
	st_node_close(&b);
	return ret;
}

static noinline_for_stack void st_rdm_cross(struct st *st, struct st_room *r)
{
	int i, ok = 0;

	for (i = 0; i < CROSSINGS; i++)
		ok += !st_cross_once(st, r);
	CHECK_EQ(st, ok, CROSSINGS, "connections that cross deliver both ways");
}

/* ---- who is away ------------------------------------------------------------ */

/*
 * A message to who has come back. What UD queue pairs send goes to the old one until the
 * peer is asked again.
 */
static int st_pass_again(struct st_room *r, struct st_node *a,
			 struct st_node *b, fi_addr_t to_b, size_t len)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int ret;

	if (!st_is_ud(a->st))
		return st_pass(r, a, b, to_b, len);
	ret = st_node_recv(b, r->rx[0], r->dst, BASE);
	while (!ret && time_before(jiffies, end)) {
		ret = st_node_send(a, r->tx[0], r->src, len, to_b);
		ret = st_op_result(a->cq, r->tx[0], ret);
		if (st_cq_take(b->cq, AGAIN_MS, NULL) == 1)
			return ret ?: r->rx[0]->entry.err;
	}
	return ret ?: -ETIME;
}

static noinline_for_stack void st_rdm_away(struct st *st, struct st_room *r)
{
	struct st_node a = {}, b = {};
	unsigned long began;
	fi_addr_t to_b;
	u16 port;
	int ret;

	if (!st_two_open(st, &a, &b, 0))
		goto out;
	to_b = st_node_knows(&a, &b);
	port = st_node_port(&b);
	CHECK_EQ(st, st_node_recv(&a, r->rx[1], r->dst + BASE, BASE), 0,
		 "a receive is posted before there is any connection");
	CHECK_EQ(st, st_pass(r, &a, &b, to_b, 10), 0,
		 "a message arrives at a peer");
	CHECK_EQ(st, st_node_limit(&a, SHORT_MS), 0, "others end soon");
	st_node_close(&b);
	began = jiffies;
	/* The first may be handed over before the end is known. */
	ret = st_node_send(&a, r->tx[0], r->src, 10, to_b);
	ret = st_op_result(a.cq, r->tx[0], ret);
	CHECK(st, ret == EHOSTUNREACH || ret == ECONNRESET || !ret,
	      "a message to a peer that has died ends");
	ret = st_node_send(&a, r->tx[0], r->src, 10, to_b);
	ret = st_op_result(a.cq, r->tx[0], ret);
	CHECK(st,
	      ret == (st_knows_ports(st) ? EHOSTUNREACH : 0) ||
		      (st_is_ud(st) && ret == EHOSTUNREACH),
	      "the next one ends as unreachable, where ports are known");
	CHECK(st, time_before(jiffies, began + msecs_to_jiffies(8 * SHORT_MS)),
	      "in time");
	if (!CHECK_EQ(st,
		      st_node_open(&b, st, port, 0)
			      ?: st_node_limit(&a, LONG_MS),
		      0, "the peer comes back"))
		goto out;
	CHECK_EQ(st, st_pass_again(r, &a, &b, to_b, 30), 0,
		 "a message arrives at it again");
	ret = st_node_send(&b, r->tx[0], r->src, 40, st_node_knows(&b, &a));
	ret = st_op_result(b.cq, r->tx[0], ret);
	CHECK_EQ(st, st_op_result(a.cq, r->rx[1], ret), 0,
		 "the receive has outlived the connections");
	CHECK_EQ(st, r->rx[1]->entry.len, 40, "and has its message");
out:
	st_node_close(&a);
	st_node_close(&b);
}

/* What comes while an endpoint closes goes nowhere. */
static noinline_for_stack void st_rdm_closing(struct st *st, struct st_room *r)
{
	int i, round, ok = 0, ret;

	for (round = 0; round < CLOSINGS; round++) {
		struct st_node a = {}, b = {};
		fi_addr_t to_b;

		ret = st_node_open(&a, st, 0, SHORT_MS);
		ret = ret ?: st_node_open(&b, st, 0, SHORT_MS);
		to_b = ret ? 0 : st_node_knows(&a, &b);
		for (i = 0; i < FLOOD; i++)
			ret = ret
				      ?: st_node_recv(&b, r->rx[i],
						      r->dst + i * BASE, BASE);
		for (i = 0; i < FLOOD; i++)
			ret = ret
				      ?: st_node_send(&a, r->tx[i], r->src,
						      BYTES, to_b);
		if (!ret)
			st_op_wait(b.cq, r->rx[0]);
		if (b.ep)
			ret = ret ?: fi_close(&b.ep->fid);
		b.ep = NULL;
		for (i = 0; i < FLOOD && !ret; i++)
			ok += st_op_wait(a.cq, r->tx[i]) &&
			      st_op_wait(b.cq, r->rx[i]);
		st_node_close(&a);
		st_node_close(&b);
	}
	CHECK_EQ(st, ok, CLOSINGS * FLOOD,
		 "all ends when a peer closes in a flood");
}

/* ---- who takes nothing ------------------------------------------------------- */

/* The number of a message of the flood tells its place in the room, and its bytes. */
static int st_flood_send(struct st_room *r, struct st_node *a, fi_addr_t to,
			 int n)
{
	void *bytes = r->src + n % FLOOD * BASE;

	st_fill(bytes, BYTES, n);
	return st_node_send(a, r->tx[n % FLOOD], bytes, BYTES, to);
}

static bool st_flood_arrives(struct st_room *r, struct st_node *b, int n)
{
	struct st_op *rx = r->rx[n % FLOOD];
	void *bytes = r->dst + n % FLOOD * BASE;
	int ret = st_node_recv(b, rx, bytes, BASE);

	return !st_op_result(b->cq, rx, ret) && st_holds(bytes, BYTES, n);
}

static noinline_for_stack void st_rdm_flood(struct st *st, struct st_room *r)
{
	struct st_node a = {}, b = {};
	int i, sent = 0, full = 0, got = 0, ret = 0;
	fi_addr_t to_b;

	if (!st_two_open(st, &a, &b, 0))
		goto out;
	to_b = st_node_knows(&a, &b);
	/* It is connected before there is little time. */
	if (!CHECK_EQ(st,
		      st_pass(r, &a, &b, to_b, 10)
			      ?: st_node_limit(&a, SHORT_MS),
		      0, "a message arrives"))
		goto out;
	for (i = 0; i < FLOOD; i++)
		ret = ret ?: st_flood_send(r, &a, to_b, i);
	for (i = 0; i < FLOOD; i++) {
		ret = st_op_result(a.cq, r->tx[i], 0);
		sent += !ret;
		full += ret == FI_ENOBUFS;
	}
	CHECK_EQ(st, sent + full, FLOOD,
		 "messages to a peer without receives are taken or refused");
	/* All may be under way still: for each that has come another one goes. */
	while (!full && got < FLOOD_ON && st_flood_arrives(r, &b, got)) {
		got++;
		ret = st_flood_send(r, &a, to_b, sent);
		ret = st_op_result(a.cq, r->tx[sent % FLOOD], ret);
		sent += !ret;
		full += ret == FI_ENOBUFS;
	}
	CHECKF(st, sent && full,
	       "it takes %d messages, %d of which it received, and refuses %d",
	       sent, got, full);
	while (got < sent && st_flood_arrives(r, &b, got))
		got++;
	CHECK_EQ(st, got, sent, "those that it took arrive");
	CHECK_EQ(st, st_node_limit(&a, LONG_MS) ?: st_pass(r, &a, &b, to_b, 10),
		 0, "so does the next");
out:
	st_node_close(&a);
	st_node_close(&b);
}

static noinline_for_stack void st_rdm_late(struct st *st, struct st_room *r)
{
	struct st_node a = {}, b = {};
	int i, ok = 0, ret = 0;

	if (!st_two_open(st, &a, &b, 0))
		goto out;
	for (i = 0; i < 3; i++)
		ret = ret
			      ?: st_node_send(&a, r->tx[i], r->src, 10 + i,
					      st_node_knows(&a, &b));
	for (i = 0; i < 3; i++)
		ret = st_op_result(a.cq, r->tx[i], ret);
	CHECK_EQ(st, ret, 0, "messages are sent to who has no receive yet");
	st_node_close(&a);
	for (i = 0; i < 3; i++)
		ret = ret ?: st_node_recv(&b, r->rx[i], r->dst, BASE);
	for (i = 0; i < 3; i++)
		ok += !st_op_result(b.cq, r->rx[i], ret) &&
		      r->rx[i]->entry.len == 10 + i;
	CHECK_EQ(st, ok, 3, "they arrive when the sender is gone");
out:
	st_node_close(&a);
	st_node_close(&b);
}

/* ---- many --------------------------------------------------------------------- */

static noinline_for_stack void st_rdm_many(struct st *st, struct st_room *r)
{
	struct st_node *n = kcalloc(PEERS + 1, sizeof(*n), GFP_KERNEL);
	int i, ok = 0, ret = 0;
	fi_addr_t numbers[PEERS + 1] = {};
	size_t from;

	for (i = 0; n && i <= PEERS; i++)
		ret = ret ?: st_node_open(&n[i], st, 0, 0);
	if (!n || !CHECK_EQ(st, ret, 0, "many endpoints open"))
		goto out;
	for (i = 1; i <= PEERS; i++)
		ret = ret
			      ?: st_node_recv(&n[0], r->rx[i],
					      r->dst + i * BASE, BASE);
	for (i = 1; i <= PEERS; i++)
		numbers[i] = st_node_knows(&n[0], &n[i]);
	for (i = 1; i <= PEERS; i++)
		ret = ret
			      ?: st_node_send(&n[i], r->tx[i], r->src, 100 + i,
					      st_node_knows(&n[i], &n[0]));
	for (i = 1; i <= PEERS; i++)
		ret = st_op_result(n[i].cq, r->tx[i], ret);
	for (i = 1; i <= PEERS; i++) {
		ret = st_op_result(n[0].cq, r->rx[i], ret);
		/* Its length says who sent it. */
		from = r->rx[i]->entry.len - 100;
		ok += !ret && from && from <= PEERS &&
		      r->rx[i]->entry.src_addr == numbers[from];
	}
	CHECK_EQ(st, ok, PEERS, "messages of many arrive, and from whom");
out:
	for (i = 0; n && i <= PEERS; i++)
		st_node_close(&n[i]);
	kfree(n);
}

/* One of those who post on one endpoint at one time. */
struct rdm_worker {
	struct work_struct work;
	struct st_node *node;
	struct st_op *ops[EACH];
	fi_addr_t to;
	u8 *src;
	int ret;
};

static void st_worker_run(struct work_struct *work)
{
	struct rdm_worker *w = container_of(work, struct rdm_worker, work);
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int i;

	for (i = 0; i < EACH && !w->ret; i++)
		do {
			w->ret = st_node_send(w->node, w->ops[i], w->src, 32,
					      w->to);
			if (w->ret == -FI_EAGAIN)
				schedule_timeout_uninterruptible(1);
		} while (w->ret == -FI_EAGAIN && time_before(jiffies, end));
}

static int st_workers_take(struct st_node *b, struct st_room *r, int want)
{
	int got = 0, i, ret = 0;
	void *context;

	for (i = 0; i < FLOOD; i++)
		ret = ret ?: st_node_recv(b, r->rx[i], r->dst + i * BASE, BASE);
	while (!ret && got < want &&
	       st_cq_take(b->cq, ST_WAIT_MS, &context) == 1) {
		struct st_op *op = st_op_of(context);

		got += !op->entry.err && op->entry.len == 32;
		if (got + FLOOD <= want)
			ret = st_node_recv(b, op, r->dst, BASE);
	}
	return got;
}

static noinline_for_stack void st_rdm_workers(struct st *st, struct st_room *r)
{
	struct rdm_worker *w = kcalloc(WORKERS, sizeof(*w), GFP_KERNEL);
	struct st_node a = {}, b = {};
	int i, j, ok = 0, ret = 0;

	if (!w || !st_two_open(st, &a, &b, 0))
		goto out;
	for (i = 0; i < WORKERS; i++) {
		INIT_WORK(&w[i].work, st_worker_run);
		w[i].node = &a;
		w[i].to = st_node_knows(&a, &b);
		w[i].src = r->src;
		for (j = 0; j < EACH; j++) {
			w[i].ops[j] = st_op_new(st);
			ret = w[i].ops[j] ? ret : -ENOMEM;
		}
	}
	if (ret)
		goto out;
	for (i = 0; i < WORKERS; i++)
		queue_work(system_unbound_wq, &w[i].work);
	CHECK_EQ(st, st_workers_take(&b, r, WORKERS * EACH), WORKERS * EACH,
		 "what several workers post at one time arrives");
	for (i = 0; i < WORKERS; i++) {
		flush_work(&w[i].work);
		ret = ret ?: w[i].ret;
	}
	CHECK_EQ(st, ret, 0, "they posted all of it");
	for (i = 0; i < WORKERS; i++)
		for (j = 0; j < EACH; j++)
			ok += !st_op_result(a.cq, w[i].ops[j], ret);
	CHECK_EQ(st, ok, WORKERS * EACH, "each completes");
out:
	st_node_close(&a);
	st_node_close(&b);
	for (i = 0; w && i < WORKERS; i++)
		for (j = 0; j < EACH; j++)
			kfree(w[i].ops[j]);
	kfree(w);
}

/* Somebody else cancels receives while messages come. */
struct rdm_canceler {
	struct work_struct work;
	struct st_node *node;
	struct st_op **ops;
	int canceled; /* how often fi_cancel() said so */
	bool stop;
};

static void st_canceler_run(struct work_struct *work)
{
	struct rdm_canceler *c = container_of(work, struct rdm_canceler, work);
	int i;

	for (i = 0; !READ_ONCE(c->stop); i++) {
		c->canceled +=
			!fi_cancel(&c->node->ep->fid, &c->ops[i % FLOOD]->ctx);
		if (i % FLOOD == 0)
			schedule_timeout_uninterruptible(1);
	}
}

/* May this be the next message? Datagrams may have overtaken each other. */
static bool st_race_is_due(const struct st *st, const void *bytes, int next)
{
	int got;

	memcpy(&got, bytes, sizeof(got));
	return st_is_dgram(st) ? got >= 0 && got < RACE : got == next;
}

/* Post the next message if there is room; take one completion, and repost. */
static int st_race_step(struct st_node *a, struct st_node *b, struct st_room *r,
			fi_addr_t to_b, int seen[3])
{
	struct st_op *op;
	void *context;
	int i, ret = 0;

	if (seen[0] < RACE) {
		ret = fi_inject(a->ep, &seen[0], sizeof(seen[0]), to_b);
		seen[0] += !ret;
	}
	if (ret && ret != -FI_EAGAIN)
		return ret;
	if (st_cq_take(b->cq, seen[0] < RACE ? 0 : ST_WAIT_MS, &context) != 1)
		return seen[0] < RACE ? 0 : -ETIME;
	op = st_op_of(context);
	for (i = 0; i < FLOOD - 1 && r->rx[i] != op; i++)
		;
	if (op->entry.err == ECANCELED)
		seen[2]++;
	else if (op->entry.err || op->entry.len != sizeof(int) ||
		 !st_race_is_due(b->st, r->dst + i * BASE, seen[1]))
		return -EPROTO;
	else
		seen[1]++;
	return st_node_recv(b, op, r->dst + i * BASE, BASE);
}

static noinline_for_stack void st_rdm_race(struct st *st, struct st_room *r)
{
	struct rdm_canceler c = { .ops = r->rx };
	struct st_node a = {}, b = {};
	int seen[3] = {}; /* sent, received, canceled */
	int i, ret = 0;
	fi_addr_t to_b;

	if (!st_two_open(st, &a, &b, 0))
		goto out;
	to_b = st_node_knows(&a, &b);
	for (i = 0; i < FLOOD; i++)
		ret = ret
			      ?: st_node_recv(&b, r->rx[i], r->dst + i * BASE,
					      BASE);
	c.node = &b;
	INIT_WORK_ONSTACK(&c.work, st_canceler_run);
	queue_work(system_unbound_wq, &c.work);
	while (!ret && seen[1] < RACE)
		ret = st_race_step(&a, &b, r, to_b, seen);
	WRITE_ONCE(c.stop, true);
	flush_work(&c.work);
	destroy_work_on_stack(&c.work);
	CHECK_EQ(st, ret ?: seen[1], RACE,
		 "messages arrive, in order where that is promised, while "
		 "receives are canceled");
	for (i = 0; i < FLOOD; i++)
		c.canceled += !fi_cancel(&b.ep->fid, &r->rx[i]->ctx);
	while (seen[2] < c.canceled && st_cq_take(b.cq, ST_WAIT_MS, NULL) == 1)
		seen[2]++;
	CHECK_EQ(st, seen[2], c.canceled,
		 "each that was canceled completes so, once");
	CHECK_EQ(st, st_cq_drain(b.cq, ST_QUIET_MS), 0, "and no other");
out:
	st_node_close(&a);
	st_node_close(&b);
}

void st_test_rdm_peer(struct st *st)
{
	struct st_room r = {};

	if (st_room_open(&r, st)) {
		st_rdm_cross(st, &r);
		st_rdm_away(st, &r);
		st_rdm_closing(st, &r);
		if (!st_is_dgram(st)) {
			st_rdm_flood(st, &r);
			st_rdm_late(st, &r);
		}
		st_rdm_many(st, &r);
		st_rdm_workers(st, &r);
		st_rdm_race(st, &r);
	}
	st_room_close(&r);
}

/* ---- the device below -------------------------------------------------------------- */

/* Somebody else removes it when the line says so. */
void st_test_rdm_removal(struct st *st)
{
	struct st_node a = {}, b = {};
	struct st_room r = {};
	struct st_sep s = {};
	struct fid_ep *ctx;
	fi_addr_t to_b;
	int ret;

	if (!st_room_open(&r, st) || !st_two_open(st, &a, &b, 0) ||
	    !CHECK_EQ(st, st_sep_open(&s, st), 0, "a scalable endpoint opens"))
		goto out;
	to_b = st_node_knows(&a, &b);
	ret = st_pass(&r, &a, &b, to_b, 10);
	ret = ret ?: st_node_recv(&a, r.rx[1], r.dst, BASE);
	st_op_reset(r.rx[2]);
	ret = ret
		      ?: fi_recv(s.rx[1], r.dst, BASE, NULL, FI_ADDR_UNSPEC,
				 &r.rx[2]->ctx);
	CHECK_EQ(st, ret, 0, "a message arrives, and a receive is posted");
	st_tap_line("    # now the device may go");
	CHECK_EQ(st, st_op_result(a.cq, r.rx[1], 0), FI_ENODEV,
		 "when the device goes the receive ends");
	CHECK_EQ(st, st_node_send(&a, r.tx[0], r.src, 10, to_b), -ENODEV,
		 "nothing is posted any more");
	CHECK_EQ(st, fi_ep_state(a.ep), KFI_EP_DEAD, "the endpoint is dead");
	CHECK_EQ(st, st_op_result(s.rx_cq[1], r.rx[2], 0), FI_ENODEV,
		 "so does a receive of a context");
	CHECK_EQ(st, fi_send(s.tx[0], r.src, 10, NULL, to_b, &r.tx[0]->ctx),
		 -ENODEV, "a context posts nothing any more");
	CHECK_EQ(st, fi_close(&s.tx[0]->fid), 0, "it closes");
	s.tx[0] = NULL;
	CHECK_EQ(st, fi_tx_context(s.sep, 0, NULL, &ctx, NULL), -ENODEV,
		 "and opens no more");
out:
	st_sep_close(&s);
	st_node_close(&a);
	st_node_close(&b);
	st_room_close(&r);
}
