// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: the queue pair of an endpoint: creation, failure, stop, end.
 *
 * An end has two parts. The stop is quick: no more posts, queue pair to error,
 * drain, complete what is left; after it nothing of the endpoint calls up. It
 * is done once, by whoever comes first: the work after an error, fi_close(),
 * or the removal of the device. Freeing the hardware is done by the reaper, or
 * by the removal, which has to wait anyway: tell the peer, give back the queue
 * pair, its share of the CQs and the mappings, and last the CM id, the only
 * part that waits. With IB's connection manager rdma_destroy_id() waits for
 * its own last datagram to have been sent, and for no answer: milliseconds, or
 * as long as a busy machine lets the device's workers wait. With iWARP's it may
 * wait for a peer that is dead, for minutes.
 *
 * Lifetime: the stop work and the slow work hold one reference between them.
 */
#include <linux/sched/mm.h>

#include "dgram.h"

static void kfiv_qp_event(struct ib_event *event, void *context)
{
	struct kfiv_ep *ep = context;
	struct rdma_cm_id *id;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* A message came before the peer's last CM packet. */
		id = READ_ONCE(ep->id);
		if (id)
			rdma_notify(id, event->event);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		/* It may come under a lock that posts take, so that a work tells it. */
		complete(&ep->last_wqe);
		if (!READ_ONCE(ep->stopped))
			kfiv_ep_queue_stop(ep);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/* It may come in hardirq, so that a work tells it. */
		WRITE_ONCE(ep->qp_event, event->event);
		if (!READ_ONCE(ep->stopped))
			kfiv_ep_queue_stop(ep);
		break;
	default:
		break;
	}
}

/* Not inlined: tests have it wait (tests/vm/probe). */
static noinline __noclone int kfiv_qp_make(struct kfiv_ep *ep,
					   struct ib_qp_init_attr *init)
{
	int ret = rdma_create_qp(ep->id, ep->domain->pd, init);

	if (ret)
		return ret;
	ep->qp = ep->id->qp;
	ret = kfiv_fastreg_setup(ep);
	if (ret) {
		rdma_destroy_qp(ep->id);
		ep->qp = NULL;
	}
	return ret;
}

/* The CM id knows its device: make the queue pair and let receives in. */
int kfiv_qp_create(struct kfiv_ep *ep)
{
	struct kfiv_srx *srx = ep->ep.srx ? to_kfiv_srx(ep->ep.srx) : NULL;
	const struct kfiv_device *dev = ep->domain->dev;
	u32 rx_sge = ep->dgram ? kfiv_dgram_sges(dev) : ep->rx_attr.iov_limit;
	struct ib_qp_init_attr init = {
		.event_handler = kfiv_qp_event,
		.qp_context = ep,
		.send_cq = ep->cq[0],
		.recv_cq = ep->cq[1],
		.cap = { .max_send_wr = ep->tx_attr.size +
					(ep->sinks ? KFIV_SINK_WRS : 0) +
					KFIV_OWN_WRS,
			 .max_recv_wr = srx ? 0 : ep->rx_attr.size + 1,
			 .max_send_sge = dev->max_sge,
			 .max_recv_sge = srx ? 0 : rx_sge },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = ep->dgram ? IB_QPT_UD : IB_QPT_RC,
	};
	unsigned int noio;
	int ret;

	lockdep_assert_held(&ep->mutex);
	if (ep->stopped)
		return -ENODEV;
	if (srx) {
		ret = kfiv_srx_hold(srx);
		if (ret)
			return ret;
		init.srq = srx->srq;
		/* Receives that others used up are soon there again. */
		rdma_set_min_rnr_timer(ep->id, IB_RNR_TIMER_001_28);
	}
	noio = memalloc_noio_save();
	ret = kfiv_qp_make(ep, &init);
	memalloc_noio_restore(noio);
	if (ret) {
		if (srx)
			kfiv_srx_let_go(srx);
		return ret;
	}
	if (srx)
		kfiv_srx_join(ep);
	kfiv_rx_open(ep);
	return 0;
}

/* ---- failure ---------------------------------------------------------- */

void kfiv_ep_queue_stop(struct kfiv_ep *ep)
{
	if (test_and_set_bit(KFIV_ONCE_STOP_QUEUED, &ep->once))
		return;
	kfi_obj_get(&ep->ep.fid);
	queue_work(kfiv_wq, &ep->stop_work);
}

/*
 * Something went wrong, or the peer left. A datagram endpoint has no connection that
 * could end, and dies. Context: any but hardirq.
 */
void kfiv_ep_fail(struct kfiv_ep *ep, int err, int prov_errno)
{
	if (ep->dgram) {
		if (fi_ep_state(&ep->ep) != KFI_EP_ENABLED)
			return;
		kfi_obj_kill(&ep->ep.fid);
		kfiv_ep_queue_stop(ep);
		return;
	}
	if (kfi_ep_down(&ep->ep, err, prov_errno, NULL, 0))
		kfiv_ep_queue_stop(ep);
}

static void kfiv_stop_work(struct work_struct *work)
{
	struct kfiv_ep *ep = container_of(work, struct kfiv_ep, stop_work);

	/* The device says so, or has refused work; else somebody has said it before. */
	kfiv_ep_fail(ep, EIO, READ_ONCE(ep->qp_event));
	kfiv_ep_stop(ep);
	queue_work(kfiv_slow_wq, &ep->slow_work);
}

