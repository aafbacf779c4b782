// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: endpoints: opening, binding, closing.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "rds.h"

/* ---- closing ------------------------------------------------------------ */

static void krds_ep_close(struct kfid *fid)
{
	struct krds_ep *ep = container_of(fid, struct krds_ep, post.ep.fid);

	spin_lock_irq(&ep->post.lock);
	ep->closed = true;
	ep->post.broken = true;
	spin_unlock_irq(&ep->post.lock);
	remove_wait_queue(&ep->sock->wq.wait, &ep->wait);
	cancel_delayed_work_sync(&ep->engine);
	/* From here on this is the engine, when nobody else is, or will be. */
	while (!krds_own_last(ep))
		schedule_timeout_uninterruptible(1);
	krds_end_all(ep);
	sock_release(ep->sock);
	ep->sock = NULL;
}

static void krds_ep_free(struct krds_ep *ep)
{
	if (ep->sock)
		sock_release(ep->sock);
	kfi_socket_buf_free(&ep->buf);
	kvfree(ep->post.slot_mem);
	kfree(ep);
}

static void krds_ep_release(struct kfid *fid)
{
	krds_ep_free(container_of(fid, struct krds_ep, post.ep.fid));
}

/* ---- binding ------------------------------------------------------------ */

static int krds_ep_control(struct kfid *fid, int command, void *arg)
{
	struct krds_ep *ep = container_of(fid, struct krds_ep, post.ep.fid);
	int ret;

	if (command != FI_ENABLE)
		return -ENOSYS;
	ret = kfi_socket_bind(ep->sock, &ep->name);
	if (ret)
		return ret;
	spin_lock_irq(&ep->post.lock);
	ep->in_work = kfi_ep_wants_work(&ep->post.ep);
	/* What is read without the lock: the name is there. */
	smp_store_release(&ep->bound, true);
	krds_kick(ep);
	spin_unlock_irq(&ep->post.lock);
	return 0;
}

static int krds_ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct krds_ep *ep = container_of(fid, struct krds_ep, post.ep.fid);

	if (!smp_load_acquire(&ep->bound))
		return -FI_EOPBADSTATE;
	return kfi_copy_addr(&ep->name, addr, addrlen);
}

static const struct fi_ops krds_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = krds_ep_close,
	.release = krds_ep_release,
	.control = krds_ep_control,
};

static const struct fi_ops_cm krds_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = krds_ep_getname,
};

static const struct kfi_ep_ops krds_ep_ops = {
	.fid = &krds_ep_fid_ops,
	.cm = &krds_cm_ops,
	.msg = &kfi_post_msg_ops,
};

/* ---- opening ------------------------------------------------------------ */

static void krds_ep_init(struct krds_ep *ep, const struct fi_info *info)
{
	kfi_post_init(&ep->post, info, &krds_post_ops);
	kfi_post_limit(&ep->post, KRDS_QUEUE_SIZE, KRDS_IOV_LIMIT,
		       KRDS_MAX_MSG);
	ep->post.up = true;
	INIT_DELAYED_WORK(&ep->engine, krds_engine);
	init_waitqueue_func_entry(&ep->wait, krds_woken);
	INIT_LIST_HEAD(&ep->posted);
	INIT_LIST_HEAD(&ep->sends);
	INIT_LIST_HEAD(&ep->receives);
	INIT_LIST_HEAD(&ep->canceled);
	INIT_LIST_HEAD(&ep->filling);
	INIT_LIST_HEAD(&ep->busy);
	INIT_LIST_HEAD(&ep->stash);
	hash_init(ep->hosts);
	ep->last_from = FI_ADDR_UNSPEC;
	ep->next_tick = jiffies;
}

int krds_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **fid, void *context)
{
	struct sockaddr_in6 name;
	struct krds_ep *ep;
	int ret;

	/* What is no unconnected one has nothing to be connected by. */
	if (info->handle || info->ep_attr->type != FI_EP_RDM)
		return -EINVAL;
	/* RDS binds to one address: there is no wildcard, and none of its choice. */
	if (!info->src_addr || !kfi_name_set(&name, info->src_addr) ||
	    kfi_name_is_any(&name))
		return -EADDRNOTAVAIL;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return -ENOMEM;
	krds_ep_init(ep, info);
	ep->name = name;
	ret = kfi_socket_buf_alloc(&ep->buf, KRDS_MAX_MSG, KRDS_IOV_LIMIT);
	ret = ret ?: kfi_post_alloc_slots(&ep->post, sizeof(struct krds_op));
	ret = ret ?: krds_socket_open(domain->fabric->net, &ep->sock);
	ret = ret
		      ?: kfi_ep_init(&ep->post.ep, domain, info, &krds_ep_ops,
				     context);
	if (ret) {
		krds_ep_free(ep);
		return ret;
	}
	add_wait_queue(&ep->sock->wq.wait, &ep->wait);
	ep->post.ep.is_inline = true;
	*fid = &ep->post.ep;
	return 0;
}
