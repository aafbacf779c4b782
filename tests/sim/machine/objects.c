// SPDX-License-Identifier: BSD-2-Clause
/* The provider's objects but for endpoints: fabric, domain, memory, queues. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "host.h"
#include "kfabric/user/stcp.h"

#define KEY_STEP 0x10000 /* a key is never that of an earlier registration */

int __wrap_stcp_choose_getinfo(uint32_t version, const char *node,
			       const char *service, uint64_t flags,
			       const struct fi_info *hints,
			       struct fi_info **out);
int __wrap_stcp_choose_fabric(struct fi_fabric_attr *attr,
			      struct fid_fabric **out, void *context);

static struct sim_mr *mrs[SIM_KEYS_MAX];

static void belongs(struct sim_belonging *belonging,
		    void (*drop)(struct sim_belonging *belonging))
{
	belonging->drop = drop;
	LIST_INSERT_HEAD(&sim_current->process->belongings, belonging, link);
}

/* ---- memory --------------------------------------------------------------- */

struct sim_mr *sim_mr_find(uint64_t key)
{
	struct sim_mr *mr = mrs[key % SIM_KEYS_MAX];

	return mr && mr->fid.key == key ? mr : NULL;
}

static void mr_drop(struct sim_belonging *belonging)
{
	struct sim_mr *mr =
		sim_container_of(belonging, struct sim_mr, belonging);

	/* The NIC's fence: what it holds lands before the key is dead. */
	if (mr->host->medium)
		sim_medium_fence(mr->host->medium);
	mrs[mr->fid.key % SIM_KEYS_MAX] = NULL;
	sim_free(mr);
}

static int mr_close(struct fid *fid)
{
	struct sim_mr *mr = sim_container_of(fid, struct sim_mr, fid.fid);

	sim_may_yield();
	LIST_REMOVE(&mr->belonging, link);
	mr_drop(&mr->belonging);
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
};

static uint64_t new_key(void)
{
	for (uint32_t tries = 0; tries < SIM_KEYS_MAX; tries++) {
		uint64_t place = ++sim.n_keys % SIM_KEYS_MAX;

		if (!mrs[place])
			return (sim.n_keys / SIM_KEYS_MAX + 1) * KEY_STEP *
				       SIM_KEYS_MAX +
			       place;
	}
	return 0;
}

static int mr_reg(struct fid *domain, const void *buf, size_t len,
		  uint64_t access, uint64_t offset, uint64_t key,
		  uint64_t flags, struct fid_mr **out, void *context)
{
	struct sim_mr *mr;

	sim_may_yield();
	key = new_key();
	if (!key)
		return -FI_ENOSPC;
	mr = sim_alloc(sizeof(*mr));
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.key = key;
	mr->host = sim_fabric_host();
	mr->domain = sim_container_of(domain, struct sim_domain, fid.fid);
	mr->base = (uint8_t *)(uintptr_t)buf;
	mr->len = len;
	mr->access = access;
	mrs[key % SIM_KEYS_MAX] = mr;
	belongs(&mr->belonging, mr_drop);
	*out = &mr->fid;
	return 0;
}

static struct fi_ops_mr mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
};

/* ---- completion queues ----------------------------------------------------- */

void sim_complete(struct sim_cq *cq, void *context, uint64_t flags, size_t len)
{
	if (cq->n == SIM_CQ_MAX)
		sim_die("a completion queue overflows");
	cq->entries[(cq->head + cq->n++) % SIM_CQ_MAX] =
		(struct fi_cq_msg_entry){ .op_context = context,
					  .flags = flags,
					  .len = len };
	sim_descriptor_ready(&cq->descriptor);
}

void sim_cq_fail(struct sim_cq *cq, int error, void *context)
{
	if (!cq->has_failed)
		cq->first = (struct sim_error){ error, context };
	cq->has_failed = true;
	sim_descriptor_ready(&cq->descriptor);
}

