// SPDX-License-Identifier: BSD-2-Clause
/* Domains: what one client's keys open, and who makes its bytes durable. */
#include <stdlib.h>
#include <string.h>

#include "impl.h"
#include "stcp.h"

static int set_persist(struct fid_domain *fid,
		       int (*persist)(void *arg, void *addr, size_t len),
		       void *arg)
{
	struct stcp_domain *domain =
		stcp_container_of(fid, struct stcp_domain, fid);

	domain->persist = persist;
	domain->persist_arg = arg;
	return 0;
}

static int set_ring(struct fid_domain *fid, void (*ring)(void *context))
{
	stcp_container_of(fid, struct stcp_domain, fid)->ring = ring;
	return 0;
}

static struct stcp_domain_ops own_ops = {
	.size = sizeof(struct stcp_domain_ops),
	.set_persist = set_persist,
	.set_ring = set_ring,
};

static int domain_ops_open(struct fid *fid, const char *name, uint64_t flags,
			   void **ops, void *context)
{
	if (flags || strcmp(name, STCP_DOMAIN_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &own_ops;
	return 0;
}

static int domain_close(struct fid *fid)
{
	struct stcp_domain *domain =
		stcp_container_of(fid, struct stcp_domain, fid.fid);

	if (stcp_is_inherited(domain->fabric))
		return 0;
	if (atomic_load(&domain->refs) || domain->mrs)
		return -FI_EBUSY;
	atomic_fetch_sub(&domain->fabric->refs, 1);
	pthread_mutex_destroy(&domain->lock);
	pthread_mutex_destroy(&domain->mr_lock);
	free(domain);
	return 0;
}

/* clang-format off */
STCP_NOT_DONE(static int, no_av, struct fid_domain *domain,
	      struct fi_av_attr *attr, struct fid_av **av, void *context)
STCP_NOT_DONE(static int, no_scalable_ep, struct fid_domain *domain,
	      struct fi_info *info, struct fid_ep **sep, void *context)
STCP_NOT_DONE(static int, no_cntr, struct fid_domain *domain,
	      struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context)
STCP_NOT_DONE(static int, no_poll, struct fid_domain *domain,
	      struct fi_poll_attr *attr, struct fid_poll **pollset)
STCP_NOT_DONE(static int, no_stx, struct fid_domain *domain,
	      struct fi_tx_attr *attr, struct fid_stx **stx, void *context)
STCP_NOT_DONE(static int, no_query_atomic, struct fid_domain *domain,
	      enum fi_datatype datatype, enum fi_op op,
	      struct fi_atomic_attr *attr, uint64_t flags)
STCP_NOT_DONE(static int, no_query_collective, struct fid_domain *domain,
	      enum fi_collective_op coll, struct fi_collective_attr *attr,
	      uint64_t flags)
/* clang-format on */

static int open_endpoint2(struct fid_domain *domain, struct fi_info *info,
			  struct fid_ep **ep, uint64_t flags, void *context)
{
	return flags ? -FI_ENOSYS : stcp_ep_open(domain, info, ep, context);
}

static struct fi_ops domain_fid_ops = STCP_FID_OPS(
	domain_close, stcp_no_bind, stcp_no_control, domain_ops_open);

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = no_av,
	.cq_open = stcp_cq_open,
	.endpoint = stcp_ep_open,
	.scalable_ep = no_scalable_ep,
	.cntr_open = no_cntr,
	.poll_open = no_poll,
	.stx_ctx = no_stx,
	.srx_ctx = stcp_srx_open,
	.query_atomic = no_query_atomic,
	.query_collective = no_query_collective,
	.endpoint2 = open_endpoint2,
};

int stcp_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **out, void *context)
{
	struct stcp_domain *domain;

	if (stcp_is_inherited(
		    stcp_container_of(fabric, struct stcp_fabric, fid)))
		return -FI_EOPBADSTATE;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	stcp_fid_init(&domain->fid.fid, FI_CLASS_DOMAIN, &domain_fid_ops,
		      context);
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &stcp_mr_ops;
	domain->manual = info->domain_attr &&
			 info->domain_attr->data_progress == FI_PROGRESS_MANUAL;
	domain->write_data =
		info->domain_attr && info->domain_attr->cq_data_size;
	domain->fabric = stcp_container_of(fabric, struct stcp_fabric, fid);
	atomic_fetch_add(&domain->fabric->refs, 1);
	pthread_mutex_init(&domain->lock, NULL);
	pthread_mutex_init(&domain->mr_lock, NULL);
	LIST_INIT(&domain->eps);
	*out = &domain->fid;
	return 0;
}
