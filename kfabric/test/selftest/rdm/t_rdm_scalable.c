// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: scalable endpoints: their contexts, which peers name, and which several
 * workers use at one time.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../st.h"

#define BASE	 ST_ROOM_BASE
#define CTXS	 ST_CTXS
#define BITS	 ST_CTX_BITS
#define FLYING	 8 /* messages: as many as go out at once */
#define MANY	 17 /* messages: more than there are buffers for */
#define EACH	 50 /* messages of a worker */
#define CHURN	 20 /* times that a context opens and closes */
#define HUGE_LEN (12 * BASE) /* more than a peer that receives nothing takes */
#define TAG	 0x77
#define KEY	 0x5eed0c0cULL
#define DATA	 0x1020304050607080ULL

/* A scalable endpoint, and one that is not. */
struct st_scaled {
	struct st_room r;
	struct st_sep s;
	struct st_node a;
	fi_addr_t to_s; /* as a knows it */
	fi_addr_t to_a; /* as s knows it */
};

static bool st_scaled_open(struct st_scaled *m, struct st *st)
{
	if (!st_room_open(&m->r, st) ||
	    !CHECK_EQ(st, st_sep_open(&m->s, st), 0,
		      "a scalable endpoint opens") ||
	    !CHECK_EQ(st, st_node_open(&m->a, st, 0, 0), 0,
		      "an endpoint opens"))
		return false;
	fi_av_insert(m->a.av, &m->s.name, 1, &m->to_s, 0, NULL);
	fi_av_insert(m->s.av, &m->a.name, 1, &m->to_a, 0, NULL);
	return true;
}

static void st_scaled_close(struct st_scaled *m)
{
	st_node_close(&m->a);
	st_sep_close(&m->s);
	st_room_close(&m->r);
}

static fi_addr_t st_ctx_addr(const struct st_scaled *m, int i)
{
	return fi_rx_addr(m->to_s, i, BITS);
}

/* The j-th receive of the room, posted on the i-th context. */
static int st_ctx_recv(struct st_scaled *m, int i, int j)
{
	st_op_reset(m->r.rx[j]);
	return fi_recv(m->s.rx[i], m->r.dst + j * BASE, BASE, NULL,
		       FI_ADDR_UNSPEC, &m->r.rx[j]->ctx);
}

/* A message to the i-th context; 0 when it is sent. */
static int st_ctx_send(struct st_scaled *m, int i, size_t len, u8 seed)
{
	int ret;

	st_fill(m->r.src, len, seed);
	ret = st_node_send(&m->a, m->r.tx[0], m->r.src, len, st_ctx_addr(m, i));
	return st_op_result(m->a.cq, m->r.tx[0], ret);
}

static bool st_ctx_got(struct st_scaled *m, int i, int j, size_t len, u8 seed)
{
	struct st_op *op = m->r.rx[j];

	return !st_op_result(m->s.rx_cq[i], op, 0) && op->entry.len == len &&
	       op->entry.flags == (FI_RECV | FI_MSG) &&
	       op->entry.src_addr == m->to_a &&
	       st_holds(m->r.dst + j * BASE, len, seed);
}

/* ---- opening --------------------------------------------------------------- */

static noinline_for_stack void st_scaled_infos(struct st *st)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	size_t most = st->info->domain_attr->max_ep_rx_ctx;

	if (!hints)
		return;
	CHECK(st, st->info->caps & FI_NAMED_RX_CTX, "contexts are named");
	CHECK(st, most > 1 && st->info->domain_attr->max_ep_tx_ctx > 1,
	      "there may be several");
	CHECK_EQ(st, st->info->ep_attr->rx_ctx_cnt, 1,
		 "who asks for none is offered one");
	hints->caps = FI_MSG | FI_NAMED_RX_CTX;
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	hints->ep_attr->rx_ctx_cnt = most;
	hints->ep_attr->tx_ctx_cnt = 2;
	if (CHECK_EQ(st,
		     fi_getinfo(FI_VERSION(1, 0), st->node, "0", FI_SOURCE,
				hints, &info),
		     0, "as many as there may be are offered"))
		CHECK(st,
		      info->ep_attr->rx_ctx_cnt == most &&
			      info->ep_attr->tx_ctx_cnt == 2,
		      "no more and no fewer");
	fi_freeinfo(info);
	hints->ep_attr->rx_ctx_cnt = most + 1;
	CHECK_EQ(st,
		 fi_getinfo(FI_VERSION(1, 0), st->node, "0", FI_SOURCE, hints,
			    &info),
		 -ENODATA, "who needs more finds none");
	fi_freeinfo(hints);
}

