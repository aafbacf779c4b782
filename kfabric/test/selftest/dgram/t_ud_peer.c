// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: datagrams of verbs: peers that are gone, that many are asked beside, that
 * are to be asked again, that have more to send than a port carried; and queue pairs
 * that fail.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm_ib.h>

#include <kfabric/fi_verbs.h>

#include "../st.h"

#define SMALL_QUEUE 16
#define MOST_SLOTS  1000 /* of injects: no endpoint has so many */
#define AGAIN_MS    100 /* between messages to who may be gone */
#define ABSENT	    70 /* hosts: more than are asked at one time */
#define ASKED_MS    120000 /* a question's time: longer than the test's */
#define STRAY_BYTES 100 /* of the last message that somebody else sends */
#define LONG_BYTES  2000 /* of one that a port carries when its MTU is raised */

/* ---- who is not there ------------------------------------------------------------ */

/* Inject one after the other until there is no room; nobody reads. Returns how many. */
static int st_ud_inject_all(struct st *st, struct st_node *a, fi_addr_t nobody)
{
	u8 bytes[8] = {};
	int n = 0, ret = 0;

	while (!ret && n < MOST_SLOTS) {
		ret = fi_inject(a->ep, bytes, sizeof(bytes), nobody);
		if (ret)
			break;
		n++;
		ret = ST_UNTIL(fi_cntr_readerr(st->tx_cntr) == n);
	}
	CHECK_EQ(st, ret, -FI_EAGAIN,
		 "injects that fail keep their room until that is read");
	return n;
}

/* Their completions are in the queue, all of them, and each once. */
static void st_ud_inject_nobody(struct st *st, struct st_node *a,
				fi_addr_t nobody)
{
	struct fi_cq_err_entry e = {};
	struct fi_cq_tagged_entry d;
	u8 bytes[8] = {};
	int n = st_ud_inject_all(st, a, nobody), i, ok = 0;

	for (i = 0; i < n; i++)
		ok += fi_cq_readerr(a->cq, &e, 0) == 1 &&
		      e.err == FI_EHOSTUNREACH && !e.op_context;
	CHECKF(st, n > 1 && ok == n, "%d of %d have failed for nobody is there",
	       ok, n);
	CHECK_EQ(st, fi_cq_read(a->cq, &d, 1), -FI_EAGAIN, "each once");
	CHECK_EQ(st, fi_inject(a->ep, bytes, sizeof(bytes), nobody), 0,
		 "then there is room again");
	CHECK_EQ(st, st_cq_take(a->cq, ST_WAIT_MS, NULL), 1, "this one, too");
}

static noinline_for_stack void st_ud_inject(struct st *st)
{
	struct fi_cntr_attr attr = {};
	struct st_node a = {}, b = {};
	fi_addr_t nobody;

	if (!CHECK_EQ(st, fi_cntr_open(st->domain, &attr, &st->tx_cntr, st), 0,
		      "a counter opens"))
		return;
	st->queue_size = SMALL_QUEUE;
	if (st_two_open(st, &a, &b, 0)) {
		nobody = st_node_knows(&a, &b);
		st_node_close(&b);
		st_ud_inject_nobody(st, &a, nobody);
	}
	st->queue_size = 0;
	st_node_close(&a);
	st_node_close(&b);
	fi_close(&st->tx_cntr->fid);
	st->tx_cntr = NULL;
}

/* Send until one does not go; its error, with what it ended, or -ETIME. */
static int st_ud_until_lost(struct st_duo *d)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int ret;

	do {
		ret = st_node_send(&d->a, d->r.tx[1], d->r.src, 10, d->to_b);
		ret = st_op_result(d->a.cq, d->r.tx[1], ret);
		if (ret)
			return ret;
		schedule_timeout_uninterruptible(msecs_to_jiffies(AGAIN_MS));
	} while (time_before(jiffies, end));
	return -ETIME;
}

static noinline_for_stack void st_ud_gone(struct st *st, struct st_duo *d)
{
	struct st_op *tx = d->r.tx[1];

	CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 10), 0,
		 "a message arrives at a peer");
	st_node_close(&d->b);
	CHECK_EQ(st, st_ud_until_lost(d), EHOSTUNREACH,
		 "when it has closed messages end so, after a while");
	CHECK_EQ(st, tx->entry.prov_errno, -ECONNREFUSED,
		 "as its host says that nobody has the port");
}

