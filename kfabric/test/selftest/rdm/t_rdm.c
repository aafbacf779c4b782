// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: unconnected endpoints: objects, address vectors, messages, cancel.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define MANY_ADDRS 100
#define CANCEL_MS  4000
#define SHORT_MS   1500 /* time-out of what is to end by it */

/* ---- objects ------------------------------------------------------------ */

static void st_rdm_bind(struct st *st, struct fid_ep *ep, struct fid_cq *cq,
			struct fid_av *av, struct fid_av *other,
			struct st_op *op)
{
	u8 byte = 0;

	CHECK_EQ(st, fi_enable(ep), -FI_ENOCQ,
		 "an endpoint without queue is not enabled");
	CHECK_EQ(st, fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0,
		 "a queue binds");
	CHECK_EQ(st, fi_enable(ep), -FI_ENOAV,
		 "an endpoint without address vector is not enabled");
	CHECK_EQ(st, fi_ep_bind(ep, &other->fid, 0), -FI_EDOMAIN,
		 "an address vector of another domain is refused");
	CHECK_EQ(st, fi_ep_bind(ep, &av->fid, FI_RECV), -FI_EBADFLAGS,
		 "an address vector has no direction");
	CHECK_EQ(st, fi_ep_bind(ep, &av->fid, 0), 0, "an address vector binds");
	CHECK_EQ(st, fi_ep_bind(ep, &av->fid, 0), -EBUSY,
		 "there is one address vector");
	CHECK_EQ(st, fi_recv(ep, &byte, 1, NULL, 0, &op->ctx), -FI_EOPBADSTATE,
		 "an endpoint that is not enabled takes no receive");
	CHECK_EQ(st, fi_send(ep, &byte, 1, NULL, 0, &op->ctx), -FI_EOPBADSTATE,
		 "an endpoint that is not enabled does not send");
	CHECK_EQ(st, fi_enable(ep), 0, "with both it is enabled");
	CHECK_EQ(st, fi_connect(ep, NULL, NULL, 0), -ENOSYS,
		 "it does not connect");
	CHECK_EQ(st, fi_close(&av->fid), -EBUSY,
		 "an address vector that is bound does not close");
}

static void st_rdm_infos(struct st *st)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		return;
	CHECK(st, st->info->caps & FI_SOURCE, "receives say who sent");
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	hints->ep_attr->type = FI_EP_MSG;
	if (!st_is_ud(st))
		CHECK_EQ(st,
			 fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints,
				    &info),
			 -ENODATA, "there are no connected endpoints");
	hints->ep_attr->type = st->info->ep_attr->type;
	hints->caps = FI_RMA_PMEM;
	CHECK_EQ(st, fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints, &info),
		 -ENODATA, "who wants persistent memory finds none");
	fi_freeinfo(hints);
}

void st_test_rdm_object(struct st *st)
{
	struct fid_av *av = NULL, *other = NULL;
	struct st_op *op = st_op_new(st);
	struct fid_cq *cq = NULL;
	struct fid_ep *ep = NULL;
	int ret;

	st_rdm_infos(st);
	ret = fi_cq_open(st->domain, NULL, &cq, NULL);
	ret = ret ?: fi_av_open(st->domain, NULL, &av, NULL);
	ret = ret ?: fi_av_open(st->target, NULL, &other, NULL);
	ret = ret ?: fi_endpoint(st->domain, st->info, &ep, NULL);
	if (CHECK_EQ(st, ret, 0, "an endpoint opens") && op)
		st_rdm_bind(st, ep, cq, av, other, op);
	if (ep)
		CHECK_EQ(st, fi_close(&ep->fid), 0, "it closes");
	if (av)
		CHECK_EQ(st, fi_close(&av->fid), 0, "its vector closes");
	if (other)
		fi_close(&other->fid);
	if (cq)
		fi_close(&cq->fid);
	kfree(op);
}

/* ---- address vectors ----------------------------------------------------- */

