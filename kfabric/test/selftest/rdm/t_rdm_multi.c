// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: receives of an unconnected endpoint that take several messages.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define BASE	 ST_ROOM_BASE
#define SIZE	 1000 /* of a buffer */
#define LONG_LEN (2 * BASE + 100) /* of a message in several pieces */
#define EACH	 3 /* of these from each of two senders */
#define UNREAD	 300 /* messages: more than completions of them */
#define MORE	 100 /* while somebody reads */
#define DATA	 0x1122334455667788ULL
#define ALL	 (FI_RECV | FI_MSG | FI_MULTI_RECV)

struct st_multi {
	struct st_duo d;
	struct fi_cq_err_entry got; /* the last completion of b */
};

static int st_multi_post(struct st_multi *m, int i, size_t len)
{
	struct fi_msg msg = { .buf = fi_buf_linear(m->d.r.dst + i * BASE, len),
			      .addr = FI_ADDR_UNSPEC,
			      .context = &m->d.r.rx[i]->ctx };

	st_op_reset(m->d.r.rx[i]);
	return fi_recvmsg(m->d.b.ep, &msg, FI_MULTI_RECV);
}

static int st_multi_min(struct st_multi *m, size_t min)
{
	return fi_setopt(&m->d.b.ep->fid, FI_OPT_ENDPOINT,
			 FI_OPT_MIN_MULTI_RECV, &min, sizeof(min));
}

/* Send bytes that tell which message it is; 0 when they are sent. */
static int st_multi_send(struct st_multi *m, size_t len, u8 seed)
{
	int ret;

	st_fill(m->d.r.src, len, seed);
	ret = st_node_send(&m->d.a, m->d.r.tx[0], m->d.r.src, len, m->d.to_b);
	return st_op_result(m->d.a.cq, m->d.r.tx[0], ret);
}

/* Take the next completion of b into m->got; its error, or negative. */
static int st_multi_take(struct st_multi *m)
{
	struct fi_cq_tagged_entry d = {};
	ssize_t n;

	memset(&m->got, 0, sizeof(m->got));
	n = fi_cq_sreadfrom(m->d.b.cq, &d, 1, &m->got.src_addr, NULL,
			    ST_WAIT_MS);
	if (n == -FI_EAVAIL)
		return fi_cq_readerr(m->d.b.cq, &m->got, 0) == 1 ? m->got.err
								 : -EIO;
	m->got.op_context = d.op_context;
	m->got.flags = d.flags;
	m->got.len = d.len;
	m->got.buf = d.buf;
	m->got.data = d.data;
	m->got.tag = d.tag;
	return n == 1 ? 0 : -ETIME;
}

/* What was taken is a message at a place of the i-th receive. */
static bool st_multi_is(struct st_multi *m, int i, size_t at, size_t len,
			u8 seed, u64 flags)
{
	u8 *place = m->d.r.dst + i * BASE + at;

	return m->got.op_context == &m->d.r.rx[i]->ctx && m->got.buf == place &&
	       m->got.len == len && m->got.flags == flags &&
	       m->got.src_addr == m->d.to_a && st_holds(place, len, seed);
}

static noinline_for_stack void st_multi_fill(struct st *st, struct st_multi *m)
{
	struct fi_msg msg = { .buf = fi_buf_linear(m->d.r.src, 310),
			      .addr = m->d.to_b,
			      .context = &m->d.r.tx[0]->ctx,
			      .data = DATA };
	int ret = st_multi_min(m, 100);

	ret = ret ?: st_multi_post(m, 0, SIZE);
	ret = ret ?: st_multi_send(m, 300, 1);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0,
		 "a message arrives in a receive of several");
	CHECK(st, st_multi_is(m, 0, 0, 300, 1, FI_RECV | FI_MSG),
	      "it is where it is said to be, and its flags are exact");
	ret = st_multi_send(m, 300, 2);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0, "another arrives");
	CHECK(st, st_multi_is(m, 0, 300, 300, 2, FI_RECV | FI_MSG),
	      "it is behind the first");
	st_fill(m->d.r.src, 310, 3);
	st_op_reset(m->d.r.tx[0]);
	ret = fi_sendmsg(m->d.a.ep, &msg, FI_REMOTE_CQ_DATA);
	ret = st_op_result(m->d.a.cq, m->d.r.tx[0], ret);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0, "the last arrives");
	CHECK(st, st_multi_is(m, 0, 600, 310, 3, ALL | FI_REMOTE_CQ_DATA),
	      "it gives the buffer back, of which too little is left");
	CHECK_EQ(st, m->got.data, DATA, "it has its data");
	CHECK_EQ(st, fi_cancel(&m->d.b.ep->fid, &m->d.r.rx[0]->ctx), -ENOENT,
		 "what was given back is not canceled");
}

