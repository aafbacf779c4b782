// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: shared receive contexts: what is the same for all providers, and the
 * whole of one for those that queue operations: see fi_shared.h and kfi_shared.h.
 *
 * A receive that is posted while endpoints wait is put aside for the one that has waited
 * longest (kfi_post_ep.srx_op), which is told to come for it: so one is woken for each
 * receive, and none is passed over. Who breaks meanwhile hands it on.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: kfi_srx.lock; kfi_post_ep.lock, of who waits, under it.
 * Lifetime: the context stays as long as endpoints are bound to it, and these have left it
 *	when they are closed. So nobody waits, and nothing is put aside, when it closes.
 */
#include <linux/bottom_half.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric/kfi_shared.h>

#include "core.h"

int kfabric_srx_context(struct fid_domain *domain,
			const struct fi_rx_attr *attr, struct fid_ep **srx,
			void *context)
{
	might_sleep();
	return kfi_check_open(&domain->fid, NULL,
			      KFI_HAS_OP(domain->ops, srx_context))
		       ?: domain->ops->srx_context(domain, attr, srx, context);
}
EXPORT_SYMBOL_GPL(kfabric_srx_context);

int kfi_srx_setopt(struct fid_ep *srx, int optname, const void *optval,
		   size_t optlen)
{
	const struct fi_low_water *low = optval;

	if (READ_ONCE(srx->fid.dead))
		return -ENODEV;
	switch (optname) {
	case FI_OPT_SPACE_HANDLER:
		if (optlen != sizeof(srx->space))
			return -EINVAL;
		/* Nobody reads the handler before something was posted. */
		if (atomic_long_read(&srx->nr_posts) ||
		    atomic_long_read(&srx->nr_again))
			return -FI_EOPBADSTATE;
		memcpy(&srx->space, optval, optlen);
		return 0;
	case FI_OPT_LOW_WATER:
		if (!srx->ops->low_water)
			return -ENOSYS;
		if (optlen != sizeof(*low) || (low->limit && !low->fn))
			return -EINVAL;
		return srx->ops->low_water(srx, low);
	default:
		return -ENOSYS;
	}
}

/* ---- for providers ----------------------------------------------------- */

int kfi_srx_init(struct fid_ep *srx, struct fid_domain *domain,
		 const struct fi_rx_attr *attr, const struct kfi_ep_ops *ops,
		 void *context)
{
	kfi_ep_set_ops(srx, ops);
	srx->domain = domain;
	srx->type = FI_EP_MSG;
	srx->rx_op_flags = attr->op_flags;
	return kfi_obj_init(&srx->fid, FI_CLASS_SRX_CTX, domain->fid.prov,
			    &domain->fid, ops->fid, context);
}
EXPORT_SYMBOL_GPL(kfi_srx_init);

int kfi_srx_limit(struct fi_rx_attr *attr, const struct fi_rx_attr *wish)
{
	if (wish &&
	    (wish->size > attr->size || wish->iov_limit > attr->iov_limit))
		return -EINVAL;
	attr->size = wish && wish->size
			     ? wish->size
			     : min_t(size_t, attr->size, KFI_SRX_SIZE);
	if (wish && wish->iov_limit)
		attr->iov_limit = wish->iov_limit;
	attr->op_flags = wish ? wish->op_flags : 0;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_srx_limit);

void kfi_srx_cancel(struct fid_ep *srx, struct kfi_comp *comp)
{
	const struct fid_cq *cq = srx->rx_cq;
	bool softirq = cq && cq->attr.comp_context != FI_CQ_WORKQUEUE;

	if (!cq)
		return;
	comp->entry.err = ECANCELED;
	if (softirq)
		local_bh_disable();
	kfi_ep_complete(srx, comp);
	if (softirq)
		local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_srx_cancel);

void kfi_low_water_call(struct fid_ep *srx, const struct fi_low_water *call)
{
	local_bh_disable();
	call->fn(srx, call->context);
	local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_low_water_call);

static struct kfi_srx *to_kfi_srx(struct fid_ep *ep)
{
	return container_of(ep, struct kfi_srx, ep);
}

/* ---- who waits ----------------------------------------------------------- */

/* Put a receive aside for who has waited longest; false: nobody waits. */
static bool kfi_srx_give_locked(struct kfi_srx *srx, struct kfi_op *op)
{
	struct kfi_post_ep *ep;
	bool given = false;

	lockdep_assert_held(&srx->lock);
	while (!given && !list_empty(&srx->waiters)) {
		ep = list_first_entry(&srx->waiters, struct kfi_post_ep,
				      srx_node);
		list_del_init(&ep->srx_node);
		spin_lock(&ep->lock);
		given = !ep->broken;
		if (given) {
			ep->srx_op = op;
			ep->ops->rx_ready(ep);
		}
		spin_unlock(&ep->lock);
	}
	return given;
}

static struct kfi_op *kfi_srx_pop_locked(struct kfi_srx *srx)
{
	struct kfi_op *op =
		list_first_entry_or_null(&srx->rx, struct kfi_op, node);

	lockdep_assert_held(&srx->lock);
	if (op) {
		list_del(&op->node);
		srx->nr--;
	}
	return op;
}

struct kfi_op *kfi_srx_take(struct kfi_post_ep *ep)
{
	struct kfi_srx *srx = to_kfi_srx(ep->ep.srx);
	struct fi_low_water low;
	bool is_low = false;
	unsigned long irq;
	struct kfi_op *op;

