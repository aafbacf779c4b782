// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: shared receive contexts: messages of several endpoints, few receives, ends.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "st_srx.h"

#define SHORT_MS 300
#define LATE_MS	 1000 /* so late are who take what was put aside for them */
#define TRIES	 (ST_WAIT_MS / ST_QUIET_MS)

/* ---- set-up ------------------------------------------------------------- */

static u8 *st_srx_buf(struct st_shared *s, unsigned int i)
{
	return s->in + i * BUF_BYTES;
}

ssize_t st_srx_post(struct st_shared *s, unsigned int i)
{
	st_op_reset(s->rx[i]);
	return fi_recv(s->srx, st_srx_buf(s, i), BUF_BYTES, NULL,
		       FI_ADDR_UNSPEC, &s->rx[i]->ctx);
}

/* Post from one to before another; gives how many were taken. */
unsigned int st_srx_post_range(struct st_shared *s, unsigned int from,
			       unsigned int to)
{
	unsigned int n = 0;

	for (; from < to; from++)
		n += !st_srx_post(s, from);
	return n;
}

static ssize_t st_srx_send(struct st_shared *s, int pair, unsigned int i,
			   size_t len)
{
	st_op_reset(s->tx[i]);
	return fi_send(s->p[pair].a, s->out, len, NULL, FI_ADDR_UNSPEC,
		       &s->tx[i]->ctx);
}

/* The receive that the next message of a pair takes; NULL: none comes. */
static struct st_op *st_srx_got(struct st_shared *s, int pair, int timeout_ms)
{
	void *context = NULL;

	return st_cq_take(s->p[pair].bcq, timeout_ms, &context) == 1 && context
		       ? st_op_of(context)
		       : NULL;
}

/* One message of a pair, which takes the receive that it is to take. */
bool st_srx_pass(struct st_shared *s, int pair, unsigned int tx,
		 const struct st_op *want)
{
	ssize_t ret = st_srx_send(s, pair, tx, 8);

	return !ret && st_srx_got(s, pair, ST_WAIT_MS) == want &&
	       !want->entry.err && want->entry.len == 8 &&
	       !st_op_result(s->p[pair].acq, s->tx[tx], 0);
}

/* Open a context and bind it to the queue of what nobody takes. */
int st_srx_open(struct st_shared *s, struct st *st,
		const struct fi_rx_attr *attr)
{
	unsigned int i, made = 0;
	int ret;

	s->st = st;
	s->out = kzalloc(BUF_BYTES, GFP_KERNEL);
	s->in = kvzalloc(RXS * BUF_BYTES, GFP_KERNEL);
	for (i = 0; i < RXS; i++) {
		s->tx[i] = st_op_new(st);
		s->rx[i] = st_op_new(st);
		made += s->tx[i] && s->rx[i];
	}
	if (!s->out || !s->in || made != RXS)
		return -ENOMEM;
	ret = fi_cq_open(st->target, NULL, &s->cq, NULL);
	ret = ret ?: fi_srx_context(st->target, attr, &s->srx, s);
	return ret ?: fi_ep_bind(s->srx, &s->cq->fid, FI_RECV);
}

int st_srx_connect(struct st_shared *s, int pair, u32 timeout_ms)
{
	struct st_opts opts = { .srx = s->srx, .op_timeout_ms = timeout_ms };

	return st_pair_open(&s->p[pair], s->st, &opts);
}

static void st_srx_disconnect(struct st_shared *s)
{
	int i;

	for (i = 0; i < PAIRS; i++)
		if (s->p[i].st)
			st_pair_close(&s->p[i]);
}

void st_srx_close(struct st_shared *s)
{
	unsigned int i;

	st_srx_disconnect(s);
	if (s->srx)
		CHECK_EQ(s->st, fi_close(&s->srx->fid), 0,
			 "a context closes when its endpoints are closed");
	if (s->cq)
		fi_close(&s->cq->fid);
	for (i = 0; i < RXS; i++) {
		kfree(s->tx[i]);
		kfree(s->rx[i]);
	}
	kvfree(s->in);
	kfree(s->out);
}

