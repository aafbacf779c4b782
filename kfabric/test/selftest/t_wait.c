// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: one wait object of the caller's for several queues and a counter.
 *
 * What the waiter waits for happens when it sleeps, so that it must be woken.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "st.h"

#define BYTES 16
#define ENDS  2 /* FI_SHUTDOWN of either endpoint */

struct st_wait {
	struct wait_queue_head *obj;
	struct st_pair p;
	struct fid_cntr *cntr;
	struct st_op *tx, *rx;
	u8 *bytes;
	unsigned int sent, received, ended;
	struct work_struct work;
	int (*act)(struct st_wait *w);
	int ret; /* of act() */
	bool slept;
};

static void st_wait_work(struct work_struct *work)
{
	struct st_wait *w = container_of(work, struct st_wait, work);
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);

	while (!wq_has_sleeper(w->obj) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	w->slept = wq_has_sleeper(w->obj);
	w->ret = w->act(w);
}

/* Who is not woken finds at the end of the time what it waits for, and 1 is left. */
static bool st_wait_is_woken(struct st_wait *w, int (*act)(struct st_wait *w),
			     bool (*is_there)(struct st_wait *w))
{
	long left;

	w->act = act;
	queue_work(system_unbound_wq, &w->work);
	left = wait_event_timeout(*w->obj, is_there(w),
				  msecs_to_jiffies(ST_WAIT_MS));
	flush_work(&w->work);
	return w->slept && !w->ret && left > 1;
}

/* ---- completion queues ------------------------------------------------------- */

static int st_wait_send(struct st_wait *w)
{
	return fi_send(w->p.a, w->bytes, BYTES, NULL, FI_ADDR_UNSPEC,
		       &w->tx->ctx);
}

static bool st_wait_both_done(struct st_wait *w)
{
	struct fi_cq_data_entry entry;

	w->sent += fi_cq_read(w->p.acq, &entry, 1) == 1;
	w->received += fi_cq_read(w->p.bcq, &entry, 1) == 1;
	return w->sent && w->received;
}

static int st_wait_signal(struct st_wait *w)
{
	return fi_cq_signal(w->p.acq);
}

static void st_wait_queues(struct st *st, struct st_wait *w)
{
	struct fi_cq_data_entry entry;
	unsigned long half;
	ssize_t ret;

	ret = fi_recv(w->p.b, w->bytes + BYTES, BYTES, NULL, FI_ADDR_UNSPEC,
		      &w->rx->ctx);
	CHECK_EQ(st, ret, 0, "a receive is posted");
	CHECK(st, st_wait_is_woken(w, st_wait_send, st_wait_both_done),
	      "who waits for both queues by one object is woken by either");
	CHECK(st, w->sent == 1 && w->received == 1,
	      "and finds each completion once");
	w->act = st_wait_signal;
	queue_work(system_unbound_wq, &w->work);
	half = jiffies + msecs_to_jiffies(ST_WAIT_MS / 2);
	ret = fi_cq_sread(w->p.acq, &entry, 1, NULL, ST_WAIT_MS);
	flush_work(&w->work);
	CHECK(st, ret == -FI_EAGAIN && w->slept && time_before(jiffies, half),
	      "who reads one of the queues waits by the object, too");
}

/* ---- counters and events ----------------------------------------------------- */

static int st_wait_add(struct st_wait *w)
{
	return fi_cntr_add(w->cntr, 1);
}

static bool st_wait_counted(struct st_wait *w)
{
	return fi_cntr_read(w->cntr) == 1;
}

static int st_wait_shutdown(struct st_wait *w)
{
	return fi_shutdown(w->p.a, 0);
}

static bool st_wait_ended(struct st_wait *w)
{
	struct {
		struct fi_eq_cm_entry entry;
		u8 data[FI_CM_DATA_MAX];
	} ev;
	u32 event;

	while (fi_eq_read(w->p.eq, &event, &ev, sizeof(ev), 0) > 0)
		w->ended += event == FI_SHUTDOWN;
	return w->ended == ENDS;
}

static void st_wait_others(struct st *st, struct st_wait *w)
{
	CHECK(st, st_wait_is_woken(w, st_wait_add, st_wait_counted),
	      "so is who waits for a counter by it");
	CHECK(st, st_wait_is_woken(w, st_wait_shutdown, st_wait_ended),
	      "and who waits for events of endpoints");
}

/* ---- all of it ---------------------------------------------------------------- */

static void st_wait_upcall(struct fid_cq *cq,
			   const struct fi_cq_err_entry *entry, void *context)
{
}

static bool st_wait_open(struct st *st, struct st_wait *w)
{
	struct fi_cq_attr cq = { .wait_obj = w->obj };
	struct fi_eq_attr eq = { .wait_obj = w->obj };
	struct fi_cntr_attr cntr = { .wait_obj = w->obj };
	const struct st_opts opts = { .cq_attr = &cq, .eq_attr = &eq };
	struct fi_cq_attr both = { .wait_obj = w->obj,
				   .comp_handler = st_wait_upcall };
	struct fid_cq *none;

	CHECK_EQ(st, fi_cq_open(st->domain, &both, &none, NULL), -EINVAL,
		 "a queue with an upcall and a wait object is refused");
	return CHECK_EQ(st, fi_cntr_open(st->domain, &cntr, &w->cntr, NULL), 0,
			"a counter with a wait object opens") &&
	       CHECK_EQ(st, st_pair_open(&w->p, st, &opts), 0,
			"a pair connects whose queues have it, too");
}

void st_test_wait(struct st *st)
{
	struct st_wait *w = kzalloc(sizeof(*w), GFP_KERNEL);

	if (!CHECK(st, w, "there is memory"))
		return;
	w->obj = kmalloc(sizeof(*w->obj), GFP_KERNEL);
	w->tx = st_op_new(st);
	w->rx = st_op_new(st);
	w->bytes = kzalloc(2 * BYTES, GFP_KERNEL);
	INIT_WORK(&w->work, st_wait_work);
	if (CHECK(st, w->obj && w->tx && w->rx && w->bytes,
		  "there is memory for the object")) {
		init_waitqueue_head(w->obj);
		if (st_wait_open(st, w)) {
			st_wait_queues(st, w);
			st_wait_others(st, w);
		}
		st_pair_close(&w->p);
		if (w->cntr)
			fi_close(&w->cntr->fid);
	}
	/* Nobody touches it any more. */
	kfree(w->obj);
	kfree(w->bytes);
	kfree(w->rx);
	kfree(w->tx);
	kfree(w);
}
