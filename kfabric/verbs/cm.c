// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: connections of endpoints.
 *
 * Private data is as user-space libfabric's verbs provider has it: a length
 * byte, then the data; fabrics pad what they carry, so that byte is the truth
 * as long as it fits into what came.
 *
 * The connection manager calls back under the id's handler mutex; from there
 * ep->mutex may be taken. The id's context is switched from the request to
 * the endpoint under the handler mutex too, so events find the right one.
 */
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "verbs.h"

/* The peer may be slow to post receives; our own timers set the limit. */
#define RNR_RETRY_FOREVER 7
/* 7 would mean for ever to some providers. */
#define RETRY_COUNT 6

size_t kfiv_cm_put_data(u8 *wire, const void *data, size_t len)
{
	wire[0] = len;
	if (len)
		memcpy(wire + 1, data, len);
	return 1 + len;
}

const u8 *kfiv_cm_get_data(const void *wire, size_t wire_len, size_t *len)
{
	const u8 *bytes = wire;

	*len = 0;
	if (!bytes || !wire_len || 1 + (size_t)bytes[0] > wire_len)
		return NULL;
	*len = bytes[0];
	return bytes + 1;
}

/* All events of all ids come in here. */
int kfiv_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kfiv_cm *cm = id->context;

	return cm->handler(cm, id, event);
}

/* ---- events of an endpoint -------------------------------------------- */

u32 kfiv_cm_timeout_ms(const struct kfiv_ep *ep)
{
	return READ_ONCE(ep->ep.cm_timeout_ms) ?: KFIV_CM_TIMEOUT_MS;
}

static void kfiv_cm_start_timer(struct kfiv_ep *ep)
{
	mod_delayed_work(kfiv_wq, &ep->cm_timer,
			 msecs_to_jiffies(kfiv_cm_timeout_ms(ep)));
}

static int kfiv_addr_resolved(struct kfiv_ep *ep, struct rdma_cm_id *id)
{
	int ret;

	mutex_lock(&ep->mutex);
	if (ep->stopped)
		ret = -ECONNABORTED;
	else if (id->device != ep->domain->dev->ib)
		ret = -EHOSTUNREACH; /* by another device than the domain's */
	else
		ret = kfiv_qp_create(ep);
	if (!ret) {
		/* Kept for when the id is gone. */
		memcpy(&ep->src, &id->route.addr.src_addr, sizeof(ep->src));
		memcpy(&ep->dest, &id->route.addr.dst_addr, sizeof(ep->dest));
	}
	mutex_unlock(&ep->mutex);
	if (ret)
		return ret;
	kfiv_cm_start_timer(ep);
	return rdma_resolve_route(id, kfiv_cm_timeout_ms(ep));
}

/*
 * READs of ours that the peer takes at a time. On iWARP nobody tells reliably, and 0
 * means nothing. Not inlined: tests say what it is (tests/vm/probe).
 */
static noinline __noclone u32 kfiv_cm_reads(const struct kfiv_ep *ep,
					    const struct rdma_conn_param *conn)
{
	return ep->accepting ? ep->param.initiator_depth
			     : conn->initiator_depth;
}

static int kfiv_cm_established(struct kfiv_ep *ep, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	const u8 *data = NULL;
	size_t len = 0;
	bool open;

	cancel_delayed_work(&ep->cm_timer);
	kfiv_sinks_limit(ep, conn);
	/* A queue pair that may not read waits for ever with what is answered, or fails. */
	if (!ep->sinks && !kfiv_cm_reads(ep, conn)) {
		ep->ep.comp_levels &= ~FI_DELIVERY_COMPLETE;
		ep->ep.flush_modes &= ~FI_FLUSH_READBACK;
		WRITE_ONCE(ep->ep.atomic, NULL);
	}
	if (!ep->accepting)
		data = kfiv_cm_get_data(conn->private_data,
					conn->private_data_len, &len);
	spin_lock_irq(&ep->tx_lock);
	open = ep->tx_state == KFIV_QUEUE_CLOSED;
	if (open)
		ep->tx_state = KFIV_QUEUE_OPEN;
	spin_unlock_irq(&ep->tx_lock);
	if (open)
		kfi_ep_connected(&ep->ep, data, len);
	return 0;
}

