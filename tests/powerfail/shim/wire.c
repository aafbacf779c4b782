// SPDX-License-Identifier: BSD-2-Clause
/*
 * The fabric inside one process: endpoints, connections, and how operations
 * move through the power-failure model.
 *
 * An endpoint's operations move in order, those of different endpoints in any.
 * A write goes into N of its connection; a READ, and a message that a client
 * sends, empty that first: what the brick's NIC places for either cannot pass
 * the writes before it.
 */
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "medium.h"

/* ---- lines that leave N ------------------------------------------------ */

static void place(const struct fault_line *line)
{
	const struct pf_mr *mr;
	uint64_t off;

	if (!line->space || line->space > PF_MRS)
		abort();
	mr = &pf_world.mrs[line->space - 1];
	if (!mr->is_open)
		return;
	for (off = 0; off < FAULT_LINE; off++) {
		uint8_t *at = (uint8_t *)(uintptr_t)(line->addr + off);

		if ((line->mask & (1ULL << off)) &&
		    (at < mr->base || at >= mr->base + mr->len))
			abort();
	}
	pf_medium_dma((uint8_t *)(uintptr_t)line->addr, line);
}

void pf_place(void)
{
	struct fault_line line;

	while (fault_power_pop(&pf_world.power, &line))
		place(&line);
}

/* ---- operations -------------------------------------------------------- */

static struct pf_op *first(struct pf_op *ring, uint32_t head)
{
	return &ring[head];
}

static void done(struct pf_ep *ep, const struct pf_op *op, uint64_t flags)
{
	if (!op->is_silent)
		pf_complete(ep->cq, op->context, flags, op->len);
}

static void do_write(struct pf_ep *ep, const struct pf_op *op)
{
	const uint8_t *from = op->buf;
	uint32_t n = 0;

	while (n < op->len) {
		n += fault_power_write(&pf_world.power, ep->conn, op->key,
				       op->raddr + n, from + n,
				       (uint32_t)op->len - n);
		if (n < op->len)
			fault_power_squeeze(&pf_world.power, ep->conn);
		pf_place();
	}
	if (pf_world.is_placed)
		fault_power_empty(&pf_world.power, ep->conn);
	fault_power_step(&pf_world.power);
	pf_place();
	done(ep, op, FI_RMA | FI_WRITE);
}

static void do_read(struct pf_ep *ep, const struct pf_op *op)
{
	fault_power_empty(&pf_world.power, ep->conn);
	pf_place();
	memcpy(op->buf, (const void *)(uintptr_t)op->raddr, op->len);
	done(ep, op, FI_RMA | FI_READ);
}

/* False: the peer has posted no receive. */
static bool do_send(struct pf_ep *ep, const struct pf_op *op)
{
	struct pf_ep *peer = ep->peer;
	const struct pf_op *rx;

	if (!peer || !peer->n_rx)
		return false;
	if (ep->is_client) {
		fault_power_empty(&pf_world.power, ep->conn);
		pf_place();
	}
	rx = first(peer->rx, peer->rx_head);
	if (rx->len < op->len)
		abort();
	memcpy(rx->buf, op->buf, op->len);
	peer->rx_head = (peer->rx_head + 1) % PF_RX_MAX;
	peer->n_rx--;
	pf_complete(peer->cq, rx->context, FI_MSG | FI_RECV, op->len);
	done(ep, op, FI_MSG | FI_SEND);
	return true;
}

static bool waits(const struct pf_ep *ep, const struct pf_op *op)
{
	return ep->is_held ||
	       (pf_world.is_polite && ep->is_client && op->kind == PF_SEND &&
		(ep->peer->n_tx || ep->cq->n));
}

/* False: it has none, or its first must wait. */
static bool move(struct pf_ep *ep)
{
	const struct pf_op *op = first(ep->tx, ep->tx_head);

	if (!ep->n_tx || waits(ep, op))
		return false;
	switch (op->kind) {
	case PF_SEND:
		if (!do_send(ep, op))
			return false;
		break;
	case PF_WRITE:
		do_write(ep, op);
		break;
	case PF_READ:
		do_read(ep, op);
		break;
	}
	ep->tx_head = (ep->tx_head + 1) % PF_TX_MAX;
	ep->n_tx--;
	return true;
}

void pf_step(void)
{
	__u64 dice = fault_random(&pf_world.rng);
	uint32_t at = (uint32_t)(dice >> 32) % PF_CONNS;
	bool brick_first = dice & 1;

	pf_world.is_stepping = true;
	for (uint32_t i = 0; i < PF_CONNS; i++) {
		struct pf_ep *ep = pf_world.eps[(at + i) % PF_CONNS];

		if (!ep || !ep->peer)
			continue;
		if (move(brick_first ? ep->peer : ep) ||
		    move(brick_first ? ep : ep->peer))
			break;
	}
	if (pf_world.brick_has_news) {
		pf_world.brick_has_news = false;
		pf_brick_run();
	}
	pf_world.is_stepping = false;
}

