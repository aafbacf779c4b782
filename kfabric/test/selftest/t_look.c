// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: queues that tell when to look, and several workers who look.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "st.h"

#define READERS	 3
#define MESSAGES 64
#define BYTES	 16

struct st_look;

struct st_reader {
	struct work_struct work;
	struct st_look *look;
};

struct st_look {
	struct st_pair p; /* messages pass when it is open */
	struct st_reader readers[READERS];
	struct st_op *ops[2 * MESSAGES];
	atomic_t calls;
	atomic_t in_softirq; /* of them */
	atomic_t taken;
};

static void st_look_ready(struct fid_cq *cq, void *context)
{
	struct st_look *look = context;
	int i;

	atomic_inc(&look->calls);
	if (in_interrupt())
		atomic_inc(&look->in_softirq);
	for (i = 0; i < READERS; i++)
		queue_work(system_unbound_wq, &look->readers[i].work);
}

static void st_look_run(struct work_struct *work)
{
	struct st_look *look = container_of(work, struct st_reader, work)->look;

	while (st_cq_take(look->p.acq, 0, NULL) == 1)
		atomic_inc(&look->taken);
	while (st_cq_take(look->p.bcq, 0, NULL) == 1)
		atomic_inc(&look->taken);
}

static bool st_look_wait(struct st_look *look)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);

	while (atomic_read(&look->taken) < 2 * MESSAGES &&
	       time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return atomic_read(&look->taken) == 2 * MESSAGES;
}

static void st_look_talk(struct st *st, struct st_look *look, u8 *bytes,
			 enum fi_cq_context where)
{
	int i, once = 0, ret = 0;

	for (i = 0; i < MESSAGES; i++)
		ret = ret
			      ?: fi_recv(look->p.b, bytes + BYTES, BYTES, NULL,
					 FI_ADDR_UNSPEC, &look->ops[i]->ctx);
	for (i = MESSAGES; i < 2 * MESSAGES; i++)
		ret = ret
			      ?: fi_send(look->p.a, bytes, BYTES, NULL,
					 FI_ADDR_UNSPEC, &look->ops[i]->ctx);
	CHECK_EQ(st, ret, 0, "messages are posted");
	CHECK(st, st_look_wait(look),
	      "those who are told to look take all completions");
	for (i = 0; i < 2 * MESSAGES; i++)
		once += look->ops[i]->count == 1 && !look->ops[i]->entry.err;
	CHECK_EQ(st, once, 2 * MESSAGES, "each is given to one of them");
	CHECKF(st,
	       atomic_read(&look->calls) > 0 &&
		       atomic_read(&look->in_softirq) ==
			       (where == FI_CQ_SOFTIRQ
					? atomic_read(&look->calls)
					: 0),
	       "they were told %d times, where the queues want it",
	       atomic_read(&look->calls));
}

static void st_look_each(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
			 void *context)
{
}

static void st_look_refused(struct st *st, struct fi_cq_attr attr)
{
	struct fid_cq *cq;

	attr.comp_handler = st_look_each;
	CHECK_EQ(st, fi_cq_open(st->domain, &attr, &cq, NULL), -EINVAL,
		 "a queue with both upcalls is refused");
}

static bool st_look_open(struct st_look *look, struct st *st,
			 struct fi_cq_attr *attr)
{
	struct st_opts opts = { .cq_attr = attr, .cq_context = look };
	bool ok = true;
	int i;

	for (i = 0; i < READERS; i++) {
		INIT_WORK(&look->readers[i].work, st_look_run);
		look->readers[i].look = look;
	}
	for (i = 0; i < 2 * MESSAGES; i++) {
		look->ops[i] = st_op_new(st);
		ok = ok && look->ops[i];
	}
	return CHECK(st, ok, "there is memory") &&
	       CHECK_EQ(st, st_pair_open(&look->p, st, &opts), 0,
			"a pair connects whose queues tell when to look");
}

/* When the endpoints are closed nobody is told to look any more. */
static void st_look_close(struct st_look *look)
{
	int i;

	if (look->p.a)
		fi_close(&look->p.a->fid);
	if (look->p.b)
		fi_close(&look->p.b->fid);
	look->p.a = look->p.b = NULL;
	for (i = 0; i < READERS; i++)
		cancel_work_sync(&look->readers[i].work);
	st_pair_close(&look->p);
}

static void st_look_where(struct st *st, enum fi_cq_context where)
{
	struct fi_cq_attr attr = { .ready_handler = st_look_ready,
				   .comp_context = where };
	struct st_look *look = kzalloc(sizeof(*look), GFP_KERNEL);
	u8 *bytes = kzalloc(2 * BYTES, GFP_KERNEL);
	int i;

	if (!look || !bytes)
		goto out;
	st_look_refused(st, attr);
	if (st_look_open(look, st, &attr))
		st_look_talk(st, look, bytes, where);
	st_look_close(look);
	for (i = 0; i < 2 * MESSAGES; i++)
		kfree(look->ops[i]);
out:
	kfree(look);
	kfree(bytes);
}

void st_test_look(struct st *st)
{
	st_look_where(st, FI_CQ_SOFTIRQ);
	st_look_where(st, FI_CQ_WORKQUEUE);
}
