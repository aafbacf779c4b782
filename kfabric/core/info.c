// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: how infos are made, copied, freed and matched against hints.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric/kfi_shared.h>

#include "core.h"

/* What peers must do differently if the provider demands it. */
#define MR_DEMANDS (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ENDPOINT)

/* An info and its attributes are one allocation. */
struct info_block {
	struct fi_info info;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric;
};

int kfi_info_set_addr(void **addr, size_t *addrlen, const void *from,
		      size_t len)
{
	void *copy = NULL;

	if (from) {
		copy = kmemdup(from, len, GFP_KERNEL);
		if (!copy)
			return -ENOMEM;
	}
	kfree(*addr);
	*addr = copy;
	*addrlen = copy ? len : 0;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_info_set_addr);

int kfi_copy_addr(const void *from, void *addr, size_t *addrlen)
{
	size_t room = *addrlen;

	*addrlen = kfi_addr_len(from);
	if (room < *addrlen)
		return -FI_ETOOSMALL;
	memcpy(addr, from, *addrlen);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_copy_addr);

static int kfi_copy_string(char **to, const char *from)
{
	if (!from)
		return 0;
	*to = kstrdup(from, GFP_KERNEL);
	return *to ? 0 : -ENOMEM;
}

static int kfi_copy_pointers(struct info_block *b, const struct fi_info *info)
{
	int ret;

	ret = kfi_info_set_addr(&b->info.src_addr, &b->info.src_addrlen,
				info->src_addr, info->src_addrlen);
	ret = ret
		      ?: kfi_info_set_addr(&b->info.dest_addr,
					   &b->info.dest_addrlen,
					   info->dest_addr, info->dest_addrlen);
	if (!ret && info->domain_attr)
		ret = kfi_copy_string(&b->domain.name, info->domain_attr->name);
	if (!ret && info->fabric_attr)
		ret = kfi_copy_string(&b->fabric.name, info->fabric_attr->name);
	if (!ret && info->fabric_attr)
		ret = kfi_copy_string(&b->fabric.prov_name,
				      info->fabric_attr->prov_name);
	return ret;
}

struct fi_info *kfabric_dupinfo(const struct fi_info *info)
{
	struct info_block *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return NULL;
	b->info.tx_attr = &b->tx;
	b->info.rx_attr = &b->rx;
	b->info.ep_attr = &b->ep;
	b->info.domain_attr = &b->domain;
	b->info.fabric_attr = &b->fabric;
	if (!info)
		return &b->info;
	b->info.caps = info->caps;
	b->info.addr_format = info->addr_format;
	/* Copy attributes without what they point to. Hints may lack some. */
	if (info->tx_attr)
		b->tx = *info->tx_attr;
	if (info->rx_attr)
		b->rx = *info->rx_attr;
	if (info->ep_attr)
		b->ep = *info->ep_attr;
	if (info->domain_attr)
		b->domain = *info->domain_attr;
	b->domain.name = NULL;
	if (info->fabric_attr)
		b->fabric = *info->fabric_attr;
	b->fabric.name = NULL;
	b->fabric.prov_name = NULL;
	if (kfi_copy_pointers(b, info)) {
		kfabric_freeinfo(&b->info);
		return NULL;
	}
	if (info->handle) {
		kfi_obj_get(info->handle);
		b->info.handle = info->handle;
	}
	return &b->info;
}
EXPORT_SYMBOL_GPL(kfabric_dupinfo);

struct fi_info *kfi_info_to_peer(const struct fi_info *info, const void *addr,
				 size_t len)
{
	struct fi_info *copy = kfabric_dupinfo(info);

	if (copy && kfi_info_set_addr(&copy->dest_addr, &copy->dest_addrlen,
				      addr, len)) {
		kfabric_freeinfo(copy);
		return NULL;
	}
	return copy;
}
EXPORT_SYMBOL_GPL(kfi_info_to_peer);

void kfabric_freeinfo(struct fi_info *info)
{
	struct fi_info *next;

	for (; info; info = next) {
		next = info->next;
		kfree(info->src_addr);
		kfree(info->dest_addr);
		kfree(info->domain_attr->name);
		kfree(info->fabric_attr->name);
		kfree(info->fabric_attr->prov_name);
		if (info->handle)
			kfi_obj_put(info->handle);
		kfree(container_of(info, struct info_block, info));
	}
}
EXPORT_SYMBOL_GPL(kfabric_freeinfo);

static bool kfi_same_name(const char *have, const char *want)
{
	return !want || (have && !strcmp(have, want));
}

static bool kfi_match_queues(const struct fi_info *info,
			     const struct fi_info *hints)
{
	const struct fi_tx_attr *tx = info->tx_attr, *want = hints->tx_attr;
	const struct fi_rx_attr *rx = info->rx_attr, *want_rx = hints->rx_attr;

	if (want &&
	    ((want->caps & ~tx->caps) ||
	     (want->comp_levels & ~tx->comp_levels) ||
	     (want->msg_order & ~tx->msg_order) ||
	     (want->comp_order & ~tx->comp_order) ||
	     (want->op_flags & FI_COMPLETION_LEVELS & ~tx->comp_levels) ||
	     tx->inject_size < want->inject_size || tx->size < want->size ||
	     tx->iov_limit < want->iov_limit ||
	     tx->rma_iov_limit < want->rma_iov_limit))
		return false;
	return !want_rx || (!(want_rx->caps & ~rx->caps) &&
			    !(want_rx->msg_order & ~rx->msg_order) &&
			    !(want_rx->comp_order & ~rx->comp_order) &&
			    rx->size >= want_rx->size &&
			    rx->iov_limit >= want_rx->iov_limit);
}

