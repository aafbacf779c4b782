// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: datagram endpoints: what they promise, which is little, and how they say
 * what they cannot do. What they have in common with other unconnected endpoints has
 * its tests in t_rdm*.c.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "st.h"

#define MANY	 100 /* datagrams that have no receive */
#define MANY_LEN 60000 /* of one: together more than a socket keeps */
#define SHORT_MS 300 /* time-out of what is to end by it */
#define WAITING	 3 /* sends that the socket has no room for */

/* ---- what there is ------------------------------------------------------------ */

static void st_dgram_infos(struct st *st)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		return;
	hints->ep_attr->type = FI_EP_DGRAM;
	if (CHECK_EQ(st,
		     fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints, &info),
		     0, "who asks for datagrams is answered")) {
		CHECK(st, info->ep_attr->type == FI_EP_DGRAM,
		      "with endpoints for them");
		fi_freeinfo(info);
	}
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	hints->ep_attr->type = FI_EP_RDM;
	CHECK_EQ(st, fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints, &info),
		 -ENODATA, "who asks for reliable ones finds none");
	fi_freeinfo(hints);
}

/* ---- lengths and addresses ------------------------------------------------------ */

static void st_dgram_longest(struct st *st, struct st_duo *d, u8 *src, u8 *dst)
{
	size_t max = st->info->ep_attr->max_msg_size;
	struct st_op *tx = d->r.tx[0], *rx = d->r.rx[0];
	int ret;

	st_fill(src, max, 9);
	ret = st_node_recv(&d->b, rx, dst, max);
	ret = ret ?: st_node_send(&d->a, tx, src, max, d->to_b);
	ret = st_op_result(d->a.cq, tx, ret);
	CHECKF(st,
	       !st_op_result(d->b.cq, rx, ret) && rx->entry.len == max &&
		       st_holds(dst, max, 9),
	       "a message of %zu bytes arrives", max);
	CHECK_EQ(st, st_node_send(&d->a, tx, src, max + 1, d->to_b), -EMSGSIZE,
		 "one that is longer is refused");
	CHECK_EQ(st, st_node_recv(&d->b, rx, dst, max + 1), -EMSGSIZE,
		 "so is a receive");
}

static void st_dgram_family(struct st *st, struct st_duo *d)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = cpu_to_be16(7),
				  .sin_addr.s_addr = cpu_to_be32(0x7f000001) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = cpu_to_be16(7),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const void *other = d->a.name.sin6_family == AF_INET6
				    ? (const void *)&v4
				    : (const void *)&v6;
	fi_addr_t addr = FI_ADDR_UNSPEC;

	fi_av_insert(d->a.av, other, 1, &addr, 0, NULL);
	CHECK_EQ(st, st_node_send(&d->a, d->r.tx[0], d->r.src, 10, addr),
		 -EINVAL, "a message to the other family is refused");
}

static void st_dgram_nobody(struct st *st, struct st_duo *d)
{
	struct st_node gone = {};
	fi_addr_t nobody;
	int i, ok = 0;

	if (!CHECK_EQ(st, st_node_open(&gone, st, 0, 0), 0,
		      "an endpoint opens"))
		return;
	nobody = st_node_knows(&d->a, &gone);
	st_node_close(&gone);
	for (i = 0; i < 3; i++)
		ok += !st_op_result(d->a.cq, d->r.tx[i],
				    st_node_send(&d->a, d->r.tx[i], d->r.src,
						 10, nobody));
	CHECK_EQ(st, ok, 3, "messages to nobody are sent");
	CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 10), 0,
		 "one to somebody arrives behind them");
}

/* ---- what there is no room for ----------------------------------------------------- */

