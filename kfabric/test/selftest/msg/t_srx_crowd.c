// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: a shared receive context under several senders at one time: each message is
 * received once, those of one sender in their order, and the receive is posted again by
 * who got the message: a thread that reads its queue, or an upcall.
 *
 * Locking: a worker's fields are its thread's, or its upcalls', which come one after the
 * other. What all of them do is post to the context.
 */
#include <linux/atomic.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "st_srx.h"

#define WORKERS	  4
#define MESSAGES  60 /* of each */
#define RECEIVES  12
#define WINDOW	  4 /* messages of a sender under way, where they may wait */
#define RX_STRIDE 64

struct st_srx_message {
	u32 worker;
	u32 number;
};

struct st_srx_crowd;

struct st_srx_worker {
	struct st_srx_crowd *crowd;
	u32 index;
	struct st_pair p;
	struct st_op *tx[WINDOW];
	struct st_srx_message *out;
	u32 got;
	int err; /* the first that was wrong */
	atomic_t inside; /* upcalls */
	struct completion ended;
	struct completion all_got;
};

/* Operations are in the order of their buffers. */
struct st_srx_crowd {
	struct st *st;
	struct fid_cq *cq;
	struct fid_ep *srx;
	struct st_op *rx[RECEIVES];
	u8 *in;
	atomic_t posts;
	atomic_t completions;
	struct st_srx_worker w[WORKERS];
};

static int st_crowd_post(struct st_srx_crowd *c, struct st_op *op, u8 *buf)
{
	int ret =
		fi_recv(c->srx, buf, RX_STRIDE, NULL, FI_ADDR_UNSPEC, &op->ctx);

	if (!ret)
		atomic_inc(&c->posts);
	return ret;
}

/* Where an operation's message is; NULL: it is none of these operations. */
static u8 *st_crowd_buf(struct st_srx_crowd *c, const struct st_op *op)
{
	unsigned int i;

	for (i = 0; i < RECEIVES; i++)
		if (c->rx[i] == op)
			return c->in + i * RX_STRIDE;
	return NULL;
}

/* A receive of a worker's endpoint is over. */
static void st_crowd_got(struct st_srx_worker *w, struct st_op *op,
			 const struct fi_cq_err_entry *entry)
{
	u8 *buf = st_crowd_buf(w->crowd, op);
	struct st_srx_message m;
	int err;

	atomic_inc(&w->crowd->completions);
	if (!buf || entry->err || entry->len != sizeof(m)) {
		err = entry->err ?: -EPROTO;
	} else {
		memcpy(&m, buf, sizeof(m));
		err = m.worker != w->index || m.number != w->got ? -EBADMSG : 0;
		err = err ?: st_crowd_post(w->crowd, op, buf);
	}
	w->err = w->err ?: err;
	if (++w->got == MESSAGES || w->err)
		complete(&w->all_got);
}

static void st_crowd_upcall(struct fid_cq *cq,
			    const struct fi_cq_err_entry *entry, void *context)
{
	struct st_srx_worker *w = context;

	if (atomic_inc_return(&w->inside) != 1)
		w->err = -EBUSY;
	st_crowd_got(w, st_op_of(entry->op_context), entry);
	atomic_dec(&w->inside);
}

/* Read what there is; some may come within the time. */
static void st_crowd_read(struct st_srx_worker *w, int timeout_ms)
{
	void *context;
	struct st_op *op;

	while (st_cq_take(w->p.bcq, timeout_ms, &context) == 1) {
		op = st_op_of(context);
		st_crowd_got(w, op, &op->entry);
		timeout_ms = 0;
	}
}

/* Elsewhere a message that finds no receive ends the connection. */
static u32 st_crowd_window(const struct st *st)
{
	return st_tells_of_peer(st) ? WINDOW : 1;
}

static int st_crowd_send(struct st_srx_worker *w, u32 n, bool reads)
{
	const u32 window = st_crowd_window(w->crowd->st);
	struct st_op *op = w->tx[n % window];
	int ret = 0;

	/* Until the one before it in this place is done. */
	while (n >= window && !op->count && !ret) {
		if (reads)
			st_crowd_read(w, 0);
		if (st_cq_take(w->p.acq, 10, NULL) < -FI_EAGAIN)
			ret = -ETIME;
	}
	if (n >= window && op->entry.err)
		return op->entry.err;
	st_op_reset(op);
	w->out[n] = (struct st_srx_message){ .worker = w->index, .number = n };
	return ret
		       ?: fi_send(w->p.a, &w->out[n], sizeof(w->out[n]), NULL,
				  FI_ADDR_UNSPEC, &op->ctx);
}