	spin_lock_irqsave(&srx->lock, irq);
	op = ep->srx_op;
	ep->srx_op = NULL;
	if (op)
		srx->nr--;
	else
		op = kfi_srx_pop_locked(srx);
	is_low = op && kfi_low_water_due(&srx->low, srx->nr, &low);
	if (!op) {
		/* Who is broken has left, or is about to. */
		spin_lock(&ep->lock);
		if (!ep->broken && list_empty(&ep->srx_node))
			list_add_tail(&ep->srx_node, &srx->waiters);
		spin_unlock(&ep->lock);
	}
	spin_unlock_irqrestore(&srx->lock, irq);
	if (is_low)
		kfi_low_water_call(&srx->ep, &low);
	if (op) {
		local_bh_disable(); /* as upcalls in softirq expect it */
		kfi_ep_space(&srx->ep, FI_RECV);
		local_bh_enable();
	}
	return op;
}
EXPORT_SYMBOL_GPL(kfi_srx_take);

void kfi_srx_leave(struct kfi_post_ep *ep)
{
	struct kfi_op *op, *next;
	struct kfi_srx *srx;
	unsigned long irq;

	if (!ep->ep.srx)
		return;
	srx = to_kfi_srx(ep->ep.srx);
	spin_lock_irqsave(&srx->lock, irq);
	list_del_init(&ep->srx_node);
	op = ep->srx_op;
	ep->srx_op = NULL;
	if (op && !kfi_srx_give_locked(srx, op)) {
		/* It is older than what was posted since. */
		list_for_each_entry(next, &srx->rx, node)
			if (next->data > op->data)
				break;
		list_add_tail(&op->node, &next->node);
	}
	spin_unlock_irqrestore(&srx->lock, irq);
}
EXPORT_SYMBOL_GPL(kfi_srx_leave);

/* ---- posting ------------------------------------------------------------- */

static ssize_t kfi_srx_recvmsg(struct fid_ep *fid, const struct fi_msg *msg,
			       u64 flags)
{
	struct kfi_srx *srx = to_kfi_srx(fid);
	struct kfi_op *op;
	unsigned long irq;
	ssize_t ret;

	ret = kfi_check_rx(fid, msg->context, &msg->buf, flags, &srx->attr,
			   srx->max_msg_size);
	if (ret)
		return ret;
	spin_lock_irqsave(&srx->lock, irq);
	if (srx->nr >= srx->attr.size) {
		ret = kfi_ep_again(&srx->ep, FI_RECV);
	} else {
		op = kfi_op_of_recv(msg, flags);
		kfi_trace_post(&srx->ep, op->comp);
		srx->nr++;
		op->data = srx->next++;
		if (!kfi_srx_give_locked(srx, op))
			list_add_tail(&op->node, &srx->rx);
	}
	spin_unlock_irqrestore(&srx->lock, irq);
	return ret;
}

static const struct fi_ops_msg kfi_srx_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recvmsg = kfi_srx_recvmsg,
};

static int kfi_srx_low_water(struct fid_ep *fid, const struct fi_low_water *low)
{
	struct kfi_srx *srx = to_kfi_srx(fid);
	struct fi_low_water call;
	unsigned long irq;
	bool is_low;

	if (low->limit > srx->attr.size)
		return -EINVAL;
	spin_lock_irqsave(&srx->lock, irq);
	srx->low.value = *low;
	srx->low.armed = low->limit;
	is_low = kfi_low_water_due(&srx->low, srx->nr, &call);
	spin_unlock_irqrestore(&srx->lock, irq);
	if (is_low)
		kfi_low_water_call(fid, &call);
	return 0;
}

/* ---- open and close ------------------------------------------------------ */

static void kfi_srx_close(struct kfid *fid)
{
	struct kfi_srx *srx = container_of(fid, struct kfi_srx, ep.fid);
	struct kfi_op *op;

	for (;;) {
		spin_lock_irq(&srx->lock);
		op = kfi_srx_pop_locked(srx);
		spin_unlock_irq(&srx->lock);
		if (!op)
			return;
		kfi_srx_cancel(&srx->ep, op->comp);
	}
}

static_assert(!offsetof(struct kfi_srx, ep.fid)); /* kfi_obj_kfree() */

static const struct fi_ops kfi_srx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfi_srx_close,
	.release = kfi_obj_kfree,
};

static const struct kfi_ep_ops kfi_srx_ops = {
	.fid = &kfi_srx_fid_ops,
	.msg = &kfi_srx_msg_ops,
	.low_water = kfi_srx_low_water,
};

int kfi_srx_open(struct fid_domain *domain, const struct fi_rx_attr *attr,
		 size_t iov_limit, size_t max_msg_size, struct fid_ep **out,
		 void *context)
{
	struct fi_rx_attr limits = { .size = KFI_SRX_SIZE_MAX,
				     .iov_limit = iov_limit };
	struct kfi_srx *srx;
	int ret;

	ret = kfi_srx_limit(&limits, attr);
	if (ret)
		return ret;
	srx = kzalloc(sizeof(*srx), GFP_KERNEL);
	if (!srx)
		return -ENOMEM;
	spin_lock_init(&srx->lock);
	INIT_LIST_HEAD(&srx->rx);
	INIT_LIST_HEAD(&srx->waiters);
	srx->attr = limits;
	srx->max_msg_size = max_msg_size;
	ret = kfi_srx_init(&srx->ep, domain, &limits, &kfi_srx_ops, context);
	if (ret) {
		kfree(srx);
		return ret;
	}
	*out = &srx->ep;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_srx_open);
