// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: endpoints: made, named, closed.
 *
 * Context: process.
 */
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "tcp.h"

static void close_ep(struct kfid *fid)
{
	struct ktcp_ep *ep = container_of(fid, struct ktcp_ep, post.ep.fid);

	ktcp_connect_stop(ep);
	ktcp_stop(ep);
}

static void free_memory(struct ktcp_ep *ep)
{
	kvfree(ep->post.slot_mem);
	kvfree(ep->s.bounce);
	kfree(ep);
}

static void free_ep(struct kfid *fid)
{
	struct ktcp_ep *ep = container_of(fid, struct ktcp_ep, post.ep.fid);

	if (ep->sock)
		sock_release(ep->sock);
	free_memory(ep);
}

static const struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = close_ep,
	.release = free_ep,
};

static int ktcp_shutdown(struct fid_ep *fid, u64 flags)
{
	ktcp_break(to_ktcp_ep(fid), 0);
	return 0;
}

static int ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct ktcp_ep *ep = container_of(fid, struct ktcp_ep, post.ep.fid);
	struct sockaddr_storage name;
	int len;

	if (!ep->sock)
		return -FI_EOPBADSTATE;
	len = kernel_getsockname(ep->sock, (struct sockaddr *)&name);
	return len < 0 ? len : kfi_copy_addr(&name, addr, addrlen);
}

static int ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	struct ktcp_ep *ep = to_ktcp_ep(fid);
	struct sockaddr_storage name;
	int len;

	if (!ep->sock)
		return -ENOTCONN;
	len = kernel_getpeername(ep->sock, (struct sockaddr *)&name);
	return len < 0 ? len : kfi_copy_addr(&name, addr, addrlen);
}

static const struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.connect = ktcp_connect,
	.accept = ktcp_accept,
	.shutdown = ktcp_shutdown,
	.getname = ep_getname,
	.getpeer = ep_getpeer,
};

static u64 ep_moved(struct fid_ep *fid)
{
	return ktcp_moved_bytes(to_ktcp_ep(fid));
}

static const struct kfi_ep_ops ep_ops = {
	.fid = &ep_fid_ops,
	.cm = &cm_ops,
	.msg = &kfi_post_msg_ops,
	.rma = &kfi_post_rma_ops,
	.moved = ep_moved,
};

static void copy_addr(struct sockaddr_in6 *to, const void *addr, size_t len)
{
	if (addr)
		memcpy(to, addr, min(len, sizeof(*to)));
}

static struct ktcp_ep *alloc_ep(const struct fi_info *info)
{
	struct ktcp_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	INIT_LIST_HEAD(&ep->tx);
	INIT_LIST_HEAD(&ep->sent);
	INIT_LIST_HEAD(&ep->rx);
	mutex_init(&ep->send_lock);
	INIT_WORK(&ep->send_work, ktcp_send_work);
	INIT_WORK(&ep->receive_work, ktcp_receive_work);
	INIT_WORK(&ep->break_work, ktcp_break_work);
	INIT_DELAYED_WORK(&ep->watch_work, ktcp_watch_work);
	ktcp_connect_init(ep);
	kfi_post_init(&ep->post, info, &ktcp_post_ops);
	kfi_post_limit(&ep->post, KTCP_QUEUE_SIZE, KTCP_IOV_LIMIT,
		       KTCP_MAX_MSG);
	copy_addr(&ep->local, info->src_addr, info->src_addrlen);
	copy_addr(&ep->remote, info->dest_addr, info->dest_addrlen);
	ep->s.bounce = kvmalloc(KTCP_BOUNCE_SIZE, GFP_KERNEL);
	if (!ep->s.bounce ||
	    kfi_post_alloc_slots(&ep->post, sizeof(struct ktcp_op))) {
		free_memory(ep);
		return NULL;
	}
	return ep;
}

/* The endpoint takes the request that its info stands for. */
static int take_request(struct ktcp_ep *ep, struct kfid *handle)
{
	struct ktcp_req *req = container_of(handle, struct ktcp_req, req.fid);
	int ret = 0;

	if (handle->fclass != FI_CLASS_CONNREQ || handle->ops != &ktcp_req_ops)
		return -EINVAL;
	mutex_lock(&ktcp_cm_lock);
	if (req->used) {
		ret = -EINVAL;
	} else {
		req->used = true;
		kfi_obj_get(handle);
		ep->req = req;
	}
	mutex_unlock(&ktcp_cm_lock);
	return ret;
}

int ktcp_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **fid, void *context)
{
	struct ktcp_ep *ep = alloc_ep(info);
	int ret;

	if (!ep)
		return -ENOMEM;
	ret = kfi_ep_init(&ep->post.ep, domain, info, &ep_ops, context);
	if (ret) {
		free_memory(ep);
		return ret;
	}
	ep->post.ep.is_inline = true;
	if (info->handle)
		ret = take_request(ep, info->handle);
	if (ret) {
		kfi_obj_abort(&ep->post.ep.fid);
		return ret;
	}
	*fid = &ep->post.ep;
	return 0;
}
