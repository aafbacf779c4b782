// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: shared receive contexts: what is offered, what is refused, and how they open
 * while allocations fail.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "st_srx.h"

#define ALLOC_RUNS 8

/* ---- what there is ------------------------------------------------------ */

static int st_srx_ask(struct st *st, bool tx, size_t size,
		      struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->ep_attr->type = st->info->ep_attr->type;
	if (tx)
		hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	else
		hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->rx_attr->size = size;
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), st->node, st->service, FI_SOURCE,
			 hints, info);
	fi_freeinfo(hints);
	return ret;
}

static void st_srx_none(struct st *st)
{
	struct fi_info *info = fi_dupinfo(st->info), *list = NULL;
	struct fid_ep *ep = NULL;
	int ret;

	CHECK_EQ(st, st_srx_ask(st, false, 0, &list), -ENODATA,
		 "endpoints that share receives are not offered");
	ret = fi_srx_context(st->target, NULL, &ep, NULL);
	/* On a domain of verbs there may be connected endpoints, too. */
	if (!ret && st_is_dgram(st) && !strcmp(st->provider, "verbs"))
		CHECK_EQ(st, fi_close(&ep->fid), 0,
			 "a shared context is for connected endpoints");
	else
		CHECKF(st, ret == -ENOSYS || ret == -EOPNOTSUPP,
		       "a shared context does not open (got %d)", ret);
	if (!info)
		return;
	info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	CHECK_EQ(st, fi_endpoint(st->domain, info, &ep, NULL), -EOPNOTSUPP,
		 "nor does an endpoint that wants one");
	fi_freeinfo(info);
}

/* A request to a passive endpoint with such an info is for such an endpoint. */
static void st_srx_request(struct st *st, struct fi_info *info)
{
	struct st_pair p = { .st = st };
	struct fid_pep *pep = NULL;
	struct fid_eq *eq = NULL;
	struct sockaddr_in6 addr;
	size_t len = sizeof(addr);
	struct st_opts opts = {};
	struct st_event ev = {};
	int ret;

	ret = fi_eq_open(st->fabric, NULL, &eq, NULL);
	ret = ret ?: fi_eq_open(st->fabric, NULL, &p.eq, NULL);
	ret = ret ?: fi_passive_ep(st->fabric, info, &pep, NULL);
	ret = ret ?: fi_pep_bind(pep, &eq->fid, 0);
	ret = ret ?: fi_listen(pep);
	ret = ret ?: fi_getname(&pep->fid, &addr, &len);
	/* The port is the other one's, the address the peer's. */
	if (!ret) {
		struct sockaddr_in6 *to = st->info->dest_addr;
		__be16 port = addr.sin6_port;

		memcpy(&addr, to, min(sizeof(addr), st->info->dest_addrlen));
		addr.sin6_port = port;
	}
	ret = ret ?: st_ep_open(&p, st->info, false, &opts);
	ret = ret ?: fi_connect(p.a, &addr, NULL, 0);
	if (!ret && st_event_wait(eq, &ev, ST_WAIT_MS) < 0)
		ret = -ETIME;
	CHECKF(st,
	       !ret && ev.event == FI_CONNREQ &&
		       ev.info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT,
	       "its requests are for endpoints that share (got %d)", ret);
	fi_freeinfo(ev.info);
	if (p.a)
		fi_close(&p.a->fid);
	if (p.acq)
		fi_close(&p.acq->fid);
	if (pep)
		fi_close(&pep->fid);
	if (p.eq)
		fi_close(&p.eq->fid);
	if (eq)
		fi_close(&eq->fid);
}

static noinline_for_stack void st_srx_info(struct st *st)
{
	struct fi_info *info = NULL, *none = NULL;
	size_t size;

	CHECK(st, st->info->ep_attr->rx_ctx_cnt != FI_SHARED_CONTEXT,
	      "nothing is shared that was not asked for");
	CHECK_EQ(st, st_srx_ask(st, true, 0, &none), -ENODATA,
		 "what is sent is not shared");
	if (!CHECK_EQ(st, st_srx_ask(st, false, 0, &info), 0,
		      "endpoints that share receives are offered"))
		return;
	CHECK(st, info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT,
	      "the info says so");
	size = info->rx_attr->size;
	st_srx_request(st, info);
	fi_freeinfo(info);
	CHECK_EQ(st, st_srx_ask(st, false, size + 1, &info), 0,
		 "a larger context is offered if it is wanted");
	CHECK(st, info->rx_attr->size > size, "the info says how large");
	fi_freeinfo(info);
	CHECK_EQ(st, st_srx_ask(st, false, SIZE_MAX, &none), -ENODATA,
		 "there is a limit");
}

/* ---- what is refused ---------------------------------------------------- */

