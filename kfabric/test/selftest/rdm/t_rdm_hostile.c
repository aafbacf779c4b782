// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: peers of unconnected endpoints that keep no rules, or those of an older
 * version; and connections that are closed when they are idle.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../st.h"

#define SHORT_MS 1500 /* time-out of what is to end by it */
#define BASE	 ST_ROOM_BASE
#define LENT_MS	 1000 /* that closing waits for a peer to take what is lent */
#define LENT_LEN 1000 /* of a message that is sent from where it lies */
#define LENDS	 5 /* times, on a machine that does nothing else meanwhile */

/* ---- who keeps no rules ---------------------------------------------------------- */

static noinline_for_stack void st_rogue_hellos(struct st *st,
					       struct st_rogue *x)
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
	u8 hello[ST_HELLO_LEN];
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

static noinline_for_stack void
st_rogue_pieces(struct st *st, struct st_rogue *x, u8 *wire, struct st_op *op)
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
		{ "a context that is not agreed on", 32, 3, 1 },
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

/* Pieces without a header, each wrong in its own way; the last was not agreed on. */
static noinline_for_stack void st_rogue_bare(struct st *st, struct st_rogue *x,
					     u8 *wire, struct st_op *op)
{
	static const struct {
		const char *what;
		u8 features;
		size_t len;
		u32 data;
	} wrong[] = {
		{ "nothing, without a header", 4, 0, 1 << 16 },
		{ "the rest of nothing, without one", 4, 8, 0 },
		{ "credits of nobody, without one", 4, 8, (1 << 16) + 1 },
		{ "an unknown bit, without one", 4, 8, 3 << 16 },
		{ "something without one, unasked", 0, 8, 1 << 16 },
	};
	size_t i;

	if (x->info->domain_attr->cq_data_size < sizeof(u32))
		return;
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECKF(st,
		       st_rogue_says_with(x, i + 50, wrong[i].features, wire,
					  wrong[i].len, &wrong[i].data, op),
		       "who says %s is cut off", wrong[i].what);
}

/* Requests for memory, each wrong in its own way; the last was not agreed on. */
static noinline_for_stack void
st_rogue_requests(struct st *st, struct st_rogue *x, u8 *wire, struct st_op *op)
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
		{ "a request to read that names a context", 6, 3, 1 },
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
	struct st_rogue y = {};
	u8 hello[ST_HELLO_LEN];
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

static bool st_byte_comes(const u8 *at)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);

	while (!READ_ONCE(*at) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return READ_ONCE(*at);
}

/* A context closes in the middle of a message that goes on afterwards. */
static noinline_for_stack void st_rogue_closes(struct st *st, struct st *inner,
					       struct st_room *r)
{
	/* Four of eight bytes to context 1, the others, and four to context 0. */
	static const u8 wire[3][36] = {
		{ 1, 4, 1, 1, 4, 0, 0, 0, 8, [32] = 1, 2, 3, 4 },
		{ 1, 4, 2, 0, 4, 0, 0, 0, 4, [32] = 5, 6, 7, 8 },
		{ 1, 4, 3, 0, 4, 0, 0, 0, 4, [32] = 9, 9, 9, 9 },
	};
	struct st_op *op = st_op_new(inner);
	struct st_rogue y = {};
	u8 hello[ST_HELLO_LEN];
	struct st_sep s;
	int ret = st_sep_open(&s, st);

