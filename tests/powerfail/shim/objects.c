// SPDX-License-Identifier: BSD-2-Clause
/*
 * The fabric inside one process: fabric, domain, memory, queues; it stands in
 * for whatever brickd and libkfbrick would choose.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric.h"
#include "medium.h"

struct pf_world pf_world;

int __wrap_stcp_choose_getinfo(uint32_t version, const char *node,
			       const char *service, uint64_t flags,
			       const struct fi_info *hints,
			       struct fi_info **out);
int __wrap_stcp_choose_fabric(struct fi_fabric_attr *attr,
			      struct fid_fabric **out, void *context);

void pf_world_init(uint64_t seed, uint32_t drain_permille)
{
	const struct fault_power_cfg cfg = {
		.seed = seed,
		.drain_permille = drain_permille,
	};

	memset(&pf_world, 0, sizeof(pf_world));
	pf_world.rng = ~seed;
	if (fault_power_init(&pf_world.power, &cfg, pf_world.lines, PF_LINES,
			     pf_world.conns, PF_CONNS))
		abort();
}

/* ---- memory ----------------------------------------------------------- */

static int mr_close(struct fid *fid)
{
	struct pf_mr *mr = pf_container_of(fid, struct pf_mr, fid.fid);

	/* The NIC's fence: what it holds lands before the key is dead. */
	for (uint32_t c = 0; c < PF_CONNS; c++)
		fault_power_empty(&pf_world.power, c);
	pf_place();
	mr->is_open = false;
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
};

static int mr_reg(struct fid *domain, const void *buf, size_t len,
		  uint64_t access, uint64_t offset, uint64_t key,
		  uint64_t flags, struct fid_mr **out, void *context)
{
	for (uint32_t i = 0; i < PF_MRS; i++) {
		struct pf_mr *mr = &pf_world.mrs[i];

		if (mr->is_open)
			continue;
		mr->fid.fid.fclass = FI_CLASS_MR;
		mr->fid.fid.ops = &mr_fid_ops;
		mr->fid.key = i + 1;
		mr->is_open = true;
		mr->base = (uint8_t *)(uintptr_t)buf;
		mr->len = len;
		*out = &mr->fid;
		return 0;
	}
	return -FI_ENOSPC;
}

static struct fi_ops_mr mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
};

/* ---- completion queues ------------------------------------------------- */

void pf_complete(struct pf_cq *cq, void *context, uint64_t flags, size_t len)
{
	if (cq->n == PF_CQ_MAX)
		abort();
	cq->entries[(cq->head + cq->n++) % PF_CQ_MAX] =
		(struct fi_cq_msg_entry){ .op_context = context,
					  .flags = flags,
					  .len = len };
	pf_world.brick_has_news |= !cq->is_clients;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct pf_cq *cq = pf_container_of(fid, struct pf_cq, fid);
	struct fi_cq_msg_entry *to = buf;
	size_t n = 0;

	/* Whoever looks lets the time pass. */
	if (cq->is_clients && !pf_world.is_stepping)
		pf_step();
	for (; n < count && cq->n; n++, cq->n--) {
		to[n] = cq->entries[cq->head];
		cq->head = (cq->head + 1) % PF_CQ_MAX;
	}
	if (n)
		return (ssize_t)n;
	return cq->is_flushed ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry,
			  uint64_t flags)
{
	entry->err = FI_ECANCELED;
	return 1;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno,
			       const void *err_data, char *buf, size_t len)
{
	return "";
}

static int get_fd(struct fid *fid, int command, void *arg)
{
	if (command != FI_GETWAIT)
		return -FI_ENOSYS;
	*(int *)arg = fid->fclass == FI_CLASS_CQ
			      ? pf_container_of(fid, struct pf_cq, fid.fid)->fd
			      : pf_container_of(fid, struct pf_eq, fid.fid)->fd;
	return 0;
}

static int cq_close(struct fid *fid)
{
	struct pf_cq *cq = pf_container_of(fid, struct pf_cq, fid.fid);

	close(cq->fd);
	free(cq);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.control = get_fd,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readerr = cq_readerr,
	.strerror = cq_strerror,
};

int pf_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	       struct fid_cq **out, void *context)
{
	struct pf_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return -FI_ENOMEM;
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	cq->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*out = &cq->fid;
	return 0;
}

/* ---- event queues ------------------------------------------------------ */

