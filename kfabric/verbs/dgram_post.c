// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: datagram endpoints: sending and cancelling.
 *
 * A send whose peer is known goes to the device as any other (post.c). Else it is ready
 * but for that, and waits in dgram->waiting, of whose size the queue's is the bound,
 * until the peer is known, or is known not to be there.
 *
 * Context: posting; kfiv_dgram.work.
 * Locking: ep->tx_lock.
 */
#include "dgram.h"

/* ---- whom it goes to ------------------------------------------------------------ */

/*
 * Say in the work request where it goes, if that is known; else whether that is being
 * asked. The operation gets a reference.
 */
bool kfiv_dgram_aim(struct kfiv_dgram *dgram, struct kfiv_op *op,
		    const struct sockaddr_in6 *to, bool *asking)
{
	struct kfiv_ah *ah = kfiv_peer_ah(dgram, to, asking);

	lockdep_assert_held(&dgram->ep->tx_lock);
	if (!ah)
		return false;
	op->ah = ah;
	op->wr.ud = (struct ib_ud_wr){ .wr = op->wr.send,
				       .ah = ah->ib,
				       .remote_qpn = ah->qpn,
				       .remote_qkey = ah->qkey };
	return true;
}

/* The last one that the device was given is needed to the end, by the drain. */
void kfiv_dgram_keep(struct kfiv_dgram *dgram, struct kfiv_ah *ah)
{
	struct kfiv_ah *old = dgram->last_ah;

	lockdep_assert_held(&dgram->ep->tx_lock);
	if (old == ah)
		return;
	refcount_inc(&ah->refs);
	dgram->last_ah = ah;
	if (old)
		kfiv_ah_put(old);
}

/* ---- those that wait ------------------------------------------------------------ */

/*
 * Give the device all whose peer is known by now: those before them may wait for long.
 * Returns whether somebody has to be asked, and who is the first.
 */
bool kfiv_dgram_send_waiting(struct kfiv_dgram *dgram,
			     struct sockaddr_in6 *unknown)
{
	struct kfiv_ep *ep = dgram->ep;
	struct kfiv_op *op, *next;
	bool asking, found = false;

	spin_lock_irq(&ep->tx_lock);
	list_for_each_entry_safe(op, next, &dgram->waiting, node) {
		if (ep->tx_state != KFIV_QUEUE_OPEN)
			break;
		if (kfiv_dgram_aim(dgram, op, &op->to, &asking)) {
			op->posted = jiffies;
			list_move_tail(&op->node, &ep->tx_ops);
			kfiv_chain_add(ep, op, &op->wr.send, &op->wr.send);
		} else if (!asking && !found) {
			*unknown = op->to;
			found = true;
		}
	}
	kfiv_chain_hand_over(ep);
	spin_unlock_irq(&ep->tx_lock);
	return found;
}

static void kfiv_waiting_fail_locked(struct kfiv_dgram *dgram,
				     struct kfiv_op *op, int err, int status)
{
	lockdep_assert_held(&dgram->ep->tx_lock);
	op->err = err;
	op->status = status;
	dgram->ep->tx_free += op->places;
	list_move_tail(&op->node, &dgram->failed);
	kfiv_dgram_kick(dgram);
}

/* Nobody is there, or nobody says so. */
void kfiv_dgram_fail_waiting(struct kfiv_dgram *dgram,
			     const struct sockaddr_in6 *name, int result)
{
	int err = result == -ENOMEM ? FI_ENOMEM : FI_EHOSTUNREACH;
	struct kfiv_op *op, *next;

	spin_lock_irq(&dgram->ep->tx_lock);
	list_for_each_entry_safe(op, next, &dgram->waiting, node)
		if (!memcmp(&op->to, name, sizeof(*name)))
			kfiv_waiting_fail_locked(dgram, op, err, result);
	spin_unlock_irq(&dgram->ep->tx_lock);
}

/* ---- completing ----------------------------------------------------------------- */

/* Complete these, or leave them to who completes others now. */
void kfiv_dgram_tx_end(struct kfiv_ep *ep, struct list_head *done)
{
	struct kfiv_dgram *dgram = ep->dgram;
	unsigned long irq;

	spin_lock_irqsave(&ep->tx_lock, irq);
	list_splice_tail_init(done, &dgram->ended);
	if (!dgram->ending) {
		dgram->ending = true;
		while (!list_empty(&dgram->ended)) {
			list_splice_init(&dgram->ended, done);
			spin_unlock_irqrestore(&ep->tx_lock, irq);
			kfiv_tx_finish(ep, done);
			INIT_LIST_HEAD(done);
			spin_lock_irqsave(&ep->tx_lock, irq);
		}
		dgram->ending = false;
	}
	spin_unlock_irqrestore(&ep->tx_lock, irq);
}

