// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: infos: from the inner provider's to ours and back.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fault.h"

/* Make an inner info ours. */
int fault_info_outer(struct fi_info *info)
{
	struct fi_domain_attr *domain = info->domain_attr;
	struct fi_tx_attr *tx = info->tx_attr;
	int ret = kfi_layer_name(info, &fault_prov);

	if (ret)
		return ret;
	tx->inject_size = min_t(size_t, tx->inject_size, KFI_POST_INJECT_SIZE);
	tx->rma_iov_limit =
		min_t(size_t, tx->rma_iov_limit, KFI_POST_RMA_LIMIT);
	/* Effects are on what one endpoint has: receives are not shared. */
	domain->max_ep_srx_ctx = 0;
	info->ep_attr->rx_ctx_cnt = 0;
	domain->op_context_size = KFI_OP_CONTEXT_SIZE(
		offsetof(struct fault_op, inner) + domain->op_context_size);
	return 0;
}

/*
 * The inner provider's info for one of ours, or for hints: its name instead
 * of ours, and the inner request's handle if there is one.
 */
struct fi_info *fault_info_inner(const struct fi_info *info,
				 struct kfid *handle)
{
	const char *name = NULL;
	struct fi_info bare = *info;
	struct fi_info *inner;

	bare.handle = NULL;
	bare.next = NULL;
	inner = fi_dupinfo(&bare);
	if (!inner)
		return NULL;
	if (info->fabric_attr)
		name = kfi_layer_inner_name(info->fabric_attr->prov_name);
	kfree(inner->fabric_attr->prov_name);
	inner->fabric_attr->prov_name = NULL;
	if (name) {
		inner->fabric_attr->prov_name = kstrdup(name, GFP_KERNEL);
		if (!inner->fabric_attr->prov_name) {
			fi_freeinfo(inner);
			return NULL;
		}
	}
	/* The context size of the inner domain; undoes fault_info_outer(). */
	if (inner->domain_attr->op_context_size)
		inner->domain_attr->op_context_size =
			info->domain_attr->op_context_size -
			sizeof(struct fi_context) -
			offsetof(struct fault_op, inner);
	if (handle) {
		kfi_obj_get(handle);
		inner->handle = handle;
	}
	return inner;
}

static int fault_ask_inner(const char *node, const char *service, u64 flags,
			   const struct fi_info *hints, struct fi_info **list)
{
	struct fi_info *inner = NULL;
	int ret;

	if (hints) {
		inner = fault_info_inner(hints, NULL);
		if (!inner)
			return -ENOMEM;
		inner->ep_attr->type = FI_EP_MSG;
		/* Not a demand that any provider looks at. */
		inner->domain_attr->op_context_size = 0;
	}
	ret = fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), node,
			 service, flags, inner, list);
	fi_freeinfo(inner);
	return ret;
}

int fault_getinfo(struct kfi_provider *prov, const char *node,
		  const char *service, u64 flags, const struct fi_info *hints,
		  struct fi_info **list)
{
	struct fi_info *info;
	int ret;

	/* What is posted has no address, so that it is for connected endpoints. */
	if (hints && hints->ep_attr && hints->ep_attr->type == FI_EP_RDM)
		return -ENODATA;
	ret = fault_ask_inner(node, service, flags, hints, list);
	if (ret)
		return ret;
	for (info = *list; info && !ret; info = info->next)
		ret = fault_info_outer(info);
	if (ret) {
		fi_freeinfo(*list);
		*list = NULL;
	}
	return ret;
}