static noinline_for_stack void st_scaled_numbers(struct st *st)
{
	struct fi_av_attr attr = { .rx_ctx_bits = KFI_AV_RX_CTX_BITS_MAX + 1 };
	struct fi_info *info = fi_dupinfo(st->info);
	struct fid_av *av = NULL;
	struct fid_ep *ep;

	CHECK_EQ(st, fi_av_open(st->domain, &attr, &av, NULL), -EINVAL,
		 "a vector of too many bits of context is refused");
	CHECK(st,
	      fi_rx_addr(5, 0, BITS) == 5 && fi_rx_addr(5, 0, 0) == 5 &&
		      fi_rx_addr(5, 3, 2) == (3ULL << 62 | 5),
	      "contexts have numbers");
	CHECK(st,
	      fi_rx_addr(5, 4, 2) == FI_ADDR_UNSPEC &&
		      fi_rx_addr(5, 1, 0) == FI_ADDR_UNSPEC,
	      "but not more than there are bits for");
	if (!info)
		return;
	info->ep_attr->tx_ctx_cnt = 0;
	CHECK_EQ(st, fi_scalable_ep(st->domain, info, &ep, NULL), -EINVAL,
		 "none without contexts to send is opened");
	info->ep_attr->tx_ctx_cnt = 1;
	info->ep_attr->rx_ctx_cnt = info->domain_attr->max_ep_rx_ctx + 1;
	CHECK_EQ(st, fi_scalable_ep(st->domain, info, &ep, NULL), -EINVAL,
		 "nor one with too many to receive");
	fi_freeinfo(info);
}

/* What may be opened on what, and bound to what. */
static noinline_for_stack void st_scaled_binding(struct st *st,
						 struct fid_ep *sep,
						 struct fid_cq *cq,
						 struct fid_av *av)
{
	struct fid_ep *tx = NULL, *rx = NULL, *again = NULL;

	CHECK_EQ(st, fi_tx_context(sep, -1, NULL, &tx, NULL), -EINVAL,
		 "a context below the first is refused");
	CHECK_EQ(st, fi_rx_context(sep, 1, NULL, &rx, NULL), -EINVAL,
		 "one beyond the last is refused");
	if (!CHECK_EQ(st, fi_tx_context(sep, 1, NULL, &tx, NULL), 0,
		      "a context to send opens") ||
	    !CHECK_EQ(st, fi_rx_context(sep, 0, NULL, &rx, NULL), 0,
		      "one to receive opens"))
		return;
	CHECK_EQ(st, fi_tx_context(sep, 1, NULL, &again, NULL), -EBUSY,
		 "it does not open twice");
	CHECK_EQ(st, fi_rx_context(sep, 0, NULL, &again, NULL), -EBUSY,
		 "nor does the other");
	CHECK_EQ(st, fi_rx_context(rx, 0, NULL, &again, NULL), -EINVAL,
		 "a context has no contexts");
	CHECK_EQ(st, fi_enable(sep), -FI_ENOAV,
		 "an endpoint without address vector is not enabled");
	CHECK_EQ(st, fi_scalable_ep_bind(sep, &cq->fid, FI_RECV), -EINVAL,
		 "a queue is not bound to it");
	CHECK_EQ(st, fi_ep_bind(tx, &av->fid, 0), -EINVAL,
		 "an address vector is not bound to a context");
	CHECK_EQ(st, fi_scalable_ep_bind(sep, &av->fid, 0), 0,
		 "but to the endpoint");
	CHECK_EQ(st, fi_enable(tx), -FI_ENOCQ,
		 "a context without queue is not enabled");
	CHECK_EQ(st, fi_ep_bind(tx, &cq->fid, FI_RECV), -FI_EBADFLAGS,
		 "what sends has no queue of receives");
	CHECK_EQ(st, fi_ep_bind(rx, &cq->fid, FI_TRANSMIT | FI_RECV),
		 -FI_EBADFLAGS, "what receives has none of sends");
	CHECK_EQ(st, fi_ep_bind(tx, &cq->fid, FI_TRANSMIT), 0,
		 "a queue binds to what sends");
	CHECK_EQ(st, fi_ep_bind(rx, &cq->fid, FI_RECV), 0,
		 "and to what receives");
	CHECK_EQ(st, fi_ep_bind(rx, &cq->fid, FI_RECV), -EBUSY,
		 "there is one queue");
	CHECK_EQ(st, fi_close(&sep->fid), -EBUSY,
		 "an endpoint with open contexts does not close");
	CHECK_EQ(st, fi_close(&rx->fid), 0, "a context closes");
	CHECK_EQ(st, fi_rx_context(sep, 0, NULL, &rx, NULL), 0,
		 "and opens again");
	CHECK_EQ(st, fi_close(&rx->fid), 0, "it closes");
	CHECK_EQ(st, fi_close(&tx->fid), 0, "so does the other");
}