static noinline_for_stack void st_multi_next(struct st *st, struct st_multi *m)
{
	int ret = st_multi_post(m, 0, SIZE);

	ret = ret ?: st_multi_post(m, 1, SIZE);
	ret = ret ?: st_multi_send(m, 600, 1);
	ret = ret ?: st_multi_take(m);
	ret = ret ?: st_multi_send(m, 500, 2);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0,
		 "a message does not fit into what is left");
	CHECK(st,
	      m->got.op_context == &m->d.r.rx[0]->ctx && !m->got.len &&
		      m->got.flags == FI_MULTI_RECV,
	      "the buffer is given back by no message");
	CHECK_EQ(st, st_multi_take(m), 0, "and the message arrives");
	CHECK(st, st_multi_is(m, 1, 0, 500, 2, FI_RECV | FI_MSG),
	      "in the next receive");
	ret = st_node_recv(&m->d.b, m->d.r.rx[2], m->d.r.dst + 2 * BASE, BASE);
	ret = ret ?: st_multi_send(m, 600, 3);
	ret = ret ?: st_multi_take(m);
	CHECK(st, !ret && m->got.flags == FI_MULTI_RECV,
	      "so it is when a receive of one follows");
	ret = st_multi_take(m);
	CHECK(st,
	      !ret && m->got.op_context == &m->d.r.rx[2]->ctx && !m->got.buf &&
		      m->got.flags == (FI_RECV | FI_MSG) && m->got.len == 600,
	      "which has the message, and no place");
}

static noinline_for_stack void st_multi_short(struct st *st, struct st_multi *m)
{
	int ret = st_multi_post(m, 0, SIZE);

	ret = ret ?: st_multi_send(m, SIZE + 500, 9);
	CHECK_EQ(st, ret ?: st_multi_take(m), FI_ETRUNC,
		 "a message is too long for an empty buffer");
	CHECK(st,
	      m->got.op_context == &m->d.r.rx[0]->ctx && m->got.len == SIZE &&
		      m->got.olen == 500 && m->got.flags == ALL &&
		      st_holds(m->d.r.dst, SIZE, 9),
	      "it fills it, and gives it back");
	ret = st_multi_post(m, 0, 10);
	ret = ret ?: st_multi_send(m, 5, 8);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0,
		 "a buffer smaller than what must be left takes a message");
	CHECK(st, st_multi_is(m, 0, 0, 5, 8, ALL), "and is given back by it");
}

static noinline_for_stack void st_multi_cancel(struct st *st,
					       struct st_multi *m)
{
	int ret = st_multi_post(m, 0, SIZE);