static bool cq_is_ready(const struct sim_descriptor *d)
{
	const struct sim_cq *cq =
		sim_container_of(d, struct sim_cq, descriptor);

	return cq->n || cq->has_failed;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct sim_cq *cq = sim_container_of(fid, struct sim_cq, fid);
	struct fi_cq_msg_entry *to = buf;
	size_t n = 0;

	for (; n < count && cq->n; n++, cq->n--) {
		to[n] = cq->entries[cq->head];
		cq->head = (cq->head + 1) % SIM_CQ_MAX;
	}
	if (n)
		return (ssize_t)n;
	return cq->has_failed ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry,
			  uint64_t flags)
{
	struct sim_cq *cq = sim_container_of(fid, struct sim_cq, fid);

	if (!cq->has_failed)
		return -FI_EAGAIN;
	entry->op_context = cq->first.context;
	entry->err = cq->first.error;
	cq->first = (struct sim_error){ FI_ECANCELED, NULL };
	return 1;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno,
			       const void *err_data, char *buf, size_t len)
{
	return "";
}

static void cq_drop(struct sim_belonging *belonging)
{
	struct sim_cq *cq =
		sim_container_of(belonging, struct sim_cq, belonging);

	sim_descriptor_close(&cq->descriptor);
	sim_free(cq);
}

static int cq_close(struct fid *fid)
{
	struct sim_cq *cq = sim_container_of(fid, struct sim_cq, fid.fid);

	LIST_REMOVE(&cq->belonging, link);
	cq_drop(&cq->belonging);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_GETWAIT)
		return -FI_ENOSYS;
	*(int *)arg =
		sim_container_of(fid, struct sim_cq, fid.fid)->descriptor.number;
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.control = cq_control,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readerr = cq_readerr,
	.strerror = cq_strerror,
};

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		   struct fid_cq **out, void *context)
{
	struct sim_cq *cq = sim_alloc(sizeof(*cq));

	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	cq->descriptor.is_ready = cq_is_ready;
	sim_descriptor_open(&cq->descriptor);
	belongs(&cq->belonging, cq_drop);
	*out = &cq->fid;
	return 0;
}

/* ---- event queues ----------------------------------------------------------- */

int sim_cm_event(struct sim_eq *eq, uint32_t kind, int error, fid_t fid,
		 const void *data, size_t len, struct fi_info *info)
{
	struct sim_cm_event *e = sim_alloc(sizeof(*e));

	if (len > sizeof(e->data))
		sim_die("a connection's data are too long");
	e->kind = kind;
	e->error = error;
	e->fid = fid;
	e->info = info;
	e->len = len;
	if (len)
		memcpy(e->data, data, len);
	STAILQ_INSERT_TAIL(&eq->events, e, link);
	sim_descriptor_ready(&eq->descriptor);
	return 0;
}

void sim_eq_forget(struct sim_eq *eq, fid_t fid)
{
	struct sim_cm_event *e, *next;

	for (e = STAILQ_FIRST(&eq->events); e; e = next) {
		next = STAILQ_NEXT(e, link);
		if (e->fid != fid)
			continue;
		STAILQ_REMOVE(&eq->events, e, sim_cm_event, link);
		if (e->info)
			fi_freeinfo(e->info);
		sim_free(e);
	}
}

static bool eq_is_ready(const struct sim_descriptor *d)
{
	return !STAILQ_EMPTY(
		&sim_container_of(d, struct sim_eq, descriptor)->events);
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *kind, void *buf,
		       size_t len, uint64_t flags)
{
	struct sim_eq *eq = sim_container_of(fid, struct sim_eq, fid);
	struct sim_cm_event *e = STAILQ_FIRST(&eq->events);
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
	sim_free(e);
	return (ssize_t)(sizeof(*entry) + bytes);
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry,
			  uint64_t flags)
{
	struct sim_eq *eq = sim_container_of(fid, struct sim_eq, fid);
	struct sim_cm_event *e = STAILQ_FIRST(&eq->events);

	if (!e || !e->error)
		return -FI_EAGAIN;
	STAILQ_REMOVE_HEAD(&eq->events, link);
	entry->fid = e->fid;
	entry->err = e->error;
	if (e->len <= entry->err_data_size)
		memcpy(entry->err_data, e->data, e->len);
	entry->err_data_size = e->len;
	sim_free(e);
	return sizeof(*entry);
}