static noinline_for_stack void st_scaled_object(struct st *st)
{
	struct fi_info *info = fi_dupinfo(st->info);
	struct fid_av *av = NULL, *other = NULL;
	struct fid_ep *sep = NULL, *ep = NULL, *tx;
	struct fid_cq *cq = NULL, *cq2 = NULL;
	int ret = info ? 0 : -ENOMEM;

	if (info)
		info->ep_attr->tx_ctx_cnt = 2;
	ret = ret ?: fi_cq_open(st->domain, NULL, &cq, NULL);
	ret = ret ?: fi_cq_open(st->target, NULL, &cq2, NULL);
	ret = ret ?: fi_av_open(st->domain, NULL, &av, NULL);
	ret = ret ?: fi_av_open(st->target, NULL, &other, NULL);
	ret = ret ?: fi_scalable_ep(st->domain, info, &sep, NULL);
	ret = ret ?: fi_endpoint(st->domain, info, &ep, NULL);
	if (CHECK_EQ(st, ret, 0, "a scalable endpoint opens")) {
		CHECK_EQ(st, fi_tx_context(ep, 0, NULL, &tx, NULL), -EINVAL,
			 "one that is not has no contexts");
		CHECK_EQ(st, fi_scalable_ep_bind(sep, &other->fid, 0),
			 -FI_EDOMAIN,
			 "an address vector of another domain is refused");
		ret = fi_tx_context(sep, 0, NULL, &tx, NULL);
		CHECK_EQ(st, ret ?: fi_ep_bind(tx, &cq2->fid, FI_TRANSMIT),
			 -FI_EDOMAIN, "so is a queue");
		if (!ret)
			fi_close(&tx->fid);
		st_scaled_binding(st, sep, cq, av);
	}
	if (sep)
		CHECK_EQ(st, fi_close(&sep->fid), 0, "it closes");
	if (ep)
		fi_close(&ep->fid);
	if (av)
		CHECK_EQ(st, fi_close(&av->fid), 0, "and its vector");
	if (other)
		fi_close(&other->fid);
	if (cq)
		CHECK_EQ(st, fi_close(&cq->fid), 0, "and its queue");
	if (cq2)
		fi_close(&cq2->fid);
	fi_freeinfo(info);
}

/* ---- messages --------------------------------------------------------------- */

/* What cannot be done with a context, or not yet. */
static noinline_for_stack void st_scaled_refused(struct st *st,
						 struct st_scaled *m)
{
	struct st_op *op = m->r.rx[0];
	struct fid_ep *tx = NULL;