/* A context with so many pairs. */
static bool st_srx_bench(struct st_shared *s, struct st *st, int pairs,
			 u32 timeout_ms)
{
	int i, ret = st_srx_open(s, st, NULL);

	for (i = 0; i < pairs && !ret; i++)
		ret = st_srx_connect(s, i, timeout_ms);
	return CHECKF(st, !ret, "%d pairs share a context (got %d)", pairs,
		      ret);
}

/* ---- messages ----------------------------------------------------------- */

static noinline_for_stack void st_srx_order(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int i, ok = 0;

	if (!s)
		return;
	if (!st_srx_bench(s, st, PAIRS, 0))
		goto close;
	CHECK_EQ(st,
		 fi_recv(s->p[0].b, s->in, 8, NULL, FI_ADDR_UNSPEC,
			 &s->rx[0]->ctx),
		 -EINVAL,
		 "an endpoint that shares takes no receive of its own");
	CHECK_EQ(st, st_srx_post_range(s, 0, 2 * PAIRS), 2 * PAIRS,
		 "receives are posted");
	for (i = 0; i < 2 * PAIRS; i++)
		ok += st_srx_pass(s, i % PAIRS, i, s->rx[i]);
	CHECK_EQ(st, ok, 2 * PAIRS,
		 "a message of any endpoint takes the oldest receive");
	CHECK(st, st_srx_got(s, 0, ST_QUIET_MS) == NULL,
	      "nothing completes twice");
	CHECK_EQ(st, st_srx_post(s, 0), 0, "a receive is posted that is short");
	memset(s->out, 0x5a, BUF_BYTES);
	CHECK(st,
	      !st_srx_send(s, 1, 0, BUF_BYTES) &&
		      st_srx_got(s, 1, ST_WAIT_MS) == s->rx[0] &&
		      s->rx[0]->entry.len == BUF_BYTES &&
		      !memcmp(st_srx_buf(s, 0), s->out, BUF_BYTES),
	      "a message of many packets arrives as it was sent");
	st_op_wait(s->p[1].acq, s->tx[0]);
close:
	st_srx_close(s);
	kfree(s);
}

/* A write with data for the peer takes a receive, too. */
static noinline_for_stack void st_srx_data(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	struct fi_rma_iov rma = { .len = 8 };
	struct fid_mr *mr = NULL;
	struct fi_msg_rma m;
	struct fi_buf buf;

	if (!s || !st->info->domain_attr->cq_data_size)
		goto free;
	if (!st_srx_bench(s, st, 1, 0))
		goto close;
	buf = fi_buf_linear(st_srx_buf(s, 1), 64);
	if (!CHECK_EQ(st, st_mr_open(&s->p[0], &buf, FI_REMOTE_WRITE, &mr), 0,
		      "a region opens at an endpoint that shares"))
		goto close;
	rma.addr = st_mr_addr(mr, 0);
	rma.key = fi_mr_key(mr);
	m = (struct fi_msg_rma){ .buf = fi_buf_linear(s->out, 8),
				 .rma_iov = &rma,
				 .rma_iov_count = 1,
				 .context = &s->tx[0]->ctx,
				 .data = 77 };
	CHECK_EQ(st, st_srx_post(s, 0), 0, "a receive is posted");
	CHECK_EQ(st, fi_writemsg(s->p[0].a, &m, FI_REMOTE_CQ_DATA), 0,
		 "a write with data is posted");
	CHECK(st,
	      st_srx_got(s, 0, ST_WAIT_MS) == s->rx[0] &&
		      s->rx[0]->entry.data == 77 &&
		      (s->rx[0]->entry.flags & FI_RMA),
	      "it takes a shared receive");
	st_op_wait(s->p[0].acq, s->tx[0]);
	fi_close(&mr->fid);
close:
	st_srx_close(s);
free:
	kfree(s);
}

