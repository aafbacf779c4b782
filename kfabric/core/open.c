// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: objects are opened: checks for the upper layer, and what
 * initialises the objects for providers.
 */
#include <linux/export.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "core.h"

/* Without operations calls give -ENOSYS; the core's checks say -ENODEV first. */
static const struct fi_ops_fabric kfi_no_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
};
static const struct fi_ops_domain kfi_no_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
};
static const struct fi_ops_cq kfi_no_cq_ops = {
	.size = sizeof(struct fi_ops_cq),
};

/* The parent must be alive, an info its provider's, and the operation there. */
int kfi_check_open(const struct kfid *parent, const struct fi_info *info,
		   bool has_op)
{
	const char *name = info ? info->fabric_attr->prov_name : NULL;

	if (READ_ONCE(parent->dead))
		return -ENODEV;
	if (info && !(name && kfi_prov_handles(parent->prov->name, name)))
		return -EINVAL;
	return has_op ? 0 : -ENOSYS;
}

int kfabric_domain(struct fid_fabric *fabric, struct fi_info *info,
		   struct fid_domain **domain, void *context)
{
	return kfi_check_open(&fabric->fid, info,
			      KFI_HAS_OP(fabric->ops, domain))
		       ?: fabric->ops->domain(fabric, info, domain, context);
}
EXPORT_SYMBOL_GPL(kfabric_domain);

int kfabric_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_pep **pep, void *context)
{
	int ret = kfi_check_open(&fabric->fid, info,
				 KFI_HAS_OP(fabric->ops, passive_ep));

	if (ret)
		return ret;
	if (!info->src_addr)
		return -EINVAL;
	return fabric->ops->passive_ep(fabric, info, pep, context);
}
EXPORT_SYMBOL_GPL(kfabric_passive_ep);

int kfabric_endpoint(struct fid_domain *domain, struct fi_info *info,
		     struct fid_ep **ep, void *context)
{
	int ret = kfi_check_open(&domain->fid, info,
				 KFI_HAS_OP(domain->ops, endpoint));

	if (ret)
		return ret;
	if (info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT &&
	    !KFI_HAS_OP(domain->ops, srx_context))
		return -EOPNOTSUPP;
	return domain->ops->endpoint(domain, info, ep, context);
}
EXPORT_SYMBOL_GPL(kfabric_endpoint);

int kfabric_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		    struct fid_cq **cq, void *context)
{
	int ret = kfi_check_open(&domain->fid, NULL,
				 KFI_HAS_OP(domain->ops, cq_open));

	if (ret)
		return ret;
	if (attr &&
	    (attr->format >= FI_CQ_FORMATS ||
	     (attr->comp_handler && (attr->ready_handler || attr->wait_obj))))
		return -EINVAL;
	return domain->ops->cq_open(domain, attr, cq, context);
}
EXPORT_SYMBOL_GPL(kfabric_cq_open);

int kfabric_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		    struct fid_av **av, void *context)
{
	return kfi_check_open(&domain->fid, NULL,
			      KFI_HAS_OP(domain->ops, av_open))
		       ?: domain->ops->av_open(domain, attr, av, context);
}
EXPORT_SYMBOL_GPL(kfabric_av_open);

int kfabric_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		       u64 flags, struct fid_mr **mr)
{
	const u64 access = FI_REMOTE_READ | FI_REMOTE_WRITE | FI_ATOMIC;
	int ret = kfi_check_open(&domain->fid, NULL,
				 KFI_HAS_OP(domain->ops, mr_regattr));

	if (ret)
		return ret;
	if (flags & ~FI_RMA_PMEM)
		return -FI_EBADFLAGS;
	if (!attr->access || (attr->access & ~access) || !attr->buf.len)
		return -EINVAL;
	if ((attr->access & FI_ATOMIC) &&
	    !KFI_HAS_OP(domain->ops, query_atomic))
		return -EOPNOTSUPP;
	ret = kfi_buf_check(&attr->buf, U32_MAX, SIZE_MAX);
	if (ret)
		return ret;
	return domain->ops->mr_regattr(domain, attr, flags, mr);
}
EXPORT_SYMBOL_GPL(kfabric_mr_regattr);

int kfi_fabric_init(struct fid_fabric *fabric, struct kfi_provider *prov,
		    const struct fi_ops *ops,
		    const struct fi_ops_fabric *fabric_ops, void *context)
{
	int ret;

	fabric->ops = fabric_ops ?: &kfi_no_fabric_ops;
	ret = kfi_obj_init(&fabric->fid, FI_CLASS_FABRIC, prov, NULL, ops,
			   context);
	if (!ret)
		fabric->net = get_net(current->nsproxy->net_ns);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_fabric_init);

static const struct fi_ops_fabric kfi_plain_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = kfi_plain_domain,
};

int kfi_plain_fabric(struct kfi_provider *prov, struct fi_fabric_attr *attr,
		     struct fid_fabric **fabric, void *context)
{
	struct fid_fabric *new = kzalloc(sizeof(*new), GFP_KERNEL);
	int ret;

