// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: full queues, selective completion, receives that do not come,
 * waiting for completions.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "../st.h"

#define SMALL_QUEUE 16
#define MANY	    4096 /* more than any queue holds */

/* What the space handler saw. */
struct room {
	atomic_t calls;
	struct completion come;
	u64 dir;
};

static void st_queue_on_space(struct fid_ep *ep, u64 dir, void *context)
{
	struct room *room = context;

	room->dir = dir;
	atomic_inc(&room->calls);
	complete(&room->come);
}

/* Post sends until the queue is full; gives their number. */
static unsigned int st_queue_fill_sends(struct st_pair *p, struct st_op **ops,
					u8 *byte, ssize_t *last)
{
	unsigned int n;

	for (n = 0; n < MANY; n++) {
		*last = fi_send(p->a, byte, 1, NULL, 0, &ops[n]->ctx);
		if (*last)
			break;
	}
	return n;
}

static unsigned int st_queue_count_once(struct st_op **ops, unsigned int n,
					int err)
{
	unsigned int i, ok = 0;

	for (i = 0; i < n; i++)
		ok += ops[i]->count == 1 && ops[i]->entry.err == err;
	return ok;
}

static void st_queue_drain_queue(struct st *st, struct st_pair *p,
				 struct st_op **ops, struct room *room, u8 *mem)
{
	struct st_op **rx = ops + MANY / 2;
	unsigned int i, n, got = 0;
	ssize_t last = 0;

	n = st_queue_fill_sends(p, ops, mem, &last);
	CHECK(st, n > 0 && n < MANY / 2, "a queue takes some operations");
	CHECK_EQ(st, last, -FI_EAGAIN, "then it is full");
	CHECK_EQ(st, atomic_read(&room->calls), 0,
		 "there is no room while nothing completes");
	for (i = 0; i < n; i++)
		got += !fi_recv(p->b, mem + 1, 1, NULL, 0, &rx[i]->ctx);
	CHECK_EQ(st, got, n, "the peer posts as many receives");
	CHECK(st,
	      wait_for_completion_timeout(&room->come,
					  msecs_to_jiffies(ST_WAIT_MS)),
	      "the space handler is called");
	CHECK_EQ(st, room->dir, FI_TRANSMIT, "it is told the direction");
	for (i = 0; i < n; i++)
		if (!st_op_wait(p->acq, ops[i]) || !st_op_wait(p->bcq, rx[i]))
			break;
	CHECK_EQ(st, st_queue_count_once(ops, n, 0), n,
		 "each operation completes exactly once");
	CHECK_EQ(st, st_queue_count_once(rx, n, 0), n,
		 "each receive completes exactly once");
	CHECK_EQ(st, st_cq_drain(p->acq, ST_QUIET_MS), 0,
		 "no completion is left over");
	CHECK_EQ(st, atomic_read(&room->calls), 1,
		 "the space handler is called once for one refusal");
	CHECK_EQ(st, fi_recv(p->b, mem, 1, NULL, 0, &rx[0]->ctx), 0,
		 "receives can be posted again");
	st_op_reset(ops[0]);
	CHECK_EQ(st,
		 st_op_result(p->acq, ops[0],
			      fi_send(p->a, mem, 1, NULL, 0, &ops[0]->ctx)),
		 0, "sends can be posted again");
}

static void st_queue_full(struct st *st)
{
	struct room room = { .calls = ATOMIC_INIT(0) };
	struct fi_space_handler space = { .fn = st_queue_on_space,
					  .context = &room };
	struct st_opts opts = { .tx_size = SMALL_QUEUE, .space = &space };
	struct st_op **ops = kvcalloc(MANY, sizeof(*ops), GFP_KERNEL);
	u8 *mem = kzalloc(64, GFP_KERNEL);
	unsigned int i, made = 0;
	struct st_pair p;

	init_completion(&room.come);
	for (i = 0; ops && i < MANY; i++)
		made += !!(ops[i] = st_op_new(st));
	if (CHECK_EQ(st, st_pair_open(&p, st, &opts), 0,
		     "a pair with short queues connects") &&
	    CHECK(st, mem && made == MANY, "there is memory for operations"))
		st_queue_drain_queue(st, &p, ops, &room, mem);
	st_pair_close(&p);
	for (i = 0; ops && i < MANY; i++)
		kfree(ops[i]);
	kvfree(ops);
	kfree(mem);
}

/* The other direction: as many receives as there is room for, and one more. */
static void st_queue_fill_receives(struct st *st, struct st_pair *p,
				   struct room *room)
{
	struct st_op **ops = kvcalloc(MANY, sizeof(*ops), GFP_KERNEL);
	struct st_op *tx = st_op_new(st);
	u8 *mem = kzalloc(64, GFP_KERNEL);
	unsigned int n;
	ssize_t ret = 0;

