// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: in which context completions of unconnected endpoints come: where the
 * queue wants them, and never within a post.
 */
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "../st.h"

#define PASSES	 20
#define SHORT_MS 1500 /* time-out of what nobody takes */
#define TRIES	 5 /* to find one that still waits */
#define FLOOD	 (ST_ROOM_OPS - 1) /* messages: more than a connection's buffers */

/* What the upcalls of a queue see, and take. */
struct st_place {
	spinlock_t lock;
	unsigned int count;
	unsigned int in_softirq;
	unsigned int in_worker;
};

static void st_place_upcall(struct fid_cq *cq,
			    const struct fi_cq_err_entry *entry, void *context)
{
	/* The queue's context is its node. */
	struct st_place *place = ((struct st_node *)context)->place;
	struct st_op *op = st_op_of(entry->op_context);
	unsigned long irq;

	spin_lock_irqsave(&place->lock, irq);
	place->count++;
	place->in_softirq += !!in_interrupt();
	place->in_worker += !in_interrupt() && current->flags & PF_WQ_WORKER;
	op->entry = *entry;
	op->count++;
	spin_unlock_irqrestore(&place->lock, irq);
	complete(&op->done);
}

static int st_place_open(struct st_node *n, struct st *st, u32 timeout_ms,
			 enum fi_cq_context where, struct st_place *place)
{
	struct fi_cq_attr attr = { .comp_handler = st_place_upcall,
				   .comp_context = where };
	int ret;

	spin_lock_init(&place->lock);
	ret = st_node_open_cq(n, st, 0, timeout_ms, &attr);
	n->place = place;
	return ret;
}

static bool st_place_wait(struct st_op *op)
{
	return wait_for_completion_timeout(&op->done,
					   msecs_to_jiffies(ST_WAIT_MS));
}

/* Who sends has time to do what a work would. */
static int st_place_send(struct st_node *a, struct st_op *op, const void *buf,
			 fi_addr_t to)
{
	const struct fi_msg msg = { .buf = fi_buf_linear((void *)buf, 100),
				    .addr = to,
				    .context = &op->ctx };
	int ret;

	st_op_reset(op);
	ret = fi_sendmsg(a->ep, &msg, FI_MORE);
	fi_submit_inline(a->ep);
	return ret;
}

/* Messages from a to b and b to a; how many came. */
static int st_place_talk(struct st_room *r, struct st_node *a,
			 struct st_node *b)
{
	fi_addr_t to_b = st_node_knows(a, b);
	int i, ok = 0, ret;

	for (i = 0; i < PASSES; i++) {
		ret = st_node_recv(b, r->rx[0], r->dst, ST_ROOM_BASE);
		ret = ret ?: st_place_send(a, r->tx[0], r->src, to_b);
		ok += !ret && st_place_wait(r->tx[0]) &&
		      st_place_wait(r->rx[0]) && !r->tx[0]->entry.err &&
		      !r->rx[0]->entry.err;
	}
	return ok;
}

/* How many were seen where they are wanted. */
static unsigned int st_place_right(const struct st_place *place,
				   enum fi_cq_context where)
{
	return where == FI_CQ_SOFTIRQ ? place->in_softirq : place->in_worker;
}

/* Where a, which sends, and b want them. */
static noinline_for_stack void st_place_is(struct st *st, struct st_room *r,
					   enum fi_cq_context where_a,
					   enum fi_cq_context where_b,
					   const char *what)
{
	struct st_place at_a = {}, at_b = {};
	struct st_node a = {}, b = {};

	if (CHECK_EQ(st, st_place_open(&a, st, 0, where_a, &at_a), 0,
		     "an endpoint with upcalls opens") &&
	    CHECK_EQ(st, st_place_open(&b, st, 0, where_b, &at_b), 0,
		     "so does its peer")) {
		CHECK_EQ(st, st_place_talk(r, &a, &b), PASSES,
			 "messages arrive");
		CHECK_EQ(st,
			 st_place_right(&at_a, where_a) +
				 st_place_right(&at_b, where_b),
			 at_a.count + at_b.count, what);
	}
	st_node_close(&a);
	st_node_close(&b);
}

/*
 * With a lock that upcalls take: the first send that waits is canceled, and another
 * one is posted. Neither completes before the lock is released. Return which one it
 * is.
 */
static int st_place_post_locked(struct st_room *r, struct st_node *a,
				struct st_place *place, fi_addr_t to_b)
{
	unsigned long irq;
	ssize_t ret;
	int i = 0;

	spin_lock_irqsave(&place->lock, irq);
	while (i < FLOOD && fi_cancel(&a->ep->fid, &r->tx[i]->ctx))
		i++;
	ret = st_node_send(a, r->tx[FLOOD], r->src, 10, to_b);
	spin_unlock_irqrestore(&place->lock, irq);
	return ret ?: i;
}

static noinline_for_stack void st_place_locked(struct st *st, struct st_room *r)
{
	struct st_place at_a = {}, at_b = {};
	struct st_node a = {}, b = {};
	int i, first = FLOOD, tries, ended = 0, ret = 0;
	fi_addr_t to_b;

	if (!CHECK_EQ(st, st_place_open(&a, st, 0, FI_CQ_SOFTIRQ, &at_a), 0,
		      "an endpoint with upcalls opens") ||
	    !CHECK_EQ(st, st_place_open(&b, st, 0, FI_CQ_SOFTIRQ, &at_b), 0,
		      "so does its peer"))
		goto out;
	CHECK_EQ(st, st_place_talk(r, &a, &b), PASSES, "messages arrive");
	to_b = st_node_knows(&a, &b);
	ret = st_node_limit(&a, SHORT_MS);
	/* On a machine with much to do all may have had their time before. */
	for (tries = 0; tries < TRIES && first == FLOOD && !ret; tries++) {
		for (i = 0; i < FLOOD; i++)
			ret = ret
				      ?: st_node_send(&a, r->tx[i], r->src,
						      ST_ROOM_BASE, to_b);
		first = ret ?: st_place_post_locked(r, &a, &at_a, to_b);
		for (i = 0; i <= FLOOD && first == FLOOD; i++)
			ret = st_place_wait(r->tx[i]) ? ret : -ETIME;
	}
	CHECK_EQ(st, ret, 0, "more is sent than a peer takes");
	if (!CHECKF(st, first >= 0 && first < FLOOD,
		    "one that waits (%d) is canceled, and another one posted, "
		    "under a lock that upcalls take",
		    first))
		goto out;
	for (i = 0; i <= FLOOD; i++)
		ended += st_place_wait(r->tx[i]) && r->tx[i]->count == 1;
	CHECK_EQ(st, ended, FLOOD + 1, "each ends, once");
	CHECK_EQ(st, r->tx[first]->entry.err, ECANCELED,
		 "the one that was canceled as such");
out:
	st_node_close(&a);
	st_node_close(&b);
}

void st_test_rdm_context(struct st *st)
{
	struct st_room r = {};

	if (st_room_open(&r, st)) {
		st_place_is(st, &r, FI_CQ_WORKQUEUE, FI_CQ_WORKQUEUE,
			    "completions come in a workqueue that wants them "
			    "there");
		st_place_is(st, &r, FI_CQ_SOFTIRQ, FI_CQ_SOFTIRQ,
			    "and as in a softirq where that is wanted");
		st_place_is(st, &r, FI_CQ_SOFTIRQ, FI_CQ_WORKQUEUE,
			    "and each where it is wanted");
		if (st_is_rdm_layer(st))
			st_place_locked(st, &r);
	}
	st_room_close(&r);
}
