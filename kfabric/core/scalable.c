// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: scalable endpoints and their contexts: checks for the upper layer,
 * and what initialises them for providers.
 *
 * Locking: sep->lock for which contexts are open: one is from before the provider is
 *	asked until it has closed it.
 */
#include <linux/export.h>

#include <kfabric/kfi_scalable.h>

#include "core.h"

int kfabric_scalable_ep(struct fid_domain *domain, struct fi_info *info,
			struct fid_ep **sep, void *context)
{
	return kfi_check_open(&domain->fid, info,
			      KFI_HAS_OP(domain->ops, scalable_ep))
		       ?: domain->ops->scalable_ep(domain, info, sep, context);
}
EXPORT_SYMBOL_GPL(kfabric_scalable_ep);

/* Take the place of a context: 0, or why it cannot be had. */
static int kfi_ctx_take(struct fid_ep *sep, int index, u32 count, u64 *open)
{
	bool was_open;

	might_sleep();
	if (READ_ONCE(sep->fid.dead))
		return -ENODEV;
	if (sep->fid.fclass != FI_CLASS_SEP || index < 0 || (u32)index >= count)
		return -EINVAL;
	spin_lock_irq(&sep->lock);
	was_open = *open & BIT_ULL(index);
	*open |= BIT_ULL(index);
	spin_unlock_irq(&sep->lock);
	return was_open ? -EBUSY : 0;
}

static void kfi_ctx_put(struct fid_ep *sep, u32 index, u64 *open)
{
	spin_lock_irq(&sep->lock);
	*open &= ~BIT_ULL(index);
	spin_unlock_irq(&sep->lock);
}

int kfabric_tx_context(struct fid_ep *sep, int index,
		       const struct fi_tx_attr *attr, struct fid_ep **ctx,
		       void *context)
{
	int ret = kfi_ctx_take(sep, index, sep->tx_ctx_cnt, &sep->tx_open);

	if (ret)
		return ret;
	ret = sep->ops->sep->tx_context(sep, index, attr, ctx, context);
	if (ret)
		kfi_ctx_put(sep, index, &sep->tx_open);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_tx_context);

int kfabric_rx_context(struct fid_ep *sep, int index,
		       const struct fi_rx_attr *attr, struct fid_ep **ctx,
		       void *context)
{
	int ret = kfi_ctx_take(sep, index, sep->rx_ctx_cnt, &sep->rx_open);

	if (ret)
		return ret;
	ret = sep->ops->sep->rx_context(sep, index, attr, ctx, context);
	if (ret)
		kfi_ctx_put(sep, index, &sep->rx_open);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_rx_context);

/* The provider has closed it. */
void kfi_ctx_give_back(struct fid_ep *ctx)
{
	struct fid_ep *sep = container_of(ctx->fid.parent, struct fid_ep, fid);

	if (ctx->fid.fclass == FI_CLASS_TX_CTX)
		kfi_ctx_put(sep, ctx->ctx_index, &sep->tx_open);
	else if (ctx->fid.fclass == FI_CLASS_RX_CTX)
		kfi_ctx_put(sep, ctx->ctx_index, &sep->rx_open);
}

/* ---- for providers ----------------------------------------------------- */

int kfi_sep_init(struct fid_ep *sep, struct fid_domain *domain,
		 const struct fi_info *info, const struct kfi_ep_ops *ops,
		 void *context)
{
	const struct fi_ep_attr *attr = info->ep_attr;

	if (!attr->tx_ctx_cnt || attr->tx_ctx_cnt > KFI_CTX_MAX ||
	    !attr->rx_ctx_cnt || attr->rx_ctx_cnt > KFI_CTX_MAX)
		return -EINVAL;
	kfi_ep_fill(sep, domain, info, ops);
	sep->tx_ctx_cnt = attr->tx_ctx_cnt;
	sep->rx_ctx_cnt = attr->rx_ctx_cnt;
	return kfi_obj_init(&sep->fid, FI_CLASS_SEP, domain->fid.prov,
			    &domain->fid, ops->fid, context);
}
EXPORT_SYMBOL_GPL(kfi_sep_init);

int kfi_ctx_init(struct fid_ep *ctx, struct fid_ep *sep, enum fi_class fclass,
		 u32 index, u64 op_flags, const struct kfi_ep_ops *ops,
		 void *context)
{
	kfi_ep_set_ops(ctx, ops);
	ctx->domain = sep->domain;
	ctx->type = sep->type;
	ctx->tx_op_flags = op_flags;
	ctx->rx_op_flags = op_flags;
	ctx->comp_levels = sep->comp_levels;
	ctx->flush_modes = sep->flush_modes;
	ctx->op_timeout_ms = READ_ONCE(sep->op_timeout_ms);
	ctx->cm_timeout_ms = READ_ONCE(sep->cm_timeout_ms);
	ctx->ctx_index = index;
	return kfi_obj_init(&ctx->fid, fclass, sep->fid.prov, &sep->fid,
			    ops->fid, context);
}
EXPORT_SYMBOL_GPL(kfi_ctx_init);