	CHECK_EQ(st, fi_send(m->s.rx[0], m->r.src, 1, NULL, m->to_a, &op->ctx),
		 -ENOSYS, "what receives does not send");
	CHECK_EQ(st,
		 fi_read(m->s.rx[0], m->r.src, 1, NULL, m->to_a, 0, KEY,
			 &op->ctx),
		 -ENOSYS, "nor read");
	CHECK_EQ(st,
		 fi_recv(m->s.tx[0], m->r.dst, 1, NULL, FI_ADDR_UNSPEC,
			 &op->ctx),
		 -ENOSYS, "what sends does not receive");
	CHECK_EQ(st,
		 fi_recv(m->s.sep, m->r.dst, 1, NULL, FI_ADDR_UNSPEC, &op->ctx),
		 -ENOSYS, "a scalable endpoint does not by itself");
	CHECK_EQ(st, fi_cancel(&m->s.sep->fid, &op->ctx), -ENOSYS,
		 "nor does it cancel");
	CHECK_EQ(st,
		 fi_recv(m->s.rx[0], m->r.dst, 1, NULL,
			 fi_rx_addr(m->to_a, 1, BITS), &op->ctx),
		 -EINVAL, "a receive names no context of a sender");
	CHECK_EQ(st, fi_close(&m->s.tx[CTXS - 1]->fid), 0, "a context closes");
	m->s.tx[CTXS - 1] = NULL;
	CHECK_EQ(st, fi_tx_context(m->s.sep, CTXS - 1, NULL, &tx, NULL), 0,
		 "it opens, and is not enabled");
	if (tx) {
		CHECK_EQ(st, fi_send(tx, m->r.src, 1, NULL, m->to_a, &op->ctx),
			 -FI_EOPBADSTATE, "so it does not send");
		fi_close(&tx->fid);
	}
	CHECK_EQ(st, st_sep_tx_open(&m->s, CTXS - 1), 0, "it opens again");
}

static noinline_for_stack void st_scaled_named(struct st *st,
					       struct st_scaled *m)
{
	int i, ok = 0, ret = 0;

	for (i = 0; i < CTXS; i++)
		ret = ret ?: st_ctx_recv(m, i, i);
	for (i = CTXS - 1; i >= 0; i--)
		ret = ret ?: st_ctx_send(m, i, 10 + i, i + 1);
	CHECK_EQ(st, ret, 0, "messages name contexts");
	for (i = 0; i < CTXS && !ret; i++)
		ok += st_ctx_got(m, i, i, 10 + i, i + 1);
	CHECK_EQ(st, ok, CTXS, "each has its own");
	ret = st_ctx_recv(m, 0, 0);
	ret = ret ?: st_node_send(&m->a, m->r.tx[0], m->r.src, 10, m->to_s);
	ret = st_op_result(m->a.cq, m->r.tx[0], ret);
	CHECK_EQ(st, st_op_result(m->s.rx_cq[0], m->r.rx[0], ret), 0,
		 "one that names none is for the first");
	st_op_reset(m->r.tx[1]);
	ret = st_node_recv(&m->a, m->r.rx[0], m->r.dst, BASE);
	ret = ret
		      ?: fi_send(m->s.tx[1], m->r.src, 33, NULL, m->to_a,
				 &m->r.tx[1]->ctx);
	ret = st_op_result(m->s.tx_cq[1], m->r.tx[1], ret);
	CHECK_EQ(st, st_op_result(m->a.cq, m->r.rx[0], ret), 0,
		 "a context sends");
	CHECK(st,
	      m->r.rx[0]->entry.src_addr == m->to_s &&
		      m->r.rx[0]->entry.len == 33,
	      "by the name of its endpoint");
}

/* A context that the peer does not have. */
static noinline_for_stack void st_scaled_beyond(struct st *st,
						struct st_scaled *m)
{
	const struct fi_rma_iov rma = { .len = 10, .key = KEY };
	struct st_op *op = m->r.tx[0];
	struct fi_msg_rma msg = { .buf = fi_buf_linear(m->r.src, 10),
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .addr = st_ctx_addr(m, CTXS),
				  .context = &op->ctx };
	int ret;

	CHECK_EQ(st, st_ctx_send(m, CTXS, 10, 1), EADDRNOTAVAIL,
		 "a message to a context that is not there is told so");
	CHECK_EQ(st, op->entry.flags, FI_SEND | FI_MSG, "its flags are exact");
	st_op_reset(op);
	ret = fi_writemsg(m->a.ep, &msg, FI_REMOTE_CQ_DATA);
	CHECK_EQ(st, st_op_result(m->a.cq, op, ret), EADDRNOTAVAIL,
		 "so is a write with data");
	st_op_reset(op);
	ret = fi_writemsg(m->a.ep, &msg, 0);
	CHECK_EQ(st, st_op_result(m->a.cq, op, ret), FI_EACCES,
		 "one without data asks for the endpoint's memory");
	ret = fi_inject(m->a.ep, m->r.src, 8, st_ctx_addr(m, CTXS));
	CHECK_EQ(st, ret ?: st_cq_take(m->a.cq, ST_WAIT_MS, NULL), 1,
		 "one that is injected is told, too");
	st_op_reset(op);
	ret = fi_send(m->s.tx[0], m->r.src, 10, NULL,
		      fi_rx_addr(m->to_a, 1, BITS), &op->ctx);
	CHECK_EQ(st, st_op_result(m->s.tx_cq[0], op, ret), EADDRNOTAVAIL,
		 "an endpoint that is not scalable has one");
	ret = st_ctx_recv(m, 1, 1);
	ret = ret ?: st_ctx_send(m, 1, 20, 4);
	CHECK(st, !ret && st_ctx_got(m, 1, 1, 20, 4),
	      "the next message arrives");
}