/* Those that never came to the device. */
void kfiv_dgram_end_failed(struct kfiv_dgram *dgram)
{
	LIST_HEAD(done);

	spin_lock_irq(&dgram->ep->tx_lock);
	list_splice_init(&dgram->failed, &done);
	spin_unlock_irq(&dgram->ep->tx_lock);
	if (!list_empty(&done))
		kfiv_dgram_tx_end(dgram->ep, &done);
}

/*
 * The endpoint has stopped: add what the device does not have to what it had. Returns
 * the first operation that it does not have.
 */
struct kfiv_op *kfiv_dgram_left(struct kfiv_ep *ep, struct kfiv_op *unsent,
				struct list_head *tx)
{
	struct kfiv_dgram *dgram = ep->dgram;

	lockdep_assert_held(&ep->tx_lock);
	if (!unsent)
		unsent = list_first_entry_or_null(&dgram->waiting,
						  struct kfiv_op, node);
	list_splice_tail_init(&dgram->waiting, tx);
	list_splice_tail_init(&dgram->failed, tx);
	return unsent;
}

struct kfiv_drain {
	struct ib_cqe cqe;
	struct completion done;
};

static void kfiv_drained(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&container_of(wc->wr_cqe, struct kfiv_drain, cqe)->done);
}

/*
 * ib_drain_sq() has a work request that a queue pair of this type does not know. Where
 * nothing was ever sent there is nothing to wait for. The queue pair is in error.
 */
void kfiv_dgram_drain_tx(struct kfiv_ep *ep)
{
	const struct kfiv_ah *ah = ep->dgram->last_ah;
	struct kfiv_drain drain = { .cqe.done = kfiv_drained };
	struct ib_ud_wr wr = { .wr = { .wr_cqe = &drain.cqe,
				       .opcode = IB_WR_SEND,
				       .send_flags = IB_SEND_SIGNALED } };

	if (!ah)
		return;
	init_completion(&drain.done);
	wr.ah = ah->ib;
	wr.remote_qpn = ah->qpn;
	wr.remote_qkey = ah->qkey;
	if (!ib_post_send(ep->qp, &wr.wr, NULL))
		wait_for_completion(&drain.done);
}

/* ---- for upper layers ----------------------------------------------------------- */

/* Where a number leads to. */
static int kfiv_dgram_name(struct kfiv_ep *ep, fi_addr_t addr,
			   struct sockaddr_in6 *name)
{
	/* With it the name is there. */
	if (!smp_load_acquire(&ep->dgram->qpn))
		return -FI_EOPBADSTATE;
	if (!kfi_av_name(ep->ep.av, addr, name) ||
	    name->sin6_family != ep->src.ss_family)
		return -EINVAL;
	return 0;
}

static ssize_t kfiv_dgram_sendmsg(struct fid_ep *fep, const struct fi_msg *msg,
				  u64 flags)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	struct sockaddr_in6 to;
	struct kfiv_post post = kfiv_send_of(ep, msg, flags);
	int ret;

	ret = kfi_check_tx(fep, msg->context, &msg->buf, flags, &ep->tx_attr,
			   ep->max_msg_size);
	/* What waits for its peer's answer would keep all others from being sent. */
	if (!ret && (flags & FI_FENCE))
		ret = -EOPNOTSUPP;
	ret = ret ?: kfiv_dgram_name(ep, msg->addr, &to);
	post.to = &to;
	return ret ?: kfiv_tx_post(ep, &post);
}

static ssize_t kfiv_dgram_inject(struct fid_ep *fep, const void *bytes,
				 size_t len, fi_addr_t dest_addr)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	struct sockaddr_in6 to;
	struct kfiv_post post = { .comp_flags = FI_SEND | FI_MSG,
				  .opcode = IB_WR_SEND,
				  .to = &to };
	int ret = kfiv_dgram_name(ep, dest_addr, &to);

	return ret ?: kfiv_tx_inject(ep, &post, bytes, len);
}

static int kfiv_dgram_cancel(struct fid_ep *fep, struct fi_context *context)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	const struct kfiv_op *op = kfi_op_priv(context);
	struct kfiv_op *pos;
	unsigned long irq;
	int ret = -ENOENT;

	if (kfiv_dgram_cancel_rx(ep->dgram, op))
		return 0;
	spin_lock_irqsave(&ep->tx_lock, irq);
	list_for_each_entry(pos, &ep->dgram->waiting, node)
		if (pos == op) {
			kfiv_waiting_fail_locked(ep->dgram, pos, ECANCELED, 0);
			ret = 0;
			break;
		}
	spin_unlock_irqrestore(&ep->tx_lock, irq);
	return ret;
}

const struct fi_ops_msg kfiv_dgram_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.sendmsg = kfiv_dgram_sendmsg,
	.recvmsg = kfiv_dgram_recvmsg,
	.inject = kfiv_dgram_inject,
	.submit = kfiv_post_submit,
	.cancel = kfiv_dgram_cancel,
};