static void st_srx_bad_limits(struct st *st)
{
	struct fi_rx_attr attr = { .size = SIZE_MAX };
	struct fid_ep *srx = NULL;

	CHECK_EQ(st, fi_srx_context(st->target, &attr, &srx, NULL), -EINVAL,
		 "a context of any size does not open");
	attr = (struct fi_rx_attr){ .iov_limit = 1 << 20 };
	CHECK_EQ(st, fi_srx_context(st->target, &attr, &srx, NULL), -EINVAL,
		 "nor does one for any number of segments");
}

static noinline_for_stack void st_srx_context_refuses(struct st_shared *s,
						      struct fid_eq *eq)
{
	struct fi_low_water low = { .limit = FEW + 1 };
	struct fi_space_handler space = {};
	struct st *st = s->st;
	size_t len = sizeof(u32);
	u32 ms;

	CHECK_EQ(st, fi_enable(s->srx), -ENOSYS, "a context is not enabled");
	CHECK_EQ(st, fi_ep_bind(s->srx, &eq->fid, 0), -EINVAL,
		 "it has no event queue");
	CHECK_EQ(st, fi_ep_bind(s->srx, &s->cq->fid, FI_TRANSMIT),
		 -FI_EBADFLAGS, "it sends nothing");
	CHECK_EQ(st,
		 fi_ep_bind(s->srx, &s->cq->fid,
			    FI_RECV | FI_SELECTIVE_COMPLETION),
		 -FI_EBADFLAGS, "what it tells cannot be selected");
	CHECK_EQ(st, fi_ep_bind(s->srx, &s->cq->fid, FI_RECV), -EBUSY,
		 "it has one queue");
	CHECK_EQ(st,
		 fi_send(s->srx, s->out, 8, NULL, FI_ADDR_UNSPEC,
			 &s->tx[0]->ctx),
		 -ENOSYS, "it does not send");
	CHECK_EQ(st, fi_cancel(&s->srx->fid, &s->rx[0]->ctx), -ENOSYS,
		 "nor does it cancel");
	CHECK_EQ(st,
		 fi_getopt(&s->srx->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS,
			   &ms, &len),
		 -ENOSYS, "it has no time-out");
	CHECK_EQ(st,
		 fi_setopt(&s->srx->fid, FI_OPT_ENDPOINT, FI_OPT_LOW_WATER,
			   &low, sizeof(low)),
		 -EINVAL, "low water needs somebody to call");
	CHECK_EQ(st,
		 fi_setopt(&s->srx->fid, FI_OPT_ENDPOINT, FI_OPT_SPACE_HANDLER,
			   &space, sizeof(space)),
		 0, "a space handler is set before the first receive");
	CHECK_EQ(st, st_srx_post_range(s, 0, FEW), FEW,
		 "receives are posted to a context without endpoints");
	CHECK_EQ(st, st_srx_post(s, FEW), -FI_EAGAIN, "until it is full");
	CHECK_EQ(st,
		 fi_setopt(&s->srx->fid, FI_OPT_ENDPOINT, FI_OPT_SPACE_HANDLER,
			   &space, sizeof(space)),
		 -FI_EOPBADSTATE, "then it is too late for a space handler");
}

static noinline_for_stack void st_srx_posts_refused(struct st_shared *s)
{
	struct fi_low_water low = { .limit = FEW + 1, .fn = st_srx_on_low };
	struct fi_msg m = { .buf = fi_buf_linear(s->in, 8) };
	struct st *st = s->st;

	CHECK_EQ(st, fi_recvmsg(s->srx, &m, 0), -EINVAL,
		 "a shared receive without context is refused");
	m.context = &s->rx[FEW]->ctx;
	CHECK_EQ(st, fi_recvmsg(s->srx, &m, FI_MULTI_RECV), -FI_EBADFLAGS,
		 "a shared receive takes one message");
	m.buf = fi_buf_linear(NULL, 8);
	CHECK_EQ(st, fi_recvmsg(s->srx, &m, 0), -EINVAL,
		 "a shared receive without buffer is refused");
	CHECK_EQ(st,
		 fi_setopt(&s->srx->fid, FI_OPT_ENDPOINT, FI_OPT_LOW_WATER,
			   &low, sizeof(low)),
		 -EINVAL, "low water is not above the context's size");
}