/* Each context has its own receives, and what they choose by. */
static noinline_for_stack void st_scaled_matching(struct st *st,
						  struct st_scaled *m)
{
	struct fi_msg multi = { .buf = fi_buf_linear(m->r.dst + 8 * BASE, 100),
				.addr = FI_ADDR_UNSPEC,
				.context = &m->r.rx[2]->ctx };
	struct st_op *zero = m->r.rx[0], *one = m->r.rx[1];
	int ret;

	st_op_reset(zero);
	st_op_reset(one);
	st_op_reset(m->r.rx[2]);
	ret = fi_trecv(m->s.rx[1], m->r.dst, BASE, NULL, FI_ADDR_UNSPEC, TAG, 0,
		       &one->ctx);
	ret = ret ?: fi_recvmsg(m->s.rx[2], &multi, FI_MULTI_RECV);
	ret = ret ?: fi_tinject(m->a.ep, "null", 4, st_ctx_addr(m, 0), TAG);
	ret = ret ?: st_ctx_send(m, 2, 30, 1);
	CHECK_EQ(st, st_op_result(m->s.rx_cq[2], m->r.rx[2], ret), 0,
		 "a receive of several has a message");
	CHECK_EQ(st, m->r.rx[2]->entry.flags, FI_RECV | FI_MSG,
		 "and is not given back");
	CHECK_EQ(st, st_cq_drain(m->s.rx_cq[1], ST_QUIET_MS), 0,
		 "a message goes into no receive of another context");
	CHECK_EQ(st, fi_cancel(&m->s.rx[0]->fid, &one->ctx), -ENOENT,
		 "nor does another one cancel it");
	CHECK_EQ(st, fi_cancel(&m->s.rx[1]->fid, &one->ctx), 0,
		 "its own one does");
	CHECK_EQ(st, st_op_result(m->s.rx_cq[1], one, 0), ECANCELED,
		 "it completes so");
	ret = fi_trecv(m->s.rx[0], m->r.dst, BASE, NULL, m->to_a, TAG, 0,
		       &zero->ctx);
	CHECK_EQ(st, st_op_result(m->s.rx_cq[0], zero, ret), 0,
		 "the message waits for one of its context");
	CHECK(st, zero->entry.len == 4 && !memcmp(m->r.dst, "null", 4),
	      "and is whole");
	st_op_reset(m->r.rx[2]);
	ret = st_ctx_send(m, 2, 60, 2);
	CHECK_EQ(st, st_op_result(m->s.rx_cq[2], m->r.rx[2], ret), 0,
		 "the receive of several has another");
	CHECK(st,
	      m->r.rx[2]->entry.flags == (FI_RECV | FI_MSG | FI_MULTI_RECV) &&
		      st_holds(m->r.dst + 8 * BASE + 30, 60, 2),
	      "behind the first, and is given back");
}

/* Messages for a context that nobody serves are in nobody's way. */
static noinline_for_stack void st_scaled_unserved(struct st *st,
						  struct st_scaled *m)
{
	const struct fi_rma_iov rma = { .addr = 8, .len = 50, .key = KEY };
	struct st_op *op = m->r.tx[1];
	struct fi_msg_rma msg = { .buf = fi_buf_linear(m->r.src, 50),
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .addr = st_ctx_addr(m, 1),
				  .context = &op->ctx,
				  .data = DATA };
	struct fid_mr *mr = NULL;
	int i, ok = 0, ret = st_ctx_recv(m, 1, MANY);