/* ---- few receives, or none ---------------------------------------------- */

/* FI_OPT_LOW_WATER: the context is a completion. */
void st_srx_on_low(struct fid_ep *srx, void *context)
{
	complete(context);
}

static int st_srx_arm(struct st_shared *s, size_t limit,
		      struct completion *told)
{
	struct fi_low_water low = { .limit = limit,
				    .fn = st_srx_on_low,
				    .context = told };

	reinit_completion(told);
	return fi_setopt(&s->srx->fid, FI_OPT_ENDPOINT, FI_OPT_LOW_WATER, &low,
			 sizeof(low));
}

static bool st_srx_told(struct completion *told, int ms)
{
	return wait_for_completion_timeout(told, msecs_to_jiffies(ms));
}

static noinline_for_stack void st_srx_low_water(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	struct completion told;

	if (!s)
		return;
	init_completion(&told);
	if (!st_srx_bench(s, st, 2, 0))
		goto close;
	CHECK_EQ(st, st_srx_post_range(s, 0, FEW), FEW, "receives are posted");
	CHECK_EQ(st, st_srx_arm(s, FEW - 1, &told), 0, "low water is set");
	CHECK(st, st_srx_pass(s, 0, 0, s->rx[0]), "a message comes");
	CHECK(st, !st_srx_told(&told, ST_QUIET_MS),
	      "nothing is told while there are as many as the limit");
	CHECK(st, st_srx_pass(s, 1, 1, s->rx[1]), "another one comes");
	CHECK(st, st_srx_told(&told, ST_WAIT_MS),
	      "it is told when there are fewer");
	CHECK(st, st_srx_pass(s, 0, 2, s->rx[2]), "a third one comes");
	CHECK(st, !st_srx_told(&told, ST_QUIET_MS), "it is told once");
	CHECK_EQ(st, st_srx_arm(s, FEW, &told), 0, "low water is set again");
	CHECK(st, st_srx_told(&told, ST_WAIT_MS),
	      "it is told at once when there are too few");
	CHECK_EQ(st, st_srx_post_range(s, 0, 3), 3, "there are enough again");
	CHECK_EQ(st, st_srx_arm(s, FEW, &told), 0, "low water is set");
	CHECK_EQ(st, st_srx_arm(s, 0, &told), 0, "and taken back");
	CHECK(st, st_srx_pass(s, 1, 3, s->rx[3]), "a message comes");
	CHECK(st, !st_srx_told(&told, ST_QUIET_MS), "nothing is told");
close:
	st_srx_close(s);
	kfree(s);
}

/* How many receives of a range have completed, each once and well. */
static unsigned int st_srx_count_once(struct st_shared *s, unsigned int n)
{
	unsigned int i, ok = 0;

	for (i = 0; i < n; i++)
		ok += s->rx[i]->count == 1 && !s->rx[i]->entry.err;
	return ok;
}

/* All wait; each receive lets one on. */
static noinline_for_stack void st_srx_exhausted(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int i, sent = 0, got = 0, early = 0;

	if (!s)
		return;
	if (!st_srx_bench(s, st, PAIRS, 0))
		goto close;
	for (i = 0; i < PAIRS; i++)
		sent += !st_srx_send(s, i, i, 8);
	CHECK_EQ(st, sent, PAIRS, "messages are sent that find no receive");
	for (i = 0; i < PAIRS; i++)
		early += !!st_srx_got(s, i, ST_QUIET_MS);
	CHECK_EQ(st, early, 0, "none of them arrives");
	CHECK_EQ(st, st_srx_post_range(s, 0, PAIRS - 1), PAIRS - 1,
		 "receives are posted for all but one");
	for (i = 0; i < TRIES && got < PAIRS - 1; i++)
		got += !!st_srx_got(s, i % PAIRS, ST_QUIET_MS);
	CHECK_EQ(st, st_srx_count_once(s, PAIRS - 1), PAIRS - 1,
		 "each of them is taken by one message");
	CHECK_EQ(st, st_srx_post(s, PAIRS - 1), 0, "the last one is posted");
	for (i = 0, sent = 0; i < PAIRS; i++)
		sent += !st_op_result(s->p[i].acq, s->tx[i], 0);
	CHECK_EQ(st, sent, PAIRS, "now all are sent");
	for (i = 0; i < PAIRS; i++)
		st_cq_drain(s->p[i].bcq, ST_QUIET_MS);
	CHECK_EQ(st, st_srx_count_once(s, PAIRS), PAIRS,
		 "and each receive has one message");
close:
	st_srx_close(s);
	kfree(s);
}