/* All is there but a context. */
static void st_srx_without(struct st_shared *s, struct fid_eq *eq)
{
	struct fi_info *info = fi_dupinfo(s->st->info);
	struct fid_ep *ep = NULL;
	struct st *st = s->st;
	int ret;

	if (!info)
		return;
	info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	ret = fi_endpoint(st->target, info, &ep, NULL);
	ret = ret ?: fi_ep_bind(ep, &s->cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(ep, &eq->fid, 0);
	CHECK_EQ(st, ret, 0, "an endpoint that is to share has its queues");
	CHECK_EQ(st, fi_enable(ep), -EINVAL,
		 "without a context it is not enabled");
	if (ep)
		fi_close(&ep->fid);
	fi_freeinfo(info);
}

/* Bind what does not fit, in the wrong order, and enable what is not complete. */
static noinline_for_stack void st_srx_bindings(struct st_shared *s,
					       struct fid_eq *eq)
{
	struct fi_info *info = fi_dupinfo(s->st->info);
	struct fid_ep *plain = NULL, *ep = NULL, *far = NULL;
	struct st *st = s->st;
	int ret;

	if (!info)
		return;
	ret = fi_endpoint(st->target, info, &plain, NULL);
	info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	ret = ret ?: fi_endpoint(st->target, info, &ep, NULL);
	ret = ret ?: fi_srx_context(st->domain, NULL, &far, NULL);
	if (!CHECK_EQ(st, ret, 0, "endpoints open, with and without sharing"))
		goto close;
	CHECK_EQ(st, fi_ep_bind(plain, &s->srx->fid, 0), -EINVAL,
		 "an endpoint that was not opened to share cannot");
	CHECK_EQ(st, fi_ep_bind(ep, &far->fid, 0), -FI_EDOMAIN,
		 "a context of another domain is refused");
	CHECK_EQ(st, fi_ep_bind(ep, &s->srx->fid, FI_RECV), -FI_EBADFLAGS,
		 "a context is bound without flags");
	ret = fi_ep_bind(ep, &s->cq->fid, FI_TRANSMIT);
	ret = ret
		      ?: fi_ep_bind(ep, &s->cq->fid,
				    FI_RECV | FI_SELECTIVE_COMPLETION);
	ret = ret ?: fi_ep_bind(ep, &eq->fid, 0);
	CHECK_EQ(st, ret, 0, "its queues are bound");
	CHECK_EQ(st, fi_ep_bind(ep, &s->srx->fid, 0), 0, "a context binds");
	CHECK_EQ(st, fi_ep_bind(ep, &s->srx->fid, 0), -EBUSY, "there is one");
	CHECK_EQ(st, fi_enable(ep), -EINVAL,
		 "nor is it when receives complete selectively");
	CHECK_EQ(st, fi_close(&s->srx->fid), -EBUSY,
		 "a context that is bound does not close");
	CHECK_EQ(st, fi_close(&st->target->fid), -EBUSY,
		 "a domain with a context does not close");
close:
	if (far)
		fi_close(&far->fid);
	if (ep)
		fi_close(&ep->fid);
	if (plain)
		fi_close(&plain->fid);
	fi_freeinfo(info);
}

static noinline_for_stack void st_srx_refused(struct st *st)
{
	const struct fi_rx_attr attr = { .size = FEW };
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	struct fid_eq *eq = NULL;
	unsigned int i, ok = 0;

	if (!s)
		return;
	st_srx_bad_limits(st);
	if (CHECK_EQ(st, st_srx_open(s, st, &attr), 0,
		     "a small context opens") &&
	    CHECK_EQ(st, fi_eq_open(st->fabric, NULL, &eq, NULL), 0,
		     "an event queue opens")) {
		st_srx_context_refuses(s, eq);
		st_srx_posts_refused(s);
		st_srx_without(s, eq);
		st_srx_bindings(s, eq);
		CHECK_EQ(st, fi_close(&s->srx->fid), 0, "a context closes");
		s->srx = NULL;
		CHECK_EQ(st, st_cq_drain(s->cq, 0), FEW,
			 "receives that are left are told when it is closed");
		for (i = 0; i < FEW; i++)
			ok += s->rx[i]->count == 1 &&
			      s->rx[i]->entry.err == ECANCELED;
		CHECK_EQ(st, ok, FEW, "each once, as canceled");
	}
	if (eq)
		fi_close(&eq->fid);
	st_srx_close(s);
	kfree(s);
}

bool st_srx_offer(struct st *st)
{
	if (!st->info->domain_attr->max_ep_srx_ctx) {
		st_srx_none(st);
		return false;
	}
	st_srx_info(st);
	st_srx_refused(st);
	return true;
}

/* ---- while allocations fail ---------------------------------------------- */

static int st_srx_alloc_round(struct st *st)
{
	struct st_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	if (!s)
		return -ENOMEM;
	ret = st_srx_open(s, st, NULL);
	ret = ret ?: st_srx_connect(s, 0, 0);
	ret = ret ?: st_srx_post(s, 0);
	if (!ret && !st_srx_pass(s, 0, 0, s->rx[0]))
		ret = -EBADMSG;
	st_srx_close(s);
	kfree(s);
	return ret;
}

/* Somebody else lets them fail: each thing works, or says that there is no memory. */
void st_test_srx_alloc(struct st *st)
{
	int i, ret, worked = 0, other = 0;

	for (i = 0; i < ALLOC_RUNS; i++) {
		ret = st_srx_alloc_round(st);
		worked += !ret;
		if (ret && ret != -ENOMEM)
			other = ret;
	}
	CHECK_EQ(st, other, 0, "all works, or says that there is no memory");
	CHECKF(st, worked && worked < ALLOC_RUNS, "%d of %d worked", worked,
	       ALLOC_RUNS);
	CHECK(st, st_settled(st), "nothing is left of what failed");
}