	memset(m->d.r.dst, 0, 3 * BASE);
	ret = ret ?: st_multi_send(m, 300, 1);
	ret = ret ?: st_multi_take(m);
	ret = ret ?: st_multi_post(m, 1, SIZE);
	CHECK_EQ(st, ret ?: fi_cancel(&m->d.b.ep->fid, &m->d.r.rx[0]->ctx), 0,
		 "a receive that has had a message is canceled");
	CHECK_EQ(st, st_multi_take(m), ECANCELED, "it completes so");
	CHECK(st,
	      m->got.op_context == &m->d.r.rx[0]->ctx && m->got.flags == ALL &&
		      !m->got.len,
	      "with exact flags");
	ret = st_multi_send(m, 200, 2);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0, "a message arrives");
	CHECK(st, st_multi_is(m, 1, 0, 200, 2, FI_RECV | FI_MSG),
	      "in the next one");
	CHECK(st, !memchr_inv(m->d.r.dst + 300, 0, BASE - 300),
	      "no byte lands in the canceled one");
	CHECK_EQ(st, fi_cancel(&m->d.b.ep->fid, &m->d.r.rx[1]->ctx), 0,
		 "that is canceled, too");
	CHECK_EQ(st, st_multi_take(m), ECANCELED, "it completes so");
}

/* Two senders at one time; no message is in another one's bytes. */
static noinline_for_stack void st_multi_both(struct st *st, struct st_multi *m)
{
	struct st_node *from[2] = { &m->d.a, &m->d.b };
	fi_addr_t to[2] = { m->d.to_b, st_node_knows(&m->d.b, &m->d.b) };
	struct st_room *r = &m->d.r;
	int i, ok = 0, sent = 0, last = 0, ret = st_multi_min(m, 1);

	ret = ret ?: st_multi_post(m, 0, 2 * EACH * LONG_LEN);
	for (i = 0; i < 2 * EACH; i++) {
		st_fill(r->src + i * LONG_LEN, LONG_LEN, i + 1);
		ret = ret
			      ?: st_node_send(from[i % 2], r->tx[i],
					      r->src + i * LONG_LEN, LONG_LEN,
					      to[i % 2]);
	}
	CHECK_EQ(st, ret, 0, "two send long messages at one time");
	for (i = 0; i < 2 * EACH && !ret; i++)
		sent += i % 2 == 0 && !st_op_result(m->d.a.cq, r->tx[i], 0);
	CHECK_EQ(st, sent, EACH, "those of one are sent");
	/* The other one's are told by the queue that receives are told by. */
	for (i = 0; i < 3 * EACH && !ret; i++) {
		ret = st_multi_take(m);
		if (m->got.flags & FI_SEND)
			continue;
		/* Its first byte tells which one it is. */
		ok += !ret && m->got.len == LONG_LEN &&
		      (st_holds(m->got.buf, LONG_LEN, 1) ||
		       st_holds(m->got.buf, LONG_LEN, 2) ||
		       st_holds(m->got.buf, LONG_LEN, 3) ||
		       st_holds(m->got.buf, LONG_LEN, 4) ||
		       st_holds(m->got.buf, LONG_LEN, 5) ||
		       st_holds(m->got.buf, LONG_LEN, 6));
		last += !!(m->got.flags & FI_MULTI_RECV);
	}
	CHECK_EQ(st, ok, 2 * EACH, "all arrive whole");
	CHECK_EQ(st, last, 1, "the last of them gives the buffer back");
}

/* One of many messages; -FI_EAGAIN is no more than a reason to wait. */
static bool st_multi_waits(int ret, unsigned long end)
{
	if (ret != -FI_EAGAIN || time_after(jiffies, end))
		return false;
	schedule_timeout_uninterruptible(1);
	return true;
}

static int st_multi_inject(struct st_multi *m, int i)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int ret;

	do
		ret = fi_inject(m->d.a.ep, &i, sizeof(i), m->d.to_b);
	while (st_multi_waits(ret, end));
	return ret;
}

/* The i-th, which has come when this returns 0, as have those before it. */
static int st_multi_sent(struct st_multi *m, int i)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int ret;

	memcpy(m->d.r.src, &i, sizeof(i));
	do
		ret = st_node_send(&m->d.a, m->d.r.tx[0], m->d.r.src, sizeof(i),
				   m->d.to_b);
	while (st_multi_waits(ret, end));
	return st_op_result(m->d.a.cq, m->d.r.tx[0], ret);
}

