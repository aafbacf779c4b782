// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: connections: checks for the upper layer, and the events that
 * providers report.
 *
 * Locking: a state and the event that goes with it change together under
 * ep->lock, so that FI_SHUTDOWN can never be queued before FI_CONNECTED.
 */
#include <linux/export.h>

#include "core.h"
#include "trace.h"

int kfabric_listen(struct fid_pep *pep)
{
	int ret;

	might_sleep();
	if (READ_ONCE(pep->fid.dead))
		return -ENODEV;
	if (!KFI_HAS_OP(pep->ops, listen))
		return -ENOSYS;
	if (!pep->eq)
		return -FI_ENOEQ;
	if (pep->listening)
		return -FI_EOPBADSTATE;
	pep->listening = true;
	ret = pep->ops->listen(pep);
	if (ret)
		pep->listening = false;
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_listen);

int kfabric_reject(struct fid_pep *pep, struct kfid *handle, const void *param,
		   size_t paramlen)
{
	might_sleep();
	if (READ_ONCE(pep->fid.dead))
		return -ENODEV;
	if (!KFI_HAS_OP(pep->ops, reject))
		return -ENOSYS;
	if (!handle || handle->fclass != FI_CLASS_CONNREQ ||
	    handle->parent != &pep->fid)
		return -EINVAL;
	if (paramlen > FI_CM_DATA_MAX)
		return -EMSGSIZE;
	return pep->ops->reject(pep, handle, param, paramlen);
}
EXPORT_SYMBOL_GPL(kfabric_reject);

/* Check for fi_connect() and fi_accept(), and move to KFI_EP_CONNECTING. */
static int kfi_ep_start_connecting(struct fid_ep *ep, const void *param,
				   size_t paramlen)
{
	might_sleep();
	if (READ_ONCE(ep->fid.dead))
		return -ENODEV;
	if (paramlen > ep->cm_data_size || paramlen > FI_CM_DATA_MAX)
		return -EMSGSIZE;
	if (paramlen && !param)
		return -EINVAL;
	return kfi_ep_ready(ep) ?: kfi_ep_move(ep, KFI_EP_CONNECTING);
}

int kfabric_connect(struct fid_ep *ep, const void *addr, const void *param,
		    size_t paramlen)
{
	int ret;

	if (!KFI_HAS_OP(ep->cm, connect))
		return -ENOSYS;
	ret = kfi_ep_start_connecting(ep, param, paramlen);
	if (ret)
		return ret;
	ret = ep->cm->connect(ep, addr, param, paramlen);
	if (ret)
		kfi_ep_move(ep, KFI_EP_SHUTDOWN);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_connect);

int kfabric_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	int ret;

	if (!KFI_HAS_OP(ep->cm, accept))
		return -ENOSYS;
	ret = kfi_ep_start_connecting(ep, param, paramlen);
	if (ret)
		return ret;
	ret = ep->cm->accept(ep, param, paramlen);
	if (ret)
		kfi_ep_move(ep, KFI_EP_SHUTDOWN);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_accept);

int kfabric_shutdown(struct fid_ep *ep, u64 flags)
{
	might_sleep();
	if (READ_ONCE(ep->fid.dead))
		return -ENODEV;
	if (flags)
		return -FI_EBADFLAGS;
	if (!KFI_HAS_OP(ep->cm, shutdown))
		return -ENOSYS;
	if (fi_ep_state(ep) != KFI_EP_CONNECTED)
		return -ENOTCONN;
	return ep->cm->shutdown(ep, flags);
}
EXPORT_SYMBOL_GPL(kfabric_shutdown);

