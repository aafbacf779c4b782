// SPDX-License-Identifier: BSD-2-Clause
/* Endpoints, the ends of links: posting, connecting, listening. */
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "kfabric/user/stcp.h"
#include "link.h"
#include "../oracle.h"

/* How often packets of an endpoint that is gone still arrive. */
#define LATE_PERMILLE 500
#define HALF	      500

static struct sim_pep *peps[SIM_PORTS];

struct sim_pep *sim_pep_at(uint16_t port)
{
	return peps[port % SIM_PORTS];
}

/* ---- posting ------------------------------------------------------------------ */

static struct sim_ep *ep_of(struct fid_ep *fid)
{
	return sim_container_of(fid, struct sim_ep, fid);
}

static ssize_t post(struct fid_ep *fid, const struct sim_op *op)
{
	struct sim_ep *ep = ep_of(fid);
	struct sim_way *way = &ep->link->way[ep->side];
	struct sim_op *to;

	if (ep->has_heard)
		return -FI_ENOTCONN;
	if (way->n_ops + way->n_acks == SIM_OPS_MAX)
		return -FI_EAGAIN;
	/* It does not know yet: this is never acknowledged. */
	if (ep->link->is_cut)
		return 0;
	to = sim_way_op(way, way->n_acks + way->n_ops++);
	memcpy(to, op, offsetof(struct sim_op, copy));
	if (op->kind == SIM_SEND) {
		if (op->len > SIM_INLINE)
			sim_die("a message of %u bytes", op->len);
		memcpy(to->copy, op->buf, op->len);
	}
	if (way->n_ops == 1 && ep->link->end[!ep->side])
		sim_way_go(way);
	return 0;
}

static ssize_t ep_send(struct fid_ep *fid, const void *buf, size_t len,
		       void *desc, fi_addr_t dest, void *context)
{
	const struct sim_op op = { .kind = SIM_SEND,
				   .buf = (void *)(uintptr_t)buf,
				   .len = (uint32_t)len,
				   .context = context };

	return post(fid, &op);
}

static ssize_t ep_inject(struct fid_ep *fid, const void *buf, size_t len,
			 fi_addr_t dest)
{
	const struct sim_op op = { .kind = SIM_SEND,
				   .is_silent = true,
				   .buf = (void *)(uintptr_t)buf,
				   .len = (uint32_t)len };

	return post(fid, &op);
}

static ssize_t ep_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
		       fi_addr_t src, void *context)
{
	struct sim_ep *ep = ep_of(fid);
	struct sim_way *towards = &ep->link->way[!ep->side];
	struct sim_receive *rx;

	if (ep->n_rx == SIM_RX_MAX)
		return -FI_EAGAIN;
	rx = &ep->rx[(ep->rx_head + ep->n_rx++) % SIM_RX_MAX];
	*rx = (struct sim_receive){ buf, len, context };
	if (towards->n_ops && !towards->arrive.place &&
	    (!ep->link->is_cut || ep->link->is_late))
		sim_way_go(towards);
	return 0;
}

static ssize_t post_rma(struct fid_ep *fid, const struct fi_msg_rma *msg,
			enum sim_op_kind kind, bool is_durable)
{
	const struct sim_link *link = ep_of(fid)->link;

	const struct sim_op op = { .kind = kind,
				   .is_durable = is_durable,
				   .buf = msg->msg_iov[0].iov_base,
				   .len = (uint32_t)msg->msg_iov[0].iov_len,
				   .raddr = msg->rma_iov[0].addr,
				   .key = msg->rma_iov[0].key,
				   .context = msg->context };

	if (link->is_squatted)
		sim_violated("link %u: bytes go to who has not proven to be "
			     "the brick",
			     link->number);
	return post(fid, &op);
}

static ssize_t ep_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			  uint64_t flags)
{
	return post_rma(fid, msg, SIM_READ, false);
}

static ssize_t ep_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			   uint64_t flags)
{
	return post_rma(fid, msg, SIM_WRITE, flags & FI_COMMIT_COMPLETE);
}

static ssize_t ep_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
		       fi_addr_t src, uint64_t addr, uint64_t key,
		       void *context)
{
	const struct sim_op op = { .kind = SIM_READ,
				   .buf = buf,
				   .len = (uint32_t)len,
				   .raddr = addr,
				   .key = key,
				   .context = context };

	return post(fid, &op);
}

