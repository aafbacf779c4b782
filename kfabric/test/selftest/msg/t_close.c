// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: the end of a connection, from either side, with work under way.
 */
#include <linux/slab.h>

#include "../st.h"

#define FENCE_ROUNDS 5 /* a race must be met */
#define DEPTH	     12
#define LEN	     65536
/* Long enough to be under way when the region closes, and no whole MiB. */
#define LONG_LEN (ST_MAX_LEN - 4096)

/* A pair with receives posted on both sides and writes under way. */
struct load {
	struct st_pair p;
	struct st_op *rx_a[DEPTH];
	struct st_op *rx_b[DEPTH];
	struct st_op *tx[DEPTH];
	struct st_seg *local;
	struct st_seg *remote;
	struct fid_mr *mr;
	unsigned int posted;
};

static bool st_close_load_open(struct load *l, struct st *st, size_t len)
{
	struct fi_buf buf;
	unsigned int i;
	int ret;

	l->local = st_seg_new();
	l->remote = st_seg_new();
	ret = st_pair_open(&l->p, st, NULL);
	if (!CHECK_EQ(st, ret, 0, "a pair connects that will end"))
		return false;
	buf = fi_buf_linear(l->remote->arena, LONG_LEN);
	ret = st_mr_open(&l->p, &buf, FI_REMOTE_READ | FI_REMOTE_WRITE, &l->mr);
	for (i = 0; i < DEPTH && !ret; i++) {
		l->rx_a[i] = st_op_new(st);
		l->rx_b[i] = st_op_new(st);
		l->tx[i] = st_op_new(st);
		ret = fi_recv(l->p.a, l->local->arena + i, 1, NULL, 0,
			      &l->rx_a[i]->ctx);
		ret = ret
			      ?: fi_recv(l->p.b, l->remote->arena + i, 1, NULL,
					 0, &l->rx_b[i]->ctx);
	}
	for (i = 0; i < DEPTH && !ret; i++) {
		ret = fi_write(l->p.a, l->local->arena, len, NULL, 0,
			       st_mr_addr(l->mr, 0), fi_mr_key(l->mr),
			       &l->tx[i]->ctx);
		l->posted += !ret;
	}
	return CHECK_EQ(st, ret, 0, "receives and writes are posted");
}

static void st_close_load_close(struct load *l)
{
	unsigned int i;

	if (l->mr)
		fi_close(&l->mr->fid);
	st_pair_close(&l->p);
	for (i = 0; i < DEPTH; i++) {
		kfree(l->rx_a[i]);
		kfree(l->rx_b[i]);
		kfree(l->tx[i]);
	}
	st_seg_free(l->local);
	st_seg_free(l->remote);
}

static unsigned int st_close_count_once(struct st_op **ops, bool must_fail)
{
	unsigned int i, ok = 0;

	for (i = 0; i < DEPTH; i++)
		ok += ops[i]->count == 1 &&
		      (!must_fail || ops[i]->entry.err == ECANCELED);
	return ok;
}

/* Take what comes; both directions share the queue. */
static void st_close_collect_all(struct fid_cq *cq, struct st_op **ops)
{
	unsigned int i;

	for (i = 0; i < DEPTH; i++)
		if (!st_op_wait(cq, ops[i]))
			return;
}

static unsigned int st_close_count_shutdowns(struct fid_eq *eq,
					     const struct kfid *fid,
					     int first_ms)
{
	unsigned int n = 0;
	struct st_event ev;

	while (st_event_wait(eq, &ev, n ? ST_QUIET_MS : first_ms) >= 0)
		n += ev.event == FI_SHUTDOWN && ev.fid == fid;
	return n;
}

