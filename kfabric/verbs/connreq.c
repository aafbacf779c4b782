// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: connection requests that wait for an answer.
 *
 * The CM id of a request has an owner record, which is taken by the one who
 * answers: an endpoint that is opened for it, fi_reject(), the timer, the
 * close of the passive endpoint, the removal of the device, or the release
 * when nobody did. So there is exactly one answer.
 *
 * Lifetime: the record is the id's context and outlives the request where the
 * id does: it is freed after the id was destroyed, or after an endpoint has
 * become the id's context. Ids are never destroyed in their own handler,
 * hence the work.
 */
#include <linux/slab.h>

#include "verbs.h"

#define TAKEN 0 /* bit of kfiv_owner.taken */

/**
 * struct kfiv_owner - who takes it may answer and destroys the id
 * @cm: context of @id
 * @id: of the request
 * @taken: bit TAKEN
 * @work: refuses and destroys
 */
struct kfiv_owner {
	struct kfiv_cm cm;
	struct rdma_cm_id *id;
	unsigned long taken;
	struct work_struct work;
};

static struct kfiv_req *to_kfiv_req(struct kfid *fid)
{
	return container_of(fid, struct kfiv_req, req.fid);
}

/* What the device's removal has taken is nothing but memory. */
static struct kfiv_owner *kfiv_req_take(struct kfiv_req *req)
{
	struct kfiv_owner *owner = xchg(&req->owner, NULL);

	if (owner && test_and_set_bit(TAKEN, &owner->taken)) {
		kfree(owner);
		return NULL;
	}
	return owner;
}

static void kfiv_req_leave_list(struct kfiv_req *req)
{
	spin_lock_irq(&req->pep->lock);
	list_del_init(&req->node);
	spin_unlock_irq(&req->pep->lock);
}

/* Refuse without data; the peer may have been told already, or be gone. */
static void kfiv_req_refuse_work(struct work_struct *work)
{
	struct kfiv_owner *owner = container_of(work, struct kfiv_owner, work);
	u8 none = 0;

	rdma_reject(owner->id, &none, sizeof(none), IB_CM_REJ_CONSUMER_DEFINED);
	rdma_destroy_id(owner->id);
	kfree(owner);
}

static void kfiv_req_discard(struct kfiv_owner *owner)
{
	if (owner)
		queue_work(kfiv_slow_wq, &owner->work);
}

static void kfiv_req_expire(struct work_struct *work)
{
	kfiv_req_discard(kfiv_req_take(
		container_of(to_delayed_work(work), struct kfiv_req, timer)));
}

static void kfiv_req_release(struct kfid *fid)
{
	struct kfiv_req *req = to_kfiv_req(fid);

	cancel_delayed_work_sync(&req->timer);
	kfiv_req_leave_list(req);
	kfiv_req_discard(kfiv_req_take(req));
	kfree(req);
}

static const struct fi_ops kfiv_req_fid_ops = {
	.size = sizeof(struct fi_ops),
	.release = kfiv_req_release,
};

/* A peer that gives up is found out by fi_accept(). */
static int kfiv_owner_event(struct kfiv_cm *cm, struct rdma_cm_id *id,
			    struct rdma_cm_event *event)
{
	struct kfiv_owner *owner = container_of(cm, struct kfiv_owner, cm);