static void st_av_numbers(struct st *st, struct fid_av *av)
{
	struct sockaddr_in6 back = {};
	fi_addr_t one = 0, same = 0, again = 0;
	size_t len = sizeof(back);
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = cpu_to_be16(4711),
				  .sin_addr.s_addr = cpu_to_be32(0x0a000001) };

	CHECK_EQ(st, fi_av_insert(av, &v4, 1, &one, 0, NULL), 1,
		 "an address is inserted");
	CHECK_EQ(st, fi_av_insert(av, &v4, 1, &same, 0, NULL), 1,
		 "it is inserted again");
	CHECK(st, one == same, "it has the same number");
	CHECK_EQ(st, fi_av_lookup(av, one, &back, &len), 0, "it is found");
	CHECK(st, len == sizeof(v4) && !memcmp(&back, &v4, len),
	      "it is what was inserted");
	CHECK_EQ(st, fi_av_remove(av, &one, 1, 0), 0, "it is removed");
	len = sizeof(back);
	CHECK_EQ(st, fi_av_lookup(av, one, &back, &len), 0,
		 "it is there as often as it was inserted");
	CHECK_EQ(st, fi_av_remove(av, &one, 1, 0), 0, "it is removed again");
	CHECK_EQ(st, fi_av_lookup(av, one, &back, &len), -EINVAL,
		 "it is not found any more");
	CHECK_EQ(st, fi_av_remove(av, &one, 1, 0), -EINVAL,
		 "it is not removed once more");
	CHECK_EQ(st, fi_av_insert(av, &v4, 1, &again, 0, NULL), 1,
		 "it is inserted anew");
	CHECK(st, again != one, "and has another number");
	CHECK_EQ(st, fi_av_lookup(av, one, &back, &len), -EINVAL,
		 "the old number stays invalid");
	len = 4;
	CHECK_EQ(st, fi_av_lookup(av, again, &back, &len), -FI_ETOOSMALL,
		 "too little room is refused");
	CHECK_EQ(st, fi_av_lookup(av, FI_ADDR_UNSPEC, &back, &len), -EINVAL,
		 "no number is no number");
	CHECK_EQ(st, fi_av_insert(av, &v4, 1, &one, 1, NULL), -FI_EBADFLAGS,
		 "an unknown flag is refused");
}

static void st_av_addresses(struct st *st, struct fid_av *av)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = cpu_to_be16(7),
				   .sin6_flowinfo = cpu_to_be32(99),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in6 ib = { .sin6_family = AF_IB };
	fi_addr_t addr = 0, same = 0;
	char text[FI_AV_TEXT_BYTES];
	size_t len = sizeof(text);

	CHECK_EQ(st, fi_av_insert(av, &ib, 1, &addr, 0, NULL), 0,
		 "an address of InfiniBand is none");
	CHECK(st, addr == FI_ADDR_UNSPEC, "it gets no number");
	CHECK_EQ(st, fi_av_insert(av, &v6, 1, &addr, 0, NULL), 1,
		 "an address of IPv6 is inserted");
	v6.sin6_flowinfo = 0;
	fi_av_insert(av, &v6, 1, &same, 0, NULL);
	CHECK(st, addr == same, "its flow is no part of it");
	CHECK(st, !strcmp(fi_av_straddr(av, &v6, text, &len), "[::1]:7"),
	      "it has a text");
	CHECK_EQ(st, len, 8, "which has a length");
	v6.sin6_port = 0;
	CHECK_EQ(st, fi_av_insert(av, &v6, 1, &addr, 0, NULL), 0,
		 "an address without port is none");
	CHECK_EQ(st,
		 fi_av_insertsvc(av, "::ffff:10.9.8.7", "5", &addr, 0, NULL), 1,
		 "a node and a service are inserted");
	CHECK_EQ(st, fi_av_insertsvc(av, "10.9.8.7", "5", &same, 0, NULL), 1,
		 "another way to write it is inserted");
	CHECK(st, addr == same, "it is the same");
	CHECK_EQ(st, fi_av_insertsvc(av, "nobody", "5", &addr, 0, NULL),
		 -EINVAL, "a name is refused");
	CHECK_EQ(st, fi_av_insertsvc(av, "10.9.8.7", NULL, &addr, 0, NULL),
		 -EINVAL, "no service is refused");
	CHECK_EQ(st, fi_av_insertsvc(av, "10.9.8.7", "0", &addr, 0, NULL),
		 -EINVAL, "port 0 is refused");
}