/* The peer closes its endpoint in the middle of our writes. */
static void st_close_peer_closes(struct st *st)
{
	struct load l = {};

	if (!st_close_load_open(&l, st, LEN))
		goto close;
	if (st->target->mr_mode & FI_MR_ENDPOINT) {
		CHECK_EQ(st, fi_close(&l.mr->fid), 0, "the region closes");
		l.mr = NULL;
	}
	CHECK_EQ(st, fi_close(&l.p.b->fid), 0, "the peer closes its endpoint");
	l.p.b = NULL;
	st_close_collect_all(l.p.acq, l.tx);
	st_close_collect_all(l.p.acq, l.rx_a);
	st_close_collect_all(l.p.bcq, l.rx_b);
	CHECK_EQ(st, st_close_count_once(l.tx, false), DEPTH,
		 "each write completes exactly once");
	CHECK_EQ(st, st_close_count_once(l.rx_a, true), DEPTH,
		 "each receive is canceled exactly once");
	CHECK_EQ(st, st_close_count_once(l.rx_b, true), DEPTH,
		 "so is each receive of the peer, readable after its close");
	CHECK_EQ(st, st_cq_drain(l.p.acq, ST_QUIET_MS), 0,
		 "nothing completes twice");
	CHECK_EQ(st, st_close_count_shutdowns(l.p.eq, &l.p.a->fid, ST_WAIT_MS),
		 1, "the connection ends once");
	CHECK_EQ(st, fi_ep_state(l.p.a), KFI_EP_SHUTDOWN,
		 "the endpoint is shut down");
	CHECK_EQ(st,
		 fi_recv(l.p.a, l.local->arena, 1, NULL, 0, &l.rx_a[0]->ctx),
		 -ENOTCONN, "no receive can be posted any more");
close:
	st_close_load_close(&l);
}

/* We close our own. */
static void st_close_self_closes(struct st *st)
{
	struct load l = {};

	if (!st_close_load_open(&l, st, LEN))
		goto close;
	CHECK_EQ(st, fi_close(&l.p.a->fid), 0, "a busy endpoint closes");
	l.p.a = NULL;
	st_close_collect_all(l.p.acq, l.tx);
	st_close_collect_all(l.p.acq, l.rx_a);
	CHECK_EQ(st, st_close_count_once(l.tx, false), DEPTH,
		 "each write completed exactly once");
	CHECK_EQ(st, st_close_count_once(l.rx_a, true), DEPTH,
		 "each receive was canceled exactly once");
	CHECK_EQ(st, st_cq_drain(l.p.acq, ST_QUIET_MS), 0,
		 "nothing comes after the close");
	st_close_collect_all(l.p.bcq, l.rx_b);
	CHECK_EQ(st, st_close_count_once(l.rx_b, true), DEPTH,
		 "the peer's receives are canceled");
	CHECK_EQ(st, st_close_count_shutdowns(l.p.eq, &l.p.b->fid, ST_WAIT_MS),
		 1, "the peer sees the end once");
close:
	st_close_load_close(&l);
}

/* An orderly end. */
static void st_close_shutdown(struct st *st)
{
	struct st_event ev;
	struct load l = {};
	unsigned int a = 0, b = 0;

	if (!st_close_load_open(&l, st, LEN))
		goto close;
	st_close_collect_all(l.p.acq, l.tx);
	CHECK_EQ(st, fi_shutdown(l.p.a, 1), -FI_EBADFLAGS,
		 "an unknown flag is refused by shutdown");
	CHECK_EQ(st, fi_shutdown(l.p.a, 0), 0, "an endpoint is shut down");
	while (a + b < 2 && st_event_wait(l.p.eq, &ev, ST_WAIT_MS) >= 0) {
		a += ev.fid == &l.p.a->fid && ev.event == FI_SHUTDOWN;
		b += ev.fid == &l.p.b->fid && ev.event == FI_SHUTDOWN;
	}
	CHECK(st, a == 1 && b == 1, "both sides see the end once");
	CHECK_EQ(st, fi_shutdown(l.p.a, 0), -ENOTCONN,
		 "a second time there is nothing to shut down");
	st_close_collect_all(l.p.acq, l.rx_a);
	st_close_collect_all(l.p.bcq, l.rx_b);
	CHECK_EQ(st, st_close_count_once(l.rx_a, true), DEPTH,
		 "its receives are canceled");
	CHECK_EQ(st, st_close_count_once(l.rx_b, true), DEPTH,
		 "the peer's receives are canceled too");
close:
	st_close_load_close(&l);
}