static struct fi_ops_rma rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = ep_read,
	.readmsg = ep_readmsg,
	.writemsg = ep_writemsg,
};

static struct fi_ops_msg msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = ep_recv,
	.send = ep_send,
	.inject = ep_inject,
};

/* ---- connecting ---------------------------------------------------------------- */

static int ep_connect(struct fid_ep *fid, const void *addr, const void *data,
		      size_t len)
{
	const struct sockaddr_in *sin = addr;
	struct sim_ep *ep = ep_of(fid);
	struct sim_link *link = ep->link;

	link->host[SIM_CLIENT] = sim_fabric_host();
	link->port = ntohs(sin->sin_port);
	link->data_len = len;
	memcpy(link->data, data, len);
	sim_schedule(&link->connect, sim.now_ns + sim_delay());
	return 0;
}

static int ep_accept(struct fid_ep *fid, const void *data, size_t len)
{
	struct sim_link *link = ep_of(fid)->link;

	sim_link_answer(link, FI_CONNECTED, 0, data, len);
	if (!link->end[SIM_CLIENT])
		sim_link_tell(link, SIM_BRICK, sim.now_ns + sim_delay());
	/* The client's confirmation may be behind what it sends at once. */
	sim_schedule(&link->established,
		     sim.now_ns + (sim_chance(500) ? 0 : 3 * sim_delay()));
	return 0;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *data,
		      size_t len)
{
	struct sim_link *link =
		sim_container_of(handle, struct sim_link, request);

	link->is_asked = false;
	sim_link_answer(link, 0, FI_ECONNREFUSED, data, len);
	sim_link_may_go(link);
	return 0;
}

static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct sim_ep *ep = ep_of(fid);

	sim_link_tell(ep->link, !ep->side, sim.now_ns + sim_delay());
	return 0;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.connect = ep_connect,
	.accept = ep_accept,
	.shutdown = ep_shutdown,
};

/* ---- endpoints ------------------------------------------------------------------ */

static int ep_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	struct sim_ep *ep = sim_container_of(fid, struct sim_ep, fid.fid);

	if (to->fclass == FI_CLASS_EQ)
		ep->eq = sim_container_of(to, struct sim_eq, fid.fid);
	else
		ep->cq = sim_container_of(to, struct sim_cq, fid.fid);
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

/* After it nothing reaches the memory of whoever closes it. */
static void ep_drop(struct sim_belonging *belonging)
{
	struct sim_ep *ep =
		sim_container_of(belonging, struct sim_ep, belonging);
	struct sim_link *link = ep->link;

	link->end[ep->side] = NULL;
	if (ep->side == SIM_CLIENT)
		sim_way_keep_copies(&link->way[SIM_CLIENT]);
	else if (link->host[SIM_BRICK]->medium)
		sim_medium_unlink(link->host[SIM_BRICK]->medium, link->number,
				  sim_chance(HALF));
	sim_link_end(link, ep->side == SIM_CLIENT && sim_chance(LATE_PERMILLE));
	sim_link_tell(link, !ep->side, sim.now_ns + sim_delay());
	sim_free(ep);
	sim_link_may_go(link);
}

static int ep_close(struct fid *fid)
{
	struct sim_ep *ep = sim_container_of(fid, struct sim_ep, fid.fid);

	/* The provider's thread leaves it first. */
	while (ep->side == SIM_BRICK && ep->link->way[SIM_CLIENT].is_persisting)
		sim_yield();

	if (ep->eq)
		sim_eq_forget(ep->eq, fid);
	LIST_REMOVE(&ep->belonging, link);
	ep_drop(&ep->belonging);
	return 0;
}

static int ep_traffic(struct fid_ep *fid, struct stcp_traffic *traffic)
{
	const struct sim_ep *ep = ep_of(fid);

	*traffic = (struct stcp_traffic){
		.sent_bytes = ep->sent_bytes,
		.received_bytes = ep->received_bytes,
		.idle_ms = (sim.now_ns - ep->received_ns) / SIM_MS,
	};
	return 0;
}

static void ep_moved(struct fid_ep *fid, struct stcp_moved *out)
{
	*out = ep_of(fid)->moved;
}