static bool kfi_match_format(u32 have, u32 want)
{
	if (want == FI_FORMAT_UNSPEC || have == FI_FORMAT_UNSPEC)
		return true;
	if (want == FI_SOCKADDR)
		return have == FI_SOCKADDR_IN || have == FI_SOCKADDR_IN6 ||
		       have == FI_SOCKADDR;
	return have == want;
}

bool kfi_match_info(const struct fi_info *info, const struct fi_info *hints)
{
	const struct fi_fabric_attr *fabric;
	const struct fi_domain_attr *domain, *have = info->domain_attr;
	const struct fi_ep_attr *ep, *has = info->ep_attr;

	if (!hints)
		return true;
	if ((hints->caps & ~info->caps) ||
	    !kfi_match_format(info->addr_format, hints->addr_format))
		return false;
	fabric = hints->fabric_attr;
	if (fabric && !kfi_same_name(info->fabric_attr->name, fabric->name))
		return false;
	/* "fault;loop" is wanted by "fault;loop" and by "fault". */
	if (fabric && fabric->prov_name &&
	    !(info->fabric_attr->prov_name &&
	      kfi_prov_handles(fabric->prov_name,
			       info->fabric_attr->prov_name)))
		return false;
	domain = hints->domain_attr;
	if (domain && (((hints->caps & FI_RMA) &&
			(have->mr_mode & MR_DEMANDS & ~domain->mr_mode)) ||
		       !kfi_same_name(have->name, domain->name) ||
		       (domain->caps & ~have->caps) ||
		       have->mr_iov_limit < domain->mr_iov_limit ||
		       have->mr_max_size < domain->mr_max_size ||
		       have->seg_max_size < domain->seg_max_size ||
		       have->cq_data_size < domain->cq_data_size))
		return false;
	ep = hints->ep_attr;
	/* FI_SHARED_CONTEXT, as a number, is more than any other. */
	if (ep && (ep->tx_ctx_cnt > has->tx_ctx_cnt ||
		   ep->rx_ctx_cnt > has->rx_ctx_cnt))
		return false;
	if (ep && ((ep->type != FI_EP_UNSPEC && has->type != ep->type) ||
		   (ep->protocol && has->protocol != ep->protocol) ||
		   has->max_msg_size < ep->max_msg_size ||
		   has->cm_data_size < ep->cm_data_size ||
		   (ep->flush_modes & ~has->flush_modes)))
		return false;
	return kfi_match_queues(info, hints);
}
EXPORT_SYMBOL_GPL(kfi_match_info);

/* What the core keeps, whoever the provider is. */
void kfi_info_promise(struct fi_info *info)
{
	info->domain_attr->threading = FI_THREAD_SAFE;
	info->domain_attr->control_progress = FI_PROGRESS_AUTO;
	info->domain_attr->data_progress = FI_PROGRESS_AUTO;
	info->domain_attr->resource_mgmt = FI_RM_ENABLED;
}

void kfi_obey_hints(struct fi_info *info, const struct fi_info *hints)
{
	const struct fi_ep_attr *ep = hints ? hints->ep_attr : NULL;
	struct fi_ep_attr *to = info->ep_attr;

	to->op_timeout_ms = kfi_choose_op_timeout(ep ? ep->op_timeout_ms : 0,
						  to->op_timeout_ms);
	to->cm_timeout_ms = kfi_choose_cm_timeout(ep ? ep->cm_timeout_ms : 0,
						  to->cm_timeout_ms);
	if (ep && ep->rx_ctx_cnt == FI_SHARED_CONTEXT &&
	    info->domain_attr->max_ep_srx_ctx)
		to->rx_ctx_cnt = FI_SHARED_CONTEXT;
	if (hints && hints->tx_attr)
		info->tx_attr->op_flags = hints->tx_attr->op_flags;
	if (hints && hints->rx_attr)
		info->rx_attr->op_flags = hints->rx_attr->op_flags;
}
EXPORT_SYMBOL_GPL(kfi_obey_hints);

int kfi_info_answer(struct fi_info *info, const char *node, const char *service,
		    u64 flags, const struct fi_info *hints,
		    struct fi_info **list)
{
	int ret = 0;

	kfi_obey_hints(info, hints);
	if (info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		info->rx_attr->size = kfi_srx_offer(KFI_SRX_SIZE_MAX, hints);
	if (!(flags & FI_PROV_ATTR_ONLY))
		ret = kfi_resolve(node, service, flags, hints, info);
	if (ret)
		kfabric_freeinfo(info);
	else
		*list = info;
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_info_answer);