/* What the core and fi_close() owe an endpoint whose device went away. */
static void st_close_killed(struct st *st)
{
	struct load l = {};

	if (!st_close_load_open(&l, st, LEN))
		goto close;
	st_close_collect_all(l.p.acq, l.tx);
	kfi_obj_kill(&l.p.a->fid);
	kfi_obj_kill(&l.p.a->fid);
	CHECK_EQ(st, st_close_count_shutdowns(l.p.eq, &l.p.a->fid, ST_WAIT_MS),
		 1, "an endpoint that dies tells it once");
	CHECK_EQ(st, fi_recv(l.p.a, l.local->arena, 1, NULL, 0, &l.tx[0]->ctx),
		 -ENODEV, "a dead endpoint takes no receive");
	CHECK_EQ(st, fi_shutdown(l.p.a, 0), -ENODEV,
		 "a dead endpoint is not shut down");
	CHECK_EQ(st, fi_close(&l.p.a->fid), 0, "a dead endpoint closes");
	l.p.a = NULL;
	st_close_collect_all(l.p.acq, l.rx_a);
	CHECK_EQ(st, st_close_count_once(l.rx_a, true), DEPTH,
		 "each receive of it is canceled exactly once");
	CHECK_EQ(st, st_cq_drain(l.p.acq, ST_QUIET_MS), 0,
		 "nothing else completes");
	CHECK_EQ(st, st_close_count_shutdowns(l.p.eq, &l.p.b->fid, ST_WAIT_MS),
		 1, "its peer sees the end once");
close:
	st_close_load_close(&l);
}

/* Completions that nobody reads go with the queue. */
static void st_close_unread(struct st *st)
{
	struct load l = {};

	if (st_close_load_open(&l, st, LEN)) {
		CHECK_EQ(st, fi_close(&l.p.a->fid), 0,
			 "an endpoint closes with completions unread");
		l.p.a = NULL;
		CHECK_EQ(st, fi_close(&l.p.acq->fid), 0,
			 "a queue closes with completions unread");
		l.p.acq = NULL;
	}
	st_close_load_close(&l);
}

/*
 * Closing the region in the middle of writes is a fence. The first write is
 * done, others are under way; whatever one of them still places, it places
 * the end of the region last.
 */
static void st_close_fence(struct st *st)
{
	struct load l = {};
	u8 *tail;
	int ret;

	if (!st_close_load_open(&l, st, LONG_LEN) ||
	    !st_op_wait(l.p.acq, l.tx[0]))
		goto close;
	tail = l.remote->arena + LONG_LEN - LEN;
	ret = fi_close(&l.mr->fid);
	l.mr = NULL;
	memset(tail, 0x11, LEN);
	CHECK_EQ(st, ret, 0, "a region closes under writes");
	st_close_collect_all(l.p.acq, l.tx);
	CHECK(st, !memchr_inv(tail, 0x11, LEN),
	      "no byte lands after its close has returned");
	CHECK_EQ(st, st_close_count_once(l.tx, false), DEPTH,
		 "the writes complete, well or not");
close:
	st_close_load_close(&l);
}

void st_test_close(struct st *st)
{
	unsigned int i;

	st_close_peer_closes(st);
	st_close_self_closes(st);
	st_close_shutdown(st);
	st_close_killed(st);
	st_close_unread(st);
	for (i = 0; i < FENCE_ROUNDS; i++)
		st_close_fence(st);
}
