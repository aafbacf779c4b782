// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: datagram endpoints: open, enable, stop.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dgram.h"

#define BACKLOG 128

/* The longest datagram: what each port of the device carries as one packet. */
u32 kfiv_dgram_mtu(const struct kfiv_device *dev)
{
	u32 mtu = ib_mtu_enum_to_int(IB_MTU_4096), i;
	struct ib_port_attr port;

	rdma_for_each_port(dev->ib, i)
	{
		if (ib_query_port(dev->ib, i, &port) || !port.active_mtu)
			continue;
		mtu = min_t(u32, mtu, ib_mtu_enum_to_int(port.active_mtu));
	}
	return mtu;
}

/* Under one of the endpoint's locks, or in a handler of a completion. */
void kfiv_dgram_kick(struct kfiv_dgram *dgram)
{
	if (!READ_ONCE(dgram->closed))
		queue_work(kfiv_wq, &dgram->work);
}

/* Upcalls come in a softirq, or as in one, unless the queue wants a workqueue. */
static void kfiv_dgram_work(struct work_struct *work)
{
	struct kfiv_dgram *dgram = container_of(work, struct kfiv_dgram, work);
	const struct fid_ep *fep = &dgram->ep->ep;
	unsigned int noio = memalloc_noio_save();
	bool in_work = kfi_cq_wants_work(fep->rx_cq), more;

	if (!in_work)
		local_bh_disable();
	more = kfiv_dgram_deliver(dgram);
	if (!in_work)
		local_bh_enable();
	in_work = kfi_cq_wants_work(fep->tx_cq);
	if (!in_work)
		local_bh_disable();
	kfiv_dgram_end_failed(dgram);
	if (!in_work)
		local_bh_enable();
	kfiv_asks_run(dgram);
	if (more)
		kfiv_dgram_kick(dgram);
	memalloc_noio_restore(noio);
}

/* ---- enabling ------------------------------------------------------------------- */

/* A device and a port of it are known by the address. */
static int kfiv_dgram_bind(struct kfiv_ep *ep)
{
	int ret = kfiv_id_create(ep, RDMA_PS_UDP, IB_QPT_UD);
	struct rdma_cm_id *id = ep->id;

	if (ret)
		return ret;
	ret = ep->src.ss_family == AF_INET6 ? rdma_set_afonly(id, 1) : 0;
	ret = ret ?: rdma_bind_addr(id, (struct sockaddr *)&ep->src);
	if (ret)
		return ret;
	if (id->device != ep->domain->dev->ib)
		return -EADDRNOTAVAIL;
	ep->dgram->port_num = id->port_num;
	return 0;
}

/* From here on peers may ask, and everything may be posted. */
static int kfiv_dgram_listen(struct kfiv_ep *ep)
{
	struct kfiv_dgram *dgram = ep->dgram;
	struct sockaddr_in6 name;
	int ret;

	/* A request finds the number. */
	kfi_name_set(&name, &ep->id->route.addr.src_addr);
	memcpy(&ep->src, &name, sizeof(name));
	smp_store_release(&dgram->qpn, ep->qp->qp_num);
	ret = rdma_listen(ep->id, BACKLOG);
	if (ret) {
		WRITE_ONCE(dgram->qpn, 0);
		return ret;
	}
	mutex_lock(&ep->mutex);
	if (ep->stopped) {
		ret = -ENODEV;
	} else {
		spin_lock_irq(&ep->tx_lock);
		ep->tx_state = KFIV_QUEUE_OPEN;
		spin_unlock_irq(&ep->tx_lock);
	}
	mutex_unlock(&ep->mutex);
	return ret;
}

/* What has been made on a failure is freed with the endpoint. */
int kfiv_dgram_enable(struct kfiv_ep *ep)
{
	unsigned int noio = memalloc_noio_save();
	int ret;

	mutex_lock(&ep->id_mutex);
	ret = kfiv_dgram_bind(ep);
	mutex_lock(&ep->mutex);
	if (ep->stopped)
		ret = ret ?: -ENODEV;
	ret = ret ?: kfiv_ep_get_cqs(ep);
	ret = ret ?: kfiv_qp_create(ep);
	ret = ret ?: kfiv_rbufs_alloc(ep->dgram);
	ret = ret ?: kfiv_rbufs_post(ep->dgram);
	mutex_unlock(&ep->mutex);
	ret = ret ?: kfiv_dgram_listen(ep);
	mutex_unlock(&ep->id_mutex);
	memalloc_noio_restore(noio);
	return ret;
}

/* ---- the end -------------------------------------------------------------------- */

/*
 * Part of kfiv_ep_stop(): nothing is posted any more. Afterwards neither the device nor
 * a work has to do with an operation, and what is left is in the endpoint's lists.
 */