static noinline_for_stack void st_ud_fence(struct st *st, struct st_duo *d)
{
	struct fi_msg msg = { .buf = fi_buf_linear(d->r.src, 10),
			      .addr = d->to_b,
			      .context = &d->r.tx[0]->ctx };

	CHECK_EQ(st, fi_sendmsg(d->a.ep, &msg, FI_FENCE), -EOPNOTSUPP,
		 "nothing waits for datagrams that were posted before");
}

/* ---- queue pairs that fail ------------------------------------------------------- */

/* What a user of the queue pair must not do is as if the device did it. */
static int st_ud_moves(struct fid_ep *ep, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state,
				   .port_num = 1,
				   .qkey = RDMA_UDP_QKEY };
	const int mask = IB_QP_STATE |
			 (state == IB_QPS_INIT
				  ? IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY
				  : 0);
	const struct fi_verbs_ops_ep *ops;
	struct fi_verbs_ep objects;
	int ret;

	ret = fi_open_ops(&ep->fid, FI_VERBS_EP_OPS, 0, (void **)&ops, NULL);
	ret = ret ?: ops->get(ep, &objects);
	if (ret)
		return ret;
	ret = objects.qp->device->ops.modify_qp(objects.qp, &attr, mask, NULL);
	ops->put(ep);
	return ret;
}

/* A queue pair that is new again takes no sends, and says nothing of itself. */
static noinline_for_stack void st_ud_mute(struct st *st, struct st_duo *d)
{
	struct st_op *tx = d->r.tx[1];
	int ret;

	CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 10), 0,
		 "a message arrives");
	ret = st_ud_moves(d->a.ep, IB_QPS_RESET);
	CHECK_EQ(st, ret ?: st_ud_moves(d->a.ep, IB_QPS_INIT), 0,
		 "a queue pair takes nothing any more");
	ret = st_node_send(&d->a, tx, d->r.src, 10, d->to_b);
	CHECK(st, st_op_result(d->a.cq, tx, ret),
	      "a message that it refuses ends");
	CHECK_EQ(st, ST_UNTIL(fi_ep_state(d->a.ep) == KFI_EP_DEAD), 0,
		 "the endpoint is dead then");
	CHECK_EQ(st, st_node_send(&d->a, tx, d->r.src, 10, d->to_b), -ENODEV,
		 "and says so");
}

static void st_ud_with_duo(struct st *st,
			   void (*run)(struct st *st, struct st_duo *d))
{
	struct st_duo *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return;
	if (st_duo_open(d, st))
		run(st, d);
	st_duo_close(d);
	kfree(d);
}

void st_test_ud(struct st *st)
{
	if (!st_is_ud(st))
		return;
	st_ud_inject(st);
	st_ud_with_duo(st, st_ud_gone);
	st_ud_with_duo(st, st_ud_fence);
	st_ud_with_duo(st, st_ud_mute);
}

/* Somebody cancels a receive, and is late. */
struct st_late_cancel {
	struct work_struct work;
	struct fid_ep *ep;
	struct st_op *op;
	int ret;
};

static void st_late_cancel_run(struct work_struct *work)
{
	struct st_late_cancel *c =
		container_of(work, struct st_late_cancel, work);

	c->ret = fi_cancel(&c->ep->fid, &c->op->ctx);
}

/*
 * Somebody else holds who cancels until the endpoint has stopped, and is told when the
 * work is under way, and tells when it is held.
 */
static void st_ud_late_cancel(struct st *st, struct st_duo *d)
{
	struct st_late_cancel c = { .ep = d->a.ep, .op = d->r.rx[1] };

	CHECK_EQ(st, st_node_recv(&d->a, c.op, d->r.dst, 10), 0,
		 "a receive is posted");
	INIT_WORK_ONSTACK(&c.work, st_late_cancel_run);
	queue_work(system_unbound_wq, &c.work);
	CHECK_EQ(st, ST_UNTIL(READ_ONCE(st_go)), 0, "somebody cancels it");
	CHECK_EQ(st, st_ud_moves(d->a.ep, IB_QPS_ERR), 0,
		 "its queue pair fails");
	flush_work(&c.work);
	destroy_work_on_stack(&c.work);
	CHECKF(st, !c.ret || c.ret == -ENOENT, "who cancels is told %d", c.ret);
	CHECK_EQ(st, st_op_result(d->a.cq, c.op, 0), ECANCELED,
		 "the receive ends");
	CHECK_EQ(st, st_cq_drain(d->a.cq, ST_QUIET_MS), 0, "once");
}