static int st_crowd_work(void *arg)
{
	struct st_srx_worker *w = arg;
	bool reads = !w->p.bcq->attr.comp_handler;
	int ret = 0;
	u32 n;

	for (n = 0; n < MESSAGES && !ret && !READ_ONCE(w->err); n++) {
		ret = st_crowd_send(w, n, reads);
		/* One at a time: the receive must be there again. */
		while (!ret && st_crowd_window(w->crowd->st) == 1 &&
		       READ_ONCE(w->got) <= n && !READ_ONCE(w->err)) {
			if (reads)
				st_crowd_read(w, 10);
			cond_resched();
		}
	}
	while (reads && !ret && w->got < MESSAGES && !w->err)
		st_crowd_read(w, 10);
	if (ret) {
		WRITE_ONCE(w->err, w->err ?: ret);
		complete(&w->all_got);
	}
	complete(&w->ended);
	return 0;
}

/* ---- set-up ------------------------------------------------------------- */

static int st_crowd_open_worker(struct st_srx_crowd *c, u32 i, bool upcalls)
{
	struct st_srx_worker *w = &c->w[i];
	struct fi_cq_attr attr = { .comp_handler = st_crowd_upcall };
	struct st_opts opts = { .srx = c->srx };
	int j;

	w->crowd = c;
	w->index = i;
	init_completion(&w->ended);
	init_completion(&w->all_got);
	if (upcalls) {
		opts.passive_cq_attr = &attr;
		opts.cq_context = w;
	}
	w->out = kcalloc(MESSAGES, sizeof(*w->out), GFP_KERNEL);
	if (!w->out)
		return -ENOMEM;
	for (j = 0; j < WINDOW; j++) {
		w->tx[j] = st_op_new(c->st);
		if (!w->tx[j])
			return -ENOMEM;
	}
	return st_pair_open(&w->p, c->st, &opts);
}

static int st_crowd_open(struct st_srx_crowd *c, struct st *st, bool upcalls)
{
	u32 i;
	int ret;

	c->st = st;
	c->in = kcalloc(RECEIVES, RX_STRIDE, GFP_KERNEL);
	if (!c->in)
		return -ENOMEM;
	ret = fi_cq_open(st->target, NULL, &c->cq, NULL);
	ret = ret ?: fi_srx_context(st->target, NULL, &c->srx, NULL);
	ret = ret ?: fi_ep_bind(c->srx, &c->cq->fid, FI_RECV);
	for (i = 0; i < RECEIVES && !ret; i++) {
		c->rx[i] = st_op_new(st);
		ret = c->rx[i] ? st_crowd_post(c, c->rx[i],
					       c->in + i * RX_STRIDE)
			       : -ENOMEM;
	}
	for (i = 0; i < WORKERS && !ret; i++)
		ret = st_crowd_open_worker(c, i, upcalls);
	return ret;
}

static void st_crowd_close(struct st_srx_crowd *c)
{
	u32 i, j;

	for (i = 0; i < WORKERS; i++) {
		if (c->w[i].p.st)
			st_pair_close(&c->w[i].p);
		for (j = 0; j < WINDOW; j++)
			kfree(c->w[i].tx[j]);
		kfree(c->w[i].out);
	}
	if (c->srx)
		fi_close(&c->srx->fid);
	if (c->cq) {
		CHECK_EQ(c->st, st_cq_drain(c->cq, 0),
			 atomic_read(&c->posts) - atomic_read(&c->completions),
			 "what was posted and not taken is canceled");
		fi_close(&c->cq->fid);
	}
	for (i = 0; i < RECEIVES; i++)
		kfree(c->rx[i]);
	kfree(c->in);
}

static void st_crowd_run(struct st_srx_crowd *c)
{
	const unsigned long limit = msecs_to_jiffies(ST_WAIT_MS);
	struct st *st = c->st;
	u32 i, started = 0, ok = 0;
	int err = 0;

	for (i = 0; i < WORKERS; i++)
		started += !IS_ERR(
			kthread_run(st_crowd_work, &c->w[i], "kfi-crowd"));
	CHECK_EQ(st, started, WORKERS, "senders run");
	for (i = 0; i < started; i++)
		wait_for_completion(&c->w[i].ended);
	for (i = 0; i < started; i++) {
		ok += wait_for_completion_timeout(&c->w[i].all_got, limit) &&
		      !c->w[i].err && c->w[i].got == MESSAGES;
		err = err ?: c->w[i].err;
	}
	CHECKF(st, ok == WORKERS,
	       "each message comes once and in order (%u of %u, got %d)", ok,
	       WORKERS, err);
	CHECK_EQ(st, atomic_read(&c->completions), WORKERS * MESSAGES,
		 "there is a completion for each");
}

void st_srx_together(struct st *st, bool upcalls)
{
	struct st_srx_crowd *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int ret;

	if (!c)
		return;
	ret = st_crowd_open(c, st, upcalls);
	if (CHECKF(st, !ret, "senders share a context, %s (got %d)",
		   upcalls ? "upcalls post to it" : "threads post to it", ret))
		st_crowd_run(c);
	st_crowd_close(c);
	kfree(c);
}