	for (i = 0; i < MANY; i++)
		ret = ret ?: st_ctx_send(m, 2, 100 + i, i + 1);
	CHECK_EQ(st, ret, 0, "many are sent to one that has no receives");
	ret = ret ?: st_ctx_send(m, 1, 200, 99);
	if (!CHECK(st, !ret && st_ctx_got(m, 1, MANY, 200, 99),
		   "one to another context passes them"))
		return;
	ret = fi_mr_reg(st->domain, m->r.dst + 20 * BASE, BASE, FI_REMOTE_WRITE,
			0, KEY, 0, &mr, NULL);
	ret = ret ?: st_ctx_recv(m, 1, MANY);
	st_op_reset(op);
	ret = ret ?: fi_writemsg(m->a.ep, &msg, FI_REMOTE_CQ_DATA);
	ret = st_op_result(m->a.cq, op, ret);
	CHECK_EQ(
		st, st_op_result(m->s.rx_cq[1], m->r.rx[MANY], ret), 0,
		"a write with data has a receive of the context that it names");
	CHECK(st,
	      m->r.rx[MANY]->entry.data == DATA &&
		      m->r.rx[MANY]->entry.len == 50,
	      "which is told of the data");
	if (mr)
		fi_close(&mr->fid);
	for (i = 0, ret = 0; i < MANY; i++)
		ret = ret ?: st_ctx_recv(m, 2, i);
	for (i = 0; i < MANY && !ret; i++)
		ok += st_ctx_got(m, 2, i, 100 + i, i + 1);
	CHECK_EQ(st, ok, MANY, "they arrive in their order, when it has");
}

/* ---- closing ------------------------------------------------------------------ */

static noinline_for_stack void st_scaled_close_rx(struct st *st,
						  struct st_scaled *m)
{
	struct st_op *op = m->r.rx[3];
	int ret = st_ctx_recv(m, 0, 0);

	st_op_reset(op);
	ret = ret
		      ?: fi_trecv(m->s.rx[1], m->r.dst, BASE, NULL,
				  FI_ADDR_UNSPEC, TAG, 0, &op->ctx);
	ret = ret ?: st_ctx_send(m, 1, 10, 1);
	/* When this is there the one before it is, too. */
	ret = ret ?: st_ctx_send(m, 0, 20, 2);
	CHECK(st, !ret && st_ctx_got(m, 0, 0, 20, 2),
	      "a message waits for a context");
	CHECK_EQ(st, fi_close(&m->s.rx[1]->fid), 0, "the context closes");
	m->s.rx[1] = NULL;
	CHECK_EQ(st, st_op_result(m->s.rx_cq[1], op, 0), ECANCELED,
		 "its receive ends");
	CHECK_EQ(st, op->entry.flags, FI_RECV | FI_TAGGED, "with exact flags");
	CHECK_EQ(st, st_ctx_send(m, 1, 30, 3), 0,
		 "a message is sent to it while it is closed");
	ret = st_ctx_recv(m, 0, 0);
	ret = ret ?: st_ctx_send(m, 0, 40, 4);
	CHECK(st, !ret && st_ctx_got(m, 0, 0, 40, 4),
	      "those of another arrive as ever");
	ret = st_sep_rx_open(&m->s, 1);
	CHECK_EQ(st, ret ?: st_ctx_recv(m, 1, 1), 0, "it opens again");
	CHECK(st, st_ctx_got(m, 1, 1, 30, 3),
	      "it has what came since it closed, and nothing from before");
}

static noinline_for_stack void st_scaled_close_tx(struct st *st,
						  struct st_scaled *m)
{
	struct st_op *op = m->r.tx[2], *half = m->r.tx[3];
	struct st_node gone = {};
	fi_addr_t nobody = FI_ADDR_UNSPEC;
	int ret = st_node_open(&gone, st, 0, 0);

