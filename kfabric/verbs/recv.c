// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: receives.
 *
 * Receives may be posted from fi_enable() on, but the queue pair of a
 * connecting endpoint comes only when the route has told which port to use.
 * Until then they are held, mapped and ready, in ep->rx_ops.
 */
#include "verbs.h"

/* What the device refuses is flushed by the stop. */
static void kfiv_recv_hand_over(struct kfiv_ep *ep, struct kfiv_op *op)
{
	lockdep_assert_held(&ep->rx_lock);
	if (ep->rx_state != KFIV_QUEUE_OPEN)
		return;
	if (ib_post_recv(ep->qp, &op->wr.recv, NULL)) {
		ep->rx_state = KFIV_QUEUE_STOPPED;
		kfiv_ep_queue_stop(ep);
	}
}

int kfiv_recv_prepare(struct kfiv_domain *domain, const struct fi_msg *msg,
		      u64 flags, u32 max_sge)
{
	struct kfiv_op *op = kfi_op_priv(msg->context);
	int ret = kfiv_op_map(domain, op, &msg->buf, DMA_FROM_DEVICE, max_sge);

	if (ret < 0)
		return ret;
	op->wr.recv = (struct ib_recv_wr){ .wr_cqe = &op->cqe,
					   .sg_list = op->sge,
					   .num_sge = ret };
	op->comp = &msg->context->comp;
	kfi_comp_set(op->comp, msg->context, flags, FI_RECV | FI_MSG,
		     msg->buf.len);
	return 0;
}

static ssize_t kfiv_post_rx_locked(struct kfiv_ep *ep, const struct fi_msg *msg,
				   u64 flags)
{
	struct kfiv_op *op = kfi_op_priv(msg->context);
	enum kfi_ep_state state = fi_ep_state(&ep->ep);
	ssize_t ret;

	if (state == KFI_EP_IDLE || ep->rx_state == KFIV_QUEUE_CLOSED)
		return -FI_EOPBADSTATE;
	if (state > KFI_EP_CONNECTED || ep->rx_state == KFIV_QUEUE_STOPPED)
		return -ENOTCONN;
	if (!ep->rx_free)
		return kfi_ep_again(&ep->ep, FI_RECV);
	ret = kfiv_recv_prepare(ep->domain, msg, flags, ep->rx_attr.iov_limit);
	if (ret == -ENOBUFS)
		return kfiv_map_later(&ep->ep, &ep->map_timer, FI_RECV);
	if (ret)
		return ret;
	op->slot = NULL;
	ep->rx_free--;
	kfiv_op_begin(&ep->ep, op, kfiv_rx_done, &ep->rx_ops);
	kfiv_recv_hand_over(ep, op);
	return 0;
}

ssize_t kfiv_recvmsg(struct fid_ep *fep, const struct fi_msg *msg, u64 flags)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	unsigned long irq;
	ssize_t ret;

	ret = kfi_check_rx(fep, msg->context, &msg->buf, flags, &ep->rx_attr,
			   ep->max_msg_size);
	if (ret)
		return ret;
	spin_lock_irqsave(&ep->rx_lock, irq);
	ret = kfiv_post_rx_locked(ep, msg, flags);
	spin_unlock_irqrestore(&ep->rx_lock, irq);
	return ret;
}

/* The queue pair is there: hand over what was held. */
void kfiv_rx_open(struct kfiv_ep *ep)
{
	struct kfiv_op *op;
	unsigned long irq;

	spin_lock_irqsave(&ep->rx_lock, irq);
	ep->rx_state = KFIV_QUEUE_OPEN;
	list_for_each_entry(op, &ep->rx_ops, node)
		kfiv_recv_hand_over(ep, op);
	spin_unlock_irqrestore(&ep->rx_lock, irq);
}