static void st_av_many(struct st *st, struct fid_av *av)
{
	struct sockaddr_in *v4 = kcalloc(MANY_ADDRS, sizeof(*v4), GFP_KERNEL);
	fi_addr_t *addrs = kcalloc(MANY_ADDRS, sizeof(*addrs), GFP_KERNEL);
	struct sockaddr_in back;
	unsigned int i, ok = 0;
	size_t len;

	if (!v4 || !addrs)
		goto out;
	for (i = 0; i < MANY_ADDRS; i++)
		v4[i] = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = cpu_to_be16(i + 1),
			.sin_addr.s_addr = cpu_to_be32(0x0b000000 + i),
		};
	CHECK_EQ(st, fi_av_insert(av, v4, MANY_ADDRS, addrs, 0, NULL),
		 MANY_ADDRS, "many addresses are inserted");
	for (i = 0; i < MANY_ADDRS; i++) {
		len = sizeof(back);
		ok += !fi_av_lookup(av, addrs[i], &back, &len) &&
		      !memcmp(&back, &v4[i], sizeof(back));
	}
	CHECK_EQ(st, ok, MANY_ADDRS, "all of them are found");
	CHECK_EQ(st, fi_av_remove(av, addrs, MANY_ADDRS, 0), 0,
		 "all of them are removed");
	for (i = 0, ok = 0; i < MANY_ADDRS; i++)
		ok += fi_av_lookup(av, addrs[i], &back, &len) == -EINVAL;
	CHECK_EQ(st, ok, MANY_ADDRS, "none of them is found");
out:
	kfree(v4);
	kfree(addrs);
}

void st_test_rdm_av(struct st *st)
{
	struct fi_av_attr attr = { .count = KFI_AV_MAX + 1 };
	struct fid_av *av;

	CHECK_EQ(st, fi_av_open(st->domain, &attr, &av, NULL), -EINVAL,
		 "too large an address vector is refused");
	attr.count = 2;
	if (!CHECK_EQ(st, fi_av_open(st->domain, &attr, &av, NULL), 0,
		      "an address vector opens"))
		return;
	st_av_numbers(st, av);
	st_av_addresses(st, av);
	st_av_many(st, av);
	CHECK_EQ(st, fi_close(&av->fid), 0, "an address vector closes");
}

/* ---- messages ------------------------------------------------------------ */

struct rdm_bench {
	struct st_node a, b;
	fi_addr_t to_b, to_a; /* as each knows the other */
	struct st_op *tx, *rx;
	u8 *src, *dst;
};

static bool st_rdm_bench_open(struct rdm_bench *m, struct st *st)
{
	m->tx = st_op_new(st);
	m->rx = st_op_new(st);
	m->src = kvzalloc(ST_ARENA_LEN, GFP_KERNEL);
	m->dst = kvzalloc(ST_ARENA_LEN, GFP_KERNEL);
	if (!CHECK(st, m->tx && m->rx && m->src && m->dst,
		   "there is memory for messages") ||
	    !CHECK_EQ(st, st_node_open(&m->a, st, 0, 0), 0,
		      "an endpoint opens") ||
	    !CHECK_EQ(st, st_node_open(&m->b, st, 0, 0), 0,
		      "another endpoint opens"))
		return false;
	m->to_b = st_node_knows(&m->a, &m->b);
	m->to_a = st_node_knows(&m->b, &m->a);
	return CHECK(st, m->to_a != FI_ADDR_UNSPEC && m->to_b != FI_ADDR_UNSPEC,
		     "they know each other");
}

static void st_rdm_bench_close(struct rdm_bench *m)
{
	st_node_close(&m->a);
	st_node_close(&m->b);
	kfree(m->tx);
	kfree(m->rx);
	kvfree(m->src);
	kvfree(m->dst);
}

/* From a to b; 0 if both completions say so. */
static int st_rdm_once(struct rdm_bench *m, size_t len, u64 flags, u64 data)
{
	struct fi_msg msg = { .buf = fi_buf_linear(m->src, len),
			      .addr = m->to_b,
			      .context = &m->tx->ctx,
			      .data = data };
	int ret = st_node_recv(&m->b, m->rx, m->dst, st_longest(m->a.st));

	st_op_reset(m->tx);
	ret = ret ?: fi_sendmsg(m->a.ep, &msg, flags);
	ret = st_op_result(m->a.cq, m->tx, ret);
	return st_op_result(m->b.cq, m->rx, ret);
}

static void st_rdm_no_data(struct st *st, struct rdm_bench *m)
{
	struct fi_msg msg = { .buf = fi_buf_linear(m->src, 10),
			      .addr = m->to_b,
			      .context = &m->tx->ctx };

	CHECK_EQ(st, fi_sendmsg(m->a.ep, &msg, FI_REMOTE_CQ_DATA), -EOPNOTSUPP,
		 "a message with data is refused");
}

