// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: endpoints: opening, listening, closing.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rdm.h"

static void kfir_event_came(struct fid_eq *eq, void *context)
{
	kfir_kick(context);
}

/* ---- closing ------------------------------------------------------------ */

static void kfir_close_inner(struct kfir_ep *ep)
{
	if (ep->pep)
		fi_close(&ep->pep->fid);
	if (ep->cq)
		fi_close(&ep->cq->fid);
	if (ep->eq)
		fi_close(&ep->eq->fid);
}

static void kfir_ep_close(struct kfid *fid)
{
	struct kfir_ep *ep = to_kfir_ep(fid);

	spin_lock_irq(&ep->own.post.lock);
	ep->own.post.broken = true;
	spin_unlock_irq(&ep->own.post.lock);
	spin_lock_irq(&ep->lock);
	ep->closed = true;
	spin_unlock_irq(&ep->lock);
	cancel_delayed_work_sync(&ep->engine);
	kfir_own(ep);
	if (!ep->ending)
		ep->ending = ECANCELED;
	kfir_run(ep);
	kfir_close_inner(ep);
}

static void kfir_ep_release(struct kfid *fid)
{
	struct kfir_ep *ep = to_kfir_ep(fid);

	kvfree(ep->own.post.slot_mem);
	kvfree(ep->own.post.part_mem);
	kfree(ep);
}

/* ---- listening ---------------------------------------------------------- */

static int kfir_ep_control(struct kfid *fid, int command, void *arg)
{
	struct kfir_ep *ep = to_kfir_ep(fid);
	struct sockaddr_in6 name = {};
	size_t len = sizeof(name);
	int ret;

	if (command != FI_ENABLE)
		return -ENOSYS;
	ret = fi_listen(ep->pep);
	ret = ret ?: fi_getname(&ep->pep->fid, &name, &len);
	if (ret)
		return ret;
	kfi_name_set(&ep->name, &name);
	kfir_ctx_enable(&ep->own);
	smp_store_release(&ep->listening, true);
	kfir_kick(ep);
	return 0;
}

static int kfir_ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct kfir_ep *ep = to_kfir_ep(fid);

	if (!smp_load_acquire(&ep->listening))
		return -FI_EOPBADSTATE;
	return kfi_copy_addr(&ep->name, addr, addrlen);
}

static const struct fi_ops kfir_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfir_ep_close,
	.release = kfir_ep_release,
	.control = kfir_ep_control,
};

static const struct fi_ops_cm kfir_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = kfir_ep_getname,
};

static const struct kfi_ep_ops kfir_ep_ops = {
	.fid = &kfir_ep_fid_ops,
	.cm = &kfir_cm_ops,
	.msg = &kfi_post_msg_ops,
	.rma = &kfi_post_rma_ops,
	.tagged = &kfi_post_tagged_ops,
	.atomic = &kfi_post_atomic_ops,
};

static const struct kfi_ep_ops kfir_sep_ep_ops = {
	.fid = &kfir_ep_fid_ops,
	.cm = &kfir_cm_ops,
	.sep = &kfir_sep_ops,
};

/* ---- opening ------------------------------------------------------------ */

static void kfir_ep_init(struct kfir_ep *ep, const struct fi_info *info)
{
	kfir_ctx_init(&ep->own, ep, info, FI_TRANSMIT | FI_RECV);
	ep->directed = info->caps & FI_DIRECTED_RECV;
	spin_lock_init(&ep->lock);
	INIT_DELAYED_WORK(&ep->engine, kfir_engine);
	INIT_LIST_HEAD(&ep->done);
	INIT_LIST_HEAD(&ep->fresh);
	INIT_LIST_HEAD(&ep->grant_news);
	INIT_LIST_HEAD(&ep->ctxs);
	INIT_LIST_HEAD(&ep->conns);
	INIT_LIST_HEAD(&ep->busy);
	INIT_LIST_HEAD(&ep->stalled);
	INIT_LIST_HEAD(&ep->touched);
	INIT_LIST_HEAD(&ep->waiting);
	INIT_LIST_HEAD(&ep->unseen);
	ep->next_tick = jiffies;
	ep->run_at = jiffies;
	ep->serial = 1;
	do
		get_random_bytes(&ep->instance, sizeof(ep->instance));
	while (!ep->instance);
}

static int kfir_open_inner(struct kfir_ep *ep, struct fid_domain *domain,
			   const struct fi_info *info)
{
	struct fid_fabric *fabric = kfi_layer_inner(domain->fabric);
	struct kfir_domain *d = to_kfir_domain(domain);
	struct fi_cq_attr cq = { .comp_handler = kfir_inner_done };
	struct fi_eq_attr eq = { .handler = kfir_event_came };
	struct sockaddr_in6 any = { .sin6_family = AF_INET };
	const struct sockaddr *src = info->src_addr, *dest = info->dest_addr;
	struct fi_info *inner = fi_dupinfo(d->info);
	int ret;

	if (!inner)
		return -ENOMEM;
	/* What to listen on: the info's own address, or any of the peer's family. */
	if (!src && dest)
		any.sin6_family = dest->sa_family;
	if (!src)
		src = (const struct sockaddr *)&any;
	ret = kfi_info_set_addr(&inner->src_addr, &inner->src_addrlen, src,
				kfi_addr_len(src));
	ret = ret ?: fi_eq_open(fabric, &eq, &ep->eq, ep);
	ret = ret ?: fi_cq_open(d->inner, &cq, &ep->cq, ep);
	ret = ret ?: fi_passive_ep(fabric, inner, &ep->pep, ep);
	ret = ret ?: fi_pep_bind(ep->pep, &ep->eq->fid, 0);
	fi_freeinfo(inner);
	return ret;
}

static int kfir_open(struct fid_domain *domain, const struct fi_info *info,
		     bool is_scalable, struct fid_ep **fid, void *context)
{
	struct kfir_ep *ep;
	int ret = 0;

	/* What is no unconnected one has nothing to be connected by. */
	if (info->handle || info->ep_attr->type != FI_EP_RDM)
		return -EINVAL;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return -ENOMEM;
	kfir_ep_init(ep, info);
	if (is_scalable) {
		/* If that is no number of contexts it is not opened at all. */
		ep->last_ctx = info->ep_attr->rx_ctx_cnt - 1;
	} else {
		ret = kfi_post_alloc_slots(&ep->own.post,
					   sizeof(struct kfir_op));
		ret = ret
			      ?: kfi_post_alloc_parts(&ep->own.post,
						      KFIR_MULTI_MIN);
		list_add_tail(&ep->own.node, &ep->ctxs);
		ep->rx[0] = &ep->own;
	}
	ret = ret ?: kfir_open_inner(ep, domain, info);
	if (!ret)
		ret = is_scalable ? kfi_sep_init(&ep->own.post.ep, domain, info,
						 &kfir_sep_ep_ops, context)
				  : kfi_ep_init(&ep->own.post.ep, domain, info,
						&kfir_ep_ops, context);
	if (ret) {
		kfir_close_inner(ep);
		kfir_ep_release(&ep->own.post.ep.fid);
		return ret;
	}
	*fid = &ep->own.post.ep;
	return 0;
}

int kfir_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **ep, void *context)
{
	return kfir_open(domain, info, false, ep, context);
}

int kfir_scalable_ep(struct fid_domain *domain, struct fi_info *info,
		     struct fid_ep **sep, void *context)
{
	return kfir_open(domain, info, true, sep, context);
}