static ssize_t post(struct fid_ep *fid, const struct pf_op *op)
{
	struct pf_ep *ep = pf_container_of(fid, struct pf_ep, fid);
	struct pf_op *to;

	if (ep->n_tx == PF_TX_MAX)
		return -FI_EAGAIN;
	to = &ep->tx[(ep->tx_head + ep->n_tx++) % PF_TX_MAX];
	memcpy(to, op, offsetof(struct pf_op, copy));
	if (!to->is_silent)
		return 0;
	if (op->len > PF_INLINE)
		abort();
	memcpy(to->copy, op->buf, op->len);
	to->buf = to->copy;
	return 0;
}

static ssize_t ep_send(struct fid_ep *fid, const void *buf, size_t len,
		       void *desc, fi_addr_t dest, void *context)
{
	const struct pf_op op = { .kind = PF_SEND,
				  .buf = (void *)(uintptr_t)buf,
				  .len = len,
				  .context = context };

	return post(fid, &op);
}

static ssize_t ep_inject(struct fid_ep *fid, const void *buf, size_t len,
			 fi_addr_t dest)
{
	const struct pf_op op = { .kind = PF_SEND,
				  .is_silent = true,
				  .buf = (void *)(uintptr_t)buf,
				  .len = len };

	return post(fid, &op);
}

static ssize_t ep_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
		       fi_addr_t src, void *context)
{
	struct pf_ep *ep = pf_container_of(fid, struct pf_ep, fid);
	struct pf_op *to;

	if (ep->n_rx == PF_RX_MAX)
		return -FI_EAGAIN;
	to = &ep->rx[(ep->rx_head + ep->n_rx++) % PF_RX_MAX];
	to->buf = buf;
	to->len = len;
	to->context = context;
	return 0;
}

static ssize_t post_rma(struct fid_ep *fid, const struct fi_msg_rma *msg,
			enum pf_kind kind)
{
	const struct pf_op op = { .kind = kind,
				  .buf = msg->msg_iov[0].iov_base,
				  .len = msg->msg_iov[0].iov_len,
				  .raddr = msg->rma_iov[0].addr,
				  .key = msg->rma_iov[0].key,
				  .context = msg->context };

	return post(fid, &op);
}

static ssize_t ep_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			  uint64_t flags)
{
	return post_rma(fid, msg, PF_READ);
}

static ssize_t ep_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			   uint64_t flags)
{
	return post_rma(fid, msg, PF_WRITE);
}

static ssize_t ep_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
		       fi_addr_t src, uint64_t addr, uint64_t key,
		       void *context)
{
	const struct pf_op op = { .kind = PF_READ,
				  .buf = buf,
				  .len = len,
				  .raddr = addr,
				  .key = key,
				  .context = context };

	return post(fid, &op);
}

struct fi_ops_rma pf_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = ep_read,
	.readmsg = ep_readmsg,
	.writemsg = ep_writemsg,
};

struct fi_ops_msg pf_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = ep_recv,
	.send = ep_send,
	.inject = ep_inject,
};

/* ---- connections ------------------------------------------------------- */

/* A client's endpoint takes a place in N. */
static void take_place(struct pf_ep *ep)
{
	uint32_t c;

	for (c = 0; c < PF_CONNS && pf_world.eps[c]; c++)
		;
	if (c == PF_CONNS)
		abort();
	pf_world.eps[c] = ep;
	ep->conn = c;
}

static int ep_connect(struct fid_ep *fid, const void *addr, const void *data,
		      size_t len)
{
	struct pf_ep *ep = pf_container_of(fid, struct pf_ep, fid);
	struct pf_event *e;

	if (!pf_world.pep)
		return -FI_ECONNREFUSED;
	ep->is_client = true;
	ep->cq->is_clients = true;
	take_place(ep);
	e = pf_event_new(pf_world.pep->eq, FI_CONNREQ, data, len);
	e->info = fi_dupinfo(pf_world.pep->info);
	e->info->handle = &ep->fid.fid;
	return 0;
}

static int ep_accept(struct fid_ep *fid, const void *data, size_t len)
{
	struct pf_ep *ep = pf_container_of(fid, struct pf_ep, fid);
	struct pf_event *e =
		pf_event_new(ep->peer->eq, FI_CONNECTED, data, len);

	e->fid = &ep->peer->fid.fid;
	e = pf_event_new(ep->eq, FI_CONNECTED, NULL, 0);
	e->fid = &ep->fid.fid;
	return 0;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *data,
		      size_t len)
{
	struct pf_ep *ep = pf_container_of(handle, struct pf_ep, fid.fid);
	struct pf_event *e = pf_event_new(ep->eq, 0, data, len);

	e->fid = handle;
	e->error = FI_ECONNREFUSED;
	return 0;
}

