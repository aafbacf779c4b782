// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: shared receive contexts: SRQs.
 *
 * A receive is the context's, in srx->rx_ops, until its work completion says which queue
 * pair has used it. That comes in the CQ of the endpoint, and is told in the endpoint's
 * queue. An SRQ flushes nothing: what is left when it is destroyed is completed here.
 *
 * The end of an endpoint: its queue pair goes to error, which flushes a receive that a
 * message was being put into, and no other. By the specification the device tells when
 * the last one is over (IB_EVENT_QP_LAST_WQE_REACHED). What is posted to the same CQ
 * after that is behind all of its receives, so that who has seen it has seen them. Not
 * every device is as the specification has it, and a work completion may come late, even
 * when the queue pair is gone: so its pointer is compared with those of the endpoints that
 * there are, and never followed. A receive of none of them goes back to the SRQ.
 *
 * Context: posting: any but hardirq. Completions: that of the device's CQ.
 * Lifetime: the SRQ stays until the queue pairs on it are destroyed, which is soon after
 *	the close of their endpoints and does not wait for peers. Each of them keeps the
 *	context's memory.
 */
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "verbs.h"

/* How long a device may take to tell of a queue pair's last receive. */
#define KFIV_LAST_WQE_MS 5000

static struct kfiv_srx *kfiv_srx_of(const struct kfiv_ep *ep)
{
	return to_kfiv_srx(ep->ep.srx);
}

/* ---- receives ---------------------------------------------------------- */

/* The endpoint of a queue pair; NULL: it has left. */
static struct kfiv_ep *kfiv_srx_ep_locked(struct kfiv_srx *srx,
					  const struct ib_qp *qp)
{
	struct kfiv_ep *ep;

	lockdep_assert_held(&srx->lock);
	hash_for_each_possible(srx->eps, ep, srx_node,
			       (unsigned long)qp) if (ep->qp == qp) return ep;
	return NULL;
}

/*
 * A receive that is flushed tells nothing of the connection that is not known: the queue
 * pair is in error, of which there is an event.
 */
static void kfiv_srx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_op *op = container_of(wc->wr_cqe, struct kfiv_op, cqe);
	struct kfiv_srx *srx = op->srx;
	struct kfiv_ep *ep;
	unsigned long irq;

	spin_lock_irqsave(&srx->lock, irq);
	ep = kfiv_srx_ep_locked(srx, wc->qp);
	if (ep) {
		atomic_inc(&ep->srx_busy);
		list_del(&op->node);
		srx->rx_free++;
	} else if (srx->is_open) {
		/* What the device refuses is told in the end. */
		ib_post_srq_recv(srx->srq, &op->wr.recv, NULL);
	}
	spin_unlock_irqrestore(&srx->lock, irq);
	if (!ep)
		return;
	if (wc->status && wc->status != IB_WC_WR_FLUSH_ERR)
		kfiv_ep_fail(ep, kfiv_rx_errno(wc->status), wc->status);
	kfiv_rx_finish(ep, op, wc);
	kfi_ep_space(&srx->ep, FI_RECV);
	/* Nothing of either is touched any more. */
	if (atomic_dec_and_test(&ep->srx_busy))
		wake_up_var(&ep->srx_busy);
}

static ssize_t kfiv_srx_post_locked(struct kfiv_srx *srx,
				    const struct fi_msg *msg, u64 flags)
{
	struct kfiv_op *op = kfi_op_priv(msg->context);
	int ret;

	lockdep_assert_held(&srx->lock);
	if (!srx->is_open)
		return -ENODEV;
	if (!srx->rx_free)
		return kfi_ep_again(&srx->ep, FI_RECV);
	ret = kfiv_recv_prepare(srx->domain, msg, flags, srx->attr.iov_limit);
	if (ret == -ENOBUFS)
		return kfiv_map_later(&srx->ep, &srx->map_timer, FI_RECV);
	if (ret)
		return ret;
	op->srx = srx;
	srx->rx_free--;
	kfiv_op_begin(&srx->ep, op, kfiv_srx_done, &srx->rx_ops);
	/* Whoever completes it waits for the lock. */
	if (ib_post_srq_recv(srx->srq, &op->wr.recv, NULL)) {
		list_del(&op->node);
		srx->rx_free++;
		kfiv_op_unmap(srx->domain, op);
		return -EIO;
	}
	return 0;
}

