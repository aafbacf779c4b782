// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: how endpoints are made, named and closed.
 *
 * Context: process.
 */
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "tcp.h"

static void ktcp_ep_close(struct kfid *fid)
{
	struct ktcp_ep *ep = container_of(fid, struct ktcp_ep, post.ep.fid);

	ktcp_connect_stop(ep);
	ktcp_stop(ep);
}

static void ktcp_ep_free(struct ktcp_ep *ep)
{
	kvfree(ep->post.slot_mem);
	kvfree(ep->s.bounce);
	kfree(ep);
}

static void ktcp_ep_release(struct kfid *fid)
{
	struct ktcp_ep *ep = container_of(fid, struct ktcp_ep, post.ep.fid);

	if (ep->sock)
		sock_release(ep->sock);
	ktcp_ep_free(ep);
}

static const struct fi_ops ktcp_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ktcp_ep_close,
	.release = ktcp_ep_release,
};

static int ktcp_shutdown(struct fid_ep *fid, u64 flags)
{
	ktcp_break(to_ktcp_ep(fid), 0);
	return 0;
}

static int ktcp_ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct ktcp_ep *ep = container_of(fid, struct ktcp_ep, post.ep.fid);
	struct sockaddr_storage name;
	int len;

	if (!ep->sock)
		return -FI_EOPBADSTATE;
	len = kernel_getsockname(ep->sock, (struct sockaddr *)&name);
	return len < 0 ? len : kfi_copy_addr(&name, addr, addrlen);
}

static int ktcp_ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	struct ktcp_ep *ep = to_ktcp_ep(fid);
	struct sockaddr_storage name;
	int len;

	if (!ep->sock)
		return -ENOTCONN;
	len = kernel_getpeername(ep->sock, (struct sockaddr *)&name);
	return len < 0 ? len : kfi_copy_addr(&name, addr, addrlen);
}

static const struct fi_ops_cm ktcp_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.connect = ktcp_connect,
	.accept = ktcp_accept,
	.shutdown = ktcp_shutdown,
	.getname = ktcp_ep_getname,
	.getpeer = ktcp_ep_getpeer,
};

static u64 ktcp_ep_moved(struct fid_ep *fid)
{
	return ktcp_moved_bytes(to_ktcp_ep(fid));
}

static const struct kfi_ep_ops ktcp_ep_ops = {
	.fid = &ktcp_ep_fid_ops,
	.cm = &ktcp_cm_ops,
	.msg = &kfi_post_msg_ops,
	.rma = &kfi_post_rma_ops,
	.moved = ktcp_ep_moved,
	.path = ktcp_ep_path,
	.set_path = ktcp_ep_set_path,
};

static void ktcp_take_addr(struct sockaddr_in6 *to, const void *addr,
			   size_t len)
{
	if (addr)
		memcpy(to, addr, min(len, sizeof(*to)));
}

static struct ktcp_ep *ktcp_ep_alloc(const struct fi_info *info)
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
	ktcp_take_addr(&ep->local, info->src_addr, info->src_addrlen);
	ktcp_take_addr(&ep->remote, info->dest_addr, info->dest_addrlen);
	ep->s.bounce = kvmalloc(KTCP_BOUNCE_SIZE, GFP_KERNEL);
	if (!ep->s.bounce ||
	    kfi_post_alloc_slots(&ep->post, sizeof(struct ktcp_op))) {
		ktcp_ep_free(ep);
		return NULL;
	}
	return ep;
}

int ktcp_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **fid, void *context)
{
	struct ktcp_ep *ep = ktcp_ep_alloc(info);
	struct kfi_connreq *req;
	int ret;

	if (!ep)
		return -ENOMEM;
	ret = kfi_ep_init(&ep->post.ep, domain, info, &ktcp_ep_ops, context);
	if (ret) {
		ktcp_ep_free(ep);
		return ret;
	}
	ep->post.ep.is_inline = true;
	if (info->handle) {
		req = kfi_connreq_use(info->handle, &ktcp_req_ops,
				      &ktcp_cm_lock);
		if (!req) {
			kfi_obj_abort(&ep->post.ep.fid);
			return -EINVAL;
		}
		ep->req = container_of(req, struct ktcp_req, req);
	}
	*fid = &ep->post.ep;
	return 0;
}