void st_test_ud_late_cancel(struct st *st)
{
	st_ud_with_duo(st, st_ud_late_cancel);
}

/* ---- many that do not answer ------------------------------------------------------- */

/* Post a message to each of so many hosts that are not there. */
static int st_ud_post_absent(struct st_duo *d, struct st_op **ops, int n)
{
	fi_addr_t absent;
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++) {
		absent = st_dgram_absent(&d->a, i + 1);
		ret = absent == FI_ADDR_UNSPEC
			      ? -ENOMEM
			      : st_node_send(&d->a, ops[i], d->r.src, 10,
					     absent);
	}
	return ret;
}

/* Somebody else holds the peer's answer until the line says that it may come. */
static void st_ud_crowd_of(struct st *st, struct st_duo *d, struct st_op **ops)
{
	u32 ms = ASKED_MS;
	int i, ended = 0, ret;

	CHECK_EQ(st,
		 fi_setopt(&d->a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_TIMEOUT_MS,
			   &ms, sizeof(ms)),
		 0, "questions have time");
	ret = st_node_send(&d->a, d->r.tx[0], d->r.src, 10, d->to_b);
	ret = ret ?: st_ud_post_absent(d, ops, ABSENT);
	ret = ret ?: st_node_send(&d->a, d->r.tx[1], d->r.src, 10, d->to_b);
	CHECK_EQ(st, ret, 0,
		 "messages to a peer are posted, and between them to many that "
		 "are not there");
	st_tap_line("    # now the answer may come");
	CHECK_EQ(st, st_op_result(d->a.cq, d->r.tx[0], 0), 0,
		 "when it has answered the first one is sent");
	CHECK_EQ(st, st_op_result(d->a.cq, d->r.tx[1], 0), 0, "so is the last");
	for (i = 0; i < ABSENT; i++)
		ended += ops[i]->count;
	CHECK_EQ(st, ended, 0, "while the others wait");
	CHECK_EQ(st, fi_close(&d->a.ep->fid), 0, "the endpoint closes");
	d->a.ep = NULL;
	for (i = 0; i < ABSENT; i++)
		ended += st_op_result(d->a.cq, ops[i], 0) == ECANCELED;
	CHECK_EQ(st, ended, ABSENT, "they end with it");
}

static void st_ud_crowd(struct st *st, struct st_duo *d)
{
	struct st_op **ops = kcalloc(ABSENT, sizeof(*ops), GFP_KERNEL);
	bool ok = ops;
	int i;

	for (i = 0; ok && i < ABSENT; i++) {
		ops[i] = st_op_new(st);
		ok = ops[i];
	}
	if (CHECK(st, ok, "there is memory for many"))
		st_ud_crowd_of(st, d, ops);
	for (i = 0; ops && i < ABSENT; i++)
		kfree(ops[i]);
	kfree(ops);
}

void st_test_ud_crowd(struct st *st)
{
	st_ud_with_duo(st, st_ud_crowd);
}

/* ---- who is asked again ------------------------------------------------------------ */

/* Somebody else lets the second question fail for want of memory. */
static void st_ud_again(struct st *st, struct st_duo *d)
{
	u16 port = st_node_port(&d->b);
	unsigned long end;
	int ret;

	CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 10), 0,
		 "a message arrives at a peer");
	st_node_close(&d->b);
	if (!CHECK_EQ(st, st_node_open(&d->b, st, port, 0), 0,
		      "the peer is born anew"))
		return;
	ret = st_node_recv(&d->b, d->r.rx[0], d->r.dst, ST_ROOM_BASE);
	end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	while (!ret && !d->r.rx[0]->count && time_before(jiffies, end)) {
		ret = st_node_send(&d->a, d->r.tx[0], d->r.src, 10, d->to_b);
		ret = st_op_result(d->a.cq, d->r.tx[0], ret);
		st_cq_take(d->b.cq, AGAIN_MS, NULL);
	}
	CHECK_EQ(st, ret, 0, "messages to it are sent");
	CHECK(st, d->r.rx[0]->count && !d->r.rx[0]->entry.err,
	      "and arrive, when a question has failed for want of memory");
}

void st_test_ud_again(struct st *st)
{
	st_ud_with_duo(st, st_ud_again);
}

/*
 * Somebody else holds the answer of a peer that was born anew, and has asked: that its
 * messages are its is a claim until then.
 */
