// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: shared receive contexts: what is the same for all providers: see
 * fi_shared.h and the first part of kfi_shared.h.
 */
#include <linux/bottom_half.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <kfabric/kfi_shared.h>

#include "core.h"

int kfabric_srx_context(struct fid_domain *domain,
			const struct fi_rx_attr *attr, struct fid_ep **srx,
			void *context)
{
	might_sleep();
	return kfi_check_open(&domain->fid, NULL,
			      KFI_HAS_OP(domain->ops, srx_context))
		       ?: domain->ops->srx_context(domain, attr, srx, context);
}
EXPORT_SYMBOL_GPL(kfabric_srx_context);

int kfi_srx_setopt(struct fid_ep *srx, int optname, const void *optval,
		   size_t optlen)
{
	const struct fi_low_water *low = optval;

	if (READ_ONCE(srx->fid.dead))
		return -ENODEV;
	switch (optname) {
	case FI_OPT_SPACE_HANDLER:
		if (optlen != sizeof(srx->space))
			return -EINVAL;
		/* Nobody reads the handler before something was posted. */
		if (atomic_long_read(&srx->nr_posts) ||
		    atomic_long_read(&srx->nr_again))
			return -FI_EOPBADSTATE;
		memcpy(&srx->space, optval, optlen);
		return 0;
	case FI_OPT_LOW_WATER:
		if (!srx->ops->low_water)
			return -ENOSYS;
		if (optlen != sizeof(*low) || (low->limit && !low->fn))
			return -EINVAL;
		return srx->ops->low_water(srx, low);
	default:
		return -ENOSYS;
	}
}

/* ---- for providers ----------------------------------------------------- */

int kfi_srx_init(struct fid_ep *srx, struct fid_domain *domain,
		 const struct fi_rx_attr *attr, const struct kfi_ep_ops *ops,
		 void *context)
{
	kfi_ep_set_ops(srx, ops);
	srx->domain = domain;
	srx->type = FI_EP_MSG;
	srx->rx_op_flags = attr->op_flags;
	return kfi_obj_init(&srx->fid, FI_CLASS_SRX_CTX, domain->fid.prov,
			    &domain->fid, ops->fid, context);
}
EXPORT_SYMBOL_GPL(kfi_srx_init);

int kfi_srx_limit(struct fi_rx_attr *attr, const struct fi_rx_attr *wish)
{
	if (wish &&
	    (wish->size > attr->size || wish->iov_limit > attr->iov_limit))
		return -EINVAL;
	attr->size = wish && wish->size
			     ? wish->size
			     : min_t(size_t, attr->size, KFI_SRX_SIZE);
	if (wish && wish->iov_limit)
		attr->iov_limit = wish->iov_limit;
	attr->op_flags = wish ? wish->op_flags : 0;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_srx_limit);

void kfi_srx_cancel(struct fid_ep *srx, struct kfi_comp *comp)
{
	const struct fid_cq *cq = srx->rx_cq;
	bool softirq = cq && cq->attr.comp_context != FI_CQ_WORKQUEUE;

	if (!cq)
		return;
	comp->entry.err = ECANCELED;
	if (softirq)
		local_bh_disable();
	kfi_ep_complete(srx, comp);
	if (softirq)
		local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_srx_cancel);

void kfi_low_water_call(struct fid_ep *srx, const struct fi_low_water *call)
{
	local_bh_disable();
	call->fn(srx, call->context);
	local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_low_water_call);
