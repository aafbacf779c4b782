// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: providers of unconnected endpoints, and such endpoints.
 */
#include <linux/in6.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

/* There is a provider below, whose name begins behind this. */
bool st_is_rdm_layer(const struct st *st)
{
	return !strncmp(st->provider, "rdm;", 4);
}

/* Its endpoints promise nothing of what is sent. */
bool st_is_dgram(const struct st *st)
{
	return !strcmp(st->provider, "udp") || st_is_ud(st);
}

/*
 * They are those of verbs: a datagram is a packet, and a peer is asked for its queue
 * pair, so that one who is not there is noticed.
 */
bool st_is_ud(const struct st *st)
{
	return st_datagrams && !strcmp(st->provider, "verbs");
}

bool st_is_unconnected(const struct st *st)
{
	return st_is_rdm_layer(st) || st_is_dgram(st) ||
	       !strcmp(st->provider, "rds");
}

/*
 * Does a message to a port where nobody is end as such? RDS knows hosts only: what
 * has come to one has arrived. UDP knows nothing.
 */
bool st_knows_ports(const struct st *st)
{
	return st_is_rdm_layer(st);
}

/* The longest message that is tried. */
size_t st_longest(const struct st *st)
{
	return min_t(size_t, ST_MAX_LEN, st->info->ep_attr->max_msg_size);
}

static int st_rdm_ask(struct st *st, u16 port, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	char service[8];
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_SOURCE;
	if (st_is_rdm_layer(st))
		hints->caps |= FI_TAGGED | FI_DIRECTED_RECV | FI_MULTI_RECV |
			       FI_TAGGED_MULTI_RECV;
	hints->ep_attr->type = st_is_dgram(st) ? FI_EP_DGRAM : FI_EP_RDM;
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	snprintf(service, sizeof(service), "%u", port);
	ret = fi_getinfo(FI_VERSION(1, 0), st->node, service, FI_SOURCE, hints,
			 info);
	fi_freeinfo(hints);
	return ret;
}

int st_rdm_open(struct st *st)
{
	int ret = st_rdm_ask(st, 0, &st->info);

	if (ret == -ENODATA && strcmp(st->node, "127.0.0.1")) {
		st->node = "127.0.0.1";
		ret = st_rdm_ask(st, 0, &st->info);
	}
	ret = ret ?: fi_fabric(st->info->fabric_attr, &st->fabric, st);
	ret = ret ?: fi_domain(st->fabric, st->info, &st->domain, st);
	return ret ?: fi_domain(st->fabric, st->info, &st->target, st);
}

int st_node_open_cq(struct st_node *n, struct st *st, u16 port, u32 timeout_ms,
		    struct fi_cq_attr *cq)
{
	struct fi_av_attr av = { .rx_ctx_bits = ST_CTX_BITS };
	struct fi_info *info;
	int ret = st_rdm_ask(st, port, &info);

	memset(n, 0, sizeof(*n));
	n->st = st;
	if (ret)
		return ret;
	if (timeout_ms)
		info->ep_attr->op_timeout_ms = timeout_ms;
	if (st->queue_size) {
		info->tx_attr->size = st->queue_size;
		info->rx_attr->size = st->queue_size;
	}
	ret = fi_cq_open(st->domain, cq, &n->cq, n);
	ret = ret ?: fi_av_open(st->domain, &av, &n->av, n);
	ret = ret ?: fi_endpoint(st->domain, info, &n->ep, n);
	fi_freeinfo(info);
	ret = ret ?: fi_ep_bind(n->ep, &n->cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(n->ep, &n->av->fid, 0);
	ret = ret ?: st_cntr_bind(st, n->ep);
	ret = ret ?: fi_enable(n->ep);
	n->name_len = sizeof(n->name);
	return ret ?: fi_getname(&n->ep->fid, &n->name, &n->name_len);
}

int st_node_open(struct st_node *n, struct st *st, u16 port, u32 timeout_ms)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };

	return st_node_open_cq(n, st, port, timeout_ms, &cq);
}

void st_node_close(struct st_node *n)
{
	if (n->ep && fi_close(&n->ep->fid))
		st_tap_line("    # an endpoint cannot be closed");
	if (n->av && fi_close(&n->av->fid))
		st_tap_line("    # an address vector cannot be closed");
	if (n->cq && fi_close(&n->cq->fid))
		st_tap_line("    # a queue cannot be closed");
	memset(n, 0, sizeof(*n));
}

/* The time of what is posted from now on. */
int st_node_limit(struct st_node *n, u32 ms)
{
	return fi_setopt(&n->ep->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS,
			 &ms, sizeof(ms));
}

fi_addr_t st_node_knows(struct st_node *n, const struct st_node *other)
{
	fi_addr_t addr = FI_ADDR_UNSPEC;

	fi_av_insert(n->av, &other->name, 1, &addr, 0, NULL);
	return addr;
}

ssize_t st_node_send(struct st_node *n, struct st_op *op, const void *buf,
		     size_t len, fi_addr_t to)
{
	st_op_reset(op);
	return fi_send(n->ep, buf, len, NULL, to, &op->ctx);
}

ssize_t st_node_recv(struct st_node *n, struct st_op *op, void *buf, size_t len)
{
	st_op_reset(op);
	return fi_recv(n->ep, buf, len, NULL, FI_ADDR_UNSPEC, &op->ctx);
}

u16 st_node_port(const struct st_node *n)
{
	return be16_to_cpu(n->name.sin6_port);
}

/* ---- scalable ones --------------------------------------------------------- */