static ssize_t kfiv_srx_recvmsg(struct fid_ep *fep, const struct fi_msg *msg,
				u64 flags)
{
	struct kfiv_srx *srx = to_kfiv_srx(fep);
	unsigned long irq;
	ssize_t ret;

	ret = kfi_check_rx(fep, msg->context, &msg->buf, flags, &srx->attr,
			   srx->max_msg_size);
	if (ret)
		return ret;
	spin_lock_irqsave(&srx->lock, irq);
	ret = kfiv_srx_post_locked(srx, msg, flags);
	spin_unlock_irqrestore(&srx->lock, irq);
	return ret;
}

static const struct fi_ops_msg kfiv_srx_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recvmsg = kfiv_srx_recvmsg,
};

static void kfiv_srx_map_timer(struct work_struct *work)
{
	struct kfiv_srx *srx =
		container_of(to_delayed_work(work), struct kfiv_srx, map_timer);

	local_bh_disable(); /* as upcalls in softirq expect it */
	kfi_ep_space(&srx->ep, FI_RECV);
	local_bh_enable();
}

/* ---- few are left ------------------------------------------------------ */

/* The device's event may come in hardirq. */
static void kfiv_srx_event(struct ib_event *event, void *context)
{
	struct kfiv_srx *srx = context;

	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		queue_work(kfiv_wq, &srx->low_work);
}

static void kfiv_srx_tell_low(struct kfiv_srx *srx, size_t left)
{
	struct fi_low_water call;
	bool is_low;

	spin_lock_irq(&srx->lock);
	is_low = kfi_low_water_due(&srx->low, left, &call);
	spin_unlock_irq(&srx->lock);
	if (is_low)
		kfi_low_water_call(&srx->ep, &call);
}

/* The device has counted. */
static void kfiv_srx_low_work(struct work_struct *work)
{
	kfiv_srx_tell_low(container_of(work, struct kfiv_srx, low_work), 0);
}

static int kfiv_srx_arm(struct kfiv_srx *srx, const struct fi_low_water *low)
{
	struct ib_srq_attr attr = { .srq_limit = low->limit };
	struct kfi_low_water old;
	int ret;

	lockdep_assert_held(&srx->mutex);
	if (!srx->srq)
		return -ENODEV;
	/* What was reached before is not this one, and what was set is not called now. */
	spin_lock_irq(&srx->lock);
	old = srx->low;
	srx->low.armed = false;
	spin_unlock_irq(&srx->lock);
	cancel_work_sync(&srx->low_work);
	spin_lock_irq(&srx->lock);
	srx->low.value = *low;
	srx->low.armed = low->limit;
	spin_unlock_irq(&srx->lock);
	ret = ib_modify_srq(srx->srq, &attr, IB_SRQ_LIMIT);
	if (ret) {
		spin_lock_irq(&srx->lock);
		srx->low = old;
		spin_unlock_irq(&srx->lock);
	}
	return ret;
}

/* Some devices wait for the next message, although there are too few already. */
static int kfiv_srx_low_water(struct fid_ep *fep,
			      const struct fi_low_water *low)
{
	struct kfiv_srx *srx = to_kfiv_srx(fep);
	int ret;

	if (low->limit > srx->attr.size)
		return -EINVAL;
	mutex_lock(&srx->mutex);
	ret = kfiv_srx_arm(srx, low);
	mutex_unlock(&srx->mutex);
	if (!ret)
		kfiv_srx_tell_low(srx,
				  srx->attr.size - READ_ONCE(srx->rx_free));
	return ret;
}

/* ---- endpoints --------------------------------------------------------- */

/* A queue pair is going to be made, of whose end kfiv_srx_let_go() tells. */
int kfiv_srx_hold(struct kfiv_srx *srx)
{
	int ret = 0;

	spin_lock_irq(&srx->lock);
	if (srx->is_open)
		atomic_inc(&srx->nr_qps);
	else
		ret = -ENODEV;
	spin_unlock_irq(&srx->lock);
	if (!ret)
		kfi_obj_get(&srx->ep.fid);
	return ret;
}