static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct pf_ep *ep = pf_container_of(fid, struct pf_ep, fid);

	if (ep->peer)
		pf_event_new(ep->peer->eq, FI_SHUTDOWN, NULL, 0)->fid =
			&ep->peer->fid.fid;
	return 0;
}

struct fi_ops_cm pf_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.connect = ep_connect,
	.accept = ep_accept,
	.shutdown = ep_shutdown,
};

static void end(struct pf_ep *ep)
{
	ep->peer = NULL;
	ep->n_tx = 0;
	ep->n_rx = 0;
	ep->cq->is_flushed = true;
	pf_event_new(ep->eq, FI_SHUTDOWN, NULL, 0)->fid = &ep->fid.fid;
}

void pf_cut_link(uint32_t conn, bool drains)
{
	struct pf_ep *ep = pf_world.eps[conn], *peer;

	if (!ep || !ep->peer)
		return;
	peer = ep->peer;
	fault_power_destroy(&pf_world.power, conn, drains);
	pf_place();
	end(ep);
	end(peer);
}

void pf_hold_answers(uint32_t conn)
{
	pf_world.eps[conn]->peer->is_held = true;
}

uint32_t pf_held_answers(uint32_t conn)
{
	return pf_world.eps[conn]->peer->n_tx;
}

static int ep_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	struct pf_ep *ep = pf_container_of(fid, struct pf_ep, fid.fid);

	if (to->fclass == FI_CLASS_EQ)
		ep->eq = pf_container_of(to, struct pf_eq, fid.fid);
	else
		ep->cq = pf_container_of(to, struct pf_cq, fid.fid);
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static int ep_close(struct fid *fid)
{
	struct pf_ep *ep = pf_container_of(fid, struct pf_ep, fid.fid);

	if (ep->is_client) {
		fault_power_destroy(&pf_world.power, ep->conn, true);
		pf_place();
		pf_world.eps[ep->conn] = NULL;
	}
	if (ep->peer)
		ep->peer->peer = NULL;
	free(ep->tx);
	free(ep->rx);
	free(ep);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
};

struct fi_ops_ep pf_ep_ops = { .size = sizeof(struct fi_ops_ep) };

int pf_endpoint(struct fid_domain *domain, struct fi_info *info,
		struct fid_ep **out, void *context)
{
	struct pf_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return -FI_ENOMEM;
	ep->tx = calloc(PF_TX_MAX, sizeof(*ep->tx));
	ep->rx = calloc(PF_RX_MAX, sizeof(*ep->rx));
	if (!ep->tx || !ep->rx)
		abort();
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &pf_ep_ops;
	ep->fid.cm = &pf_cm_ops;
	ep->fid.msg = &pf_msg_ops;
	ep->fid.rma = &pf_rma_ops;
	if (info->handle) {
		ep->peer = pf_container_of(info->handle, struct pf_ep, fid.fid);
		ep->peer->peer = ep;
	}
	*out = &ep->fid;
	return 0;
}

static int pep_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	struct pf_pep *pep = pf_container_of(fid, struct pf_pep, fid.fid);

	pep->eq = pf_container_of(to, struct pf_eq, fid.fid);
	return 0;
}

static int pep_listen(struct fid_pep *fid)
{
	pf_world.pep = pf_container_of(fid, struct pf_pep, fid);
	return 0;
}

static int pep_getname(fid_t fid, void *addr, size_t *len)
{
	const struct pf_pep *pep = pf_container_of(fid, struct pf_pep, fid.fid);

	if (*len > pep->info->src_addrlen)
		*len = pep->info->src_addrlen;
	memcpy(addr, pep->info->src_addr, *len);
	return 0;
}

static struct fi_ops_cm pep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = pep_getname,
	.listen = pep_listen,
	.reject = pep_reject,
};

static int pep_close(struct fid *fid)
{
	struct pf_pep *pep = pf_container_of(fid, struct pf_pep, fid.fid);

	pf_world.pep = NULL;
	fi_freeinfo(pep->info);
	free(pep);
	return 0;
}

static struct fi_ops pep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = pep_close,
	.bind = pep_bind,
};

int pf_pep_open(struct fid_fabric *fabric, struct fi_info *info,
		struct fid_pep **out, void *context)
{
	struct pf_pep *pep = calloc(1, sizeof(*pep));

	if (!pep)
		return -FI_ENOMEM;
	pep->fid.fid.fclass = FI_CLASS_PEP;
	pep->fid.fid.ops = &pep_fid_ops;
	pep->fid.cm = &pep_cm_ops;
	pep->info = fi_dupinfo(info);
	*out = &pep->fid;
	return 0;
}