	if (!op || !CHECK_EQ(st, ret, 0, "a scalable endpoint opens"))
		goto out;
	memset(r->dst, 0, 2 * BASE);
	st_op_reset(r->rx[0]);
	st_op_reset(r->rx[1]);
	ret = fi_recv(s.rx[0], r->dst + BASE, BASE, NULL, FI_ADDR_UNSPEC,
		      &r->rx[0]->ctx);
	ret = ret
		      ?: fi_recv(s.rx[1], r->dst, BASE, NULL, FI_ADDR_UNSPEC,
				 &r->rx[1]->ctx);
	ret = ret ?: st_rogue_open(&y, st, be16_to_cpu(s.name.sin6_port));
	st_rogue_hello(hello, 1);
	hello[4] = 4;
	memcpy(r->src, wire, sizeof(wire));
	if (!CHECK_EQ(st, ret ?: st_rogue_connect(&y, hello, sizeof(hello)),
		      FI_CONNECTED, "a peer connects") ||
	    !CHECK_EQ(st, st_rogue_send(&y, op, r->src, 36), 0,
		      "it begins a message"))
		goto out;
	CHECK(st, st_byte_comes(r->dst + 3), "a receive has its beginning");
	CHECK_EQ(st, fi_close(&s.rx[1]->fid), 0, "its context closes");
	s.rx[1] = NULL;
	CHECK_EQ(st, st_op_result(s.rx_cq[1], r->rx[1], 0), ECANCELED,
		 "the receive ends");
	CHECK_EQ(st, r->rx[1]->entry.flags, FI_RECV | FI_MSG,
		 "its flags are exact");
	memset(r->dst, 0, BASE);
	ret = st_rogue_send(&y, op, r->src + 36, 36);
	ret = ret ?: st_rogue_send(&y, op, r->src + 72, 36);
	CHECK_EQ(st, st_op_result(s.rx_cq[0], r->rx[0], ret), 0,
		 "a message behind it arrives at another context");
	CHECK(st,
	      r->rx[0]->entry.len == 4 && r->dst[BASE] == 9 &&
		      !memchr_inv(r->dst, 0, BASE),
	      "and no byte where the receive was");
out:
	st_rogue_close(&y);
	st_sep_close(&s);
	kfree(op);
}

/* A peer with features 1, 2 and 4 that has no receives, and its number. */
static bool st_rogue_meet(struct st *st, struct st_rogue *y, struct st_sep *s,
			  fi_addr_t *addr)
{
	struct sockaddr_in6 name = s->name;
	u8 hello[ST_HELLO_LEN];
	int ret = st_rogue_open(y, st, be16_to_cpu(name.sin6_port));

	st_rogue_name(hello, 1, &name);
	hello[4] = 22;
	if (!CHECK_EQ(st, ret ?: st_rogue_connect(y, hello, sizeof(hello)),
		      FI_CONNECTED, "a peer connects"))
		return false;
	fi_av_insert(s->av, &name, 1, addr, 0, NULL);
	return true;
}

/* What a context has handed over goes its way when it closes, and is nobody's. */
static noinline_for_stack void st_rogue_later(struct st *st, struct st *inner,
					      struct st_room *r)
{
	/* What was asked for, and a message to context 0. */
	static const u8 wire[2][40] = {
		{ 1, 9, 3, 0, 8, 0, 0, 0, 8, [32] = 1, 2, 3, 4, 5, 6, 7, 8 },
		{ 1, 4, 3, 0, 4, 0, 0, 0, 4, [32] = 9, 9, 9, 9 },
	};
	struct st_op *op = st_op_new(inner);
	fi_addr_t addr = FI_ADDR_UNSPEC;
	struct st_rogue y = {};
	struct st_sep s;
	int i, ret = st_sep_open(&s, st);