	for (n = 0; ops && n < MANY && !ret; n++) {
		ops[n] = st_op_new(st);
		ret = fi_recv(p->b, mem, 1, NULL, 0, &ops[n]->ctx);
	}
	CHECK_EQ(st, ret, -FI_EAGAIN, "a queue of receives is full in the end");
	CHECK_EQ(st, atomic_read(&room->calls), 0,
		 "there is no room while nothing arrives");
	CHECK_EQ(st,
		 st_op_result(p->acq, tx,
			      fi_send(p->a, mem + 1, 1, NULL, 0, &tx->ctx)),
		 0, "a message uses up a receive");
	CHECK(st,
	      wait_for_completion_timeout(&room->come,
					  msecs_to_jiffies(ST_WAIT_MS)),
	      "the space handler is called for receives too");
	CHECK_EQ(st, room->dir, FI_RECV, "it is told that direction");
	CHECK(st, n > 1 && st_op_wait(p->bcq, ops[0]), "the receive completes");
	CHECK_EQ(st, fi_recv(p->b, mem, 1, NULL, 0, &ops[n - 1]->ctx), 0,
		 "the refused receive can be posted now");
	st_pair_close(p);
	for (n = 0; ops && n < MANY; n++)
		kfree(ops[n]);
	kvfree(ops);
	kfree(tx);
	kfree(mem);
}

static void st_queue_full_receives(struct st *st)
{
	struct room room = { .calls = ATOMIC_INIT(0) };
	struct fi_space_handler space = { .fn = st_queue_on_space,
					  .context = &room };
	struct st_opts opts = { .space = &space };
	struct st_pair p;

	init_completion(&room.come);
	if (CHECK_EQ(st, st_pair_open(&p, st, &opts), 0,
		     "a pair connects for many receives"))
		st_queue_fill_receives(st, &p, &room);
	else
		st_pair_close(&p);
}

static void st_queue_selective(struct st *st)
{
	struct st_opts opts = { .tx_bind = FI_SELECTIVE_COMPLETION };
	struct st_op *op = st_op_new(st), *rx = st_op_new(st);
	struct st_op *loud = st_op_new(st), *rx2 = st_op_new(st);
	u8 *mem = kzalloc(64, GFP_KERNEL);
	struct st_pair p;
	struct fi_msg m;

	if (!CHECK_EQ(st, st_pair_open(&p, st, &opts), 0,
		      "a pair with selective completion connects"))
		goto close;
	m = (struct fi_msg){ .buf = fi_buf_linear(mem, 1),
			     .context = &op->ctx };
	fi_recv(p.b, mem + 8, 1, NULL, 0, &rx->ctx);
	fi_recv(p.b, mem + 9, 1, NULL, 0, &rx2->ctx);
	CHECK_EQ(st, fi_sendmsg(p.a, &m, 0), 0, "a quiet send is posted");
	CHECK_EQ(st, st_op_result(p.bcq, rx, 0), 0, "it arrives");
	m.context = &loud->ctx;
	CHECK_EQ(st,
		 st_op_result(p.acq, loud, fi_sendmsg(p.a, &m, FI_COMPLETION)),
		 0, "a send that asks for it completes");
	CHECK_EQ(st, op->count, 0, "the quiet one did not");
	CHECK_EQ(st, st_op_result(p.bcq, rx2, 0), 0,
		 "receives complete as ever");
	CHECK_EQ(st, fi_shutdown(p.b, 0), 0, "the peer shuts down");
close:
	st_pair_close(&p);
	kfree(op);
	kfree(rx);
	kfree(loud);
	kfree(rx2);
	kfree(mem);
}

/* The end of one side; the other may see it earlier. */
static bool st_queue_side_ends(struct st_pair *p, const struct kfid *fid)
{
	struct st_event ev;

	while (st_event_wait(p->eq, &ev, ST_WAIT_MS) >= 0)
		if (ev.event == FI_SHUTDOWN && ev.fid == fid)
			return true;
	return false;
}

/* How a send may end that nobody receives. */
static bool st_queue_is_unreceived(const struct st *st, int err)
{
	if (!st_tells_of_peer(st))
		return !err || err == ECANCELED;
	return err == ENOBUFS || err == ETIMEDOUT;
}

/* One behind it; it may be too late for it. */
static void st_queue_check_next(struct st *st, struct st_pair *p,
				struct st_op *next, ssize_t posted)
{
	int err = st_op_result(p->acq, next, posted);

	if (st_tells_of_peer(st))
		CHECKF(st, err == ECANCELED || err == ETIMEDOUT,
		       "the one behind it is canceled (got %d)", err);
	else
		CHECKF(st, !err || err == ECANCELED || err == -ENOTCONN,
		       "the one behind it ends too (got %d)", err);
}