/* iWARP devices do not agree on the status of a reject with data. */
static void kfiv_cm_rejected(struct kfiv_ep *ep, struct rdma_cm_id *id,
			     struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	const void *wire = conn->private_data;
	u8 wire_len = conn->private_data_len;
	const u8 *data;
	size_t len = 0;

	if (!ep->sinks)
		wire = rdma_consumer_reject_data(id, event, &wire_len);
	data = kfiv_cm_get_data(wire, wire_len, &len);
	if (!ep->accepting)
		WRITE_ONCE(ep->refused, true);
	if (kfi_ep_down(&ep->ep, ECONNREFUSED, event->status, data, len))
		kfiv_ep_queue_stop(ep);
}

int kfiv_ep_event(struct kfiv_cm *cm, struct rdma_cm_id *id,
		  struct rdma_cm_event *event)
{
	struct kfiv_ep *ep = container_of(cm, struct kfiv_ep, cm);
	int err, ret = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = kfiv_addr_resolved(ep, id);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		mutex_lock(&ep->mutex);
		if (ep->stopped) {
			ret = -ECONNABORTED;
		} else {
			kfiv_cm_start_timer(ep);
			ret = rdma_connect_locked(id, &ep->param);
		}
		mutex_unlock(&ep->mutex);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		ret = kfiv_cm_established(ep, event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		kfiv_cm_rejected(ep, id, event);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		kfiv_ep_fail(ep, ENODEV, event->event);
		kfiv_ep_queue_removal(ep);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		err = event->status == -ETIMEDOUT ? ETIMEDOUT : EHOSTUNREACH;
		kfiv_ep_fail(ep, err, event->status);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		kfiv_ep_fail(ep, ETIMEDOUT, event->status);
		break;
	default:
		kfiv_ep_fail(ep, ECONNABORTED, event->status);
		break;
	}
	if (ret)
		kfiv_ep_fail(ep, -ret, event->event);
	return 0;
}

/* ---- operations ------------------------------------------------------- */

static void kfiv_fill_param(struct kfiv_ep *ep, const void *data, size_t len)
{
	const struct ib_device_attr *attr = &ep->domain->dev->ib->attrs;
	struct rdma_conn_param *param = &ep->param;

	param->private_data = ep->cm_data;
	param->private_data_len = kfiv_cm_put_data(ep->cm_data, data, len);
	param->retry_count = RETRY_COUNT;
	param->rnr_retry_count = RNR_RETRY_FOREVER;
	if (ep->accepting)
		return; /* the request has told */
	param->responder_resources = min(attr->max_qp_rd_atom, KFIV_MAX_READS);
	/* With 0 the peer's queue pair never answers a READ. */
	param->initiator_depth = min(attr->max_qp_init_rd_atom, KFIV_MAX_READS);
}

int kfiv_id_create(struct kfiv_ep *ep, enum rdma_ucm_port_space ps,
		   enum ib_qp_type type)
{
	struct rdma_cm_id *id;

	lockdep_assert_held(&ep->id_mutex);
	if (test_bit(KFIV_ONCE_HW_FREED, &ep->once))
		return -ENODEV;
	id = rdma_create_id(ep->ep.domain->fabric->net, kfiv_cm_event, &ep->cm,
			    ps, type);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ep->id = id;
	return 0;
}