/* Who has waited too long ends, and what comes then is for those who still wait. */
static noinline_for_stack void st_srx_late(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int err;

	if (!s)
		return;
	if (!st_srx_bench(s, st, 1, SHORT_MS) ||
	    !CHECK_EQ(st, st_srx_connect(s, 1, 0), 0,
		      "a pair with more time shares the context"))
		goto close;
	CHECK_EQ(st, st_srx_send(s, 0, 0, 8), 0,
		 "a message is sent that is not received in time");
	err = st_op_result(s->p[0].acq, s->tx[0], 0);
	CHECKF(st, err == ENOBUFS || err == ETIMEDOUT, "it fails (got %d)",
	       err);
	CHECK_EQ(st, fi_close(&s->p[0].b->fid), 0, "its other end closes");
	s->p[0].b = NULL;
	CHECK_EQ(st, st_srx_send(s, 1, 1, 8), 0, "another one waits");
	CHECK_EQ(st, st_srx_post(s, 0), 0, "a receive is posted");
	CHECK(st, st_srx_got(s, 1, ST_WAIT_MS) == s->rx[0],
	      "it is for who still waits");
	st_op_wait(s->p[1].acq, s->tx[1]);
close:
	st_srx_close(s);
	kfree(s);
}

/* ---- ends --------------------------------------------------------------- */

/* A message that is longer than its receive, and others beside. */
static noinline_for_stack void st_srx_too_long(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return;
	if (!st_srx_bench(s, st, 2, 0))
		goto close;
	st_op_reset(s->rx[0]);
	CHECK_EQ(st,
		 fi_recv(s->srx, s->in, 8, NULL, FI_ADDR_UNSPEC,
			 &s->rx[0]->ctx),
		 0, "a short receive is posted");
	CHECK_EQ(st, st_srx_send(s, 0, 0, 100), 0, "a long message is sent");
	CHECK(st,
	      st_srx_got(s, 0, ST_WAIT_MS) == s->rx[0] &&
		      s->rx[0]->entry.err == FI_ETRUNC,
	      "the shared receive fails as truncated");
	st_op_wait(s->p[0].acq, s->tx[0]);
	CHECK_EQ(st, st_srx_post(s, 1), 0, "another receive is posted");
	CHECK(st, st_srx_pass(s, 1, 1, s->rx[1]), "another endpoint goes on");
close:
	st_srx_close(s);
	kfree(s);
}

/*
 * One connection ends in the middle of a message, from either side. The others go on,
 * and in the end each receive has completed once, in one of the queues.
 */
