// SPDX-License-Identifier: BSD-2-Clause
/* kfabric-9p-bridge: the fabric's side of a connection. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "bridge.h"
#include "kfabric/9p/k9p_wire.h"

#define CM_DATA_ROOM 256
#define ENTRIES	     16
/* A wait of libfabric 1.17 is not always woken. */
#define SLICE_MS 1000

int bridge_link_post_receive(struct bridge_conn *conn,
			     struct bridge_message *message)
{
	return (int)fi_recv(conn->link.ep, message->data, conn->msize,
			    conn->link.desc, 0, message);
}

int bridge_link_send(struct bridge_conn *conn, struct bridge_message *message)
{
	return (int)fi_send(conn->link.ep, message->data, message->len,
			    conn->link.desc, 0, message);
}

static int open_endpoint(struct bridge_conn *conn)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG,
				      .size = 2 * (size_t)conn->n,
				      .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct bridge_link *l = &conn->link;
	int ret;

	conn->info->tx_attr->size = conn->n;
	conn->info->rx_attr->size = conn->n;
	ret = fi_domain(l->fabric, conn->info, &l->domain, NULL);
	if (!ret && (conn->info->domain_attr->mr_mode & FI_MR_LOCAL))
		ret = fi_mr_reg(l->domain, conn->memory,
				2 * (size_t)conn->n * conn->msize,
				FI_SEND | FI_RECV, 0, 0, 0, &l->mr, NULL);
	if (!ret && l->mr)
		l->desc = fi_mr_desc(l->mr);
	if (!ret)
		ret = fi_eq_open(l->fabric, &eq_attr, &l->eq, NULL);
	if (!ret)
		ret = fi_cq_open(l->domain, &cq_attr, &l->cq, NULL);
	if (!ret)
		ret = fi_endpoint(l->domain, conn->info, &l->ep, NULL);
	if (!ret)
		ret = fi_ep_bind(l->ep, &l->eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(l->ep, &l->cq->fid, FI_TRANSMIT | FI_RECV);
	return ret ? ret : fi_enable(l->ep);
}

/* Whoever asked may send as soon as it has the answer: all receives are there before. */
int bridge_link_open(struct bridge_conn *conn)
{
	struct k9pw_hello hello = { .magic = K9PW_MAGIC };
	unsigned int i;
	int ret = open_endpoint(conn);

	for (i = 0; !ret && i < conn->n; i++)
		ret = bridge_link_post_receive(conn, &conn->messages[i]);
	if (ret)
		return ret;
	if (conn->options->is_plain)
		return fi_accept(conn->link.ep, NULL, 0);
	k9pw_put32(hello.msize, conn->msize);
	k9pw_put16(hello.depth, conn->depth);
	return fi_accept(conn->link.ep, &hello, sizeof(hello));
}

void bridge_link_close(struct bridge_conn *conn)
{
	struct bridge_link *l = &conn->link;

	if (l->ep)
		fi_close(&l->ep->fid);
	if (l->cq)
		fi_close(&l->cq->fid);
	if (l->eq)
		fi_close(&l->eq->fid);
	if (l->mr)
		fi_close(&l->mr->fid);
	if (l->domain)
		fi_close(&l->domain->fid);
}

int bridge_link_events(struct bridge_conn *conn)
{
	union {
		struct fi_eq_cm_entry cm;
		uint8_t room[sizeof(struct fi_eq_cm_entry) + CM_DATA_ROOM];
	} event;
	struct fi_eq_err_entry failure = { 0 };
	uint32_t kind;
	ssize_t n = fi_eq_read(conn->link.eq, &kind, &event, sizeof(event), 0);

	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL) {
		fi_eq_readerr(conn->link.eq, &failure, 0);
		return failure.err ? -failure.err : -FI_EOTHER;
	}
	if (n < 0)
		return (int)n;
	return kind == FI_CONNECTED ? 1 : -FI_ESHUTDOWN;
}

static int take_request(struct bridge_conn *conn, struct bridge_message *m,
			size_t len)
{
	m->len = len;
	m->done = 0;
	if (len < K9PW_HEADER_BYTES ||
	    k9pw_get32(m->data + K9PW_SIZE_AT) != len) {
		bridge_say("%s: a message of %zu bytes is none of 9P",
			   conn->peer, len);
		return -FI_EINVAL;
	}
	conn->has_asked = true;
	bridge_queue_put(&conn->requests, m);
	return 0;
}

int bridge_link_completions(struct bridge_conn *conn)
{
	struct fi_cq_msg_entry entries[ENTRIES];
	struct fi_cq_err_entry failure = { 0 };
	struct bridge_message *unsent = conn->unsent;
	ssize_t n = fi_cq_read(conn->link.cq, entries, ENTRIES), i;
	int ret = 0;

	if (n == -FI_EAVAIL) {
		if (fi_cq_readerr(conn->link.cq, &failure, 0) < 1)
			return 0;
		return failure.err ? -failure.err : -FI_EIO;
	}
	if (n < 0 && n != -FI_EAGAIN)
		return (int)n;
	for (i = 0; i < n && !ret; i++)
		if (entries[i].flags & FI_RECV)
			ret = take_request(conn, entries[i].op_context,
					   entries[i].len);
		else
			bridge_queue_put(&conn->free, entries[i].op_context);
	if (ret || !unsent)
		return ret ? ret : n > 0;
	conn->unsent = NULL;
	ret = bridge_link_send(conn, unsent);
	if (ret == -FI_EAGAIN) {
		conn->unsent = unsent;
		return n > 0;
	}
	return ret ? ret : 1;
}

int bridge_link_wait(struct bridge_conn *conn, short events)
{
	struct bridge_link *l = &conn->link;
	struct fid *fids[] = { &l->eq->fid, &l->cq->fid };
	/*
	 * A socket of which nothing is wanted is none: its end, which poll() tells
	 * unasked, would be told again and again.
	 */
	struct pollfd fds[] = { { .fd = events ? conn->socket : -1,
				  .events = events },
				{ .events = POLLIN },
				{ .events = POLLIN } };

	if (fi_control(fids[0], FI_GETWAIT, &fds[1].fd) ||
	    fi_control(fids[1], FI_GETWAIT, &fds[2].fd))
		return -FI_ENOSYS;
	if (fi_trywait(l->fabric, fids, 2))
		return 0;
	/* A provider that has no room says so by no event. */
	if (poll(fds, 3, conn->unsent ? 1 : SLICE_MS) < 0 && errno != EINTR)
		return -errno;
	return 0;
}