static int st_sep_cq(struct st_sep *s, struct fid_cq **cq)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };

	return *cq ? 0 : fi_cq_open(s->st->domain, &attr, cq, s);
}

/* A context, with the queue that it had when it was open before. */
int st_sep_tx_open(struct st_sep *s, int i)
{
	int ret = st_sep_cq(s, &s->tx_cq[i]);

	ret = ret ?: fi_tx_context(s->sep, i, NULL, &s->tx[i], s);
	ret = ret ?: fi_ep_bind(s->tx[i], &s->tx_cq[i]->fid, FI_TRANSMIT);
	return ret ?: fi_enable(s->tx[i]);
}

int st_sep_rx_open(struct st_sep *s, int i)
{
	int ret = st_sep_cq(s, &s->rx_cq[i]);

	ret = ret ?: fi_rx_context(s->sep, i, NULL, &s->rx[i], s);
	ret = ret ?: fi_ep_bind(s->rx[i], &s->rx_cq[i]->fid, FI_RECV);
	return ret ?: fi_enable(s->rx[i]);
}

int st_sep_open(struct st_sep *s, struct st *st)
{
	struct fi_av_attr av = { .rx_ctx_bits = ST_CTX_BITS };
	struct fi_info *info;
	int i, ret = st_rdm_ask(st, 0, &info);

	memset(s, 0, sizeof(*s));
	s->st = st;
	if (ret)
		return ret;
	info->ep_attr->tx_ctx_cnt = ST_CTXS;
	info->ep_attr->rx_ctx_cnt = ST_CTXS;
	ret = fi_scalable_ep(st->domain, info, &s->sep, s);
	fi_freeinfo(info);
	ret = ret ?: fi_av_open(st->domain, &av, &s->av, s);
	ret = ret ?: fi_scalable_ep_bind(s->sep, &s->av->fid, 0);
	/* Those that receive before it is enabled, the others afterwards. */
	for (i = 0; i < ST_CTXS; i++)
		ret = ret ?: st_sep_rx_open(s, i);
	ret = ret ?: fi_enable(s->sep);
	for (i = 0; i < ST_CTXS; i++)
		ret = ret ?: st_sep_tx_open(s, i);
	s->name_len = sizeof(s->name);
	return ret ?: fi_getname(&s->sep->fid, &s->name, &s->name_len);
}

static void st_sep_close_one(struct kfid *fid)
{
	if (fi_close(fid))
		st_tap_line(
			"    # a part of a scalable endpoint cannot be closed");
}

void st_sep_close(struct st_sep *s)
{
	int i;

	for (i = 0; i < ST_CTXS; i++) {
		if (s->tx[i])
			st_sep_close_one(&s->tx[i]->fid);
		if (s->rx[i])
			st_sep_close_one(&s->rx[i]->fid);
	}
	if (s->sep)
		st_sep_close_one(&s->sep->fid);
	if (s->av)
		st_sep_close_one(&s->av->fid);
	for (i = 0; i < ST_CTXS; i++) {
		if (s->tx_cq[i])
			st_sep_close_one(&s->tx_cq[i]->fid);
		if (s->rx_cq[i])
			st_sep_close_one(&s->rx_cq[i]->fid);
	}
	memset(s, 0, sizeof(*s));
}

/* ---- room --------------------------------------------------------------------- */

void st_room_close(struct st_room *r)
{
	int i;

	for (i = 0; i < ST_ROOM_OPS; i++) {
		kfree(r->tx[i]);
		kfree(r->rx[i]);
	}
	kvfree(r->src);
	kvfree(r->dst);
}

bool st_room_open(struct st_room *r, struct st *st)
{
	bool ok = true;
	int i;

	r->src = kvzalloc(ST_ROOM_BYTES, GFP_KERNEL);
	r->dst = kvzalloc(ST_ROOM_BYTES, GFP_KERNEL);
	for (i = 0; i < ST_ROOM_OPS; i++) {
		r->tx[i] = st_op_new(st);
		r->rx[i] = st_op_new(st);
		ok = ok && r->tx[i] && r->rx[i];
	}
	return CHECK(st, ok && r->src && r->dst, "there is memory for peers");
}

bool st_two_open(struct st *st, struct st_node *a, struct st_node *b,
		 u32 timeout_ms)
{
	return CHECK_EQ(st, st_node_open(a, st, 0, timeout_ms), 0,
			"an endpoint opens") &&
	       CHECK_EQ(st, st_node_open(b, st, 0, timeout_ms), 0,
			"its peer opens");
}

bool st_duo_open(struct st_duo *d, struct st *st)
{
	if (!st_room_open(&d->r, st) || !st_two_open(st, &d->a, &d->b, 0))
		return false;
	d->to_b = st_node_knows(&d->a, &d->b);
	d->to_a = st_node_knows(&d->b, &d->a);
	return true;
}

void st_duo_close(struct st_duo *d)
{
	st_node_close(&d->a);
	st_node_close(&d->b);
	st_room_close(&d->r);
}

/* A message from one to the other, which has a receive for it; 0 or an error. */
int st_pass(struct st_room *r, struct st_node *from, struct st_node *to,
	    fi_addr_t addr, size_t len)
{
	int ret = st_node_recv(to, r->rx[0], r->dst, ST_ROOM_BASE);

	ret = ret ?: st_node_send(from, r->tx[0], r->src, len, addr);
	ret = st_op_result(from->cq, r->tx[0], ret);
	return st_op_result(to->cq, r->rx[0], ret);
}