	if (event->event != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return 0;
	/* The connection manager destroys the id if this is not 0. */
	return test_and_set_bit(TAKEN, &owner->taken) ? 0 : -ENODEV;
}

static struct kfiv_req *kfiv_req_alloc(struct kfiv_pep *pep,
				       const struct rdma_conn_param *conn)
{
	struct kfiv_req *req = kzalloc(sizeof(*req), GFP_KERNEL);

	if (!req)
		return NULL;
	req->pep = pep;
	INIT_LIST_HEAD(&req->node);
	INIT_DELAYED_WORK(&req->timer, kfiv_req_expire);
	req->responder_resources = conn->responder_resources;
	req->initiator_depth = conn->initiator_depth;
	if (kfi_connreq_init(&req->req, &pep->pep, &kfiv_req_fid_ops)) {
		kfree(req);
		return NULL;
	}
	return req;
}

/* In the listening id's handler. A failure makes the CM destroy the new id. */
int kfiv_connreq_new(struct kfiv_pep *pep, struct rdma_cm_id *id,
		     struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct kfiv_owner *owner;
	struct fi_info *info;
	struct kfiv_req *req;
	const u8 *data;
	size_t len;

	req = kfiv_req_alloc(pep, conn);
	if (!req)
		return -ENOMEM;
	info = kfiv_connreq_info(id, pep->shares_rx);
	owner = kzalloc(sizeof(*owner), GFP_KERNEL);
	if (!info || !owner) {
		fi_freeinfo(info);
		kfree(owner);
		kfi_obj_abort(&req->req.fid);
		return -ENOMEM;
	}
	owner->cm.handler = kfiv_owner_event;
	owner->id = id;
	INIT_WORK(&owner->work, kfiv_req_refuse_work);
	id->context = &owner->cm;
	req->owner = owner;
	req->ib = id->device;
	spin_lock_irq(&pep->lock);
	list_add_tail(&req->node, &pep->reqs);
	spin_unlock_irq(&pep->lock);
	queue_delayed_work(kfiv_wq, &req->timer,
			   msecs_to_jiffies(pep->cm_timeout_ms));
	data = kfiv_cm_get_data(conn->private_data, conn->private_data_len,
				&len);
	/* Whatever becomes of the request now, it takes care of the id. */
	kfi_connreq_post(&req->req, &pep->pep, info, data, len);
	return 0;
}

/* An endpoint was opened for the request: it takes over the id. */
int kfiv_connreq_claim(struct kfid *handle, struct kfiv_ep *ep)
{
	const struct ib_device_attr *attr = &ep->domain->dev->ib->attrs;
	struct kfiv_req *req = to_kfiv_req(handle);
	struct kfiv_owner *owner;

	if (handle->fclass != FI_CLASS_CONNREQ ||
	    handle->prov != &kfiv_provider || req->ib != ep->domain->dev->ib)
		return -EINVAL;
	owner = kfiv_req_take(req);
	if (!owner)
		return -EINVAL;
	kfiv_req_leave_list(req);
	cancel_delayed_work(&req->timer);
	ep->accepting = true;
	ep->param.responder_resources =
		min3((int)req->responder_resources, attr->max_qp_rd_atom,
		     KFIV_MAX_READS);
	ep->param.initiator_depth =
		min3((int)req->initiator_depth, attr->max_qp_init_rd_atom,
		     KFIV_MAX_READS);
	memcpy(&ep->src, &owner->id->route.addr.src_addr, sizeof(ep->src));
	memcpy(&ep->dest, &owner->id->route.addr.dst_addr, sizeof(ep->dest));
	rdma_lock_handler(owner->id);
	owner->id->context = &ep->cm;
	rdma_unlock_handler(owner->id);
	ep->id = owner->id;
	kfree(owner);
	return 0;
}

int kfiv_connreq_reject(struct kfiv_pep *pep, struct kfid *handle,
			const void *param, size_t paramlen)
{
	struct kfiv_req *req = to_kfiv_req(handle);
	u8 wire[1 + KFIV_CM_DATA_MAX];
	struct kfiv_owner *owner;

	if (paramlen > KFIV_CM_DATA_MAX)
		return -EMSGSIZE;
	owner = kfiv_req_take(req);
	if (!owner)
		return -EINVAL;
	kfiv_req_leave_list(req);
	rdma_reject(owner->id, wire, kfiv_cm_put_data(wire, param, paramlen),
		    IB_CM_REJ_CONSUMER_DEFINED);
	kfiv_req_discard(owner);
	return 0;
}

/* The passive endpoint is being closed: nobody can answer any more. */
void kfiv_connreq_drop_all(struct kfiv_pep *pep)
{
	struct kfiv_req *req;

	spin_lock_irq(&pep->lock);
	while (!list_empty(&pep->reqs)) {
		req = list_first_entry(&pep->reqs, struct kfiv_req, node);
		list_del_init(&req->node);
		kfiv_req_discard(kfiv_req_take(req));
	}
	spin_unlock_irq(&pep->lock);
}
