// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: endpoints: open, enable, close, removal.
 */
#include <linux/slab.h>

#include "dgram.h"

/* The reaper: everything quick was done by the close. */
static void kfiv_ep_reap(struct kfid *fid)
{
	kfiv_ep_free_hw(container_of(fid, struct kfiv_ep, ep.fid));
}

static void kfiv_ep_close(struct kfid *fid)
{
	struct kfiv_ep *ep = container_of(fid, struct kfiv_ep, ep.fid);

	kfiv_domain_del(ep->domain, &ep->node);
	kfiv_ep_stop(ep);
	kfiv_loan_end(&ep->loan);
	/* Its port is free when it is closed, and no peer has to be told. */
	if (ep->dgram)
		kfiv_ep_free_hw(ep);
	kfi_obj_reap(fid, kfiv_ep_reap);
}

static void kfiv_ep_release(struct kfid *fid)
{
	struct kfiv_ep *ep = container_of(fid, struct kfiv_ep, ep.fid);

	kfree(ep->dgram);
	kfree(ep->scratch);
	kfree(ep->sinks);
	kfree(ep->slot_data);
	kfree(ep->slot_mem);
	kfree(ep);
}

/* The device is going; fi_close() has not been called, or not come far. */
void kfiv_ep_remove(struct kfiv_ep *ep)
{
	kfi_obj_kill(&ep->ep.fid);
	kfiv_ep_stop(ep);
	kfiv_ep_free_hw(ep);
}

static int kfiv_ep_control(struct kfid *fid, int command, void *arg)
{
	struct kfiv_ep *ep = container_of(fid, struct kfiv_ep, ep.fid);
	int ret = -ENODEV;

	if (command != FI_ENABLE)
		return -ENOSYS;
	if (ep->dgram)
		return kfiv_dgram_enable(ep);
	mutex_lock(&ep->mutex);
	if (ep->stopped)
		goto unlock;
	ret = kfiv_ep_get_cqs(ep);
	if (ret)
		goto unlock;
	/* Receives are kept from now on, and go to the queue pair when it comes. */
	spin_lock_irq(&ep->rx_lock);
	ep->rx_state = KFIV_QUEUE_HELD;
	spin_unlock_irq(&ep->rx_lock);
	if (ep->accepting)
		ret = kfiv_qp_create(ep);
unlock:
	mutex_unlock(&ep->mutex);
	return ret;
}

const struct fi_ops kfiv_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfiv_ep_close,
	.release = kfiv_ep_release,
	.control = kfiv_ep_control,
	.ops_open = kfiv_ops_open,
};

static const struct kfi_ep_ops kfiv_ep_ops = {
	.fid = &kfiv_ep_fid_ops,
	.cm = &kfiv_cm_ops,
	.msg = &kfiv_msg_ops,
	.rma = &kfiv_rma_ops,
	.atomic = &kfiv_atomic_ops,
};

/* ---- open ------------------------------------------------------------- */

static size_t kfiv_limit_to(size_t wanted, size_t most)
{
	return wanted ? min(wanted, most) : most;
}

/* Callers may have lowered what the info offered; never trust more. */
static void kfiv_ep_take_limits(struct kfiv_ep *ep, const struct fi_info *info)
{
	const struct kfiv_device *dev = ep->domain->dev;
	size_t most = kfiv_max_queue(dev);

	ep->tx_attr = *info->tx_attr;
	ep->rx_attr = *info->rx_attr;
	ep->tx_attr.size = kfiv_limit_to(ep->tx_attr.size, most);
	ep->rx_attr.size = kfiv_limit_to(ep->rx_attr.size, most);
	ep->tx_attr.iov_limit =
		kfiv_limit_to(ep->tx_attr.iov_limit, dev->max_sge);
	ep->rx_attr.iov_limit =
		kfiv_limit_to(ep->rx_attr.iov_limit, dev->max_sge);
	ep->tx_attr.inject_size =
		min_t(size_t, ep->tx_attr.inject_size, KFIV_INJECT_BYTES);
	ep->tx_attr.rma_iov_limit = 1;
	ep->max_msg_size =
		kfiv_limit_to(info->ep_attr->max_msg_size, dev->max_msg_size);
	ep->tx_free = ep->tx_attr.size;
	ep->rx_free = ep->rx_attr.size;
	ep->tx_quiet_max =
		min_t(size_t, ep->tx_attr.size, KFIV_INJECT_SLOTS) / 4;
}

