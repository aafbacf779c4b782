// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: each order of operations that a provider says it keeps can be seen.
 *
 * The first operation of two is a long one, so that the second overtakes it if nothing
 * keeps it back; both are posted before either is looked at.
 */
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define ROUNDS 8
#define BIG    (192 * 1024)
#define OPS    16
#define FLAG   0xf1a9f1a9f1a9f1a9ULL
/* Of the peer's memory: what is written and read, what is received, a word alone. */
#define AT_RMA	0
#define AT_RECV BIG
#define AT_FLAG (2 * BIG)
#define AT_END	(AT_FLAG + PAGE_SIZE) /* devices may map no more than 1 MiB */

struct order_test {
	struct st *st;
	struct st_pair p;
	struct st_op *tx[OPS], *rx[OPS];
	u8 *local, *remote; /* an arena of each side */
	struct fid_mr *mr; /* of remote */
	/* What the upcall for a receive looks at, or does. */
	void (*received)(struct order_test *o);
	bool is_there;
	u8 seed;
	struct st_op *sent[OPS]; /* as the upcalls came */
	unsigned int nr_sent;
	unsigned int received_order[OPS], nr_received;
};

static void st_order_upcall(struct fid_cq *cq,
			    const struct fi_cq_err_entry *entry, void *context)
{
	struct order_test *o = context;
	struct st_op *op = st_op_of(entry->op_context);
	unsigned int i;

	op->entry = *entry;
	op->count++;
	if (cq == o->p.acq && o->nr_sent < OPS)
		o->sent[o->nr_sent++] = op;
	for (i = 0; cq == o->p.bcq && i < OPS; i++)
		if (o->rx[i] == op && o->nr_received < OPS)
			o->received_order[o->nr_received++] = i;
	if (cq == o->p.bcq && o->received && !entry->err)
		o->received(o);
	complete(&op->done);
}

static int st_order_end(struct st_op *op, ssize_t posted)
{
	if (posted)
		return posted;
	if (!wait_for_completion_timeout(&op->done,
					 msecs_to_jiffies(ST_WAIT_MS)))
		return -ETIME;
	return op->entry.err;
}

static bool st_order_open(struct order_test *o, struct st *st)
{
	struct fi_cq_attr cq = { .comp_handler = st_order_upcall };
	const struct st_opts opts = { .cq_attr = &cq, .cq_context = o };
	struct fi_buf buf;
	bool ok = true;
	int i, ret;

	o->st = st;
	o->local = alloc_pages_exact(ST_ARENA_LEN, GFP_KERNEL | __GFP_ZERO);
	o->remote = alloc_pages_exact(ST_ARENA_LEN, GFP_KERNEL | __GFP_ZERO);
	for (i = 0; i < OPS; i++) {
		o->tx[i] = st_op_new(st);
		o->rx[i] = st_op_new(st);
		ok = ok && o->tx[i] && o->rx[i];
	}
	if (!CHECK(st, ok && o->local && o->remote, "there is memory") ||
	    !CHECK_EQ(st, st_pair_open(&o->p, st, &opts), 0,
		      "a pair connects for orders"))
		return false;
	buf = fi_buf_linear(o->remote, AT_END);
	ret = st_mr_open(&o->p, &buf, FI_REMOTE_READ | FI_REMOTE_WRITE, &o->mr);
	return CHECK_EQ(st, ret, 0, "a region opens for orders");
}

static void st_order_close(struct order_test *o)
{
	int i;

	if (o->mr)
		fi_close(&o->mr->fid);
	st_pair_close(&o->p);
	for (i = 0; i < OPS; i++) {
		kfree(o->tx[i]);
		kfree(o->rx[i]);
	}
	if (o->local)
		free_pages_exact(o->local, ST_ARENA_LEN);
	if (o->remote)
		free_pages_exact(o->remote, ST_ARENA_LEN);
}

static ssize_t st_order_write(struct order_test *o, int i, size_t from,
			      size_t to, size_t len)
{
	st_op_reset(o->tx[i]);
	return fi_write(o->p.a, o->local + from, len, NULL, FI_ADDR_UNSPEC,
			st_mr_addr(o->mr, to), fi_mr_key(o->mr),
			&o->tx[i]->ctx);
}

static ssize_t st_order_read(struct order_test *o, int i, size_t to,
			     size_t from, size_t len)
{
	st_op_reset(o->tx[i]);
	return fi_read(o->p.a, o->local + to, len, NULL, FI_ADDR_UNSPEC,
		       st_mr_addr(o->mr, from), fi_mr_key(o->mr),
		       &o->tx[i]->ctx);
}