	fi_av_insert(m->s.av, &gone.name, 1, &nobody, 0, NULL);
	st_node_close(&gone);
	st_op_reset(op);
	ret = ret ?: fi_send(m->s.tx[1], m->r.src, 10, NULL, nobody, &op->ctx);
	/* Of which the peer, that receives nothing, takes the beginning. */
	st_op_reset(half);
	ret = ret
		      ?: fi_send(m->s.tx[1], m->r.src, HUGE_LEN, NULL, m->to_a,
				 &half->ctx);
	CHECK_EQ(st, ret, 0, "a context sends what does not arrive");
	CHECK_EQ(st, st_cq_drain(m->s.tx_cq[1], ST_QUIET_MS), 0, "it waits");
	CHECK_EQ(st, fi_close(&m->s.tx[1]->fid), 0, "the context closes");
	m->s.tx[1] = NULL;
	CHECK(st,
	      st_cq_take(m->s.tx_cq[1], 0, NULL) == 1 &&
		      st_cq_take(m->s.tx_cq[1], 0, NULL) == 1 &&
		      op->entry.err == ECANCELED &&
		      half->entry.err == ECANCELED,
	      "what it has not sent has ended");
	st_op_reset(op);
	ret = st_node_recv(&m->a, m->r.rx[0], m->r.dst, BASE);
	ret = ret ?: fi_send(m->s.tx[0], m->r.src, 44, NULL, m->to_a, &op->ctx);
	ret = st_op_result(m->s.tx_cq[0], op, ret);
	CHECK_EQ(st, st_op_result(m->a.cq, m->r.rx[0], ret), 0,
		 "a message of another context arrives");
	CHECK_EQ(st, m->r.rx[0]->entry.len, 44, "and is whole");
	CHECK_EQ(st, st_sep_tx_open(&m->s, 1), 0, "the context opens again");
}

/*
 * Messages are under way when their context closes, and their memory is used again:
 * what arrives has the bytes that were sent.
 */
static noinline_for_stack void st_scaled_close_flying(struct st *st,
						      struct st_scaled *m)
{
	int i, ret = 0, ended = 0, sent = 0, came = 0, whole = 0;

	for (i = 0; i < FLYING; i++) {
		st_fill(m->r.src + i * BASE, BASE, i + 1);
		st_op_reset(m->r.tx[i]);
		ret = ret
			      ?: st_node_recv(&m->a, m->r.rx[i],
					      m->r.dst + i * BASE, BASE);
	}
	for (i = 0; i < FLYING; i++)
		ret = ret
			      ?: fi_send(m->s.tx[1], m->r.src + i * BASE, BASE,
					 NULL, m->to_a, &m->r.tx[i]->ctx);
	CHECK_EQ(st, ret, 0, "a context sends, and closes");
	CHECK_EQ(st, fi_close(&m->s.tx[1]->fid), 0, "which it does");
	m->s.tx[1] = NULL;
	memset(m->r.src, 0, FLYING * BASE);
	while (st_cq_take(m->s.tx_cq[1], 0, NULL) == 1)
		;
	for (i = 0; i < FLYING; i++) {
		ended += m->r.tx[i]->count == 1;
		sent += m->r.tx[i]->count == 1 && !m->r.tx[i]->entry.err;
	}
	CHECK_EQ(st, ended, FLYING, "by then all of them have ended");
	st_cq_drain(m->a.cq, 20 * ST_QUIET_MS);
	for (i = 0; i < FLYING; i++) {
		came += m->r.rx[i]->count == 1;
		whole += m->r.rx[i]->count == 1 &&
			 st_holds(m->r.dst + i * BASE, BASE, i + 1);
		if (!m->r.rx[i]->count)
			fi_cancel(&m->a.ep->fid, &m->r.rx[i]->ctx);
	}
	CHECKF(st, came >= sent && whole == came,
	       "of %d that are sent %d arrive, and %d are whole", sent, came,
	       whole);
	st_cq_drain(m->a.cq, ST_QUIET_MS);
	CHECK_EQ(st, st_sep_tx_open(&m->s, 1), 0, "the context opens again");
}

/* ---- several at one time -------------------------------------------------------- */

/* One of those who have a context each, of two endpoints. */
struct st_scaled_worker {
	struct work_struct work;
	struct fid_ep *tx, *rx;
	struct fid_cq *tx_cq, *rx_cq;
	fi_addr_t to;
	struct st_op *out, *in;
	u32 *bytes; /* what is sent, and what comes */
	int ret;
};

static void st_scaled_work(struct work_struct *work)
{
	struct st_scaled_worker *w =
		container_of(work, struct st_scaled_worker, work);
	int i;

	for (i = 0; i < EACH && !w->ret; i++) {
		w->bytes[0] = i * 7 + 1;
		st_op_reset(w->in);
		st_op_reset(w->out);
		w->ret = fi_recv(w->rx, w->bytes + 1, 4, NULL, FI_ADDR_UNSPEC,
				 &w->in->ctx);
		w->ret = w->ret
				 ?: fi_send(w->tx, w->bytes, 4, NULL, w->to,
					    &w->out->ctx);
		w->ret = st_op_result(w->tx_cq, w->out, w->ret);
		w->ret = st_op_result(w->rx_cq, w->in, w->ret);
		if (!w->ret && w->bytes[1] != w->bytes[0])
			w->ret = -EPROTO;
	}
}