struct pf_event *pf_event_new(struct pf_eq *eq, uint32_t kind, const void *data,
			      size_t len)
{
	struct pf_event *e = calloc(1, sizeof(*e));

	if (!e || len > sizeof(e->data))
		abort();
	e->kind = kind;
	e->len = len;
	if (len)
		memcpy(e->data, data, len);
	STAILQ_INSERT_TAIL(&eq->events, e, link);
	pf_world.brick_has_news = true;
	return e;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *kind, void *buf,
		       size_t len, uint64_t flags)
{
	struct pf_eq *eq = pf_container_of(fid, struct pf_eq, fid);
	struct pf_event *e = STAILQ_FIRST(&eq->events);
	struct fi_eq_cm_entry *entry = buf;
	size_t bytes;

	if (!e)
		return -FI_EAGAIN;
	if (e->error)
		return -FI_EAVAIL;
	STAILQ_REMOVE_HEAD(&eq->events, link);
	*kind = e->kind;
	entry->fid = e->fid;
	entry->info = e->info;
	bytes = e->len < len - sizeof(*entry) ? e->len : len - sizeof(*entry);
	memcpy(entry->data, e->data, bytes);
	free(e);
	return (ssize_t)(sizeof(*entry) + bytes);
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry,
			  uint64_t flags)
{
	struct pf_eq *eq = pf_container_of(fid, struct pf_eq, fid);
	struct pf_event *e = STAILQ_FIRST(&eq->events);

	if (!e || !e->error)
		return -FI_EAGAIN;
	STAILQ_REMOVE_HEAD(&eq->events, link);
	entry->fid = e->fid;
	entry->err = e->error;
	if (e->len <= entry->err_data_size)
		memcpy(entry->err_data, e->data, e->len);
	entry->err_data_size = e->len;
	free(e);
	return sizeof(*entry);
}

static int eq_close(struct fid *fid)
{
	struct pf_eq *eq = pf_container_of(fid, struct pf_eq, fid.fid);
	struct pf_event *e;

	while ((e = STAILQ_FIRST(&eq->events))) {
		STAILQ_REMOVE_HEAD(&eq->events, link);
		free(e);
	}
	close(eq->fd);
	free(eq);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.control = get_fd,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
};

int pf_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	       struct fid_eq **out, void *context)
{
	struct pf_eq *eq = calloc(1, sizeof(*eq));

	if (!eq)
		return -FI_ENOMEM;
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.ops = &eq_fid_ops;
	eq->fid.ops = &eq_ops;
	eq->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	STAILQ_INIT(&eq->events);
	*out = &eq->fid;
	return 0;
}

/* ---- domain and fabric ------------------------------------------------- */

static int free_fid(struct fid *fid)
{
	/* Both kinds begin with their fid. */
	free(fid);
	return 0;
}

static struct fi_ops plain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = free_fid,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.cq_open = pf_cq_open,
	.endpoint = pf_endpoint,
};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **out, void *context)
{
	struct fid_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return -FI_ENOMEM;
	domain->fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.ops = &plain_fid_ops;
	domain->ops = &domain_ops;
	domain->mr = &mr_ops;
	*out = domain;
	return 0;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	/* Whoever sleeps then lets the time pass: __wrap_poll(). */
	for (int i = 0; i < count; i++)
		if (fids[i]->fclass == FI_CLASS_CQ &&
		    pf_container_of(fids[i], struct pf_cq, fid.fid)->n)
			return -FI_EAGAIN;
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = domain_open,
	.passive_ep = pf_pep_open,
	.eq_open = pf_eq_open,
	.trywait = trywait,
};

int __wrap_stcp_choose_fabric(struct fi_fabric_attr *attr,
			      struct fid_fabric **out, void *context)
{
	struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.ops = &plain_fid_ops;
	fabric->ops = &fabric_ops;
	*out = fabric;
	return 0;
}

static void *address(void)
{
	struct sockaddr_in *sin = calloc(1, sizeof(*sin));

	if (!sin)
		abort();
	sin->sin_family = AF_INET;
	sin->sin_port = htons(PF_PORT);
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sin;
}

/* What verbs answers, as far as anybody looks. */
int __wrap_stcp_choose_getinfo(uint32_t version, const char *node,
			       const char *service, uint64_t flags,
			       const struct fi_info *hints,
			       struct fi_info **out)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return -FI_ENOMEM;
	info->caps = FI_MSG | FI_RMA;
	info->addr_format = FI_SOCKADDR_IN;
	info->src_addr = address();
	info->src_addrlen = sizeof(struct sockaddr_in);
	info->dest_addr = address();
	info->dest_addrlen = sizeof(struct sockaddr_in);
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->max_msg_size = 1U << 23;
	info->tx_attr->size = PF_TX_MAX;
	info->tx_attr->inject_size = 256;
	info->rx_attr->size = PF_RX_MAX;
	info->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	info->domain_attr->name = strdup(PF_DEVICE);
	info->fabric_attr->name = strdup(PF_DEVICE);
	info->fabric_attr->prov_name = strdup("verbs");
	*out = info;
	return 0;
}