static int kfiv_ep_connect(struct fid_ep *fep, const void *addr,
			   const void *data, size_t len)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	struct sockaddr *src = NULL; /* any */
	unsigned int noio;
	int ret;

	if (ep->accepting)
		return -EINVAL;
	if (addr)
		memcpy(&ep->dest, addr, kfi_addr_len(addr));
	if (!ep->dest.ss_family)
		return -EINVAL;
	/* It was enabled in vain. */
	if (!READ_ONCE(ep->cq[1]))
		return -FI_EOPBADSTATE;
	kfiv_fill_param(ep, data, len);
	noio = memalloc_noio_save();
	mutex_lock(&ep->id_mutex);
	ret = kfiv_id_create(ep, RDMA_PS_TCP, IB_QPT_RC);
	if (!ret) {
		kfiv_cm_start_timer(ep);
		if (ep->src.ss_family)
			src = (struct sockaddr *)&ep->src;
		ret = rdma_resolve_addr(ep->id, src,
					(struct sockaddr *)&ep->dest,
					kfiv_cm_timeout_ms(ep));
		/* To the routing tables this is memory, to a fabric a lazy peer. */
		if (ret == -ENOBUFS)
			ret = -ENOMEM;
	}
	mutex_unlock(&ep->id_mutex);
	memalloc_noio_restore(noio);
	/* No event will come: the timer must not make one. */
	if (ret)
		cancel_delayed_work(&ep->cm_timer);
	return ret;
}

static int kfiv_start_accept(struct kfiv_ep *ep)
{
	int ret;

	lockdep_assert_held(&ep->id_mutex);
	if (!ep->id)
		return -ENODEV;
	/* It was enabled in vain. */
	if (!READ_ONCE(ep->qp))
		return -FI_EOPBADSTATE;
	kfiv_cm_start_timer(ep);
	rdma_lock_handler(ep->id);
	ret = rdma_accept(ep->id, &ep->param);
	rdma_unlock_handler(ep->id);
	ep->answered = true; /* a failure has rejected it */
	if (!ret)
		return 0;
	cancel_delayed_work(&ep->cm_timer);
	return ret == -ENOMEM ? ret : -ECONNABORTED;
}

static int kfiv_ep_accept(struct fid_ep *fep, const void *data, size_t len)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	unsigned int noio;
	int ret;

	if (!ep->accepting)
		return -EINVAL;
	kfiv_fill_param(ep, data, len);
	noio = memalloc_noio_save();
	mutex_lock(&ep->id_mutex);
	ret = kfiv_start_accept(ep);
	mutex_unlock(&ep->id_mutex);
	memalloc_noio_restore(noio);
	return ret;
}

static int kfiv_ep_shutdown(struct fid_ep *fep, u64 flags)
{
	if (!kfi_ep_down(fep, ECONNABORTED, 0, NULL, 0))
		return -ENOTCONN;
	kfiv_ep_queue_stop(to_kfiv_ep(fep));
	return 0;
}

static int kfiv_ep_getname(struct kfid *fid, void *addr, size_t *len)
{
	struct kfiv_ep *ep = container_of(fid, struct kfiv_ep, ep.fid);
	int ret = -FI_EOPBADSTATE;

	mutex_lock(&ep->mutex);
	if (ep->src.ss_family)
		ret = kfi_copy_addr(&ep->src, addr, len);
	mutex_unlock(&ep->mutex);
	return ret;
}

static int kfiv_ep_getpeer(struct fid_ep *fep, void *addr, size_t *len)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	int ret = -ENOTCONN;

	mutex_lock(&ep->mutex);
	if (ep->dest.ss_family && fi_ep_state(fep) >= KFI_EP_CONNECTING)
		ret = kfi_copy_addr(&ep->dest, addr, len);
	mutex_unlock(&ep->mutex);
	return ret;
}

const struct fi_ops_cm kfiv_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.connect = kfiv_ep_connect,
	.accept = kfiv_ep_accept,
	.shutdown = kfiv_ep_shutdown,
	.getname = kfiv_ep_getname,
	.getpeer = kfiv_ep_getpeer,
};