/* A message of @len bytes of local memory, into the receive at AT_RECV. */
static ssize_t st_order_send(struct order_test *o, int i, size_t from,
			     size_t len)
{
	ssize_t ret;

	st_op_reset(o->tx[i]);
	st_op_reset(o->rx[i]);
	ret = fi_recv(o->p.b, o->remote + AT_RECV, BIG, NULL, FI_ADDR_UNSPEC,
		      &o->rx[i]->ctx);
	return ret
		       ?: fi_send(o->p.a, o->local + from, len, NULL,
				  FI_ADDR_UNSPEC, &o->tx[i]->ctx);
}

/* ---- what is looked at when a message was received ------------------------------ */

static void st_order_look(struct order_test *o)
{
	o->is_there = st_holds(o->remote + AT_RMA, BIG, o->seed);
}

static void st_order_overwrite(struct order_test *o)
{
	st_fill(o->remote + AT_RMA, BIG, o->seed + 1);
}

/* ---- each of the orders; local memory has two halves ---------------------------- */

static bool st_order_raw(struct order_test *o)
{
	ssize_t first, next;

	st_fill(o->local, BIG, o->seed);
	first = st_order_write(o, 0, 0, AT_RMA, BIG);
	next = st_order_read(o, 1, BIG, AT_RMA, BIG);
	return !st_order_end(o->tx[0], first) &&
	       !st_order_end(o->tx[1], next) &&
	       st_holds(o->local + BIG, BIG, o->seed);
}

static bool st_order_war(struct order_test *o)
{
	ssize_t first, next;

	st_fill(o->remote + AT_RMA, BIG, o->seed);
	st_fill(o->local, BIG, o->seed + 1);
	first = st_order_read(o, 0, BIG, AT_RMA, BIG);
	next = st_order_write(o, 1, 0, AT_RMA, BIG);
	return !st_order_end(o->tx[0], first) &&
	       !st_order_end(o->tx[1], next) &&
	       st_holds(o->local + BIG, BIG, o->seed) &&
	       st_holds(o->remote + AT_RMA, BIG, o->seed + 1);
}

static bool st_order_waw(struct order_test *o)
{
	ssize_t first, next;

	st_fill(o->local, BIG, o->seed);
	st_fill(o->local + BIG, BIG, o->seed + 1);
	first = st_order_write(o, 0, 0, AT_RMA, BIG);
	next = st_order_write(o, 1, BIG, AT_RMA, BIG);
	return !st_order_end(o->tx[0], first) &&
	       !st_order_end(o->tx[1], next) &&
	       st_holds(o->remote + AT_RMA, BIG, o->seed + 1);
}

static bool st_order_saw(struct order_test *o)
{
	ssize_t first, next;

	o->received = st_order_look;
	st_fill(o->local, BIG, o->seed);
	first = st_order_write(o, 0, 0, AT_RMA, BIG);
	next = st_order_send(o, 1, 0, 8);
	return !st_order_end(o->tx[0], first) &&
	       !st_order_end(o->tx[1], next) && !st_order_end(o->rx[1], 0) &&
	       o->is_there;
}

static bool st_order_sar(struct order_test *o)
{
	ssize_t first, next;

	o->received = st_order_overwrite;
	st_fill(o->remote + AT_RMA, BIG, o->seed);
	first = st_order_read(o, 0, BIG, AT_RMA, BIG);
	next = st_order_send(o, 1, 0, 8);
	return !st_order_end(o->tx[0], first) &&
	       !st_order_end(o->tx[1], next) && !st_order_end(o->rx[1], 0) &&
	       st_holds(o->local + BIG, BIG, o->seed);
}

static bool st_order_was(struct order_test *o)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	u64 *flag = (u64 *)(o->remote + AT_FLAG);
	ssize_t first, next;
	bool is_there;

	WRITE_ONCE(*flag, 0);
	st_fill(o->local, BIG, o->seed);
	*(u64 *)(o->local + BIG) = FLAG;
	first = st_order_send(o, 0, 0, BIG);
	next = st_order_write(o, 1, BIG, AT_FLAG, sizeof(*flag));
	while (smp_load_acquire(flag) != FLAG && time_before(jiffies, end))
		cond_resched();
	is_there = st_holds(o->remote + AT_RECV, BIG, o->seed);
	return !st_order_end(o->tx[0], first) &&
	       !st_order_end(o->tx[1], next) && !st_order_end(o->rx[0], 0) &&
	       is_there;
}

static bool st_order_ras(struct order_test *o)
{
	ssize_t first, next;

	st_fill(o->local, BIG, o->seed);
	first = st_order_send(o, 0, 0, BIG);
	next = st_order_read(o, 1, BIG, AT_RECV, BIG);
	return !st_order_end(o->tx[0], first) &&
	       !st_order_end(o->tx[1], next) && !st_order_end(o->rx[0], 0) &&
	       st_holds(o->local + BIG, BIG, o->seed);
}