/* Memory of the endpoint's own; what is allocated is freed by the release. */
static int kfiv_ep_map_own(struct kfiv_ep *ep)
{
	const size_t bytes = KFIV_INJECT_SLOTS * KFIV_INJECT_BYTES;
	struct ib_device *ib = ep->domain->dev->ib;
	int i;

	ep->ep.comp_read = kfiv_comp_read;
	ep->slot_mem =
		kcalloc(KFIV_INJECT_SLOTS, sizeof(*ep->slot_mem), GFP_KERNEL);
	ep->slot_data = kzalloc(bytes, GFP_KERNEL);
	/* It has a cache line of its own, as the device writes to it. */
	ep->scratch = kzalloc(L1_CACHE_BYTES, GFP_KERNEL);
	if (!ep->slot_mem || !ep->slot_data || !ep->scratch ||
	    (ep->domain->dev->iwarp && kfiv_sinks_alloc(ep)))
		return -ENOMEM;
	ep->slot_dma =
		ib_dma_map_single(ib, ep->slot_data, bytes, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ib, ep->slot_dma))
		return -ENOMEM;
	ep->scratch_dma = ib_dma_map_single(ib, ep->scratch, KFIV_SCRATCH_BYTES,
					    DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ib, ep->scratch_dma)) {
		ib_dma_unmap_single(ib, ep->slot_dma, bytes, DMA_TO_DEVICE);
		return -ENOMEM;
	}
	for (i = 0; i < KFIV_INJECT_SLOTS; i++) {
		struct kfiv_slot *slot = &ep->slot_mem[i];

		slot->data = ep->slot_data + i * KFIV_INJECT_BYTES;
		slot->dma = ep->slot_dma + i * KFIV_INJECT_BYTES;
		list_add_tail(&slot->node, &ep->slots);
	}
	return 0;
}

/* All that needs the device. On failure nothing of it is held. */
int kfiv_ep_set_up(struct kfiv_ep *ep, const struct fi_info *info)
{
	int ret;

	if (!kfiv_domain_get_hw(ep->domain))
		return -ENODEV;
	if (ep->ep.shares_rx && (ep->dgram || !ep->domain->dev->max_srx)) {
		kfiv_domain_put_hw(ep->domain);
		return -EOPNOTSUPP;
	}
	kfiv_ep_take_limits(ep, info);
	if (ep->dgram)
		kfiv_dgram_limit(ep);
	if (info->src_addr && info->src_addrlen <= sizeof(ep->src))
		memcpy(&ep->src, info->src_addr, info->src_addrlen);
	if (info->dest_addr && info->dest_addrlen <= sizeof(ep->dest))
		memcpy(&ep->dest, info->dest_addr, info->dest_addrlen);
	ret = kfiv_ep_map_own(ep);
	if (ret) {
		kfiv_domain_put_hw(ep->domain);
		return ret;
	}
	if (info->handle)
		ret = kfiv_connreq_claim(info->handle, ep);
	if (!ret && !kfiv_domain_add(ep->domain, &ep->node, &ep->domain->eps))
		ret = -ENODEV;
	if (ret) {
		kfiv_ep_stop(ep);
		kfiv_ep_free_hw(ep);
	}
	return ret;
}

/* Memory of an endpoint that has nothing of the device yet. */
struct kfiv_ep *kfiv_ep_alloc(struct fid_domain *domain, struct fi_info *info,
			      const struct kfi_ep_ops *ops, void *context)
{
	struct kfiv_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	int ret;

	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep->domain = to_kfiv_domain(domain);
	ep->cm.handler = kfiv_ep_event;
	mutex_init(&ep->mutex);
	mutex_init(&ep->id_mutex);
	kfiv_loan_init(&ep->loan);
	mutex_init(&ep->own_mutex);
	spin_lock_init(&ep->tx_lock);
	spin_lock_init(&ep->rx_lock);
	INIT_LIST_HEAD(&ep->node);
	INIT_LIST_HEAD(&ep->tx_ops);
	INIT_LIST_HEAD(&ep->rx_ops);
	INIT_LIST_HEAD(&ep->slots);
	INIT_HLIST_NODE(&ep->srx_node);
	atomic_set(&ep->srx_busy, 0);
	init_completion(&ep->last_wqe);
	ep->chain_end = &ep->chain;
	kfiv_ep_works_init(ep);
	ret = kfi_ep_init(&ep->ep, domain, info, ops, context);
	if (ret) {
		kfree(ep);
		return ERR_PTR(ret);
	}
	return ep;
}

int kfiv_endpoint(struct fid_domain *fdomain, struct fi_info *info,
		  struct fid_ep **out, void *context)
{
	struct kfiv_ep *ep;
	int ret;

	if (info->ep_attr->type == FI_EP_DGRAM)
		return kfiv_dgram_endpoint(fdomain, info, out, context);
	if (info->ep_attr->type != FI_EP_MSG)
		return -EINVAL;
	ep = kfiv_ep_alloc(fdomain, info, &kfiv_ep_ops, context);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	if (ep->ep.cm_data_size > KFIV_CM_DATA_MAX)
		ep->ep.cm_data_size = KFIV_CM_DATA_MAX;
	ret = kfiv_ep_set_up(ep, info);
	if (ret) {
		kfi_obj_abort(&ep->ep.fid);
		return ret;
	}
	*out = &ep->ep;
	return 0;
}
