// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: a provider opened for testing, and pairs of connected endpoints.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "st.h"

#define LOOPBACK "127.0.0.1"

/* Off the stack, as there is one thread: the last event, and private data. */
static u8 st_event_buf[sizeof(struct fi_eq_cm_entry) +
		       FI_CM_DATA_MAX] __aligned(8);
static struct fi_eq_err_entry st_error_buf;
static u8 st_connect_data[FI_CM_DATA_MAX];
static u8 st_accept_data[FI_CM_DATA_MAX];

static ssize_t st_take_failure(struct fid_eq *eq, struct st_event *ev)
{
	ssize_t n = fi_eq_readerr(eq, &st_error_buf, 0);

	if (n < 0)
		return n;
	ev->fid = st_error_buf.fid;
	ev->len = st_error_buf.err_data_size;
	ev->data = st_error_buf.err_data;
	return -st_error_buf.err;
}

/* Wait for an event; a failure gives its error, negative. */
ssize_t st_event_wait(struct fid_eq *eq, struct st_event *ev, int timeout_ms)
{
	const struct fi_eq_cm_entry *entry = (const void *)st_event_buf;
	ssize_t n;

	memset(ev, 0, sizeof(*ev));
	n = fi_eq_sread(eq, &ev->event, st_event_buf, sizeof(st_event_buf),
			timeout_ms, 0);
	ev->len = n;
	if (n == -FI_EAVAIL)
		return st_take_failure(eq, ev);
	if (n < 0)
		return n;
	ev->len = n - sizeof(*entry);
	ev->fid = entry->fid;
	ev->info = entry->info;
	ev->data = entry->data;
	return ev->len;
}

static struct fi_info *st_hints_for(const struct st *st)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = ~0;
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	return hints;
}

static int st_ask_info(struct st *st, const char *node, const char *service,
		       u64 flags, struct fi_info **info)
{
	struct fi_info *hints = st_hints_for(st);
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = fi_getinfo(FI_VERSION(1, 0), node, service, flags, hints, info);
	fi_freeinfo(hints);
	return ret;
}

/* An info to connect to the passive endpoint, wherever it listens. */
static int st_find_peer(struct st *st)
{
	struct sockaddr_in6 addr = {};
	size_t len = sizeof(addr);
	char port[8];
	int ret;

	ret = fi_getname(&st->pep->fid, &addr, &len);
	if (ret)
		return ret;
	/* Both families have the port at the same place. */
	snprintf(port, sizeof(port), "%u", be16_to_cpu(addr.sin6_port));
	return st_ask_info(st, st->node, port, 0, &st->info);
}

/* The address that was asked for may not be this provider's. */
static int st_find_own(struct st *st)
{
	int ret = st_ask_info(st, st->node, st->service, FI_SOURCE,
			      &st->listen_info);

	if (ret != -ENODATA || !strcmp(st->node, LOOPBACK))
		return ret;
	st->node = LOOPBACK;
	return st_ask_info(st, st->node, st->service, FI_SOURCE,
			   &st->listen_info);
}

static int st_open_listener(struct st *st)
{
	int ret;

	ret = fi_eq_open(st->fabric, NULL, &st->pep_eq, NULL);
	ret = ret ?: fi_passive_ep(st->fabric, st->listen_info, &st->pep, st);
	ret = ret ?: fi_pep_bind(st->pep, &st->pep_eq->fid, 0);
	return ret ?: fi_listen(st->pep);
}

/*
 * Does the completion of a send or write say what became of it at the peer?
 * On iWARP it does not: what the peer refuses is told by the connection's end,
 * and a message is refused too if the peer has no receive yet.
 */
bool st_tells_of_peer(const struct st *st)
{
	return st->info->tx_attr->comp_levels & FI_TRANSMIT_COMPLETE;
}

/*
 * Does a refused operation's completion have the reason? TCP's wire format has
 * no words for it: the peer ends the connection.
 */