static noinline_for_stack void st_rdm_sizes(struct st *st, struct rdm_bench *m)
{
	static const size_t sizes[] = { 1,    0,    64,	   4095,      4096,
					4097, 8192, 65537, ST_MAX_LEN };
	size_t i, unused;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (sizes[i] > st_longest(st))
			continue;
		st_fill(m->src, sizes[i], i + 1);
		CHECKF(st,
		       !st_rdm_once(m, sizes[i], 0, 0) &&
			       m->rx->entry.len == sizes[i] &&
			       m->rx->entry.src_addr == m->to_a &&
			       m->rx->entry.flags == (FI_RECV | FI_MSG) &&
			       m->tx->entry.flags == (FI_SEND | FI_MSG) &&
			       st_holds(m->dst, sizes[i], i + 1),
		       "a message of %zu bytes arrives, and who sent it",
		       sizes[i]);
	}
	if (!st->info->domain_attr->cq_data_size) {
		st_rdm_no_data(st, m);
		return;
	}
	unused = 64 - 8 * st->info->domain_attr->cq_data_size;
	CHECK_EQ(st, st_rdm_once(m, 10, FI_REMOTE_CQ_DATA, 0x1234567890abcdef),
		 0, "a message with data arrives");
	CHECK_EQ(st, m->rx->entry.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA,
		 "its flags are exact");
	CHECK_EQ(st, m->rx->entry.data, 0x1234567890abcdef & ~0ULL >> unused,
		 "it is the right data");
}

static noinline_for_stack void st_rdm_forms(struct st *st, struct rdm_bench *m)
{
	const size_t u = min_t(size_t, 1000, st_longest(st) / 8);
	struct kvec out[2] = { { m->src, 5 * u }, { m->src + 6 * u, 3 * u } };
	struct kvec in[2] = { { m->dst, 100 }, { m->dst + 200, 8 * u - 100 } };
	int ret;

	st_fill(m->src, 64, 5);
	ret = st_node_recv(&m->b, m->rx, m->dst, 64);
	CHECK_EQ(st, ret ?: fi_inject(m->a.ep, m->src, 64, m->to_b), 0,
		 "a small message is injected");
	memset(m->src, 0, 64);
	CHECK(st, !st_op_result(m->b.cq, m->rx, 0) && st_holds(m->dst, 64, 5),
	      "it arrives as it was");
	CHECK_EQ(st, st_cq_drain(m->a.cq, ST_QUIET_MS), 0,
		 "it has no completion");
	st_fill(m->src, 9 * u, 6);
	st_op_reset(m->tx);
	st_op_reset(m->rx);
	ret = fi_recvv(m->b.ep, in, NULL, 2, FI_ADDR_UNSPEC, &m->rx->ctx);
	ret = ret ?: fi_sendv(m->a.ep, out, NULL, 2, m->to_b, &m->tx->ctx);
	ret = st_op_result(m->a.cq, m->tx, ret);
	CHECK_EQ(st, st_op_result(m->b.cq, m->rx, ret), 0,
		 "a message of ranges arrives");
	CHECK(st,
	      m->rx->entry.len == 8 * u && !memcmp(m->dst, m->src, 100) &&
		      !memcmp(m->dst + 200, m->src + 100, 5 * u - 100) &&
		      !memcmp(m->dst + 100 + 5 * u, m->src + 6 * u, 3 * u),
	      "in ranges");
}

static noinline_for_stack void st_rdm_short(struct st *st, struct rdm_bench *m)
{
	const size_t half = min_t(size_t, 5000, st_longest(st) / 2);
	int ret;

	st_fill(m->src, 2 * half, 8);
	memset(m->dst, 0, 2 * half);
	ret = st_node_recv(&m->b, m->rx, m->dst, half);
	ret = ret ?: st_node_send(&m->a, m->tx, m->src, 2 * half, m->to_b);
	CHECK_EQ(st, st_op_result(m->a.cq, m->tx, ret), 0,
		 "a message longer than its receive is sent");
	CHECK_EQ(st, st_op_result(m->b.cq, m->rx, ret), FI_ETRUNC,
		 "its receive is told");
	CHECK(st,
	      m->rx->entry.len == half && m->rx->entry.olen == half &&
		      st_holds(m->dst, half, 8) && !m->dst[half],
	      "it has what fits");
	CHECK_EQ(st, st_rdm_once(m, 100, 0, 0), 0, "the next one arrives");
}

