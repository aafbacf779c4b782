// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: counters: of connected endpoints and of others, also of operations that no
 * queue tells of.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "st.h"

#define QUIET	 5 /* operations of a kind that no queue tells of */
#define INJECTS	 2
#define MESSAGES (QUIET + INJECTS)
#define WANTED	 2 /* receives that nothing comes for */
#define SOON_MS	 20
#define TRIES	 100
#define BYTES	 64

/* Those of the test that are of the endpoint's domain. */
int st_cntr_bind(const struct st *st, struct fid_ep *ep)
{
	int ret = 0;

	if (st->tx_cntr && st->tx_cntr->domain == ep->domain)
		ret = fi_ep_bind(ep, &st->tx_cntr->fid,
				 FI_SEND | FI_READ | FI_WRITE);
	if (!ret && st->rx_cntr && st->rx_cntr->domain == ep->domain)
		ret = fi_ep_bind(ep, &st->rx_cntr->fid, FI_RECV);
	return ret;
}

/* ---- by themselves ------------------------------------------------------------ */

struct st_late {
	struct delayed_work work;
	struct fid_cntr *cntr;
};

static void st_late_fail(struct work_struct *work)
{
	fi_cntr_adderr(container_of(work, struct st_late, work.work)->cntr, 1);
}

static void st_cntr_waits(struct st *st, struct fid_cntr *c)
{
	struct st_late late = { .cntr = c };
	u64 is = fi_cntr_read(c);
	int ret, tries = 0;

	CHECK_EQ(st, fi_cntr_wait(c, is, -1), 0,
		 "who waits for as many as there are does not wait");
	CHECK_EQ(st, fi_cntr_wait(c, is + 1, SOON_MS), -ETIMEDOUT,
		 "who waits for more is told of the time");
	INIT_DELAYED_WORK_ONSTACK(&late.work, st_late_fail);
	/* On a busy machine the failure may come before the wait. */
	do {
		schedule_delayed_work(&late.work, msecs_to_jiffies(SOON_MS));
		ret = fi_cntr_wait(c, is + 1, 10 * SOON_MS);
		flush_delayed_work(&late.work);
	} while (ret == -ETIMEDOUT && ++tries < TRIES);
	CHECK_EQ(st, ret, -FI_EAVAIL, "or of a failure that comes meanwhile");
	destroy_delayed_work_on_stack(&late.work);
	CHECK_EQ(st, fi_cntr_wait(c, is + 1, SOON_MS), -ETIMEDOUT,
		 "but not of those before");
	fi_cntr_add(c, 3);
	CHECK_EQ(st, fi_cntr_read(c), is + 3, "it is added to");
	fi_cntr_set(c, is);
	fi_cntr_seterr(c, 0);
	CHECK(st, fi_cntr_read(c) == is && !fi_cntr_readerr(c), "it is set");
}

static void st_cntr_refused(struct st *st)
{
	struct fi_cntr_attr attr = { .flags = 1 };
	struct fid_cntr *c;

	CHECK_EQ(st, fi_cntr_open(st->domain, &attr, &c, NULL), -FI_EBADFLAGS,
		 "a flag that there is not is refused");
	attr = (struct fi_cntr_attr){ .events = FI_CNTR_EVENTS_COMP + 1 };
	CHECK_EQ(st, fi_cntr_open(st->domain, &attr, &c, NULL), -EINVAL,
		 "so are events that are not counted");
}

/* Of an endpoint that is not enabled, and has no counter. */
static void st_cntr_bindings(struct st *st, struct fid_ep *ep,
			     struct fid_cntr *c, struct fid_cntr *other)
{
	CHECK_EQ(st, fi_ep_bind(ep, &c->fid, 0), -FI_EBADFLAGS,
		 "a counter of nothing does not bind");
	CHECK_EQ(st, fi_ep_bind(ep, &c->fid, FI_SEND | FI_FENCE), -FI_EBADFLAGS,
		 "nor one of what is no operation");
	CHECK_EQ(st, fi_ep_bind(ep, &c->fid, FI_REMOTE_WRITE), -EOPNOTSUPP,
		 "nor one of the peer's operations");
	CHECK_EQ(st, fi_ep_bind(ep, &other->fid, FI_SEND), -FI_EDOMAIN,
		 "nor one of another domain");
	CHECK_EQ(st, fi_ep_bind(ep, &c->fid, FI_SEND | FI_RECV), 0,
		 "one of two kinds binds");
	CHECK_EQ(st, fi_ep_bind(ep, &c->fid, FI_RECV | FI_WRITE), -EBUSY,
		 "there is one of each kind");
	CHECK_EQ(st, fi_ep_bind(ep, &c->fid, FI_WRITE), 0,
		 "a third kind is added");
	CHECK_EQ(st, fi_close(&c->fid), -EBUSY,
		 "a counter that is bound does not close");
}