bool st_tells_why(const struct st *st)
{
	return st->info->ep_attr->protocol != FI_PROTO_SOCK_TCP;
}

int st_open(struct st *st)
{
	int ret = st_find_own(st);

	if (ret)
		return ret;
	ret = fi_fabric(st->listen_info->fabric_attr, &st->fabric, st);
	ret = ret ?: st_open_listener(st);
	ret = ret ?: st_find_peer(st);
	ret = ret ?: fi_domain(st->fabric, st->info, &st->domain, st);
	ret = ret ?: fi_domain(st->fabric, st->info, &st->target, st);
	st->next_key = ST_KEY;
	return ret;
}

static void st_close_if(struct st *st, struct kfid *fid)
{
	if (fid && fi_close(fid))
		st_tap_line("    # %s: an object cannot be closed",
			    st->provider);
}

void st_close(struct st *st)
{
	st_close_if(st, st->pep ? &st->pep->fid : NULL);
	st_close_if(st, st->pep_eq ? &st->pep_eq->fid : NULL);
	st_close_if(st, st->target ? &st->target->fid : NULL);
	st_close_if(st, st->domain ? &st->domain->fid : NULL);
	st_close_if(st, st->fabric ? &st->fabric->fid : NULL);
	fi_freeinfo(st->info);
	fi_freeinfo(st->listen_info);
}

static int st_bind_all(struct st_pair *p, struct fid_ep *ep, struct fid_cq *cq,
		       const struct st_opts *o)
{
	struct fid_cq *tx = ep == p->b && p->btx ? p->btx : cq;
	int ret = 0;

	if (o->space)
		ret = fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SPACE_HANDLER,
				o->space, sizeof(*o->space));
	if (!ret && o->op_timeout_ms)
		ret = fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS,
				&o->op_timeout_ms, sizeof(o->op_timeout_ms));
	ret = ret ?: fi_ep_bind(ep, &tx->fid, FI_TRANSMIT | o->tx_bind);
	ret = ret ?: fi_ep_bind(ep, &cq->fid, FI_RECV);
	if (!ret && ep == p->b && o->srx)
		ret = fi_ep_bind(ep, &o->srx->fid, 0);
	ret = ret ?: fi_ep_bind(ep, &p->eq->fid, 0);
	ret = ret ?: st_cntr_bind(p->st, ep);
	return ret ?: fi_enable(ep);
}

/* Open one side with its queue, up to fi_enable(). */
int st_ep_open(struct st_pair *p, struct fi_info *info, bool passive,
	       const struct st_opts *o)
{
	struct fid_domain *d = passive ? p->st->target : p->st->domain;
	struct fid_cq **cq = passive ? &p->bcq : &p->acq;
	struct fid_ep **ep = passive ? &p->b : &p->a;
	int ret;

	if (o->tx_size)
		info->tx_attr->size = o->tx_size;
	info->tx_attr->op_flags = o->tx_op_flags;
	if (passive && o->srx)
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	if (passive && o->passive_cq_attr) {
		ret = fi_cq_open(d, o->passive_cq_attr, cq, o->cq_context);
		ret = ret ?: fi_cq_open(d, NULL, &p->btx, NULL);
	} else {
		ret = fi_cq_open(d, o->cq_attr, cq, o->cq_context);
	}
	ret = ret ?: fi_endpoint(d, info, ep, p);
	return ret ?: st_bind_all(p, *ep, *cq, o);
}

static int st_open_active(struct st_pair *p, const struct st_opts *o)
{
	struct fi_info *info = fi_dupinfo(p->st->info);
	int ret;

	if (!info)
		return -ENOMEM;
	ret = st_ep_open(p, info, false, o);
	fi_freeinfo(info);
	return ret ?: fi_connect(p->a, NULL, o->connect_data, o->connect_len);
}