/* The i-th of them is there, in its place. */
static int st_multi_next_is(struct st_multi *m, int i)
{
	int ret = st_multi_take(m);

	if (ret)
		return ret;
	return m->got.len == sizeof(i) &&
			       m->got.buf == m->d.r.dst + i * sizeof(i) &&
			       !memcmp(m->got.buf, &i, sizeof(i)) &&
			       m->got.flags == (FI_RECV | FI_MSG)
		       ? 0
		       : -EPROTO;
}

/*
 * Completions that nobody reads hold messages up, and no more. False: nothing can be
 * tried any more, since they are still to come.
 */
static noinline_for_stack bool st_multi_unread(struct st *st,
					       struct st_multi *m)
{
	int i, read = 0, ret = st_multi_min(m, 64);

	ret = ret ?: st_multi_post(m, 0, (UNREAD + MORE) * sizeof(int) + 64);
	for (i = 0; i < UNREAD; i++)
		ret = ret ?: st_multi_inject(m, i);
	CHECK_EQ(st, ret, 0, "many messages are sent, and nobody reads");
	/* What was there first has the completions that are free again. */
	for (; i < UNREAD + MORE; i++) {
		ret = ret ?: st_multi_sent(m, i);
		if (i % 2)
			ret = ret ?: st_multi_next_is(m, read++);
	}
	while (read < UNREAD + MORE && !ret)
		ret = st_multi_next_is(m, read++);
	if (!CHECK_EQ(st, ret, 0,
		      "all are there, in order, when somebody reads"))
		return false;
	ret = fi_cancel(&m->d.b.ep->fid, &m->d.r.rx[0]->ctx);
	return CHECK_EQ(st, ret ?: st_multi_take(m), ECANCELED,
			"their receive is canceled");
}

static int st_multi_post_tag(struct st_multi *m, int i, u64 tag, u64 ignore)
{
	struct fi_msg_tagged msg = {
		.buf = fi_buf_linear(m->d.r.dst + i * BASE, SIZE),
		.addr = FI_ADDR_UNSPEC,
		.tag = tag,
		.ignore = ignore,
		.context = &m->d.r.rx[i]->ctx,
	};

	st_op_reset(m->d.r.rx[i]);
	return fi_trecvmsg(m->d.b.ep, &msg, FI_MULTI_RECV);
}

static int st_multi_send_tag(struct st_multi *m, size_t len, u8 seed, u64 tag)
{
	struct st_op *op = m->d.r.tx[0];
	int ret;

	st_fill(m->d.r.src, len, seed);
	st_op_reset(op);
	ret = fi_tsend(m->d.a.ep, m->d.r.src, len, NULL, m->d.to_b, tag,
		       &op->ctx);
	return st_op_result(m->d.a.cq, op, ret);
}

/* A receive with a tag takes those of its tag, and no others. */
static noinline_for_stack void st_multi_tagged(struct st *st,
					       struct st_multi *m)
{
	const u64 one = FI_RECV | FI_TAGGED, last = one | FI_MULTI_RECV;
	int ret = st_multi_min(m, 100);

	ret = ret ?: st_multi_post_tag(m, 0, 0xf0, 0xf);
	ret = ret ?: st_multi_post(m, 1, SIZE);
	ret = ret ?: st_multi_send_tag(m, 300, 1, 0xf1);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0,
		 "a message with a tag arrives in a receive of several");
	CHECK(st, st_multi_is(m, 0, 0, 300, 1, one) && m->got.tag == 0xf1,
	      "it is where it is said to be, and has its tag");
	ret = st_multi_send(m, 200, 2);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0, "one without tag arrives");
	CHECK(st, st_multi_is(m, 1, 0, 200, 2, FI_RECV | FI_MSG),
	      "in the receive without tag");
	ret = st_multi_send_tag(m, 50, 3, 0xe1);
	ret = ret ?: st_multi_send_tag(m, 650, 4, 0xf2);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0,
		 "one of its tag passes one of another");
	CHECK(st, st_multi_is(m, 0, 300, 650, 4, last) && m->got.tag == 0xf2,
	      "is behind the first, and gives the buffer back");
	ret = st_multi_post_tag(m, 0, 0xe1, 0);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0, "the other one arrives");
	CHECK(st, st_multi_is(m, 0, 0, 50, 3, one) && m->got.tag == 0xe1,
	      "when there is a receive for it");
	ret = fi_cancel(&m->d.b.ep->fid, &m->d.r.rx[0]->ctx);
	CHECK_EQ(st, ret ?: st_multi_take(m), ECANCELED, "that is canceled");
	CHECK(st,
	      m->got.op_context == &m->d.r.rx[0]->ctx && m->got.flags == last &&
		      m->got.tag == 0xe1,
	      "with exact flags, and its tag");
	ret = fi_cancel(&m->d.b.ep->fid, &m->d.r.rx[1]->ctx);
	CHECK_EQ(st, ret ?: st_multi_take(m), ECANCELED, "so is the other");
}