/* Memory of a world is there, or its machine has no power. */
static void *ep_fault(struct fid_ep *fid)
{
	return NULL;
}

static int ep_ops_open(struct fid *fid, const char *name, uint64_t flags,
		       void **ops, void *context)
{
	static struct stcp_ep_ops stcp = {
		.size = sizeof(stcp),
		.traffic = ep_traffic,
		.moved = ep_moved,
		.fault = ep_fault,
	};

	*ops = &stcp;
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.ops_open = ep_ops_open,
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
};

static struct fi_ops_ep ep_ops = { .size = sizeof(struct fi_ops_ep) };

int sim_ep_open(struct fid_domain *domain, struct fi_info *info,
		struct fid_ep **out, void *context)
{
	struct sim_ep *ep = sim_alloc(sizeof(*ep));

	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &cm_ops;
	ep->fid.msg = &msg_ops;
	ep->fid.rma = &rma_ops;
	ep->domain = sim_container_of(domain, struct sim_domain, fid);
	if (info->handle) {
		ep->side = SIM_BRICK;
		ep->link = sim_container_of(info->handle, struct sim_link,
					    request);
		ep->link->is_asked = false;
		ep->link->end[SIM_BRICK] = ep;
	} else {
		ep->side = SIM_CLIENT;
		ep->link = sim_link_new(ep);
	}
	ep->belonging.drop = ep_drop;
	LIST_INSERT_HEAD(&sim_current->process->belongings, &ep->belonging,
			 link);
	*out = &ep->fid;
	return 0;
}

static int pep_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	struct sim_pep *pep = sim_container_of(fid, struct sim_pep, fid.fid);

	pep->eq = sim_container_of(to, struct sim_eq, fid.fid);
	return 0;
}

static int pep_listen(struct fid_pep *fid)
{
	struct sim_pep *pep = sim_container_of(fid, struct sim_pep, fid);

	pep->port =
		ntohs(((struct sockaddr_in *)pep->info->src_addr)->sin_port);
	if (peps[pep->port % SIM_PORTS])
		return -FI_EADDRINUSE;
	peps[pep->port % SIM_PORTS] = pep;
	return 0;
}

static int pep_getname(fid_t fid, void *addr, size_t *len)
{
	const struct sim_pep *pep =
		sim_container_of(fid, struct sim_pep, fid.fid);

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

/* Requests that nobody has answered are refused. */
static void refuse_asked(const struct sim_pep *pep)
{
	for (uint32_t i = 0; i < SIM_LINKS_MAX; i++) {
		struct sim_link *link = sim_links[i];

		if (!link || !link->is_asked || link->port != pep->port)
			continue;
		link->is_asked = false;
		sim_link_answer(link, 0, FI_ECONNREFUSED, NULL, 0);
		sim_link_may_go(link);
	}
}

static void pep_drop(struct sim_belonging *belonging)
{
	struct sim_pep *pep =
		sim_container_of(belonging, struct sim_pep, belonging);

	if (peps[pep->port % SIM_PORTS] == pep) {
		peps[pep->port % SIM_PORTS] = NULL;
		refuse_asked(pep);
	}
	fi_freeinfo(pep->info);
	sim_free(pep);
}

static int pep_close(struct fid *fid)
{
	struct sim_pep *pep = sim_container_of(fid, struct sim_pep, fid.fid);

	if (pep->eq)
		sim_eq_forget(pep->eq, fid);
	LIST_REMOVE(&pep->belonging, link);
	pep_drop(&pep->belonging);
	return 0;
}

static struct fi_ops pep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = pep_close,
	.bind = pep_bind,
};

int sim_pep_open(struct fid_fabric *fabric, struct fi_info *info,
		 struct fid_pep **out, void *context)
{
	struct sim_pep *pep = sim_alloc(sizeof(*pep));
	struct sim_thread *current = sim_current;

	pep->fid.fid.fclass = FI_CLASS_PEP;
	pep->fid.fid.ops = &pep_fid_ops;
	pep->fid.cm = &pep_cm_ops;
	pep->host = sim_fabric_host();
	sim_current = NULL;
	pep->info = fi_dupinfo(info);
	sim_current = current;
	pep->belonging.drop = pep_drop;
	LIST_INSERT_HEAD(&current->process->belongings, &pep->belonging, link);
	*out = &pep->fid;
	return 0;
}