static int st_open_passive(struct st_pair *p, const struct st_opts *o)
{
	struct st_event ev;
	ssize_t n = st_event_wait(p->st->pep_eq, &ev, ST_WAIT_MS);
	int ret;

	if (n < 0)
		return n;
	if (ev.event != FI_CONNREQ)
		return -EPROTO;
	p->b_len = n;
	memcpy(st_connect_data, ev.data, n);
	p->b_data = st_connect_data;
	ret = st_ep_open(p, ev.info, true, o);
	fi_freeinfo(ev.info);
	return ret ?: fi_accept(p->b, o->accept_data, o->accept_len);
}

static int st_await_connected(struct st_pair *p)
{
	struct st_event ev;
	ssize_t n;
	int i;

	for (i = 0; i < 2; i++) {
		n = st_event_wait(p->eq, &ev, ST_WAIT_MS);
		if (n < 0)
			return n;
		if (ev.event != FI_CONNECTED)
			return -EPROTO;
		if (ev.fid == &p->a->fid) {
			p->a_len = n;
			memcpy(st_accept_data, ev.data, n);
			p->a_data = st_accept_data;
		}
	}
	return 0;
}

int st_pair_open(struct st_pair *p, struct st *st, const struct st_opts *opts)
{
	static const struct st_opts usual;
	int ret;

	memset(p, 0, sizeof(*p));
	p->st = st;
	if (!opts)
		opts = &usual;
	ret = fi_eq_open(st->fabric, opts->eq_attr, &p->eq, p);
	ret = ret ?: st_open_active(p, opts);
	ret = ret ?: st_open_passive(p, opts);
	return ret ?: st_await_connected(p);
}

void st_pair_close(struct st_pair *p)
{
	st_close_if(p->st, p->a ? &p->a->fid : NULL);
	st_close_if(p->st, p->b ? &p->b->fid : NULL);
	st_close_if(p->st, p->acq ? &p->acq->fid : NULL);
	st_close_if(p->st, p->bcq ? &p->bcq->fid : NULL);
	st_close_if(p->st, p->btx ? &p->btx->fid : NULL);
	st_close_if(p->st, p->eq ? &p->eq->fid : NULL);
	p->a = p->b = NULL;
	p->acq = p->bcq = p->btx = NULL;
	p->eq = NULL;
}

/* Register memory of the passive side for its peer. */
int st_mr_open(struct st_pair *p, const struct fi_buf *buf, u64 access,
	       struct fid_mr **mr)
{
	struct fi_mr_attr attr = { .buf = *buf,
				   .access = access,
				   .requested_key = p->st->next_key++ };
	int ret = fi_mr_regattr(p->st->target, &attr, 0, mr);

	if (ret)
		return ret;
	if (p->st->target->mr_mode & FI_MR_ENDPOINT) {
		ret = fi_mr_bind(*mr, &p->b->fid, 0);
		ret = ret ?: fi_mr_enable(*mr);
	}
	if (ret)
		fi_close(&(*mr)->fid);
	return ret;
}

u64 st_mr_addr(struct fid_mr *mr, u64 offset)
{
	return mr->iova + offset;
}

/*
 * Are the objects of st_open() or st_rdm_open() all that is left of the provider, and what holds
 * its module? A closed endpoint lives on until the reaper has done with it.
 * On verbs that takes until the connection manager's last datagram was sent,
 * milliseconds on a quiet machine; no time-out of the connection manager is in
 * it. So the deadline is only for a machine that is very busy.
 */
bool st_settled(const struct st *st)
{
	const struct kfi_provider *prov = st->fabric->fid.prov;
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	const int want = st_is_unconnected(st) ? ST_RDM_OBJECTS : ST_OBJECTS;
	int objects, refs;

	do {
		objects = atomic_read(&prov->nr_objects);
		refs = module_refcount(prov->owner);
		if (objects == want && refs == want)
			return true;
		schedule_timeout_uninterruptible(1);
	} while (time_before(jiffies, end));
	st_tap_line("    # %d objects, the module is held %d times, want %d",
		    objects, refs, want);
	return false;
}