void kfiv_srx_let_go(struct kfiv_srx *srx)
{
	if (atomic_dec_and_test(&srx->nr_qps))
		wake_up_var(&srx->nr_qps);
	kfi_obj_put(&srx->ep.fid);
}

void kfiv_srx_join(struct kfiv_ep *ep)
{
	struct kfiv_srx *srx = kfiv_srx_of(ep);

	lockdep_assert_held(&ep->mutex);
	spin_lock_irq(&srx->lock);
	hash_add(srx->eps, &ep->srx_node, (unsigned long)ep->qp);
	spin_unlock_irq(&srx->lock);
}

/*
 * ib_drain_qp() is for others: where it waits for the event it polls the CQ by itself,
 * of which others have shares, so that upcalls of one endpoint would come at one time.
 */
void kfiv_srx_drain(struct kfiv_ep *ep)
{
	struct kfiv_device *dev = ep->domain->dev;
	struct kfiv_srx *srx = kfiv_srx_of(ep);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = {};
	bool tells;

	lockdep_assert_held(&ep->mutex);
	/*
	 * One that could not receive yet may have nothing to tell of. A peer that refuses
	 * has the connection manager put it to error before it could.
	 */
	tells = !READ_ONCE(dev->mute) && !READ_ONCE(ep->refused) &&
		!ib_query_qp(ep->qp, &attr, IB_QP_STATE, &init) &&
		attr.qp_state >= IB_QPS_RTR;
	ib_drain_sq(ep->qp);
	if (tells &&
	    !wait_for_completion_timeout(&ep->last_wqe,
					 msecs_to_jiffies(KFIV_LAST_WQE_MS))) {
		pr_warn("kfabric_verbs: %s does not say when a queue pair has done with shared receives, and is not asked any more\n",
			dev->ib->name);
		WRITE_ONCE(dev->mute, true);
	}
	/* Soft RoCE may be at it in the softirq of another CPU. */
	if (READ_ONCE(dev->mute))
		synchronize_rcu();
	ib_drain_sq(ep->qp);
	spin_lock_irq(&srx->lock);
	hash_del(&ep->srx_node);
	spin_unlock_irq(&srx->lock);
	wait_var_event(&ep->srx_busy, !atomic_read(&ep->srx_busy));
}

/* ---- open and close ---------------------------------------------------- */

/* Give back what the device has of it; close and removal may meet here. */
static void kfiv_srx_free_hw(struct kfiv_srx *srx)
{
	struct kfiv_op *op, *next;
	struct kfi_comp *comp;
	LIST_HEAD(left);

	mutex_lock(&srx->mutex);
	if (!srx->srq)
		goto unlock;
	spin_lock_irq(&srx->lock);
	srx->is_open = false;
	spin_unlock_irq(&srx->lock);
	cancel_delayed_work_sync(&srx->map_timer);
	wait_var_event(&srx->nr_qps, !atomic_read(&srx->nr_qps));
	/* A late completion of theirs was seen by then. */
	if (READ_ONCE(srx->domain->dev->mute))
		synchronize_rcu();
	ib_destroy_srq(srx->srq);
	srx->srq = NULL;
	cancel_work_sync(&srx->low_work);
	/* Nobody uses them any more. */
	spin_lock_irq(&srx->lock);
	list_splice_init(&srx->rx_ops, &left);
	spin_unlock_irq(&srx->lock);
	list_for_each_entry_safe(op, next, &left, node) {
		comp = op->comp;
		kfiv_op_unmap(srx->domain, op);
		comp->entry.prov_errno = IB_WC_WR_FLUSH_ERR;
		kfi_srx_cancel(&srx->ep, comp);
	}
	kfiv_domain_put_hw(srx->domain);
unlock:
	mutex_unlock(&srx->mutex);
}

void kfiv_srx_remove(struct kfiv_srx *srx)
{
	kfi_obj_kill(&srx->ep.fid);
	kfiv_srx_free_hw(srx);
}