/* The next datagram, which must be whole; its number, or a negative number. */
static int st_dgram_next(struct st_node *n, struct st_op *rx, u8 *dst)
{
	int ret = st_node_recv(n, rx, dst, MANY_LEN);

	if (ret || st_cq_take(n->cq, ST_QUIET_MS, NULL) != 1) {
		fi_cancel(&n->ep->fid, &rx->ctx);
		st_cq_drain(n->cq, ST_QUIET_MS);
		return -1;
	}
	if (rx->entry.err || rx->entry.len != MANY_LEN ||
	    !st_holds(dst, MANY_LEN, dst[0]))
		return -2;
	return 0;
}

static void st_dgram_drops(struct st *st, struct st_duo *d, u8 *src, u8 *dst)
{
	int i, sent = 0, got = 0, ret;

	for (i = 0; i < MANY; i++) {
		st_fill(src, MANY_LEN, i + 1);
		ret = st_node_send(&d->a, d->r.tx[0], src, MANY_LEN, d->to_b);
		sent += !st_op_result(d->a.cq, d->r.tx[0], ret);
	}
	CHECK_EQ(st, sent, MANY, "messages without a receive are sent");
	do {
		ret = st_dgram_next(&d->b, d->r.rx[0], dst);
		got += !ret;
	} while (!ret && got <= MANY);
	CHECK_EQ(st, ret, -1, "those that were kept are whole");
	CHECKF(st, got && got < MANY, "%d were kept, the others dropped", got);
	CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 10), 0,
		 "the next one arrives");
}

void st_test_dgram(struct st *st)
{
	u8 *src = kvzalloc(ST_ARENA_LEN, GFP_KERNEL);
	u8 *dst = kvzalloc(ST_ARENA_LEN, GFP_KERNEL);
	struct st_duo *d = kzalloc(sizeof(*d), GFP_KERNEL);

	st_dgram_infos(st);
	if (CHECK(st, src && dst && d, "there is memory")) {
		if (st_duo_open(d, st)) {
			st_dgram_longest(st, d, src, dst);
			st_dgram_family(st, d);
			st_dgram_nobody(st, d);
			st_dgram_drops(st, d, src, dst);
		}
		st_duo_close(d);
	}
	kfree(d);
	kvfree(src);
	kvfree(dst);
}

/* ---- a socket without room --------------------------------------------------------- */

/* Somebody else has every send told that there is no room, from the line until the next. */
void st_test_dgram_full(struct st *st)
{
	struct st_op **tx;
	struct st_duo *d = kzalloc(sizeof(*d), GFP_KERNEL);
	u32 ms = SHORT_MS;
	int i, ret = 0;

	if (!d)
		return;
	if (!st_duo_open(d, st))
		goto out;
	tx = d->r.tx;
	for (i = 0; i < WAITING; i++)
		ret = ret ?: st_node_send(&d->a, tx[i], d->r.src, 10, d->to_b);
	CHECK_EQ(st, ret, 0, "messages are posted that there is no room for");
	CHECK_EQ(st, st_cq_drain(d->a.cq, ST_QUIET_MS), 0, "they wait");
	CHECK_EQ(st, fi_cancel(&d->a.ep->fid, &tx[1]->ctx), 0,
		 "one is canceled");
	CHECK_EQ(st, st_op_result(d->a.cq, tx[1], 0), ECANCELED, "it ends so");
	CHECK_EQ(st,
		 fi_setopt(&d->a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS,
			   &ms, sizeof(ms)),
		 0, "others may fail soon");
	ret = st_node_send(&d->a, tx[3], d->r.src, 10, d->to_b);
	ret = ret ?: fi_cancel(&d->a.ep->fid, &tx[0]->ctx);
	ret = ret ?: fi_cancel(&d->a.ep->fid, &tx[2]->ctx);
	CHECK_EQ(st, ret, 0, "those before it are canceled");
	CHECK_EQ(st, st_op_result(d->a.cq, tx[3], 0), FI_ENOBUFS,
		 "it ends for want of room");
	CHECK_EQ(st, tx[0]->count + tx[2]->count, 2, "each ends once");
out:
	st_duo_close(d);
	kfree(d);
}