static void st_srx_one_dies(struct st_shared *s, bool passive)
{
	struct fid_ep **dies = passive ? &s->p[0].b : &s->p[0].a;
	unsigned int i, told = 0, canceled = 0;
	struct st *st = s->st;

	CHECK_EQ(st, st_srx_post_range(s, 0, RXS), RXS, "receives are posted");
	for (i = 0; i < 4; i++)
		st_srx_send(s, 0, i, BUF_BYTES);
	CHECK_EQ(st, fi_close(&(*dies)->fid), 0,
		 "an endpoint closes in the middle of its messages");
	*dies = NULL;
	for (i = 1; i < PAIRS; i++)
		told += !st_srx_send(s, i, 4 + i, 8) &&
			st_srx_got(s, i, ST_WAIT_MS) &&
			!st_op_result(s->p[i].acq, s->tx[4 + i], 0);
	CHECK_EQ(st, told, PAIRS - 1, "the others go on");
	if (!passive) {
		CHECK_EQ(st, fi_close(&s->p[0].b->fid), 0,
			 "its other end closes");
		s->p[0].b = NULL;
	}
	for (i = 0; i < PAIRS; i++) {
		if (s->p[i].b)
			fi_close(&s->p[i].b->fid);
		s->p[i].b = NULL;
		st_cq_drain(s->p[i].bcq, 0);
	}
	CHECK_EQ(st, fi_close(&s->srx->fid), 0, "the context closes");
	s->srx = NULL;
	st_cq_drain(s->cq, 0);
	for (i = 0, told = 0; i < RXS; i++) {
		told += s->rx[i]->count == 1;
		canceled += s->rx[i]->entry.err == ECANCELED;
	}
	CHECK_EQ(st, told, RXS, "each receive has completed exactly once");
	CHECKF(st, canceled >= RXS - 4 - (PAIRS - 1),
	       "those that no message took are canceled (%u)", canceled);
}

static noinline_for_stack void st_srx_dying(struct st *st, bool passive)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return;
	if (st_srx_bench(s, st, PAIRS, 0))
		st_srx_one_dies(s, passive);
	st_srx_close(s);
	kfree(s);
}

/* Messages of two pairs find no receive, though they look for one late. */
static bool st_srx_two_wait(struct st_shared *s)
{
	int i, ok = 0;

	for (i = 0; i < 2; i++)
		ok += !st_srx_send(s, i, i, 8) &&
		      !st_srx_got(s, i, 2 * LATE_MS);
	return CHECK_EQ(s->st, ok, 2, "two wait, one behind the other");
}

/* One of them closes. */
static noinline_for_stack void st_srx_left_one(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return;
	if (!st_srx_bench(s, st, 2, 0) || !st_srx_two_wait(s))
		goto close;
	CHECK_EQ(st, st_srx_post(s, 0), 0, "a receive is posted");
	CHECK_EQ(st, fi_close(&s->p[0].b->fid), 0,
		 "the first one closes before it has it");
	s->p[0].b = NULL;
	CHECK(st, !st_cq_drain(s->p[0].bcq, 0), "it was told of none");
	CHECK(st,
	      st_srx_got(s, 1, 5 * LATE_MS) == s->rx[0] &&
		      s->rx[0]->count == 1 && !s->rx[0]->entry.err,
	      "the second one has it");
	st_op_wait(s->p[1].acq, s->tx[1]);
close:
	st_srx_close(s);
	kfree(s);
}

/* Both close, one behind the other; a third one comes after that. */
static noinline_for_stack void st_srx_left_both(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int i, ok = 0;

	if (!s)
		return;
	if (!st_srx_bench(s, st, 3, 0) || !st_srx_two_wait(s))
		goto close;
	CHECK_EQ(st, st_srx_post(s, 0), 0, "a receive is posted");
	/* The second one comes for its own when the first one has closed. */
	msleep(LATE_MS / 2);
	CHECK_EQ(st, st_srx_post_range(s, 1, 3), 2, "and two more");
	for (i = 0; i < 2; i++) {
		ok += !fi_close(&s->p[i].b->fid);
		s->p[i].b = NULL;
		ok += !st_cq_drain(s->p[i].bcq, 0);
	}
	CHECK_EQ(st, ok, 4, "both end before they have one");
	for (i = 0, ok = 0; i < 3; i++)
		ok += st_srx_pass(s, 2, 2 + i, s->rx[i]);
	CHECK_EQ(st, ok, 3, "what was put aside is taken in order");
close:
	st_srx_close(s);
	kfree(s);
}

