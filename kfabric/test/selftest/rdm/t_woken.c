// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: unconnected endpoints of one host, of which whoever runs the sender runs the
 * receiver: while he is held up between the two, and while the receiver looks for what
 * is not there. The case kfabric-rds-races holds him up.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "../st.h"

#define MEANWHILE 3 /* messages that come while a sender is held up */
#define CANCELS	  20
#define SLEEP_MS  10 /* a fraction of that for which the receiver is held up */

/* ---- who sends is held up ---------------------------------------------------- */

struct woken_sender {
	struct st_duo *d;
	bool returned;
	int ret;
};

/* It is the engine itself: no other thread is woken. */
static int st_woken_send(void *arg)
{
	struct woken_sender *s = arg;
	struct st_op *op = s->d->r.tx[0];
	const struct fi_msg msg = { .buf = fi_buf_linear(s->d->r.src, 10),
				    .addr = s->d->to_b,
				    .context = &op->ctx };

	st_op_reset(op);
	s->ret = fi_sendmsg(s->d->a.ep, &msg, FI_MORE);
	fi_submit_inline(s->d->a.ep);
	WRITE_ONCE(s->returned, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/*
 * A message arrives although its sender does not come to run the receiver, whose engine
 * was handed off to it; and so do others behind it, when the work has helped once.
 */
static noinline_for_stack void st_woken_late(struct st *st, struct st_duo *d)
{
	struct woken_sender s = { .d = d };
	struct st_op *rx = d->r.rx[0];
	struct st_room other = d->r;
	struct task_struct *task;
	int i, ret;

	/* The first ones of the room are under way. */
	swap(other.tx[0], other.tx[1]);
	swap(other.rx[0], other.rx[1]);
	CHECK_EQ(st, st_node_recv(&d->b, rx, d->r.dst, ST_ROOM_BASE), 0,
		 "a receive is posted");
	task = kthread_run(st_woken_send, &s, "kfi-sender");
	if (!CHECK(st, !IS_ERR(task), "somebody sends"))
		return;
	ret = st_op_result(d->b.cq, rx, 0);
	CHECK_EQ(st, ret, 0, "the message arrives");
	for (i = 0; i < MEANWHILE && !ret; i++)
		ret = st_pass(&other, &d->a, &d->b, d->to_b, 100);
	CHECK_EQ(st, ret, 0, "and others do behind it");
	CHECK(st, !READ_ONCE(s.returned), "before its sender is done");
	st_tap_line("    # the sender may go on");
	kthread_stop(task);
	if (CHECK_EQ(st, st_op_result(d->a.cq, d->r.tx[0], s.ret), 0,
		     "it is sent") &&
	    !ret)
		CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 100), 0,
			 "another one arrives");
}

void st_test_woken_late(struct st *st)
{
	struct st_duo d = {};

	if (st_duo_open(&d, st) &&
	    CHECK_EQ(st, st_pass(&d.r, &d.a, &d.b, d.to_b, 10), 0,
		     "a message arrives"))
		st_woken_late(st, &d);
	st_duo_close(&d);
}

/* ---- what is looked for is canceled -------------------------------------------- */

/*
 * b sends, so that it is woken, and looks into its socket with a receive that is canceled
 * meanwhile. Return how that ended; *met: it was being looked for.
 */
static int st_woken_cancel(struct st_duo *d, bool *met)
{
	struct st_op *tx = d->r.tx[1], *at_a = d->r.rx[1], *at_b = d->r.rx[0];
	int ret, end;

	ret = st_node_recv(&d->b, at_b, d->r.dst, ST_ROOM_BASE);
	ret = ret ?: st_node_recv(&d->a, at_a, d->r.dst, ST_ROOM_BASE);
	ret = ret ?: st_node_send(&d->b, tx, d->r.src, 10, d->to_a);
	if (ret)
		return ret;
	msleep(SLEEP_MS);
	*met = fi_cancel(&d->b.ep->fid, &at_b->ctx) == -ENOENT;
	end = st_op_result(d->b.cq, at_b, 0);
	ret = st_op_result(d->b.cq, tx, 0);
	return st_op_result(d->a.cq, at_a, ret) ?: end;
}

void st_test_woken_cancel(struct st *st)
{
	int i = 0, ret = ECANCELED, met = 0;
	struct st_duo d = {};
	bool is_met;

	if (st_duo_open(&d, st) &&
	    CHECK_EQ(st, st_pass(&d.r, &d.a, &d.b, d.to_b, 10), 0,
		     "a message arrives")) {
		for (; i < CANCELS && ret == ECANCELED; i++) {
			ret = st_woken_cancel(&d, &is_met);
			met += is_met;
		}
		CHECKF(st, met, "%d of %d receives are looked for", met, i);
		if (CHECK_EQ(st, ret, ECANCELED, "each is canceled"))
			CHECK_EQ(st, st_pass(&d.r, &d.a, &d.b, d.to_b, 10), 0,
				 "another message arrives");
	}
	st_duo_close(&d);
}
