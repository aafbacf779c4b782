// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The udp provider: endpoints: opening, binding, closing.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "udp.h"

/* In any context, with the socket's locks: something has come, or there is room. */
static int kudp_woken(wait_queue_entry_t *wait, unsigned int mode, int sync,
		      void *key)
{
	struct kudp_ep *ep = container_of(wait, struct kudp_ep, wait);
	__poll_t what = key_to_poll(key);
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	/* Has the engine a use for it? */
	if (!what || !list_empty(&ep->busy) ||
	    ((what & EPOLLIN) && !list_empty(&ep->receives)) ||
	    ((what & EPOLLOUT) && !list_empty(&ep->sends)))
		kudp_kick(ep);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return 0;
}

/* ---- closing ------------------------------------------------------------ */

static void kudp_ep_close(struct kfid *fid)
{
	struct kudp_ep *ep = container_of(fid, struct kudp_ep, post.ep.fid);

	spin_lock_irq(&ep->post.lock);
	ep->closed = true;
	ep->post.broken = true;
	spin_unlock_irq(&ep->post.lock);
	remove_wait_queue(&ep->sock->wq.wait, &ep->wait);
	cancel_delayed_work_sync(&ep->engine);
	kudp_end_all(ep);
	sock_release(ep->sock);
	ep->sock = NULL;
}

static void kudp_ep_free(struct kudp_ep *ep)
{
	if (ep->sock)
		sock_release(ep->sock);
	kfi_socket_buf_free(&ep->buf);
	kvfree(ep->post.slot_mem);
	kfree(ep);
}

static void kudp_ep_release(struct kfid *fid)
{
	kudp_ep_free(container_of(fid, struct kudp_ep, post.ep.fid));
}

/* ---- binding ------------------------------------------------------------ */

static int kudp_ep_control(struct kfid *fid, int command, void *arg)
{
	struct kudp_ep *ep = container_of(fid, struct kudp_ep, post.ep.fid);
	int ret;

	if (command != FI_ENABLE)
		return -ENOSYS;
	ret = kfi_socket_bind(ep->sock, &ep->name);
	if (ret)
		return ret;
	spin_lock_irq(&ep->post.lock);
	/* What is read without the lock: the name is there. */
	smp_store_release(&ep->bound, true);
	kudp_kick(ep);
	spin_unlock_irq(&ep->post.lock);
	return 0;
}

static int kudp_ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct kudp_ep *ep = container_of(fid, struct kudp_ep, post.ep.fid);

	if (!smp_load_acquire(&ep->bound))
		return -FI_EOPBADSTATE;
	return kfi_copy_addr(&ep->name, addr, addrlen);
}

static const struct fi_ops kudp_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kudp_ep_close,
	.release = kudp_ep_release,
	.control = kudp_ep_control,
};

static const struct fi_ops_cm kudp_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = kudp_ep_getname,
};

static const struct kfi_ep_ops kudp_ep_ops = {
	.fid = &kudp_ep_fid_ops,
	.cm = &kudp_cm_ops,
	.msg = &kfi_post_msg_ops,
};

/* ---- opening ------------------------------------------------------------ */

static void kudp_ep_init(struct kudp_ep *ep, const struct fi_info *info)
{
	kfi_post_init(&ep->post, info, &kudp_post_ops);
	kfi_post_limit(&ep->post, KUDP_QUEUE_SIZE, KUDP_IOV_LIMIT,
		       KUDP_MAX_MSG);
	ep->post.up = true;
	INIT_DELAYED_WORK(&ep->engine, kudp_engine);
	init_waitqueue_func_entry(&ep->wait, kudp_woken);
	INIT_LIST_HEAD(&ep->sends);
	INIT_LIST_HEAD(&ep->receives);
	INIT_LIST_HEAD(&ep->canceled);
	INIT_LIST_HEAD(&ep->busy);
	ep->last_from = FI_ADDR_UNSPEC;
}

int kudp_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **fid, void *context)
{
	struct kudp_ep *ep;
	int ret = 0;

	/* What is no unconnected one has nothing to be connected by. */
	if (info->handle || info->ep_attr->type != FI_EP_DGRAM)
		return -EINVAL;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return -ENOMEM;
	kudp_ep_init(ep, info);
	/* To bind to: the address of the info, else any of the family it speaks of. */
	if (!info->src_addr)
		ep->name.sin6_family = info->addr_format == FI_SOCKADDR_IN6
					       ? AF_INET6
					       : AF_INET;
	else if (!kfi_name_set(&ep->name, info->src_addr))
		ret = -EADDRNOTAVAIL;
	ret = ret
		      ?: kfi_socket_buf_alloc(&ep->buf, KUDP_MAX_MSG,
					      KUDP_IOV_LIMIT);
	ret = ret ?: kfi_post_alloc_slots(&ep->post, sizeof(struct kudp_op));
	ret = ret
		      ?: kudp_socket_open(domain->fabric->net,
					  ep->name.sin6_family, &ep->sock);
	ret = ret
		      ?: kfi_ep_init(&ep->post.ep, domain, info, &kudp_ep_ops,
				     context);
	if (ret) {
		kudp_ep_free(ep);
		return ret;
	}
	add_wait_queue(&ep->sock->wq.wait, &ep->wait);
	*fid = &ep->post.ep;
	return 0;
}