static void st_ud_claim(struct st *st, struct st_duo *d)
{
	struct st_op *rx = d->r.rx[0];
	u16 port = st_node_port(&d->b);
	unsigned long end;
	fi_addr_t to_a;
	int ret;

	CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 10), 0,
		 "a message arrives at a peer");
	CHECK_EQ(st, st_pass(&d->r, &d->b, &d->a, d->to_a, 10), 0,
		 "one comes back");
	CHECK_EQ(st, rx->entry.src_addr, d->to_b, "it is told from whom");
	st_node_close(&d->b);
	st_tap_line("    # now the peer may change");
	CHECK_EQ(st, ST_UNTIL(READ_ONCE(st_go)), 0, "somebody does so");
	if (!CHECK_EQ(st, st_node_open(&d->b, st, port, 0), 0,
		      "the peer is born anew"))
		return;
	to_a = st_node_knows(&d->b, &d->a);
	CHECK_EQ(st, st_pass(&d->r, &d->b, &d->a, to_a, 10), 0,
		 "a message of who says that it is the peer arrives");
	CHECK_EQ(st, rx->entry.src_addr, FI_ADDR_UNSPEC,
		 "that is not believed before the peer has said so");
	st_tap_line("    # now the answer may come");
	end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	do {
		ret = st_pass(&d->r, &d->b, &d->a, to_a, 10);
	} while (!ret && rx->entry.src_addr != d->to_b &&
		 time_before(jiffies, end));
	CHECK_EQ(st, ret, 0, "others arrive");
	CHECK_EQ(st, rx->entry.src_addr, d->to_b, "when it has, it is");
}

void st_test_ud_claim(struct st *st)
{
	st_ud_with_duo(st, st_ud_claim);
}

/* ---- longer ones than the port carried ---------------------------------------------- */

/* Somebody else raises the MTU when the line says so. */
void st_test_ud_mtu(struct st *st)
{
	struct st_node a = {}, b = {};
	struct st_room r = {};
	fi_addr_t to_a;
	int ret;

	if (!st_room_open(&r, st) ||
	    !CHECK_EQ(st, st_node_open(&a, st, 0, 0), 0, "an endpoint opens"))
		goto out;
	st_tap_line("    # now the MTU may rise");
	CHECK_EQ(st, ST_UNTIL(READ_ONCE(st_go)), 0, "it has risen");
	if (!CHECK_EQ(st, st_node_open(&b, st, 0, 0), 0, "its peer opens"))
		goto out;
	to_a = st_node_knows(&b, &a);
	ret = st_node_recv(&a, r.rx[1], r.dst, 100);
	ret = ret ?: st_node_send(&b, r.tx[0], r.src, LONG_BYTES, to_a);
	CHECK_EQ(st, st_op_result(b.cq, r.tx[0], ret), 0,
		 "a message that was too long for the port before is sent");
	CHECK_EQ(st, st_op_result(a.cq, r.rx[1], ret), FI_ETRUNC,
		 "it is too long for its receive");
	CHECK_EQ(st, r.rx[1]->entry.olen, LONG_BYTES - 100, "by so much");
	ret = st_node_recv(&a, r.rx[1], r.dst, 100);
	ret = ret ?: st_node_send(&b, r.tx[0], r.src, 10, to_a);
	ret = st_op_result(b.cq, r.tx[0], ret);
	CHECK_EQ(st, st_op_result(a.cq, r.rx[1], ret), 0,
		 "the next one arrives");
out:
	st_node_close(&a);
	st_node_close(&b);
	st_room_close(&r);
}

/*
 * Somebody else sends packets when the line says so: some are longer than any MTU, and
 * the last one is not.
 */
void st_test_ud_stray(struct st *st)
{
	struct st_node n = {};
	struct st_room r = {};
	int ret;

	if (!st_room_open(&r, st) ||
	    !CHECK_EQ(st, st_node_open(&n, st, 0, 0), 0, "an endpoint opens"))
		goto out;
	CHECK_EQ(st, st_node_recv(&n, r.rx[0], r.dst, STRAY_BYTES), 0,
		 "a receive is posted");
	st_tap_line("    # now the packets may come");
	ret = st_op_result(n.cq, r.rx[0], 0);
	CHECK_EQ(st, ret ?: r.rx[0]->entry.len, STRAY_BYTES,
		 "packets that are too long are dropped, and the last arrives");
	CHECK_EQ(st, fi_ep_state(n.ep), KFI_EP_ENABLED, "the endpoint lives");
out:
	st_node_close(&n);
	st_room_close(&r);
}
