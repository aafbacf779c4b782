// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: passive endpoints.
 *
 * A wildcard address listens on all devices, and the requests say on which
 * one they came in; a specific one belongs to a device, and when that is
 * removed the passive endpoint dies.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "verbs.h"

#define BACKLOG 128

static int kfiv_pep_event(struct kfiv_cm *cm, struct rdma_cm_id *id,
			  struct rdma_cm_event *event)
{
	struct kfiv_pep *pep = container_of(cm, struct kfiv_pep, cm);

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return kfiv_connreq_new(pep, id, event);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		kfi_obj_kill(&pep->pep.fid);
		/* The connection manager destroys the id if this is not 0. */
		return xchg(&pep->id, NULL) ? -ENODEV : 0;
	default:
		return 0;
	}
}

static void kfiv_pep_close(struct kfid *fid)
{
	struct kfiv_pep *pep = container_of(fid, struct kfiv_pep, pep.fid);
	struct rdma_cm_id *id = xchg(&pep->id, NULL);

	if (id)
		rdma_destroy_id(id);
	kfiv_connreq_drop_all(pep);
}

static const struct fi_ops kfiv_pep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfiv_pep_close,
	.release = kfi_obj_kfree,
};

static int kfiv_pep_listen(struct fid_pep *fpep)
{
	struct kfiv_pep *pep = to_kfiv_pep(fpep);
	struct rdma_cm_id *id;
	unsigned int noio;
	int ret;

	noio = memalloc_noio_save();
	id = rdma_create_id(fpep->fabric->net, kfiv_cm_event, &pep->cm,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto restore;
	}
	/* A removal during the call below finds the id. */
	xchg(&pep->id, id);
	/* The two families are listened on separately. */
	ret = pep->addr.ss_family == AF_INET6 ? rdma_set_afonly(id, 1) : 0;
	ret = ret ?: rdma_bind_addr(id, (struct sockaddr *)&pep->addr);
	ret = ret ?: rdma_listen(id, BACKLOG);
	if (!ret)
		memcpy(&pep->addr, &id->route.addr.src_addr, sizeof(pep->addr));
	else if (xchg(&pep->id, NULL))
		rdma_destroy_id(id);
restore:
	memalloc_noio_restore(noio);
	return ret;
}

static int kfiv_pep_reject(struct fid_pep *fpep, struct kfid *handle,
			   const void *param, size_t paramlen)
{
	return kfiv_connreq_reject(to_kfiv_pep(fpep), handle, param, paramlen);
}

static int kfiv_pep_getname(struct kfid *fid, void *addr, size_t *len)
{
	struct kfiv_pep *pep = container_of(fid, struct kfiv_pep, pep.fid);

	return kfi_copy_addr(&pep->addr, addr, len);
}

static const struct fi_ops_pep kfiv_pep_ops = {
	.size = sizeof(struct fi_ops_pep),
	.listen = kfiv_pep_listen,
	.reject = kfiv_pep_reject,
	.getname = kfiv_pep_getname,
};

int kfiv_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		    struct fid_pep **out, void *context)
{
	struct kfiv_pep *pep;
	int ret;

	if (info->src_addrlen > sizeof(pep->addr) ||
	    info->src_addrlen < kfi_addr_len(info->src_addr))
		return -EINVAL;
	pep = kzalloc(sizeof(*pep), GFP_KERNEL);
	if (!pep)
		return -ENOMEM;
	pep->cm.handler = kfiv_pep_event;
	spin_lock_init(&pep->lock);
	INIT_LIST_HEAD(&pep->reqs);
	memcpy(&pep->addr, info->src_addr, info->src_addrlen);
	pep->shares_rx = info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
	pep->cm_timeout_ms = info->ep_attr->cm_timeout_ms ?: KFIV_CM_TIMEOUT_MS;
	ret = kfi_pep_init(&pep->pep, fabric, NULL, &kfiv_pep_fid_ops,
			   &kfiv_pep_ops, context);
	if (ret) {
		kfree(pep);
		return ret;
	}
	*out = &pep->pep;
	return 0;
}