/*
 * Who is to have a receive that comes ends before it takes it: the case has those that
 * receive begin late (kfabric-srx-alloc).
 */
void st_test_srx_left(struct st *st)
{
	st_srx_left_one(st);
	st_srx_left_both(st);
	CHECK(st, st_settled(st), "nothing of the contexts is left");
}

/*
 * An endpoint closes, and its device goes, while its queue pair is being made: the case
 * has that wait (kfabric-srx-alloc).
 */
void st_test_srx_made(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	struct fi_info *info = fi_dupinfo(st->info);
	struct st_opts opts = {};
	struct st_pair *p;
	int ret;

	if (!s || !info)
		goto free;
	p = &s->p[0];
	ret = st_srx_open(s, st, NULL);
	opts.srx = s->srx;
	p->st = st;
	ret = ret ?: fi_eq_open(st->fabric, NULL, &p->eq, p);
	ret = ret ?: st_ep_open(p, info, true, &opts);
	ret = ret ?: fi_connect(p->b, NULL, NULL, 0);
	CHECK_EQ(st, ret, 0, "an endpoint that shares begins to connect");
	/* Its address is found meanwhile. */
	msleep(SHORT_MS);
	if (p->b)
		CHECK_EQ(st, fi_close(&p->b->fid), 0, "it closes");
	p->b = NULL;
	st_srx_close(s);
free:
	fi_freeinfo(info);
	kfree(s);
}

/* What the core and fi_close() owe a context whose device went away. */
static noinline_for_stack void st_srx_killed(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	struct fi_low_water low = {};

	if (!s)
		return;
	if (!CHECK_EQ(st, st_srx_open(s, st, NULL), 0, "a context opens"))
		goto close;
	CHECK_EQ(st, st_srx_post(s, 0), 0, "a receive is posted");
	kfi_obj_kill(&s->srx->fid);
	CHECK_EQ(st, st_srx_post(s, 1), -ENODEV,
		 "a dead context takes no receive");
	CHECK_EQ(st,
		 fi_setopt(&s->srx->fid, FI_OPT_ENDPOINT, FI_OPT_LOW_WATER,
			   &low, sizeof(low)),
		 -ENODEV, "nor an option");
	CHECK_EQ(st, fi_close(&s->srx->fid), 0, "a dead context closes");
	s->srx = NULL;
	CHECK_EQ(st, st_op_result(s->cq, s->rx[0], 0), ECANCELED,
		 "its receive is canceled");
close:
	st_srx_close(s);
	kfree(s);
}

/* A driver that frees its receives by itself wants to hear of none. */
static noinline_for_stack void st_srx_silent(struct st *st)
{
	struct st_op *op = st_op_new(st);
	u8 *mem = kzalloc(64, GFP_KERNEL);
	struct fid_ep *srx = NULL;

	if (CHECK(st,
		  op && mem && !fi_srx_context(st->target, NULL, &srx, NULL),
		  "a context opens that has no queue")) {
		CHECK_EQ(st,
			 fi_recv(srx, mem, 64, NULL, FI_ADDR_UNSPEC, &op->ctx),
			 0, "a receive is posted");
		CHECK_EQ(st, fi_close(&srx->fid), 0,
			 "it closes, and has nobody to tell");
	}
	kfree(mem);
	kfree(op);
}

void st_test_srx(struct st *st)
{
	if (!st_srx_offer(st))
		return;
	st_srx_order(st);
	st_srx_data(st);
	st_srx_low_water(st);
	/* Elsewhere nothing waits for the receives of the peer. */
	if (st_tells_of_peer(st)) {
		st_srx_exhausted(st);
		st_srx_late(st);
	}
	st_srx_too_long(st);
	st_srx_dying(st, false);
	st_srx_dying(st, true);
	st_srx_killed(st);
	st_srx_silent(st);
	st_srx_together(st, false);
	st_srx_together(st, true);
	CHECK(st, st_settled(st), "nothing of the contexts is left");
}