	if (!new)
		return -ENOMEM;
	ret = kfi_fabric_init(new, prov, &kfi_plain_ops,
			      prov->fabric_ops ?: &kfi_plain_fabric_ops,
			      context);
	if (ret)
		kfree(new);
	else
		*fabric = new;
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_plain_fabric);

int kfi_plain_domain(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **domain, void *context)
{
	struct fid_domain *new = kzalloc(sizeof(*new), GFP_KERNEL);
	int ret;

	if (!new)
		return -ENOMEM;
	ret = kfi_domain_init(new, fabric, &kfi_plain_ops,
			      fabric->fid.prov->domain_ops, 0, context);
	if (ret)
		kfree(new);
	else
		*domain = new;
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_plain_domain);

int kfi_domain_init(struct fid_domain *domain, struct fid_fabric *fabric,
		    const struct fi_ops *ops,
		    const struct fi_ops_domain *domain_ops, u32 mr_mode,
		    void *context)
{
	domain->ops = domain_ops ?: &kfi_no_domain_ops;
	domain->fabric = fabric;
	domain->mr_mode = mr_mode;
	return kfi_obj_init(&domain->fid, FI_CLASS_DOMAIN, fabric->fid.prov,
			    &fabric->fid, ops, context);
}
EXPORT_SYMBOL_GPL(kfi_domain_init);

void kfi_ep_set_ops(struct fid_ep *ep, const struct kfi_ep_ops *ops)
{
	ep->cm = ops->cm;
	ep->msg = ops->msg;
	ep->rma = ops->rma;
	ep->tagged = ops->tagged;
	ep->atomic = ops->atomic;
	ep->ops = ops;
	spin_lock_init(&ep->lock);
	INIT_LIST_HEAD(&ep->ev_cm.node);
	INIT_LIST_HEAD(&ep->ev_shutdown.node);
}

void kfi_ep_fill(struct fid_ep *ep, struct fid_domain *domain,
		 const struct fi_info *info, const struct kfi_ep_ops *ops)
{
	kfi_ep_set_ops(ep, ops);
	ep->domain = domain;
	ep->type = info->ep_attr->type;
	ep->shares_rx = info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
	ep->tx_op_flags = info->tx_attr->op_flags;
	ep->rx_op_flags = info->rx_attr->op_flags;
	ep->comp_levels = info->tx_attr->comp_levels;
	ep->cm_data_size = info->ep_attr->cm_data_size;
	ep->flush_modes = info->ep_attr->flush_modes;
	ep->op_timeout_ms = info->ep_attr->op_timeout_ms;
	ep->cm_timeout_ms = info->ep_attr->cm_timeout_ms;
}

int kfi_ep_init(struct fid_ep *ep, struct fid_domain *domain,
		const struct fi_info *info, const struct kfi_ep_ops *ops,
		void *context)
{
	kfi_ep_fill(ep, domain, info, ops);
	return kfi_obj_init(&ep->fid, FI_CLASS_EP, domain->fid.prov,
			    &domain->fid, ops->fid, context);
}
EXPORT_SYMBOL_GPL(kfi_ep_init);

int kfi_pep_init(struct fid_pep *pep, struct fid_fabric *fabric,
		 const struct fi_info *info, const struct fi_ops *ops,
		 const struct fi_ops_pep *pep_ops, void *context)
{
	int ret;

	pep->ops = pep_ops;
	pep->fabric = fabric;
	pep->info = info ? fi_dupinfo(info) : NULL;
	if (info && !pep->info)
		return -ENOMEM;
	ret = kfi_obj_init(&pep->fid, FI_CLASS_PEP, fabric->fid.prov,
			   &fabric->fid, ops, context);
	if (ret)
		fi_freeinfo(pep->info);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_pep_init);

int kfi_mr_init(struct fid_mr *mr, struct fid_domain *domain,
		const struct fi_ops *ops, const struct fi_mr_attr *attr)
{
	mr->domain = domain;
	/* Peers count from 0, or from the address that is asked for. */
	if (domain->mr_mode & FI_MR_VIRT_ADDR)
		mr->iova =
			attr->iova || attr->buf.type != FI_BUF_LINEAR
				? attr->iova
				: (uintptr_t)attr->buf.ptr + attr->buf.offset;
	mr->len = attr->buf.len;
	return kfi_obj_init(&mr->fid, FI_CLASS_MR, domain->fid.prov,
			    &domain->fid, ops, attr->context);
}
EXPORT_SYMBOL_GPL(kfi_mr_init);

int kfi_cq_init(struct fid_cq *cq, struct fid_domain *domain,
		const struct fi_ops *ops, const struct fi_ops_cq *cq_ops,
		const struct fi_cq_attr *attr, void *context)
{
	cq->ops = cq_ops ?: &kfi_no_cq_ops;
	cq->domain = domain;
	if (attr)
		cq->attr = *attr;
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->done);
	init_waitqueue_head(&cq->wait);
	cq->waiters = cq->attr.wait_obj ?: &cq->wait;
	return kfi_obj_init(&cq->fid, FI_CLASS_CQ, domain->fid.prov,
			    &domain->fid, ops, context);
}
EXPORT_SYMBOL_GPL(kfi_cq_init);
