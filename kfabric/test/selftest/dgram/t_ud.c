// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: datagrams of verbs with a peer that others wrote: udaddy of rdma-core. Its
 * server answers as many messages as it got, each with its queue pair's number as data,
 * and finds the sender's in the first message's data. Its client sends such messages to
 * whoever answers its request.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include <kfabric/fi_verbs.h>

#include "../st.h"

#define UDADDY_COUNT 10 /* messages, if it is not told otherwise */
#define UDADDY_BYTES 100

static u32 st_ud_qpn(struct fid_ep *ep)
{
	const struct fi_verbs_ops_ep *ops;
	struct fi_verbs_ep objects;
	u32 qpn = 0;

	if (fi_open_ops(&ep->fid, FI_VERBS_EP_OPS, 0, (void **)&ops, NULL) ||
	    ops->get(ep, &objects))
		return 0;
	qpn = objects.qp->qp_num;
	ops->put(ep);
	return qpn;
}

static int st_ud_receives(struct st_node *n, struct st_room *r)
{
	int i, ret = 0;

	for (i = 0; i < UDADDY_COUNT; i++)
		ret = ret
			      ?: st_node_recv(n, r->rx[i],
					      r->dst + i * ST_ROOM_BASE,
					      ST_ROOM_BASE);
	return ret;
}

/* How many have come that are udaddy's, from whom. */
static int st_ud_count(struct st_node *n, struct st_room *r, fi_addr_t from)
{
	const struct fi_cq_err_entry *entry;
	int i, ok = 0;

	for (i = 0; i < UDADDY_COUNT; i++) {
		entry = &r->rx[i]->entry;
		ok += !st_op_result(n->cq, r->rx[i], 0) &&
		      entry->len == UDADDY_BYTES && entry->src_addr == from &&
		      (entry->flags & FI_REMOTE_CQ_DATA) && entry->data;
	}
	return ok;
}

static int st_ud_send(struct st_node *n, struct st_room *r, fi_addr_t peer)
{
	struct fi_msg msg = { .buf = fi_buf_linear(r->src, UDADDY_BYTES),
			      .addr = peer,
			      .data = st_ud_qpn(n->ep) };
	int i, ret = msg.data ? 0 : -ENODEV;

	for (i = 0; i < UDADDY_COUNT && !ret; i++) {
		st_op_reset(r->tx[i]);
		msg.context = &r->tx[i]->ctx;
		ret = fi_sendmsg(n->ep, &msg, FI_REMOTE_CQ_DATA);
	}
	for (i = 0; i < UDADDY_COUNT; i++)
		ret = st_op_result(n->cq, r->tx[i], ret);
	return ret;
}

/* The server waits at the peer's address and port. */
void st_test_ud_server(struct st *st)
{
	struct st_node n = {};
	struct st_room r = {};
	char port[8];
	fi_addr_t peer = FI_ADDR_UNSPEC;

	snprintf(port, sizeof(port), "%u", st_peer_port);
	if (st_room_open(&r, st) &&
	    CHECK_EQ(st, st_node_open(&n, st, 0, 0), 0, "an endpoint opens") &&
	    CHECK_EQ(st, fi_av_insertsvc(n.av, st_peer, port, &peer, 0, NULL),
		     1, "it knows the server") &&
	    CHECK_EQ(st, st_ud_receives(&n, &r), 0, "receives are posted")) {
		CHECK_EQ(st, st_ud_send(&n, &r, peer), 0,
			 "messages are sent to the server");
		CHECK_EQ(st, st_ud_count(&n, &r, peer), UDADDY_COUNT,
			 "as many come back, with data, and from whom");
	}
	st_node_close(&n);
	st_room_close(&r);
}

/* Somebody else starts the client, which knows the port, when the line says so. */
void st_test_ud_client(struct st *st)
{
	struct st_node n = {};
	struct st_room r = {};

	if (st_room_open(&r, st) &&
	    CHECK_EQ(st, st_node_open(&n, st, st_peer_port, 0), 0,
		     "an endpoint opens at the port of the server") &&
	    CHECK_EQ(st, st_ud_receives(&n, &r), 0, "receives are posted")) {
		st_tap_line("    # now the client may come");
		CHECK_EQ(st, st_ud_count(&n, &r, FI_ADDR_UNSPEC), UDADDY_COUNT,
			 "messages of a stranger arrive, with data");
	}
	st_node_close(&n);
	st_room_close(&r);
}
