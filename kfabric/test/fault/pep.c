// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: passive endpoints and connection requests.
 *
 * Context: the inner event queue's handler queues work, which reads it.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "fault.h"

static void fault_req_release(struct kfid *fid)
{
	struct fault_req *req = container_of(fid, struct fault_req, req.fid);

	/* With its last reference gone, the inner request is rejected. */
	fi_freeinfo(req->inner);
	kfree(req);
}

const struct fi_ops fault_req_ops = {
	.size = sizeof(struct fi_ops),
	.release = fault_req_release,
};

/* Pass a request on; inner, which is ours now, goes with it. */
static int fault_pass_request(struct fault_pep *p, struct fi_info *inner,
			      const void *data, size_t len)
{
	struct fi_info bare = *inner;
	struct fault_req *req;
	struct fi_info *info;
	int ret = -ENOMEM;

	bare.handle = NULL;
	bare.next = NULL;
	info = fi_dupinfo(&bare);
	if (!info)
		return -ENOMEM;
	ret = fault_info_outer(info);
	if (ret)
		goto free_info;
	ret = -ENOMEM;
	req = kzalloc(sizeof(*req), GFP_KERNEL);
	if (!req)
		goto free_info;
	ret = kfi_connreq_init(&req->req, &p->pep, &fault_req_ops);
	if (ret)
		goto free_req;
	req->inner = inner;
	/* A failure has released, and thereby rejected, the request. */
	kfi_connreq_post(&req->req, &p->pep, info, data, len);
	return 0;
free_req:
	kfree(req);
free_info:
	fi_freeinfo(info);
	return ret;
}

static void fault_take_request(struct fault_pep *p, struct fi_info *inner,
			       const void *data, size_t len)
{
	if (fault_hit(reject_passive_nth)) {
		fault_count(rejects);
		fi_reject(p->inner, inner->handle, NULL, 0);
		fi_freeinfo(inner);
		return;
	}
	if (fault_pass_request(p, inner, data, len))
		fi_freeinfo(inner);
}

static void fault_pep_read_events(struct work_struct *work)
{
	struct fault_pep *p = container_of(work, struct fault_pep, events);
	const size_t room = sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX;
	struct fi_eq_cm_entry *entry = kmalloc(room, GFP_KERNEL);
	ssize_t n;
	u32 event;

	if (!entry)
		return;
	while ((n = fi_eq_read(p->inner_eq, &event, entry, room, 0)) > 0)
		if (event == FI_CONNREQ)
			fault_take_request(p, entry->info, entry->data,
					   n - sizeof(*entry));
	kfree(entry);
	if (READ_ONCE(p->inner->fid.dead))
		kfi_obj_kill(&p->pep.fid);
}

static void fault_pep_event_came(struct fid_eq *eq, void *context)
{
	struct fault_pep *p = context;

	queue_work(fault_wq, &p->events);
}

static int fault_pep_listen(struct fid_pep *pep)
{
	return fi_listen(container_of(pep, struct fault_pep, pep)->inner);
}

static int fault_pep_reject(struct fid_pep *pep, struct kfid *handle,
			    const void *param, size_t paramlen)
{
	struct fault_pep *p = container_of(pep, struct fault_pep, pep);
	struct fault_req *req = container_of(handle, struct fault_req, req.fid);

	return fi_reject(p->inner, req->inner->handle, param, paramlen);
}

static int fault_pep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct fault_pep *p = container_of(fid, struct fault_pep, pep.fid);

	return fi_getname(&p->inner->fid, addr, addrlen);
}

static void fault_pep_close_inner(struct fault_pep *p)
{
	if (p->inner) {
		/* The events' work looks at it. */
		kfi_obj_get(&p->inner->fid);
		fi_close(&p->inner->fid);
		cancel_work_sync(&p->events);
		kfi_obj_put(&p->inner->fid);
	}
	if (p->inner_eq)
		fi_close(&p->inner_eq->fid);
}

static void fault_pep_close(struct kfid *fid)
{
	fault_pep_close_inner(container_of(fid, struct fault_pep, pep.fid));
}

static void fault_pep_release(struct kfid *fid)
{
	kfree(container_of(fid, struct fault_pep, pep.fid));
}

static const struct fi_ops fault_pep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fault_pep_close,
	.release = fault_pep_release,
};

static const struct fi_ops_pep fault_pep_ops = {
	.size = sizeof(struct fi_ops_pep),
	.listen = fault_pep_listen,
	.reject = fault_pep_reject,
	.getname = fault_pep_getname,
};

static int fault_pep_open_inner(struct fault_pep *p, struct fid_fabric *fabric,
				const struct fi_info *info)
{
	struct fid_fabric *f = kfi_layer_inner(fabric);
	struct fi_eq_attr attr = { .handler = fault_pep_event_came };
	struct fi_info *inner = fault_info_inner(info, NULL);
	int ret;

	if (!inner)
		return -ENOMEM;
	ret = fi_eq_open(f, &attr, &p->inner_eq, p);
	ret = ret ?: fi_passive_ep(f, inner, &p->inner, p);
	ret = ret ?: fi_pep_bind(p->inner, &p->inner_eq->fid, 0);
	fi_freeinfo(inner);
	return ret;
}

int fault_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_pep **pep, void *context)
{
	struct fault_pep *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int ret;

	if (!p)
		return -ENOMEM;
	INIT_WORK(&p->events, fault_pep_read_events);
	ret = fault_pep_open_inner(p, fabric, info);
	if (!ret)
		ret = kfi_pep_init(&p->pep, fabric, NULL, &fault_pep_fid_ops,
				   &fault_pep_ops, context);
	if (ret) {
		fault_pep_close_inner(p);
		kfree(p);
		return ret;
	}
	*pep = &p->pep;
	return 0;
}