int kfabric_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct fid_pep *pep;
	struct fid_ep *ep;

	if (READ_ONCE(fid->dead))
		return -ENODEV;
	switch (fid->fclass) {
	case FI_CLASS_EP:
	case FI_CLASS_SEP:
		ep = container_of(fid, struct fid_ep, fid);
		if (!KFI_HAS_OP(ep->cm, getname))
			return -ENOSYS;
		return ep->cm->getname(fid, addr, addrlen);
	case FI_CLASS_PEP:
		pep = container_of(fid, struct fid_pep, fid);
		if (!KFI_HAS_OP(pep->ops, getname))
			return -ENOSYS;
		return pep->ops->getname(fid, addr, addrlen);
	default:
		return -EINVAL;
	}
}
EXPORT_SYMBOL_GPL(kfabric_getname);

int kfabric_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	if (READ_ONCE(ep->fid.dead))
		return -ENODEV;
	if (!KFI_HAS_OP(ep->cm, getpeer))
		return -ENOSYS;
	return ep->cm->getpeer(ep, addr, addrlen);
}
EXPORT_SYMBOL_GPL(kfabric_getpeer);

/* ---- for providers ---------------------------------------------------- */

int kfi_ep_connected(struct fid_ep *ep, const void *data, size_t len)
{
	unsigned long irq;
	int ret;

	spin_lock_irqsave(&ep->lock, irq);
	ret = kfi_ep_move_locked(ep, KFI_EP_CONNECTED);
	if (!ret) {
		kfi_event_set(&ep->ev_cm, FI_CONNECTED, &ep->fid, data, len);
		kfi_eq_queue(ep->eq, &ep->ev_cm);
	}
	spin_unlock_irqrestore(&ep->lock, irq);
	if (!ret)
		kfi_eq_notify(ep->eq, &ep->ev_cm);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_ep_connected);

bool kfi_ep_down(struct fid_ep *ep, int err, int prov_errno, const void *data,
		 size_t len)
{
	struct kfi_event *ev;
	unsigned long irq;

	spin_lock_irqsave(&ep->lock, irq);
	ev = kfi_ep_end_locked(ep, KFI_EP_SHUTDOWN, err, prov_errno, data, len);
	spin_unlock_irqrestore(&ep->lock, irq);
	if (ev)
		kfi_eq_notify(ep->eq, ev);
	return ev;
}
EXPORT_SYMBOL_GPL(kfi_ep_down);

int kfi_connreq_init(struct kfi_connreq *req, struct fid_pep *pep,
		     const struct fi_ops *ops)
{
	INIT_LIST_HEAD(&req->ev.node);
	return kfi_obj_init(&req->fid, FI_CLASS_CONNREQ, pep->fid.prov,
			    &pep->fid, ops, NULL);
}
EXPORT_SYMBOL_GPL(kfi_connreq_init);

/*
 * References: the caller's goes to info->handle, one to the queued event, one
 * is ours, since the reader may be done with all of it at any moment.
 */
int kfi_connreq_post(struct kfi_connreq *req, struct fid_pep *pep,
		     struct fi_info *info, const void *data, size_t len)
{
	struct kfi_event *ev = &req->ev;

	info->handle = &req->fid;
	if (atomic_read(&pep->fid.users) < 0) {
		kfabric_freeinfo(info);
		return -EINVAL;
	}
	kfi_obj_get(&req->fid);
	kfi_obj_get(&req->fid);
	kfi_event_set(ev, FI_CONNREQ, &pep->fid, data, len);
	ev->hold = &req->fid;
	ev->info = info;
	kfi_eq_queue(pep->eq, ev);
	kfi_eq_notify(pep->eq, ev);
	kfi_obj_put(&req->fid);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_connreq_post);

struct kfi_connreq *kfi_connreq_use(struct kfid *handle,
				    const struct fi_ops *ops,
				    struct mutex *lock)
{
	struct kfi_connreq *req = container_of(handle, struct kfi_connreq, fid);
	bool used;

	if (handle->fclass != FI_CLASS_CONNREQ || handle->ops != ops)
		return NULL;
	mutex_lock(lock);
	used = req->used;
	req->used = true;
	mutex_unlock(lock);
	if (used)
		return NULL;
	kfi_obj_get(handle);
	return req;
}
EXPORT_SYMBOL_GPL(kfi_connreq_use);