static noinline_for_stack void st_rdm_order(struct st *st, struct rdm_bench *m)
{
	struct st_op *rx[16] = {}, *tx[16] = {};
	u32 *in = (u32 *)m->dst, *out = (u32 *)m->src;
	unsigned int i, ok = 0;
	int ret = 0;

	for (i = 0; i < 16; i++) {
		rx[i] = st_op_new(st);
		tx[i] = st_op_new(st);
		out[i] = i * 3;
		in[i] = 0;
	}
	for (i = 0; i < 16; i++)
		ret = ret ?: st_node_send(&m->a, tx[i], &out[i], 4, m->to_b);
	/* More than the window holds, before there is any receive. */
	for (i = 0; i < 16; i++)
		ret = ret ?: st_node_recv(&m->b, rx[i], &in[i], 4);
	CHECK_EQ(st, ret, 0, "messages are posted before their receives");
	for (i = 0; i < 16; i++)
		ok += !st_op_result(m->a.cq, tx[i], ret) &&
		      !st_op_result(m->b.cq, rx[i], ret) && in[i] == i * 3;
	CHECK_EQ(st, ok, 16, "they arrive in the order of posting");
	for (i = 0; i < 16; i++) {
		kfree(rx[i]);
		kfree(tx[i]);
	}
}

static noinline_for_stack void st_rdm_self(struct st *st, struct rdm_bench *m)
{
	const size_t len = min_t(size_t, 9000, st_longest(st));
	fi_addr_t self = st_node_knows(&m->a, &m->a);
	int ret;

	st_fill(m->src, len, 3);
	ret = st_node_recv(&m->a, m->rx, m->dst, len);
	ret = ret ?: st_node_send(&m->a, m->tx, m->src, len, self);
	ret = st_op_result(m->a.cq, m->tx, ret);
	CHECK_EQ(st, st_op_result(m->a.cq, m->rx, ret), 0,
		 "an endpoint sends to itself");
	CHECK(st, m->rx->entry.src_addr == self && st_holds(m->dst, len, 3),
	      "and knows itself");
}

static noinline_for_stack void st_rdm_refused(struct st *st,
					      struct rdm_bench *m)
{
	fi_addr_t gone = m->to_b;

	st_op_reset(m->tx);
	CHECK_EQ(st, st_node_send(&m->a, m->tx, m->src, 8, FI_ADDR_UNSPEC),
		 -EINVAL, "a send to nobody is refused");
	fi_av_remove(m->b.av, &m->to_a, 1, 0);
	CHECK_EQ(st, st_rdm_once(m, 10, 0, 0), 0,
		 "a message of a stranger arrives");
	CHECK(st, m->rx->entry.src_addr == FI_ADDR_UNSPEC,
	      "it is not told from whom");
	fi_av_remove(m->a.av, &m->to_b, 1, 0);
	m->to_b = st_node_knows(&m->a, &m->b);
	CHECK_EQ(st, st_node_send(&m->a, m->tx, m->src, 8, gone), -EINVAL,
		 "a send to a number that was removed is refused");
	CHECK_EQ(st, st_rdm_once(m, 10, 0, 0), 0,
		 "one to the new number arrives");
	CHECK_EQ(st,
		 fi_inject(m->a.ep, m->src, st->info->tx_attr->inject_size + 1,
			   m->to_b),
		 -EMSGSIZE, "a message that is too long is not injected");
	CHECK_EQ(st, st_cq_drain(m->a.cq, ST_QUIET_MS), 0,
		 "what was refused has no completion");
}

void st_test_rdm_msg(struct st *st)
{
	struct rdm_bench m = {};

	if (st_rdm_bench_open(&m, st)) {
		st_rdm_sizes(st, &m);
		st_rdm_forms(st, &m);
		st_rdm_short(st, &m);
		if (!st_is_dgram(st))
			st_rdm_order(st, &m);
		st_rdm_self(st, &m);
		st_rdm_refused(st, &m);
	}
	st_rdm_bench_close(&m);
}

/* ---- failed injects --------------------------------------------------------- */

/* They keep no room when they are over, and read. */
void st_test_rdm_inject(struct st *st)
{
	unsigned int size = st->info->tx_attr->size, i, round, ended = 0;
	struct st_node a = {}, b = {};
	fi_addr_t nobody;
	u8 bytes[8] = {};
	int ret = 0;

	if (!st_knows_ports(st))
		return;
	if (!CHECK_EQ(st, st_node_open(&a, st, 0, SHORT_MS), 0,
		      "an endpoint opens") ||
	    !CHECK_EQ(st, st_node_open(&b, st, 0, 0), 0, "its peer opens"))
		goto out;
	nobody = st_node_knows(&a, &b);
	st_node_close(&b);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < size && !ret; i++)
			ret = fi_inject(a.ep, bytes, sizeof(bytes), nobody);
		while (!ret && i--)
			ended += st_cq_take(a.cq, ST_WAIT_MS, NULL) == 1;
	}
	CHECK_EQ(st, ret, 0, "who is away is injected to again and again");
	CHECK_EQ(st, ended, 2 * size, "each of these fails");