static void st_cntr_alone(struct st *st)
{
	struct fid_cntr *c = NULL, *other = NULL;
	struct fid_ep *ep = NULL;
	int ret;

	st_cntr_refused(st);
	ret = fi_cntr_open(st->domain, NULL, &c, NULL);
	ret = ret ?: fi_cntr_open(st->target, NULL, &other, NULL);
	ret = ret ?: fi_endpoint(st->domain, st->info, &ep, NULL);
	if (CHECK_EQ(st, ret, 0, "counters open, and an endpoint")) {
		st_cntr_bindings(st, ep, c, other);
		st_cntr_waits(st, c);
	}
	if (ep)
		fi_close(&ep->fid);
	if (c)
		CHECK_EQ(st, fi_close(&c->fid), 0, "a counter closes");
	if (other)
		fi_close(&other->fid);
}

/* Those of the next endpoints. */
static bool st_cntr_open(struct st *st, struct fid_domain *rx_domain)
{
	int ret = fi_cntr_open(st->domain, NULL, &st->tx_cntr, NULL);

	ret = ret ?: fi_cntr_open(rx_domain, NULL, &st->rx_cntr, NULL);
	return CHECK_EQ(st, ret, 0, "counters open");
}

static void st_cntr_close(struct st *st)
{
	bool ok = true;

	if (st->tx_cntr)
		ok = !fi_close(&st->tx_cntr->fid);
	if (st->rx_cntr)
		ok = !fi_close(&st->rx_cntr->fid) && ok;
	CHECK(st, ok, "counters close");
	st->tx_cntr = NULL;
	st->rx_cntr = NULL;
}

static bool st_cntr_fails(struct fid_cntr *c, u64 want)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);

	while (fi_cntr_readerr(c) < want && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return fi_cntr_readerr(c) == want;
}

/* ---- connected endpoints -------------------------------------------------------- */

static int st_cntr_messages(struct st_pair *p, struct st_op **ops, u8 *src,
			    u8 *dst)
{
	int i, ret = 0;

	for (i = 0; i < MESSAGES + WANTED; i++)
		ret = ret
			      ?: fi_recv(p->b, dst, BYTES, NULL, FI_ADDR_UNSPEC,
					 &ops[i]->ctx);
	for (i = 0; i < QUIET; i++)
		ret = ret
			      ?: fi_send(p->a, src, BYTES, NULL, FI_ADDR_UNSPEC,
					 &ops[MESSAGES + WANTED + i]->ctx);
	for (i = 0; i < INJECTS; i++)
		ret = ret ?: fi_inject(p->a, src, 8, FI_ADDR_UNSPEC);
	return ret;
}

static int st_cntr_rma(struct st_pair *p, struct st_op **ops, u8 *src,
		       struct fid_mr *mr)
{
	int i, ret = 0;

	for (i = 0; i < QUIET; i++) {
		ret = ret
			      ?: fi_write(p->a, src, BYTES, NULL,
					  FI_ADDR_UNSPEC, st_mr_addr(mr, 0),
					  fi_mr_key(mr), &ops[2 * i]->ctx);
		ret = ret
			      ?: fi_read(p->a, src, BYTES, NULL, FI_ADDR_UNSPEC,
					 st_mr_addr(mr, 0), fi_mr_key(mr),
					 &ops[2 * i + 1]->ctx);
	}
	return ret;
}

