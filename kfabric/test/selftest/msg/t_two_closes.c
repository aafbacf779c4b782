// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: both ends of a connection close at one time, while bytes of one are copied
 * into a receive of the other: neither close returns before that is over, and the receive
 * is told.
 *
 * The case kfabric-loop-closes holds who copies.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../st.h"

#define HELD_MS 1000 /* long enough for what does not wait */

struct two_closes {
	struct st *st;
	struct st_pair p;
	struct st_seg *src, *dst;
	struct st_op *tx, *rx;
};

/* Somebody who closes an endpoint. */
struct closer {
	struct fid_ep *ep;
	struct work_struct work;
	struct completion done;
	int ret;
};

static void st_two_closes_run(struct work_struct *work)
{
	struct closer *c = container_of(work, struct closer, work);

	c->ret = fi_close(&c->ep->fid);
	complete(&c->done);
}

static void st_two_closes_start(struct closer *c, struct fid_ep **ep)
{
	c->ep = *ep;
	*ep = NULL;
	init_completion(&c->done);
	INIT_WORK_ONSTACK(&c->work, st_two_closes_run);
	queue_work(system_unbound_wq, &c->work);
}

static bool st_two_closes_end(struct closer *c, unsigned int ms)
{
	return wait_for_completion_timeout(&c->done, msecs_to_jiffies(ms));
}

/* b's message is being copied into a's receive: b closes, and a when it may know. */
static void st_two_closes_meet(struct two_closes *t)
{
	struct st *st = t->st;
	struct kfid *receiver = &t->p.a->fid;
	struct closer of_b, of_a;
	struct st_event ev;

	/* Should it not wait, its memory stays for who copies. */
	kfi_obj_get(receiver);
	st_two_closes_start(&of_b, &t->p.b);
	st_event_wait(t->p.eq, &ev, HELD_MS);
	st_two_closes_start(&of_a, &t->p.a);
	CHECK(st, !st_two_closes_end(&of_a, HELD_MS),
	      "who receives waits for what is copied there, to close");
	CHECK(st, !completion_done(&of_b.done), "so does who sends");
	st_tap_line("    # now the copy may go on");
	flush_work(&of_a.work);
	flush_work(&of_b.work);
	destroy_work_on_stack(&of_a.work);
	destroy_work_on_stack(&of_b.work);
	kfi_obj_put(receiver);
	CHECK_EQ(st, of_a.ret ?: of_b.ret, 0, "then both close");
}

void st_test_two_closes(struct st *st)
{
	struct two_closes t = { .st = st,
				.src = st_seg_new(),
				.dst = st_seg_new(),
				.tx = st_op_new(st),
				.rx = st_op_new(st) };
	ssize_t ret;

	if (!CHECK(st, t.src && t.dst && t.tx && t.rx, "there is memory") ||
	    !CHECK_EQ(st, st_pair_open(&t.p, st, NULL), 0, "a pair connects"))
		goto close;
	st_fill(t.src->arena, ST_MAX_LEN, 7);
	ret = fi_recv(t.p.a, t.dst->arena, ST_MAX_LEN, NULL, 0, &t.rx->ctx);
	ret = ret
		      ?: fi_send(t.p.b, t.src->arena, ST_MAX_LEN, NULL, 0,
				 &t.tx->ctx);
	CHECK_EQ(st, ret, 0, "a message is on its way");
	st_tap_line("    # now the copy may be held");
	CHECK_EQ(st, ST_UNTIL(READ_ONCE(st_go)), 0, "it is being copied");
	st_two_closes_meet(&t);
	st_cq_drain(t.p.acq, ST_QUIET_MS);
	CHECK_EQ(st, t.rx->count, 1, "the receive is told once");
	CHECK(st, t.rx->entry.err || st_holds(t.dst->arena, ST_MAX_LEN, 7),
	      "it has all of the message, or an error");
close:
	st_pair_close(&t.p);
	st_seg_free(t.src);
	st_seg_free(t.dst);
	kfree(t.tx);
	kfree(t.rx);
}