static bool st_order_sas(struct order_test *o)
{
	int i, ret = 0;

	for (i = 0; i < OPS; i++)
		ret = ret ?: st_order_send(o, i, 0, i % 2 ? 8 : BIG);
	for (i = 0; i < OPS; i++)
		ret = ret ?: st_order_end(o->tx[i], 0) ?: st_order_end(o->rx[i], 0);
	for (i = 0; i < OPS && !ret; i++)
		ret = o->received_order[i] != i ||
		      o->rx[i]->entry.len != (i % 2 ? 8 : BIG);
	return !ret && o->nr_received == OPS;
}

/* The owner of the memory counts in the word that is read twice. */
static int st_order_count(void *arg)
{
	u64 *word = arg;

	while (!kthread_should_stop()) {
		WRITE_ONCE(*word, *word + 1);
		cond_resched();
	}
	return 0;
}

static bool st_order_rar(struct order_test *o)
{
	const u64 *got = (u64 *)o->local;
	ssize_t first, next;
	struct task_struct *task =
		kthread_run(st_order_count, o->remote + AT_FLAG, "kfi-counter");
	bool ok;

	if (IS_ERR(task))
		return false;
	first = st_order_read(o, 0, 0, AT_FLAG, sizeof(u64));
	next = st_order_read(o, 1, sizeof(u64), AT_FLAG, sizeof(u64));
	ok = !st_order_end(o->tx[0], first) && !st_order_end(o->tx[1], next) &&
	     got[1] >= got[0];
	kthread_stop(task);
	return ok;
}

static const struct {
	u64 order;
	bool (*is_kept)(struct order_test *o);
	const char *what;
} st_orders[] = {
	{ FI_ORDER_RAR, st_order_rar,
	  "a read sees nothing older than one before" },
	{ FI_ORDER_RAW, st_order_raw, "a read sees what was written before" },
	{ FI_ORDER_RAS, st_order_ras, "a read sees what was sent before" },
	{ FI_ORDER_WAR, st_order_war,
	  "a read does not see what is written later" },
	{ FI_ORDER_WAW, st_order_waw, "of two writes the later one stays" },
	{ FI_ORDER_WAS, st_order_was,
	  "a written word is seen behind a message" },
	{ FI_ORDER_SAR, st_order_sar,
	  "a read does not see what a later message does" },
	{ FI_ORDER_SAW, st_order_saw, "a message is received behind a write" },
	{ FI_ORDER_SAS, st_order_sas,
	  "messages are received as they were sent" },
};

static void st_order_messages(struct st *st, struct order_test *o)
{
	u64 promised = st->info->tx_attr->msg_order;
	unsigned int i, round, kept;

	CHECK(st, promised == st->info->rx_attr->msg_order,
	      "both directions have the same orders");
	for (i = 0; i < ARRAY_SIZE(st_orders); i++) {
		if (!(promised & st_orders[i].order)) {
			st_tap_line("    # not promised: %s",
				    st_orders[i].what);
			continue;
		}
		for (round = kept = 0; round < ROUNDS; round++) {
			o->seed = 16 * i + 2 * round + 1;
			o->is_there = false;
			o->nr_received = 0;
			o->received = NULL;
			kept += st_orders[i].is_kept(o);
		}
		CHECK_EQ(st, kept, ROUNDS, st_orders[i].what);
	}
}

/* Of kinds of operations, long ones and short ones. */
static void st_order_completions(struct st *st, struct order_test *o)
{
	unsigned int i, ok = 0;
	ssize_t ret = 0;

	o->received = NULL;
	o->nr_sent = 0;
	for (i = 0; i < OPS && !ret; i++)
		if (i % 4 == 0)
			ret = st_order_write(o, i, 0, AT_RMA, BIG);
		else if (i % 4 == 1)
			ret = st_order_send(o, i, 0, 8);
		else if (i % 4 == 2)
			ret = st_order_read(o, i, BIG, AT_RECV, BIG);
		else
			ret = st_order_write(o, i, 0, AT_FLAG, 8);
	for (i = 0; i < OPS; i++)
		ret = ret ?: st_order_end(o->tx[i], 0);
	for (i = 0; i < OPS; i++)
		ok += o->sent[i] == o->tx[i];
	CHECKF(st, !ret && ok == OPS,
	       "completions come as was posted (%u of %u)", ok, OPS);
}

void st_test_order(struct st *st)
{
	struct order_test *o = kzalloc(sizeof(*o), GFP_KERNEL);

	if (!CHECK(st, o, "there is memory"))
		return;
	if (st_order_open(o, st)) {
		st_order_messages(st, o);
		if (st->info->tx_attr->comp_order & FI_ORDER_STRICT)
			st_order_completions(st, o);
	}
	st_order_close(o);
	kfree(o);
}