static void kfiv_srx_close(struct kfid *fid)
{
	struct kfiv_srx *srx = container_of(fid, struct kfiv_srx, ep.fid);

	kfiv_domain_del(srx->domain, &srx->node);
	kfiv_srx_free_hw(srx);
}

static const struct fi_ops kfiv_srx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfiv_srx_close,
	.release = kfi_obj_kfree,
};

static const struct kfi_ep_ops kfiv_srx_ops = {
	.fid = &kfiv_srx_fid_ops,
	.msg = &kfiv_srx_msg_ops,
	.low_water = kfiv_srx_low_water,
};

/* Not inlined: tests let it fail (tests/vm/probe). */
static noinline __noclone int kfiv_srx_create(struct kfiv_srx *srx)
{
	struct ib_srq_init_attr init = {
		.event_handler = kfiv_srx_event,
		.srq_context = srx,
		.attr = { .max_wr = srx->attr.size,
			  .max_sge = srx->attr.iov_limit },
		.srq_type = IB_SRQT_BASIC,
	};
	unsigned int noio = memalloc_noio_save();
	struct ib_srq *srq = ib_create_srq(srx->domain->pd, &init);

	memalloc_noio_restore(noio);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	srx->srq = srq;
	srx->is_open = true;
	return 0;
}

static struct kfiv_srx *kfiv_srx_alloc(struct kfiv_domain *domain,
				       const struct fi_rx_attr *attr)
{
	struct kfiv_srx *srx = kzalloc(sizeof(*srx), GFP_KERNEL);

	if (!srx)
		return NULL;
	srx->domain = domain;
	srx->attr = *attr;
	srx->max_msg_size = domain->dev->max_msg_size;
	srx->rx_free = attr->size;
	mutex_init(&srx->mutex);
	spin_lock_init(&srx->lock);
	INIT_LIST_HEAD(&srx->node);
	INIT_LIST_HEAD(&srx->rx_ops);
	INIT_WORK(&srx->low_work, kfiv_srx_low_work);
	INIT_DELAYED_WORK(&srx->map_timer, kfiv_srx_map_timer);
	hash_init(srx->eps);
	return srx;
}

/* The caller has a count of the domain's hardware, which is the context's then. */
static int kfiv_srx_open(struct kfiv_domain *domain,
			 const struct fi_rx_attr *wish, struct kfiv_srx **out,
			 void *context)
{
	const struct kfiv_device *dev = domain->dev;
	struct fi_rx_attr attr = {
		.size = dev->max_srx,
		.iov_limit =
			min_t(u32, dev->max_sge, dev->ib->attrs.max_srq_sge),
	};
	struct kfiv_srx *srx;
	int ret;

	if (!dev->max_srx)
		return -EOPNOTSUPP;
	ret = kfi_srx_limit(&attr, wish);
	if (ret)
		return ret;
	srx = kfiv_srx_alloc(domain, &attr);
	if (!srx)
		return -ENOMEM;
	ret = kfi_srx_init(&srx->ep, &domain->domain, &attr, &kfiv_srx_ops,
			   context);
	if (ret) {
		kfree(srx);
		return ret;
	}
	*out = srx;
	return 0;
}

int kfiv_srx_context(struct fid_domain *fdomain, const struct fi_rx_attr *attr,
		     struct fid_ep **out, void *context)
{
	struct kfiv_domain *domain = to_kfiv_domain(fdomain);
	struct kfiv_srx *srx;
	int ret;

	if (!kfiv_domain_get_hw(domain))
		return -ENODEV;
	ret = kfiv_srx_open(domain, attr, &srx, context);
	if (ret) {
		kfiv_domain_put_hw(domain);
		return ret;
	}
	ret = kfiv_srx_create(srx);
	if (ret) {
		kfiv_domain_put_hw(domain);
	} else if (!kfiv_domain_add(domain, &srx->node, &domain->srxs)) {
		kfiv_srx_free_hw(srx);
		ret = -ENODEV;
	}
	if (ret) {
		kfi_obj_abort(&srx->ep.fid);
		return ret;
	}
	*out = &srx->ep;
	return 0;
}
