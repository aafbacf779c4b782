// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: unconnected endpoints and their peers: those that connect at one time,
 * are away, die and come back, take nothing, keep no rules; many, and many posts.
 */
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "st.h"

#define CROSSINGS  10
#define CLOSINGS   3
#define SHORT_MS   1500 /* time-out of what is to end by it */
#define BYTES	   4000 /* of a message: one piece */
#define FLOOD	   ST_ROOM_OPS /* messages: more than a connection's buffers */
#define PEERS	   8
#define WORKERS	   4
#define EACH	   50 /* messages of a worker */
#define BASE	   ST_ROOM_BASE
#define HELLO_LEN  52
#define ROGUE_PORT 0x0109 /* that a hostile peer says it listens on */

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

static noinline_for_stack void st_rdm_away(struct st *st, struct st_room *r)
{
	struct st_node a = {}, b = {};
	unsigned long began;
	fi_addr_t to_b;
	u16 port;
	int ret;

	if (!st_two_open(st, &a, &b, SHORT_MS))
		goto out;
	to_b = st_node_knows(&a, &b);
	port = st_node_port(&b);
	CHECK_EQ(st, st_node_recv(&a, r->rx[1], r->dst + BASE, BASE), 0,
		 "a receive is posted before there is any connection");
	CHECK_EQ(st, st_pass(r, &a, &b, to_b, 10), 0,
		 "a message arrives at a peer");
	st_node_close(&b);
	began = jiffies;
	/* The first may be handed over before the end is known. */
	ret = st_node_send(&a, r->tx[0], r->src, 10, to_b);
	ret = st_op_result(a.cq, r->tx[0], ret);
	CHECK(st, ret == EHOSTUNREACH || ret == ECONNRESET || !ret,
	      "a message to a peer that has died ends");
	ret = st_node_send(&a, r->tx[0], r->src, 10, to_b);
	CHECK_EQ(st, st_op_result(a.cq, r->tx[0], ret), EHOSTUNREACH,
		 "the next one ends as unreachable");
	CHECK(st, time_before(jiffies, began + msecs_to_jiffies(8 * SHORT_MS)),
	      "in time");
	if (!CHECK_EQ(st, st_node_open(&b, st, port, SHORT_MS), 0,
		      "the peer comes back"))
		goto out;
	CHECK_EQ(st, st_pass(r, &a, &b, to_b, 30), 0,
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

static noinline_for_stack void st_rdm_flood(struct st *st, struct st_room *r)
{
	struct st_node a = {}, b = {};
	int i, sent = 0, full = 0, got = 0, ret = 0;
	fi_addr_t to_b;

	if (!st_two_open(st, &a, &b, SHORT_MS))
		goto out;
	to_b = st_node_knows(&a, &b);
	for (i = 0; i < FLOOD; i++) {
		st_fill(r->src + i * BASE, BYTES, i);
		ret = ret
			      ?: st_node_send(&a, r->tx[i], r->src + i * BASE,
					      BYTES, to_b);
	}
	for (i = 0; i < FLOOD; i++) {
		ret = st_op_result(a.cq, r->tx[i], 0);
		sent += !ret;
		full += ret == FI_ENOBUFS;
	}
	CHECKF(st, sent && full && sent + full == FLOOD,
	       "a peer without receives takes %d messages, and refuses %d",
	       sent, full);
	for (i = 0, ret = 0; i < sent; i++)
		ret = ret
			      ?: st_node_recv(&b, r->rx[i], r->dst + i * BASE,
					      BASE);
	for (i = 0; i < sent; i++)
		got += !st_op_result(b.cq, r->rx[i], ret) &&
		       st_holds(r->dst + i * BASE, BYTES, i);
	CHECK_EQ(st, got, sent, "those that it took arrive");
	CHECK_EQ(st, st_pass(r, &a, &b, to_b, 10), 0, "so does the next");
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

void st_test_rdm_peer(struct st *st)
{
	struct st_room r = {};

	if (st_room_open(&r, st)) {
		st_rdm_cross(st, &r);
		st_rdm_away(st, &r);
		st_rdm_closing(st, &r);
		st_rdm_flood(st, &r);
		st_rdm_late(st, &r);
		st_rdm_many(st, &r);
		st_rdm_workers(st, &r);
	}
	st_room_close(&r);
}

/* ---- who keeps no rules ---------------------------------------------------------- */

/* A connected endpoint of the provider below, which says what it likes. */
struct rdm_rogue {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fi_info *info;
};

static void st_rogue_close_ep(struct rdm_rogue *x)
{
	if (x->ep)
		fi_close(&x->ep->fid);
	if (x->cq)
		fi_close(&x->cq->fid);
	x->ep = NULL;
	x->cq = NULL;
}

static void st_rogue_close(struct rdm_rogue *x)
{
	st_rogue_close_ep(x);
	if (x->pep)
		fi_close(&x->pep->fid);
	if (x->eq)
		fi_close(&x->eq->fid);
	if (x->domain)
		fi_close(&x->domain->fid);
	if (x->fabric)
		fi_close(&x->fabric->fid);
	fi_freeinfo(x->info);
}

static int st_rogue_ask(struct st *st, u16 port, u64 flags,
			struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	char service[8];
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = ~0;
	hints->fabric_attr->prov_name = kstrdup(st->provider + 4, GFP_KERNEL);
	snprintf(service, sizeof(service), "%u", port);
	ret = fi_getinfo(FI_VERSION(1, 0), st->node, service, flags, hints,
			 info);
	fi_freeinfo(hints);
	return ret;
}

static int st_rogue_open(struct rdm_rogue *x, struct st *st, u16 port)
{
	int ret = st_rogue_ask(st, port, 0, &x->info);

	ret = ret ?: fi_fabric(x->info->fabric_attr, &x->fabric, x);
	ret = ret ?: fi_eq_open(x->fabric, NULL, &x->eq, x);
	return ret ?: fi_domain(x->fabric, x->info, &x->domain, x);
}

/* Connect with some hello; the event that comes, or a failure's error. */
static int st_rogue_connect(struct rdm_rogue *x, const u8 *hello, size_t len)
{
	struct st_event ev;
	ssize_t n;
	int ret;

	st_rogue_close_ep(x);
	ret = fi_cq_open(x->domain, NULL, &x->cq, x);
	ret = ret ?: fi_endpoint(x->domain, x->info, &x->ep, x);
	ret = ret ?: fi_ep_bind(x->ep, &x->cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(x->ep, &x->eq->fid, 0);
	ret = ret ?: fi_connect(x->ep, NULL, hello, len);
	if (ret)
		return ret;
	n = st_event_wait(x->eq, &ev, ST_WAIT_MS);
	return n < 0 ? n : ev.event;
}

/* A hello as docs/kfabric-rdm.md has it, of an address that need not be said. */
static void st_rogue_hello(u8 *hello, u8 serial)
{
	static const u8 sound[HELLO_LEN] = {
		1, 1, 52, 0, 0, 0, 0, 0, 0x77, 0, 0, 0, 0, 0, 0, 0, 1,
		0, 0, 0,  0, 0, 0, 0, 8, 0,    0, 2, 0, 0, 0, 0, 0, 0,
		0, 0, 0,  0, 0, 0, 0, 0, 0,    0, 0, 0, 0, 0, 9, 1,
	};

	memcpy(hello, sound, HELLO_LEN);
	hello[16] = serial;
}

static noinline_for_stack void st_rogue_hellos(struct st *st,
					       struct rdm_rogue *x)
{
	static const struct {
		const char *what;
		u8 at, value;
	} wrong[] = {
		{ "of another version", 0, 2 },
		{ "of another kind", 1, 2 },
		{ "that is too long", 2, 53 },
		{ "without a window", 24, 0 },
		{ "with something in its room", 28, 1 },
		{ "of another host", 44, 99 },
		{ "without a port", 48, 0 },
	};
	u8 hello[HELLO_LEN];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		st_rogue_hello(hello, 1);
		hello[wrong[i].at] = wrong[i].value;
		if (wrong[i].at == 48)
			hello[49] = 0;
		/* An address that could be IPv4's, and is not ours. */
		if (wrong[i].at == 44)
			memset(hello + 42, 0xff, 2);
		CHECKF(st,
		       st_rogue_connect(x, hello, sizeof(hello)) ==
			       -ECONNREFUSED,
		       "a hello %s is refused", wrong[i].what);
	}
	CHECK_EQ(st, st_rogue_connect(x, NULL, 0), -ECONNREFUSED,
		 "no hello is refused");
}

/* Say something after a sound hello; the connection must end. */
static bool st_rogue_says(struct rdm_rogue *x, u8 serial, u8 features,
			  const u8 *bytes, size_t len, struct st_op *op)
{
	struct fi_msg msg = { .buf = fi_buf_linear(bytes, len),
			      .addr = FI_ADDR_UNSPEC,
			      .context = &op->ctx };
	u8 hello[HELLO_LEN];
	struct st_event ev;

	st_rogue_hello(hello, serial);
	hello[4] = features;
	if (st_rogue_connect(x, hello, sizeof(hello)) != FI_CONNECTED)
		return false;
	st_op_reset(op);
	if (fi_sendmsg(x->ep, &msg, 0))
		return false;
	return st_event_wait(x->eq, &ev, ST_WAIT_MS) >= 0 &&
	       ev.event == FI_SHUTDOWN;
}

static noinline_for_stack void
st_rogue_pieces(struct st *st, struct rdm_rogue *x, u8 *wire, struct st_op *op)
{
	static const struct {
		const char *what;
		u8 len, at, value;
	} wrong[] = {
		{ "nothing", 0, 0, 1 },
		{ "half a header", 16, 0, 1 },
		{ "another version", 32, 0, 2 },
		{ "an unknown kind", 32, 1, 9 },
		{ "the middle of a message", 32, 2, 2 },
		{ "credits of nobody", 32, 6, 1 },
		{ "a message that is too long", 32, 15, 1 },
		{ "a tag without its flag", 32, 24, 1 },
		/* Its hello did not offer it. */
		{ "a tag that is not agreed on", 32, 2, 3 + 8 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		memset(wire, 0, 32);
		wire[0] = 1;
		wire[1] = 4;
		wire[2] = 3;
		wire[wrong[i].at] = wrong[i].value;
		CHECKF(st, st_rogue_says(x, i + 2, 0, wire, wrong[i].len, op),
		       "who says %s is cut off", wrong[i].what);
	}
}

/* Requests for memory, each wrong in its own way; the last was not agreed on. */
static noinline_for_stack void st_rogue_requests(struct st *st,
						 struct rdm_rogue *x, u8 *wire,
						 struct st_op *op)
{
	static const struct {
		const char *what;
		u8 features, at, value;
	} wrong[] = {
		{ "a request of no range", 2, 32, 0 },
		{ "a request of too many ranges", 2, 32, 5 },
		{ "a request with something in its room", 2, 33, 1 },
		{ "a range without end", 2, 55, 1 },
		{ "a range that wraps around", 2, 47, 0xff },
		{ "the beginning of a request to read", 2, 2, 1 },
		{ "a request to read that is too long", 2, 8, 33 },
		{ "a request with a tag", 2, 2, 3 + 8 },
		{ "a write that is longer than its range", 2, 1, 7 },
		{ "an answer to nothing", 2, 1, 9 },
		{ "a request that is not agreed on", 0, 32, 1 },
	};
	/* A request to read eight bytes, all of it in one piece. */
	static const u8 sound[64] = { 1, 8, 3,	0,	  32,	    0,
				      0, 0, 32, [32] = 1, [48] = 8, [56] = 7 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		memcpy(wire, sound, sizeof(sound));
		wire[wrong[i].at] = wrong[i].value;
		/* High addresses, so that the range goes round. */
		if (wrong[i].at == 47)
			memset(wire + 40, 0xff, 8);
		CHECKF(st,
		       st_rogue_says(x, i + 20, wrong[i].features, wire,
				     sizeof(sound), op),
		       "who says %s is cut off", wrong[i].what);
	}
}

/* Who begins a message and stops gives its receive back to others. */
static noinline_for_stack void st_rogue_stalls(struct st *st, struct st *inner,
					       struct st_room *r, u64 flags)
{
	/* The first piece of a message longer than a receive, and four bytes. */
	static const u8 begun[32] = { 1, 4, 1, 0, 4, 0, 0, 0, 100, 100 };
	struct fi_msg rx = { .buf = fi_buf_linear(r->dst, BASE),
			     .addr = FI_ADDR_UNSPEC,
			     .context = &r->rx[0]->ctx };
	struct st_op *op = st_op_new(inner);
	struct fi_msg msg = { .buf = fi_buf_linear(r->src, 36),
			      .addr = FI_ADDR_UNSPEC };
	struct st_node a = {}, b = {};
	struct rdm_rogue y = {};
	u8 hello[HELLO_LEN];
	struct st_event ev;
	int ret;

	if (!op || !st_two_open(st, &a, &b, SHORT_MS))
		goto out;
	ret = st_rogue_open(&y, st, st_node_port(&b));
	st_op_reset(r->rx[0]);
	ret = ret ?: fi_recvmsg(b.ep, &rx, flags);
	st_rogue_hello(hello, 1);
	memcpy(r->src, begun, sizeof(begun));
	st_op_reset(op);
	msg.context = &op->ctx;
	if (!CHECK_EQ(st, ret ?: st_rogue_connect(&y, hello, sizeof(hello)),
		      FI_CONNECTED, "a peer connects") ||
	    !CHECK_EQ(st, fi_sendmsg(y.ep, &msg, 0), 0,
		      "it begins a message, and stops"))
		goto out;
	CHECK(st,
	      st_event_wait(y.eq, &ev, ST_WAIT_MS) >= 0 &&
		      ev.event == FI_SHUTDOWN,
	      "it is cut off");
	ret = st_node_send(&a, r->tx[0], r->src, 10, st_node_knows(&a, &b));
	ret = st_op_result(a.cq, r->tx[0], ret);
	CHECK_EQ(st, st_op_result(b.cq, r->rx[0], ret), 0,
		 "another's message has the receive");
	CHECK_EQ(st, r->rx[0]->entry.len, 10, "and is whole");
	CHECK_EQ(st, r->rx[0]->entry.flags, FI_RECV | FI_MSG,
		 "its flags are exact");
out:
	st_rogue_close(&y);
	st_node_close(&a);
	st_node_close(&b);
	kfree(op);
}

/* A peer of the first version, without features, which takes nothing. */
static noinline_for_stack void st_rogue_old(struct st *st, struct rdm_rogue *x,
					    struct st_room *r,
					    struct st_node *b)
{
	struct sockaddr_in name = *(struct sockaddr_in *)&b->name;
	fi_addr_t addr = FI_ADDR_UNSPEC;
	u8 hello[HELLO_LEN];
	int ret;

	/* From b's own address, so that it knows whom to answer. */
	st_rogue_hello(hello, 100);
	memset(hello + 42, 0xff, 2);
	memcpy(hello + 44, &name.sin_addr, 4);
	name.sin_port = cpu_to_be16(ROGUE_PORT);
	if (!CHECK_EQ(st, st_rogue_connect(x, hello, sizeof(hello)),
		      FI_CONNECTED, "a peer of the first version connects"))
		return;
	ret = fi_av_insert(b->av, &name, 1, &addr, 0, NULL) == 1 ? 0 : -EINVAL;
	st_op_reset(r->tx[0]);
	ret = ret ?: fi_tsend(b->ep, r->src, 10, NULL, addr, 1, &r->tx[0]->ctx);
	CHECK_EQ(st, st_op_result(b->cq, r->tx[0], ret), FI_EOPNOTSUPP,
		 "a message with a tag to it ends as not supported");
	CHECK_EQ(st, r->tx[0]->entry.flags, FI_SEND | FI_TAGGED,
		 "its flags are exact");
	st_op_reset(r->tx[0]);
	ret = fi_write(b->ep, r->src, 10, NULL, addr, 0, 1, &r->tx[0]->ctx);
	CHECK_EQ(st, st_op_result(b->cq, r->tx[0], ret), FI_EOPNOTSUPP,
		 "so does a write");
}

/* A listener that never answers a request. */
static noinline_for_stack void
st_rogue_silent(struct st *st, struct rdm_rogue *x, struct st_room *r)
{
	struct st_node a = {};
	struct fi_info *info = NULL;
	struct sockaddr_in6 name = {};
	size_t len = sizeof(name);
	fi_addr_t addr = FI_ADDR_UNSPEC;
	int ret = st_rogue_ask(st, 0, FI_SOURCE, &info);

	ret = ret ?: fi_passive_ep(x->fabric, info, &x->pep, x);
	fi_freeinfo(info);
	ret = ret ?: fi_pep_bind(x->pep, &x->eq->fid, 0);
	ret = ret ?: fi_listen(x->pep);
	ret = ret ?: fi_getname(&x->pep->fid, &name, &len);
	ret = ret ?: st_node_open(&a, st, 0, SHORT_MS);
	if (CHECK_EQ(st, ret, 0, "a silent peer listens")) {
		fi_av_insert(a.av, &name, 1, &addr, 0, NULL);
		ret = st_node_send(&a, r->tx[0], r->src, 10, addr);
		CHECK_EQ(st, st_op_result(a.cq, r->tx[0], ret), EHOSTUNREACH,
			 "a message to it ends as unreachable");
	}
	st_node_close(&a);
}

void st_test_rdm_hostile(struct st *st)
{
	struct st_node b = {}, a = {};
	struct rdm_rogue x = {};
	struct st_room r = {};
	struct st inner = *st; /* whose operations are another provider's */
	struct st_op *op = NULL;
	int ret;

	if (!st_room_open(&r, st) || !st_two_open(st, &a, &b, 0))
		goto out;
	ret = st_rogue_open(&x, st, st_node_port(&b));
	if (!CHECK_EQ(st, ret, 0, "a hostile peer opens"))
		goto out;
	inner.info = x.info;
	op = st_op_new(&inner);
	if (!op)
		goto out;
	st_rogue_hellos(st, &x);
	st_rogue_pieces(st, &x, r.src, op);
	st_rogue_requests(st, &x, r.src, op);
	st_rogue_old(st, &x, &r, &b);
	CHECK_EQ(st, st_pass(&r, &a, &b, st_node_knows(&a, &b), 10), 0,
		 "others are served as ever");
	CHECK_EQ(st, r.rx[0]->entry.len, 10, "with their own messages");
	st_rogue_stalls(st, &inner, &r, 0);
	st_rogue_stalls(st, &inner, &r, FI_MULTI_RECV);
	st_rogue_silent(st, &x, &r);
out:
	st_rogue_close(&x);
	st_node_close(&a);
	st_node_close(&b);
	st_room_close(&r);
	kfree(op);
}

/* ---- the device below -------------------------------------------------------------- */

/* Somebody else removes it when the line says so. */
void st_test_rdm_removal(struct st *st)
{
	struct st_node a = {}, b = {};
	struct st_room r = {};
	fi_addr_t to_b;
	int ret;

	if (!st_room_open(&r, st) || !st_two_open(st, &a, &b, 0))
		goto out;
	to_b = st_node_knows(&a, &b);
	ret = st_pass(&r, &a, &b, to_b, 10);
	ret = ret ?: st_node_recv(&a, r.rx[1], r.dst, BASE);
	CHECK_EQ(st, ret, 0, "a message arrives, and a receive is posted");
	st_tap_line("    # now the device may go");
	CHECK_EQ(st, st_op_result(a.cq, r.rx[1], 0), FI_ENODEV,
		 "when the device goes the receive ends");
	CHECK_EQ(st, st_node_send(&a, r.tx[0], r.src, 10, to_b), -ENODEV,
		 "nothing is posted any more");
	CHECK_EQ(st, fi_ep_state(a.ep), KFI_EP_DEAD, "the endpoint is dead");
out:
	st_node_close(&a);
	st_node_close(&b);
	st_room_close(&r);
}

/* ---- idle connections ------------------------------------------------------------ */

static bool st_objects_fall(const struct kfi_provider *prov, int to)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);

	while (atomic_read(&prov->nr_objects) > to) {
		if (time_after(jiffies, end))
			return false;
		schedule_timeout_uninterruptible(1);
	}
	return true;
}

void st_test_rdm_idle(struct st *st)
{
	struct st_node a = {}, b = {};
	const struct kfi_provider *below;
	struct rdm_rogue x = {};
	struct st_room r = {};
	int i, objects;

	if (!st_room_open(&r, st) || !st_two_open(st, &a, &b, 0))
		goto out;
	if (!CHECK_EQ(st, st_rogue_open(&x, st, 1), 0,
		      "the provider below opens"))
		goto out;
	below = x.fabric->fid.prov;
	objects = atomic_read(&below->nr_objects);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(st, st_pass(&r, &a, &b, st_node_knows(&a, &b), 10), 0,
			 "a message arrives");
		CHECK(st, st_objects_fall(below, objects),
		      "its connection is closed when it is idle");
	}
out:
	st_rogue_close(&x);
	st_node_close(&a);
	st_node_close(&b);
	st_room_close(&r);
}