	if (!op || !CHECK_EQ(st, ret, 0, "a scalable endpoint opens"))
		goto out;
	memset(r->dst, 0, BASE);
	memcpy(r->src, wire, sizeof(wire));
	if (!st_rogue_meet(st, &y, &s, &addr))
		goto out;
	for (i = 0; i < 2; i++)
		st_op_reset(r->tx[i]);
	ret = fi_send(s.tx[1], r->src, 10, NULL, addr, &r->tx[0]->ctx);
	ret = ret
		      ?: fi_read(s.tx[1], r->dst, 8, NULL, addr, 0, 1,
				 &r->tx[1]->ctx);
	CHECK_EQ(st, ret ?: st_cq_drain(s.tx_cq[1], ST_QUIET_MS), 0,
		 "a message and a request wait for it");
	CHECK_EQ(st, fi_close(&s.tx[1]->fid), 0, "their context closes");
	s.tx[1] = NULL;
	for (i = 0; i < 2; i++)
		CHECK_EQ(st, st_op_result(s.tx_cq[1], r->tx[i], 0), ECANCELED,
			 "what waited ends");
	CHECK_EQ(st, st_rogue_take(&y, op, r->dst + BASE), 32 + 10,
		 "the peer takes the message");
	CHECK_EQ(st, st_rogue_take(&y, op, r->dst + BASE), 32 + 32,
		 "and the request");
	st_op_reset(r->rx[0]);
	ret = fi_recv(s.rx[0], r->dst + BASE, BASE, NULL, FI_ADDR_UNSPEC,
		      &r->rx[0]->ctx);
	ret = ret ?: st_rogue_send(&y, op, r->src, 40);
	ret = ret ?: st_rogue_send(&y, op, r->src + 40, 36);
	CHECK_EQ(st, st_op_result(s.rx_cq[0], r->rx[0], ret), 0,
		 "it answers, and a message behind that arrives");
	CHECK(st, r->rx[0]->entry.len == 4 && !memchr_inv(r->dst, 0, BASE),
	      "but no byte where the answer was to go");
	CHECK_EQ(st, st_cq_drain(s.tx_cq[1], ST_QUIET_MS), 0,
		 "nor does anything end twice");
out:
	st_rogue_close(&y);
	st_sep_close(&s);
	kfree(op);
}

/* Two requests of 8 bytes, a write and another one, and one answer to both. */
static int st_rogue_both(struct st_rogue *y, struct st_op *op, struct st_sep *s,
			 struct st_room *r, fi_addr_t addr, bool reads)
{
	/* To one more, done, without bytes. */
	static const u8 answer[32] = { 1, 9, 3, [24] = 1 };
	int ret;

	st_op_reset(r->tx[0]);
	st_op_reset(r->tx[1]);
	ret = fi_write(s->tx[0], r->src, 8, NULL, addr, 0, 1, &r->tx[0]->ctx);
	ret = ret
		      ?: reads ? fi_read(s->tx[0], r->dst, 8, NULL, addr, 0, 1,
					 &r->tx[1]->ctx)
			       : fi_write(s->tx[0], r->src, 8, NULL, addr, 0, 1,
					  &r->tx[1]->ctx);
	memcpy(r->src + BASE, answer, sizeof(answer));
	if (ret || st_rogue_take(y, op, r->dst + BASE) < 0 ||
	    st_rogue_take(y, op, r->dst + BASE) < 0)
		return ret ?: -EPROTO;
	return st_rogue_send(y, op, r->src + BASE, sizeof(answer));
}

static noinline_for_stack void st_rogue_joint(struct st *st, struct st *inner,
					      struct st_room *r)
{
	struct st_op *op = st_op_new(inner);
	fi_addr_t addr = FI_ADDR_UNSPEC;
	struct st_rogue y = {};
	struct st_sep s;
	int ret = st_sep_open(&s, st);

	if (!op || !CHECK_EQ(st, ret, 0, "a scalable endpoint opens") ||
	    !st_rogue_meet(st, &y, &s, &addr))
		goto out;
	CHECK_EQ(st, st_rogue_both(&y, op, &s, r, addr, false), 0,
		 "two writes have one answer");
	ret = st_op_result(s.tx_cq[0], r->tx[0], 0);
	CHECK_EQ(st, st_op_result(s.tx_cq[0], r->tx[1], ret), 0,
		 "it is to each of them");
	/* It may be cut off before it is told that this was sent. */
	ret = st_rogue_both(&y, op, &s, r, addr, true);
	CHECKF(st, !ret || ret == ECANCELED, "a write and a read have one (%d)",
	       ret);
	CHECK_EQ(st, st_op_result(s.tx_cq[0], r->tx[1], 0), FI_ECONNRESET,
		 "who answers a read so is cut off");
out:
	st_rogue_close(&y);
	st_sep_close(&s);
	kfree(op);
}

