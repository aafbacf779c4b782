// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: endpoints.
 */
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "loop.h"

static void loop_ep_close(struct kfid *fid)
{
	struct loop_ep *ep = container_of(fid, struct loop_ep, post.ep.fid);

	loop_connect_stop(ep);
	loop_drain(ep);
}

static void loop_ep_release(struct kfid *fid)
{
	struct loop_ep *ep = container_of(fid, struct loop_ep, post.ep.fid);

	kvfree(ep->post.slot_mem);
	kfree(ep);
}

static const struct fi_ops loop_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = loop_ep_close,
	.release = loop_ep_release,
};

/* Each engine then reports the end of its own side, as an event. */
static int loop_shutdown(struct fid_ep *fid, u64 flags)
{
	loop_break(to_loop_ep(fid));
	return 0;
}

static int loop_ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct loop_ep *ep = container_of(fid, struct loop_ep, post.ep.fid);

	if (!loop_port_of(&ep->name))
		return -FI_EOPBADSTATE;
	return kfi_copy_addr(&ep->name, addr, addrlen);
}

static int loop_ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	struct loop_ep *ep = to_loop_ep(fid);

	if (!loop_port_of(&ep->peer_name))
		return -ENOTCONN;
	return kfi_copy_addr(&ep->peer_name, addr, addrlen);
}

static const struct fi_ops_cm loop_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.connect = loop_connect,
	.accept = loop_accept,
	.shutdown = loop_shutdown,
	.getname = loop_ep_getname,
	.getpeer = loop_ep_getpeer,
};

const struct kfi_ep_ops loop_ep_ops = {
	.fid = &loop_ep_fid_ops,
	.cm = &loop_cm_ops,
	.msg = &kfi_post_msg_ops,
	.rma = &kfi_post_rma_ops,
	.atomic = &kfi_post_atomic_ops,
};

static void loop_take_addr(struct sockaddr_in6 *to, const void *addr,
			   size_t len)
{
	if (addr)
		memcpy(to, addr, min(len, sizeof(*to)));
}

static struct loop_ep *loop_ep_alloc(const struct fi_info *info)
{
	struct loop_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	INIT_LIST_HEAD(&ep->tx);
	INIT_LIST_HEAD(&ep->rx);
	INIT_LIST_HEAD(&ep->rx_done);
	INIT_DELAYED_WORK(&ep->engine, loop_engine);
	loop_connect_init(ep);
	kfi_post_init(&ep->post, info, &loop_post_ops);
	kfi_post_limit(&ep->post, LOOP_QUEUE_SIZE, LOOP_IOV_LIMIT,
		       LOOP_MAX_MSG);
	loop_take_addr(&ep->name, info->src_addr, info->src_addrlen);
	loop_take_addr(&ep->peer_name, info->dest_addr, info->dest_addrlen);
	if (kfi_post_alloc_slots(&ep->post, sizeof(struct kfi_op))) {
		kfree(ep);
		return NULL;
	}
	return ep;
}

int loop_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **fid, void *context)
{
	struct loop_ep *ep = loop_ep_alloc(info);
	struct kfi_connreq *req;
	int ret;

	if (!ep)
		return -ENOMEM;
	ret = kfi_ep_init(&ep->post.ep, domain, info, &loop_ep_ops, context);
	if (ret) {
		loop_ep_release(&ep->post.ep.fid);
		return ret;
	}
	if (info->handle) {
		req = kfi_connreq_use(info->handle, &loop_req_ops,
				      &loop_cm_lock);
		if (!req) {
			kfi_obj_abort(&ep->post.ep.fid);
			return -EINVAL;
		}
		ep->req = container_of(req, struct loop_req, req);
	}
	*fid = &ep->post.ep;
	return 0;
}