out:
	st_node_close(&a);
	st_node_close(&b);
}

/* ---- cancel --------------------------------------------------------------- */

static noinline_for_stack void st_rdm_cancel_rx(struct st *st,
						struct rdm_bench *m)
{
	struct st_op *second = st_op_new(st);
	int ret;

	if (!second)
		return;
	memset(m->dst, 0, 200);
	st_fill(m->src, 100, 77);
	ret = st_node_recv(&m->b, m->rx, m->dst, 100);
	ret = ret ?: st_node_recv(&m->b, second, m->dst + 100, 100);
	CHECK_EQ(st, ret ?: fi_cancel(&m->b.ep->fid, &m->rx->ctx), 0,
		 "a receive is canceled");
	CHECK_EQ(st, st_op_result(m->b.cq, m->rx, 0), ECANCELED,
		 "it completes so");
	CHECK_EQ(st, m->rx->entry.flags, FI_RECV | FI_MSG,
		 "its flags are exact");
	ret = st_node_send(&m->a, m->tx, m->src, 100, m->to_b);
	ret = st_op_result(m->a.cq, m->tx, ret);
	CHECK_EQ(st, st_op_result(m->b.cq, second, ret), 0,
		 "a message goes into the next receive");
	CHECK(st,
	      !memchr_inv(m->dst, 0, 100) && st_holds(m->dst + 100, 100, 77),
	      "and no byte into the canceled one");
	CHECK_EQ(st, fi_cancel(&m->b.ep->fid, &second->ctx), -ENOENT,
		 "what is over is not canceled");
	CHECK_EQ(st, m->rx->count + second->count, 2, "each completed once");
	kfree(second);
}

static noinline_for_stack void st_rdm_cancel_tx(struct st *st,
						struct rdm_bench *m)
{
	struct st_node nobody_there = {};
	fi_addr_t nobody;
	char port[8];
	int ret;

	/* The port of an endpoint that is closed, and never had a connection. */
	ret = st_node_open(&nobody_there, st, 0, 0);
	snprintf(port, sizeof(port), "%u", st_node_port(&nobody_there));
	st_node_close(&nobody_there);
	ret = ret ?: fi_av_insertsvc(m->a.av, st->node, port, &nobody, 0, NULL);
	CHECK_EQ(st, ret, 1, "an address of nobody is inserted");
	CHECK_EQ(st, st_node_send(&m->a, m->tx, m->src, 100, nobody), 0,
		 "a message to nobody is posted");
	CHECK_EQ(st, st_cq_drain(m->a.cq, ST_QUIET_MS), 0, "it waits");
	CHECK_EQ(st, fi_cancel(&m->a.ep->fid, &m->tx->ctx), 0,
		 "it is canceled");
	CHECK_EQ(st, st_cq_take(m->a.cq, CANCEL_MS, NULL), 1,
		 "it completes at once");
	CHECK_EQ(st, m->tx->entry.err, ECANCELED, "it completes so");
	CHECK_EQ(st, fi_cancel(&m->a.ep->fid, &m->tx->ctx), -ENOENT,
		 "it is not canceled twice");
}

static noinline_for_stack void st_rdm_close(struct st *st, struct rdm_bench *m)
{
	CHECK_EQ(st, st_node_recv(&m->a, m->rx, m->dst, 100), 0,
		 "a receive is posted");
	CHECK_EQ(st, fi_close(&m->a.ep->fid), 0, "the endpoint closes");
	m->a.ep = NULL;
	CHECK_EQ(st, st_cq_take(m->a.cq, 0, NULL), 1, "the receive is over");
	CHECK_EQ(st, m->rx->entry.err, ECANCELED, "it was canceled");
}

void st_test_rdm_cancel(struct st *st)
{
	struct rdm_bench m = {};

	if (st_rdm_bench_open(&m, st)) {
		st_rdm_cancel_rx(st, &m);
		if (st_knows_ports(st))
			st_rdm_cancel_tx(st, &m);
		st_rdm_close(st, &m);
	}
	st_rdm_bench_close(&m);
}