/* Who closes a context, which takes a while. */
struct rogue_closer {
	struct work_struct work;
	struct fid_ep *ep;
	u64 ms;
	int ret;
	bool over;
};

static void st_rogue_close_ctx(struct work_struct *work)
{
	struct rogue_closer *c = container_of(work, struct rogue_closer, work);
	ktime_t begin = ktime_get();

	c->ret = fi_close(&c->ep->fid);
	c->ms = ktime_to_ms(ktime_sub(ktime_get(), begin));
	WRITE_ONCE(c->over, true);
}

/* Messages of another context until it is closed: how many were done before. */
static int st_rogue_meanwhile(struct rogue_closer *c, struct st_sep *s,
			      struct st_node *a, fi_addr_t to_a,
			      struct st_room *r, unsigned int *done)
{
	int ret = 0;

	while (!ret && !READ_ONCE(c->over)) {
		ret = st_node_recv(a, r->rx[1], r->dst, BASE);
		st_op_reset(r->tx[1]);
		ret = ret
			      ?: fi_send(s->tx[0], r->src + BASE, 10, NULL,
					 to_a, &r->tx[1]->ctx);
		ret = st_op_result(s->tx_cq[0], r->tx[1], ret);
		ret = st_op_result(a->cq, r->rx[1], ret);
		*done += !ret && !READ_ONCE(c->over);
	}
	return ret;
}

/*
 * A context closes whose message a peer does not take: its memory is in use until
 * the connection ends. Return how many messages others have sent meanwhile.
 */
static noinline_for_stack unsigned int
st_rogue_lends(struct st *st, struct st *inner, struct st_room *r)
{
	struct rogue_closer c = {};
	struct st_op *op = st_op_new(inner);
	fi_addr_t addr = FI_ADDR_UNSPEC, to_a = FI_ADDR_UNSPEC;
	struct st_rogue y = {};
	struct st_node a = {};
	struct st_sep s;
	unsigned int done = 0;
	int ret = st_sep_open(&s, st);

	if (!op || !CHECK_EQ(st, ret ?: st_node_open(&a, st, 0, 0), 0,
			     "endpoints open"))
		goto out;
	fi_av_insert(s.av, &a.name, 1, &to_a, 0, NULL);
	if (!st_rogue_meet(st, &y, &s, &addr))
		goto out;
	st_op_reset(r->tx[0]);
	ret = fi_send(s.tx[1], r->src, LENT_LEN, NULL, addr, &r->tx[0]->ctx);
	CHECK_EQ(st, ret ?: st_cq_drain(s.tx_cq[1], ST_QUIET_MS), 0,
		 "a message waits for it");
	c.ep = s.tx[1];
	s.tx[1] = NULL;
	INIT_WORK_ONSTACK(&c.work, st_rogue_close_ctx);
	queue_work(system_unbound_wq, &c.work);
	ret = st_rogue_meanwhile(&c, &s, &a, to_a, r, &done);
	flush_work(&c.work);
	destroy_work_on_stack(&c.work);
	CHECK_EQ(st, ret ?: c.ret, 0, "its context closes, another one sends");
	CHECKF(st, c.ms >= LENT_MS / 2, "the memory is lent meanwhile: %llu ms",
	       c.ms);
	CHECK_EQ(st, st_op_result(s.tx_cq[1], r->tx[0], 0), ECANCELED,
		 "the message has ended");
	CHECK(st, st_rogue_take(&y, op, r->dst) != 32 + LENT_LEN,
	      "and never arrives");
out:
	st_rogue_close(&y);
	st_node_close(&a);
	st_sep_close(&s);
	kfree(op);
	return done;
}