/* Meanwhile the last contexts close and open again, again and again. */
static int st_scaled_churn(struct st_sep *s)
{
	int i, ret = 0;

	for (i = 0; i < CHURN && !ret; i++) {
		ret = fi_close(&s->tx[CTXS - 1]->fid);
		ret = ret ?: st_sep_tx_open(s, CTXS - 1);
		ret = ret ?: fi_close(&s->rx[CTXS - 1]->fid);
		ret = ret ?: st_sep_rx_open(s, CTXS - 1);
	}
	return ret;
}

static noinline_for_stack void st_scaled_workers(struct st *st,
						 struct st_scaled *m)
{
	struct st_scaled_worker w[CTXS - 1] = {};
	struct st_sep t;
	int i, ok = 0, ret = st_sep_open(&t, st);
	fi_addr_t to_t = FI_ADDR_UNSPEC;

	if (!CHECK_EQ(st, ret, 0, "another scalable endpoint opens"))
		goto out;
	fi_av_insert(m->s.av, &t.name, 1, &to_t, 0, NULL);
	for (i = 0; i < CTXS - 1; i++) {
		w[i] = (struct st_scaled_worker){
			.tx = m->s.tx[i],
			.rx = t.rx[i],
			.tx_cq = m->s.tx_cq[i],
			.rx_cq = t.rx_cq[i],
			.to = fi_rx_addr(to_t, i, BITS),
			.out = m->r.tx[i],
			.in = m->r.rx[i],
			.bytes = (u32 *)(m->r.src + i * BASE),
		};
		INIT_WORK_ONSTACK(&w[i].work, st_scaled_work);
		queue_work(system_unbound_wq, &w[i].work);
	}
	CHECK_EQ(st, st_scaled_churn(&m->s) ?: st_scaled_churn(&t), 0,
		 "contexts close and open while others are used");
	for (i = 0; i < CTXS - 1; i++) {
		flush_work(&w[i].work);
		destroy_work_on_stack(&w[i].work);
		ok += !w[i].ret;
	}
	CHECK_EQ(st, ok, CTXS - 1,
		 "workers with a context each send and receive at one time");
out:
	st_sep_close(&t);
}

/*
 * A message that the peer cannot have is ended by the layer's work, which whoever runs
 * this delays: until then nothing of it was handed over, and it can be canceled.
 */
void st_test_rdm_refused(struct st *st)
{
	struct st_scaled *m = kzalloc(sizeof(*m), GFP_KERNEL);
	struct st_op *op;
	int ret;

	if (!m || !st_scaled_open(m, st))
		goto out;
	ret = st_ctx_recv(m, 0, 0);
	CHECK_EQ(st, ret ?: st_ctx_send(m, 0, 10, 1), 0,
		 "the endpoints are connected");
	op = m->r.tx[0];
	st_op_reset(op);
	ret = fi_send(m->a.ep, m->r.src, 10, NULL, st_ctx_addr(m, CTXS),
		      &op->ctx);
	CHECK_EQ(st, ret, 0, "a message to a context that is not there waits");
	CHECK_EQ(st, fi_cancel(&m->a.ep->fid, &op->ctx), 0,
		 "it can be canceled");
	CHECK_EQ(st, st_op_result(m->a.cq, op, 0), ECANCELED,
		 "and ends as one that was");
out:
	if (m)
		st_scaled_close(m);
	kfree(m);
}

void st_test_rdm_scalable(struct st *st)
{
	struct st_scaled *m = kzalloc(sizeof(*m), GFP_KERNEL);

	st_scaled_infos(st);
	st_scaled_numbers(st);
	st_scaled_object(st);
	if (m && st_scaled_open(m, st)) {
		st_scaled_refused(st, m);
		st_scaled_named(st, m);
		st_scaled_beyond(st, m);
		st_scaled_matching(st, m);
		st_scaled_unserved(st, m);
		st_scaled_close_rx(st, m);
		st_scaled_close_tx(st, m);
		st_scaled_close_flying(st, m);
		st_scaled_workers(st, m);
	}
	if (m)
		st_scaled_close(m);
	kfree(m);
}