static void eq_drop(struct sim_belonging *belonging)
{
	struct sim_eq *eq =
		sim_container_of(belonging, struct sim_eq, belonging);
	struct sim_cm_event *e;

	while ((e = STAILQ_FIRST(&eq->events))) {
		STAILQ_REMOVE_HEAD(&eq->events, link);
		if (e->info)
			fi_freeinfo(e->info);
		sim_free(e);
	}
	sim_descriptor_close(&eq->descriptor);
	sim_free(eq);
}

static int eq_close(struct fid *fid)
{
	struct sim_eq *eq = sim_container_of(fid, struct sim_eq, fid.fid);

	LIST_REMOVE(&eq->belonging, link);
	eq_drop(&eq->belonging);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_GETWAIT)
		return -FI_ENOSYS;
	*(int *)arg =
		sim_container_of(fid, struct sim_eq, fid.fid)->descriptor.number;
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.control = eq_control,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
};

static int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		   struct fid_eq **out, void *context)
{
	struct sim_eq *eq = sim_alloc(sizeof(*eq));

	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.ops = &eq_fid_ops;
	eq->fid.ops = &eq_ops;
	eq->descriptor.is_ready = eq_is_ready;
	STAILQ_INIT(&eq->events);
	sim_descriptor_open(&eq->descriptor);
	belongs(&eq->belonging, eq_drop);
	*out = &eq->fid;
	return 0;
}

/* ---- domain and fabric ------------------------------------------------------ */

struct sim_host *sim_fabric_host(void)
{
	return sim_host_of(sim_current->process);
}

static void domain_drop(struct sim_belonging *belonging)
{
	sim_free(sim_container_of(belonging, struct sim_domain, belonging));
}

static int domain_close(struct fid *fid)
{
	struct sim_domain *domain =
		sim_container_of(fid, struct sim_domain, fid.fid);

	LIST_REMOVE(&domain->belonging, link);
	domain_drop(&domain->belonging);
	return 0;
}

static int domain_set_persist(struct fid_domain *fid,
			      int (*persist)(void *arg, void *addr, size_t len),
			      void *arg)
{
	struct sim_domain *domain =
		sim_container_of(fid, struct sim_domain, fid);

	domain->persist = persist;
	domain->persist_arg = arg;
	return 0;
}

static int domain_ops_open(struct fid *fid, const char *name, uint64_t flags,
			   void **ops, void *context)
{
	static struct stcp_domain_ops stcp = {
		.size = sizeof(stcp),
		.set_persist = domain_set_persist,
	};

	*ops = &stcp;
	return 0;
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = domain_close,
	.ops_open = domain_ops_open,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.cq_open = cq_open,
	.endpoint = sim_ep_open,
};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **out, void *context)
{
	struct sim_domain *domain = sim_alloc(sizeof(*domain));

	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &mr_ops;
	belongs(&domain->belonging, domain_drop);
	*out = &domain->fid;
	return 0;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	for (int i = 0; i < count; i++)
		if (fids[i]->fclass == FI_CLASS_CQ &&
		    sim_container_of(fids[i], struct sim_cq, fid.fid)->n)
			return -FI_EAGAIN;
	return 0;
}

/* One for all: it has nothing of its own. */
static int fabric_close(struct fid *fid)
{
	return 0;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = domain_open,
	.passive_ep = sim_pep_open,
	.eq_open = eq_open,
	.trywait = trywait,
};