/*
 * Others do not wait for that: one message may have been sent before it began to wait,
 * and no more if they do. None may be where the processors have something else to do.
 */
static noinline_for_stack void
st_rogue_lends_on(struct st *st, struct st *inner, struct st_room *r)
{
	unsigned int done = 0;
	int i;

	for (i = 0; i < LENDS && done <= 1; i++)
		done = st_rogue_lends(st, inner, r);
	CHECKF(st, done > 1, "others do not wait: %u messages", done);
}

/* A peer of the first version, without features, which takes nothing. */
static noinline_for_stack void st_rogue_old(struct st *st, struct st_rogue *x,
					    struct st_room *r,
					    struct st_node *b)
{
	struct sockaddr_in6 name = b->name;
	fi_addr_t addr = FI_ADDR_UNSPEC;
	u8 hello[ST_HELLO_LEN];
	int ret;

	st_rogue_name(hello, 100, &name);
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
	ret = st_node_send(b, r->tx[0], r->src, 10,
			   fi_rx_addr(addr, 1, ST_CTX_BITS));
	CHECK_EQ(st, st_op_result(b->cq, r->tx[0], ret), FI_EOPNOTSUPP,
		 "so does a message to a second context");
}

/* A listener that never answers a request. */
static noinline_for_stack void
st_rogue_silent(struct st *st, struct st_rogue *x, struct st_room *r)
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
	struct st_rogue x = {};
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
	st_rogue_bare(st, &x, r.src, op);
	st_rogue_old(st, &x, &r, &b);
	CHECK_EQ(st, st_pass(&r, &a, &b, st_node_knows(&a, &b), 10), 0,
		 "others are served as ever");
	CHECK_EQ(st, r.rx[0]->entry.len, 10, "with their own messages");
	st_rogue_stalls(st, &inner, &r, 0);
	st_rogue_stalls(st, &inner, &r, FI_MULTI_RECV);
	st_rogue_closes(st, &inner, &r);
	st_rogue_later(st, &inner, &r);
	st_rogue_joint(st, &inner, &r);
	st_rogue_lends_on(st, &inner, &r);
	st_rogue_silent(st, &x, &r);
out:
	st_rogue_close(&x);
	st_node_close(&a);
	st_node_close(&b);
	st_room_close(&r);
	kfree(op);
}

/* ---- idle connections ------------------------------------------------------------ */

/* Often enough for a grant. */
static int st_writes(struct st_room *r, struct st_node *from, fi_addr_t to)
{
	struct st_op *op = r->tx[0];
	int i, ret = 0;

	for (i = 0; i < 20 && !ret; i++) {
		st_op_reset(op);
		ret = fi_write(from->ep, r->src, 8, NULL, to, 0, 1, &op->ctx);
		ret = st_op_result(from->cq, op, ret);
	}
	return ret;
}

void st_test_rdm_idle(struct st *st)
{
	struct st_node a = {}, b = {};
	const struct kfi_provider *below;
	struct st_rogue x = {};
	struct st_room r = {};
	struct fid_mr *mr = NULL;
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
	CHECK_EQ(st,
		 fi_mr_reg(st->domain, r.dst, BASE, FI_REMOTE_WRITE, 0, 1, 0,
			   &mr, NULL),
		 0, "a region opens");
	CHECK_EQ(st, st_writes(&r, &a, st_node_knows(&a, &b)), 0,
		 "it is written to until the device below knows it");
	CHECK(st, st_objects_fall(below, objects),
	      "that connection is closed when it is idle, too");
	if (mr)
		fi_close(&mr->fid);
out:
	st_rogue_close(&x);
	st_node_close(&a);
	st_node_close(&b);
	st_room_close(&r);
}