/* Nobody receives: the sender must not wait for ever. */
static void st_queue_no_receive(struct st *st)
{
	struct st_opts opts = { .op_timeout_ms = 300 };
	struct st_op *op = st_op_new(st), *next = st_op_new(st);
	u8 *mem = kzalloc(64, GFP_KERNEL);
	struct st_pair p;
	ssize_t posted;
	int err;

	if (!CHECK_EQ(st, st_pair_open(&p, st, &opts), 0,
		      "a pair with a short time-out connects"))
		goto close;
	CHECK_EQ(st, fi_send(p.a, mem, 1, NULL, 0, &op->ctx), 0,
		 "a send that nobody receives is posted");
	posted = fi_send(p.a, mem, 1, NULL, 0, &next->ctx);
	err = st_op_result(p.acq, op, 0);
	CHECKF(st, st_queue_is_unreceived(st, err),
	       "it fails within the time-out, or is told at once (got %d)",
	       err);
	st_queue_check_next(st, &p, next, posted);
	CHECK(st, st_queue_side_ends(&p, &p.a->fid), "the connection ends");
	CHECK_EQ(st, fi_send(p.a, mem, 1, NULL, 0, &op->ctx), -ENOTCONN,
		 "after the end nothing can be sent");
	CHECK_EQ(st, fi_recv(p.a, mem, 1, NULL, 0, &op->ctx), -ENOTCONN,
		 "after the end nothing can be received");
close:
	st_pair_close(&p);
	kfree(op);
	kfree(next);
	kfree(mem);
}

/* A message that is longer than its receive. */
static void st_queue_truncated(struct st *st)
{
	struct st_op *tx = st_op_new(st), *rx = st_op_new(st);
	struct st_seg *seg = st_seg_new();
	struct st_pair p;
	int err;

	if (!CHECK_EQ(st, st_pair_open(&p, st, NULL), 0,
		      "a pair connects for a message that is too long"))
		goto close;
	CHECK_EQ(st, fi_recv(p.b, seg->arena, 10, NULL, 0, &rx->ctx), 0,
		 "a short receive is posted");
	CHECK_EQ(st, fi_send(p.a, seg->arena + 4096, 100, NULL, 0, &tx->ctx), 0,
		 "a long message is sent");
	CHECK_EQ(st, st_op_result(p.bcq, rx, 0), FI_ETRUNC,
		 "the receive fails as truncated");
	err = st_op_result(p.acq, tx, 0);
	CHECKF(st,
	       err == (st_tells_why(st) ? EREMOTEIO : ECANCELED) ||
		       (!st_tells_of_peer(st) && (!err || err == ECANCELED)),
	       "the send fails at the peer, or is told at once (got %d)", err);
	CHECK(st, st_clean(seg->arena + 10, 4096 - 10),
	      "nothing is written behind the receive");
close:
	st_pair_close(&p);
	kfree(tx);
	kfree(rx);
	st_seg_free(seg);
}

static int st_queue_signal_soon(void *arg)
{
	msleep(ST_QUIET_MS);
	fi_cq_signal(arg);
	return 0;
}

static void st_queue_wait(struct st *st)
{
	struct fi_cq_data_entry d;
	struct fi_cq_err_entry e;
	struct task_struct *task;
	unsigned long start;
	struct st_event ev;
	struct st_pair p;

	if (!CHECK_EQ(st, st_pair_open(&p, st, NULL), 0, "a quiet pair opens"))
		goto close;
	CHECK_EQ(st, fi_cq_read(p.acq, &d, 1), -FI_EAGAIN,
		 "an empty queue gives nothing");
	CHECK_EQ(st, fi_cq_readerr(p.acq, &e, 0), -FI_EAGAIN,
		 "an empty queue gives no error");
	CHECK_EQ(st, fi_cq_readerr(p.acq, &e, 1), -FI_EBADFLAGS,
		 "an unknown flag is refused by readerr");
	start = jiffies;
	CHECK_EQ(st, fi_cq_sread(p.acq, &d, 1, NULL, 50), -FI_EAGAIN,
		 "a wait on an empty queue ends");
	CHECK(st, time_after_eq(jiffies, start + msecs_to_jiffies(50) - 1),
	      "it lasts as long as asked");
	task = kthread_run(st_queue_signal_soon, p.acq, "kfabric-signal");
	start = jiffies;
	CHECK_EQ(st, fi_cq_sread(p.acq, &d, 1, NULL, ST_WAIT_MS), -FI_EAGAIN,
		 "a signal ends a wait");
	CHECK(st,
	      !IS_ERR(task) &&
		      time_before(jiffies,
				  start + msecs_to_jiffies(ST_WAIT_MS) / 2),
	      "long before its time");
	CHECK_EQ(st, st_event_wait(p.eq, &ev, 10), -FI_EAGAIN,
		 "an empty event queue gives nothing");
close:
	st_pair_close(&p);
}

void st_test_queue(struct st *st)
{
	/* Elsewhere nothing waits for the peer's receives. */
	if (st_tells_of_peer(st))
		st_queue_full(st);
	st_queue_full_receives(st);
	st_queue_selective(st);
	st_queue_no_receive(st);
	st_queue_truncated(st);
	st_queue_wait(st);
}