int __wrap_stcp_choose_fabric(struct fi_fabric_attr *attr,
			      struct fid_fabric **out, void *context)
{
	static struct fid_fabric fabric = {
		.fid = { .fclass = FI_CLASS_FABRIC, .ops = &fabric_fid_ops },
		.ops = &fabric_ops,
	};

	*out = &fabric;
	return 0;
}

/* ---- infos: those of a process go with it ------------------------------------ */

/* A process's note of an info that libfabric has made. */
struct info_note {
	struct sim_belonging belonging;
	struct fi_info *info;
};

struct fi_info *__real_fi_dupinfo(const struct fi_info *info);
void __real_fi_freeinfo(struct fi_info *info);
struct fi_info *__wrap_fi_dupinfo(const struct fi_info *info);
void __wrap_fi_freeinfo(struct fi_info *info);

static void info_drop(struct sim_belonging *belonging)
{
	struct info_note *note =
		sim_container_of(belonging, struct info_note, belonging);

	__real_fi_freeinfo(note->info);
	sim_free(note);
}

struct fi_info *__wrap_fi_dupinfo(const struct fi_info *info)
{
	struct fi_info *copy = __real_fi_dupinfo(info);
	struct info_note *note;

	if (!copy || !sim_current)
		return copy;
	note = sim_alloc(sizeof(*note));
	note->info = copy;
	belongs(&note->belonging, info_drop);
	return copy;
}

void __wrap_fi_freeinfo(struct fi_info *info)
{
	struct sim_belonging *b;

	if (!info)
		return;
	if (sim_current) {
		LIST_FOREACH(b, &sim_current->process->belongings, link)
		{
			if (b->drop != info_drop ||
			    sim_container_of(b, struct info_note, belonging)
					    ->info != info)
				continue;
			LIST_REMOVE(b, link);
			info_drop(b);
			return;
		}
	}
	__real_fi_freeinfo(info);
}

static uint16_t port_of(const char *service)
{
	return (uint16_t)(service ? strtoul(service, NULL, 10) : 0);
}

static void *loopback(const char *service)
{
	struct sockaddr_in *sin = calloc(1, sizeof(*sin));

	if (!sin)
		sim_die("no memory");
	sin->sin_family = AF_INET;
	sin->sin_port = htons(port_of(service));
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sin;
}

/* What the provider answers, as far as anybody looks. */
int __wrap_stcp_choose_getinfo(uint32_t version, const char *node,
			       const char *service, uint64_t flags,
			       const struct fi_info *hints,
			       struct fi_info **out)
{
	static const char *const devices[SIM_NETWORKS] = { SIM_DEVICES };
	struct sim_thread *current = sim_current;
	struct fi_info *info;
	const char *device;

	/* libfabric frees what is in it. */
	sim_current = NULL;
	device = devices[sim_network_of(port_of(service))];
	info = __real_fi_dupinfo(NULL);
	if (!info)
		sim_die("no memory");
	info->caps = FI_MSG | FI_RMA;
	info->addr_format = FI_SOCKADDR_IN;
	info->src_addr = loopback(service);
	info->src_addrlen = sizeof(struct sockaddr_in);
	info->dest_addr = loopback(service);
	info->dest_addrlen = sizeof(struct sockaddr_in);
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->max_msg_size = 1U << 23;
	info->tx_attr->size = SIM_OPS_MAX;
	info->tx_attr->inject_size = 256;
	info->rx_attr->size = SIM_RX_MAX;
	info->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	info->domain_attr->name = strdup(device);
	info->fabric_attr->name = strdup(device);
	info->fabric_attr->prov_name = strdup(hints->fabric_attr->prov_name);
	sim_current = current;
	*out = __wrap_fi_dupinfo(info);
	__real_fi_freeinfo(info);
	return 0;
}