static noinline_for_stack void st_multi_refused(struct st *st,
						struct st_multi *m)
{
	struct kvec kvec = { m->d.r.dst, SIZE };
	struct fi_msg msg = { .buf = fi_buf_kvec(&kvec, 1, SIZE),
			      .addr = FI_ADDR_UNSPEC,
			      .context = &m->d.r.rx[0]->ctx };
	size_t value = 0, len = sizeof(value);

	CHECK_EQ(st, fi_recvmsg(m->d.b.ep, &msg, FI_MULTI_RECV), -EINVAL,
		 "a buffer that is not one range is refused");
	msg.buf = fi_buf_linear(m->d.r.dst, 0);
	CHECK_EQ(st, fi_recvmsg(m->d.b.ep, &msg, FI_MULTI_RECV), -EINVAL,
		 "so is one without bytes");
	CHECK_EQ(st, st_multi_min(m, 0), -EINVAL,
		 "nothing is no bound of what must be left");
	CHECK_EQ(st,
		 fi_setopt(&m->d.b.ep->fid, FI_OPT_ENDPOINT,
			   FI_OPT_MIN_MULTI_RECV, &value, 4),
		 -EINVAL, "nor is one of another size");
	CHECK_EQ(st, st_multi_min(m, 77), 0, "a bound is set");
	CHECK_EQ(st,
		 fi_getopt(&m->d.b.ep->fid, FI_OPT_ENDPOINT,
			   FI_OPT_MIN_MULTI_RECV, &value, &len),
		 0, "it is read");
	CHECK(st, value == 77 && len == sizeof(value), "it is what was set");
}

static noinline_for_stack void st_multi_end(struct st *st, struct st_multi *m)
{
	int ret = st_multi_post(m, 0, SIZE);

	ret = ret ?: st_multi_send(m, 10, 1);
	CHECK_EQ(st, ret ?: st_multi_take(m), 0, "a message arrives");
	CHECK_EQ(st, fi_close(&m->d.b.ep->fid), 0, "the endpoint closes");
	m->d.b.ep = NULL;
	CHECK_EQ(st, st_multi_take(m), ECANCELED, "its receive ends");
	CHECK_EQ(st, m->got.flags, ALL, "and is given back");
}

void st_test_rdm_multi(struct st *st)
{
	struct st_multi *m = kzalloc(sizeof(*m), GFP_KERNEL);
	const u64 both = FI_MULTI_RECV | FI_TAGGED_MULTI_RECV;

	CHECK_EQ(st, st->info->caps & st->info->rx_attr->caps & both, both,
		 "receives take several messages, those with a tag, too");
	if (m && st_duo_open(&m->d, st)) {
		st_multi_fill(st, m);
		st_multi_next(st, m);
		st_multi_short(st, m);
		st_multi_cancel(st, m);
		st_multi_both(st, m);
		st_multi_tagged(st, m);
		st_multi_refused(st, m);
		if (st_multi_unread(st, m))
			st_multi_end(st, m);
	}
	if (m)
		st_duo_close(&m->d);
	kfree(m);
}