/* Tell the peer of the end, or answer it. */
static void kfiv_slow_work(struct work_struct *work)
{
	struct kfiv_ep *ep = container_of(work, struct kfiv_ep, slow_work);

	mutex_lock(&ep->id_mutex);
	if (ep->id && !ep->dgram)
		rdma_disconnect(ep->id);
	mutex_unlock(&ep->id_mutex);
	kfi_obj_put(&ep->ep.fid);
}

/*
 * The CM id was bound to a device that is going, but that is not the domain's:
 * the domain's is dealt with by its own removal.
 */
static void kfiv_removal_work(struct work_struct *work)
{
	struct kfiv_ep *ep = container_of(work, struct kfiv_ep, removal_work);

	kfiv_ep_stop(ep);
	kfiv_ep_free_hw(ep);
	kfi_obj_put(&ep->ep.fid);
}

void kfiv_ep_queue_removal(struct kfiv_ep *ep)
{
	if (test_and_set_bit(KFIV_ONCE_REMOVAL_QUEUED, &ep->once))
		return;
	kfi_obj_get(&ep->ep.fid);
	queue_work(kfiv_slow_wq, &ep->removal_work);
}

static void kfiv_cm_timer(struct work_struct *work)
{
	struct kfiv_ep *ep =
		container_of(to_delayed_work(work), struct kfiv_ep, cm_timer);

	if (fi_ep_state(&ep->ep) == KFI_EP_CONNECTING)
		kfiv_ep_fail(ep, ETIMEDOUT, 0);
}

void kfiv_ep_works_init(struct kfiv_ep *ep)
{
	INIT_WORK(&ep->stop_work, kfiv_stop_work);
	INIT_WORK(&ep->slow_work, kfiv_slow_work);
	INIT_WORK(&ep->removal_work, kfiv_removal_work);
	INIT_DELAYED_WORK(&ep->cm_timer, kfiv_cm_timer);
	INIT_DELAYED_WORK(&ep->op_timer, kfiv_op_timer);
	ep->asked.done = kfiv_asked_done;
	INIT_DELAYED_WORK(&ep->map_timer, kfiv_map_timer);
}

/* ---- stop ------------------------------------------------------------- */

void kfiv_ep_stop(struct kfiv_ep *ep)
{
	unsigned int noio;

	mutex_lock(&ep->mutex);
	if (!ep->stopped) {
		ep->stopped = true;
		noio = memalloc_noio_save();
		spin_lock_irq(&ep->tx_lock);
		ep->tx_state = KFIV_QUEUE_STOPPED;
		spin_unlock_irq(&ep->tx_lock);
		spin_lock_irq(&ep->rx_lock);
		ep->rx_state = KFIV_QUEUE_STOPPED;
		spin_unlock_irq(&ep->rx_lock);
		if (ep->dgram)
			kfiv_dgram_stop(ep);
		else if (ep->qp && ep->ep.srx)
			kfiv_srx_drain(ep);
		else if (ep->qp)
			ib_drain_qp(ep->qp);
		cancel_delayed_work_sync(&ep->op_timer);
		cancel_delayed_work_sync(&ep->map_timer);
		kfiv_flush_left(ep);
		memalloc_noio_restore(noio);
	}
	mutex_unlock(&ep->mutex);
}

/* ---- end -------------------------------------------------------------- */

void kfiv_ep_free_hw(struct kfiv_ep *ep)
{
	struct ib_device *ib;
	struct rdma_cm_id *id;
	u8 none = 0;

	kfiv_loan_end(&ep->loan);
	if (test_and_set_bit(KFIV_ONCE_HW_FREED, &ep->once))
		return;
	mutex_lock(&ep->id_mutex);
	id = ep->id;
	ep->id = NULL;
	mutex_unlock(&ep->id_mutex);
	if (id) {
		/* A request that was never answered is refused, without data. */
		if (ep->accepting && !ep->answered)
			rdma_reject(id, &none, sizeof(none),
				    IB_CM_REJ_CONSUMER_DEFINED);
		else if (!ep->dgram)
			rdma_disconnect(id);
		mutex_lock(&ep->mutex);
		if (ep->qp) {
			kfiv_fastreg_teardown(ep);
			rdma_destroy_qp(id);
			if (ep->ep.srx)
				kfiv_srx_let_go(to_kfiv_srx(ep->ep.srx));
			ep->qp = NULL;
		}
		mutex_unlock(&ep->mutex);
	}
	/* It was stopped: no event makes another queue pair. */
	kfiv_ep_put_cqs(ep);
	ib = ep->domain->dev->ib;
	ib_dma_unmap_single(ib, ep->slot_dma,
			    KFIV_INJECT_SLOTS * KFIV_INJECT_BYTES,
			    DMA_TO_DEVICE);
	ib_dma_unmap_single(ib, ep->scratch_dma, KFIV_SCRATCH_BYTES,
			    DMA_FROM_DEVICE);
	if (id)
		rdma_destroy_id(id);
	if (ep->dgram)
		kfiv_dgram_free_hw(ep);
	cancel_delayed_work_sync(&ep->cm_timer);
	kfiv_domain_put_hw(ep->domain);
}