static void st_cntr_pair(struct st *st, struct st_pair *p, struct st_op **ops,
			 u8 *src, u8 *dst)
{
	struct fi_buf buf = fi_buf_linear(dst, BYTES);
	struct fid_cntr *tx = st->tx_cntr, *rx = st->rx_cntr;
	struct fid_mr *mr;
	int ret;

	ret = st_cntr_messages(p, ops, src, dst);
	CHECK_EQ(st, ret ?: fi_cntr_wait(tx, MESSAGES, ST_WAIT_MS), 0,
		 "sends are counted that no queue tells of");
	CHECK_EQ(st, fi_cntr_wait(rx, MESSAGES, ST_WAIT_MS), 0,
		 "so are receives");
	CHECK_EQ(st, fi_cntr_read(tx), MESSAGES, "each once");
	ret = st_mr_open(p, &buf, FI_REMOTE_READ | FI_REMOTE_WRITE, &mr);
	if (CHECK_EQ(st, ret, 0, "a region is registered")) {
		ret = st_cntr_rma(p, ops + MESSAGES + WANTED, src, mr);
		CHECK_EQ(st,
			 ret
				 ?: fi_cntr_wait(tx, MESSAGES + 2 * QUIET,
						 ST_WAIT_MS),
			 0, "so are reads and writes");
		CHECK_EQ(st, fi_cntr_read(tx), MESSAGES + 2 * QUIET,
			 "each once");
		fi_close(&mr->fid);
	}
	CHECK_EQ(st, fi_cntr_readerr(tx) + fi_cntr_readerr(rx), 0,
		 "none has failed");
	fi_shutdown(p->a, 0);
	CHECK(st, st_cntr_fails(rx, WANTED),
	      "receives that fail are counted as such");
	CHECK_EQ(st, fi_cntr_read(rx), MESSAGES, "and not as done");
	CHECK_EQ(st, st_cq_drain(p->acq, 0), 0,
		 "no queue has told of a success");
}

void st_test_cntr(struct st *st)
{
	const int count = MESSAGES + WANTED + 2 * QUIET;
	struct st_opts opts = { .tx_bind = FI_SELECTIVE_COMPLETION };
	struct st_op **ops = kcalloc(count, sizeof(*ops), GFP_KERNEL);
	u8 *src = kzalloc(BYTES, GFP_KERNEL);
	u8 *dst = kzalloc(PAGE_SIZE, GFP_KERNEL);
	struct st_pair p = {};
	bool ok = true;
	int i;

	st_cntr_alone(st);
	for (i = 0; ops && i < count; i++) {
		ops[i] = st_op_new(st);
		ok = ok && ops[i];
	}
	if (CHECK(st, ops && src && dst && ok, "there is memory") &&
	    st_cntr_open(st, st->target)) {
		if (CHECK_EQ(st, st_pair_open(&p, st, &opts), 0,
			     "a pair connects whose endpoints have counters"))
			st_cntr_pair(st, &p, ops, src, dst);
		st_pair_close(&p);
	}
	st_cntr_close(st);
	for (i = 0; ops && i < count; i++)
		kfree(ops[i]);
	kfree(ops);
	kfree(src);
	kfree(dst);
}

/* ---- unconnected ones ------------------------------------------------------------ */

static void st_cntr_duo(struct st *st, struct st_duo *d)
{
	struct fid_cntr *tx = st->tx_cntr, *rx = st->rx_cntr;
	int i, ret = 0;

	for (i = 0; i < MESSAGES + WANTED; i++)
		ret = ret ?: st_node_recv(&d->b, d->r.rx[i], d->r.dst, BYTES);
	for (i = 0; i < QUIET; i++)
		ret = ret
			      ?: st_node_send(&d->a, d->r.tx[i], d->r.src,
					      BYTES, d->to_b);
	for (i = 0; i < INJECTS; i++)
		ret = ret ?: fi_inject(d->a.ep, d->r.src, 8, d->to_b);
	CHECK_EQ(st, ret ?: fi_cntr_wait(tx, MESSAGES, ST_WAIT_MS), 0,
		 "sends are counted");
	CHECK_EQ(st, fi_cntr_wait(rx, MESSAGES, ST_WAIT_MS), 0,
		 "so are receives");
	for (i = 0; i < WANTED; i++)
		ret = ret
			      ?: fi_cancel(&d->b.ep->fid,
					   &d->r.rx[MESSAGES + i]->ctx);
	CHECK_EQ(st, ret, 0, "receives are canceled");
	CHECK(st, fi_cntr_read(tx) == MESSAGES && fi_cntr_read(rx) == MESSAGES,
	      "each was counted once");
	CHECK(st, st_cntr_fails(rx, WANTED), "these are counted as failed");
}

void st_test_rdm_cntr(struct st *st)
{
	struct st_duo *d = kzalloc(sizeof(*d), GFP_KERNEL);

	st_cntr_alone(st);
	if (CHECK(st, d, "there is memory") && st_cntr_open(st, st->domain)) {
		if (st_duo_open(d, st))
			st_cntr_duo(st, d);
		st_duo_close(d);
	}
	st_cntr_close(st);
	kfree(d);
}