void kfiv_dgram_stop(struct kfiv_ep *ep)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct kfiv_dgram *dgram = ep->dgram;

	lockdep_assert_held(&ep->mutex);
	/* Whoever posts, delivers or asks holds one of them. */
	spin_lock_irq(&ep->tx_lock);
	spin_lock(&ep->rx_lock);
	spin_lock(&dgram->lock);
	WRITE_ONCE(dgram->closed, true);
	spin_unlock(&dgram->lock);
	spin_unlock(&ep->rx_lock);
	spin_unlock_irq(&ep->tx_lock);
	cancel_work_sync(&dgram->work);
	kfiv_asks_end(dgram);
	if (ep->qp) {
		if (!ib_modify_qp(ep->qp, &attr, IB_QP_STATE))
			kfiv_dgram_drain_tx(ep);
		ib_drain_rq(ep->qp);
	}
	cancel_work_sync(&dgram->work);
	cancel_work_sync(&dgram->dead_work);
	spin_lock_irq(&ep->rx_lock);
	list_splice_init(&dgram->canceled, &ep->rx_ops);
	spin_unlock_irq(&ep->rx_lock);
}

/* The queue pair and the CM id are gone: nothing is sent, and nobody asks. */
void kfiv_dgram_free_hw(struct kfiv_ep *ep)
{
	struct kfiv_dgram *dgram = ep->dgram;

	kfiv_rbufs_free(dgram);
	kfiv_peers_free(dgram);
	if (dgram->last_ah)
		kfiv_ah_put(dgram->last_ah);
	dgram->last_ah = NULL;
	kfiv_ah_bury(dgram);
}

/* ---- opening -------------------------------------------------------------------- */

static int kfiv_dgram_getname(struct kfid *fid, void *addr, size_t *len)
{
	struct kfiv_ep *ep = container_of(fid, struct kfiv_ep, ep.fid);

	if (!smp_load_acquire(&ep->dgram->qpn))
		return -FI_EOPBADSTATE;
	return kfi_copy_addr(&ep->src, addr, len);
}

static const struct fi_ops_cm kfiv_dgram_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = kfiv_dgram_getname,
};

static const struct kfi_ep_ops kfiv_dgram_ep_ops = {
	.fid = &kfiv_ep_fid_ops,
	.cm = &kfiv_dgram_cm_ops,
	.msg = &kfiv_dgram_msg_ops,
};

static struct kfiv_dgram *kfiv_dgram_alloc(struct kfiv_ep *ep)
{
	struct kfiv_dgram *dgram = kzalloc(sizeof(*dgram), GFP_KERNEL);

	if (!dgram)
		return NULL;
	dgram->ep = ep;
	INIT_WORK(&dgram->work, kfiv_dgram_work);
	INIT_LIST_HEAD(&dgram->waiting);
	INIT_LIST_HEAD(&dgram->failed);
	INIT_LIST_HEAD(&dgram->ended);
	INIT_LIST_HEAD(&dgram->arrived);
	INIT_LIST_HEAD(&dgram->canceled);
	spin_lock_init(&dgram->lock);
	INIT_LIST_HEAD(&dgram->peers);
	INIT_LIST_HEAD(&dgram->stale);
	INIT_LIST_HEAD(&dgram->asks);
	hash_init(dgram->by_name);
	hash_init(dgram->by_source);
	init_completion(&dgram->answered);
	init_llist_head(&dgram->dead);
	INIT_WORK(&dgram->dead_work, kfiv_ah_bury_work);
	dgram->last_from = FI_ADDR_UNSPEC;
	return dgram;
}

/* Before the endpoint is enabled, the queues are closed, and nobody uses these. */
void kfiv_dgram_limit(struct kfiv_ep *ep)
{
	u32 mtu = kfiv_dgram_mtu(ep->domain->dev);

	ep->max_msg_size = min_t(size_t, ep->max_msg_size, mtu);
	ep->tx_attr.size = min_t(size_t, ep->tx_attr.size, KFIV_DGRAM_QUEUE);
	ep->rx_attr.size = min_t(size_t, ep->rx_attr.size, KFIV_DGRAM_QUEUE);
	ep->tx_free = ep->tx_attr.size;
	ep->rx_free = ep->rx_attr.size;
}

int kfiv_dgram_endpoint(struct fid_domain *domain, struct fi_info *info,
			struct fid_ep **out, void *context)
{
	struct sockaddr_in6 name;
	struct kfiv_ep *ep;
	int ret = -ENOMEM;

	if (info->handle)
		return -EINVAL;
	/* A device has to be named by an address of its own. */
	if (!info->src_addr || !kfi_name_set(&name, info->src_addr) ||
	    kfi_name_is_any(&name))
		return -EADDRNOTAVAIL;
	ep = kfiv_ep_alloc(domain, info, &kfiv_dgram_ep_ops, context);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ep->cm.handler = kfiv_dgram_event;
	ep->dgram = kfiv_dgram_alloc(ep);
	if (ep->dgram)
		ret = kfiv_ep_set_up(ep, info);
	if (ret) {
		kfi_obj_abort(&ep->ep.fid);
		return ret;
	}
	*out = &ep->ep;
	return 0;
}
