// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: from work completions to completions of operations.
 *
 * A queue pair completes in order. So a signaled send-side completion also
 * ends, with success, every quiet operation before it. On iWARP nothing is
 * quiet and nothing is taken for granted: siw reports a write when it is sent,
 * before a read that was posted earlier. What is over waits for what was posted
 * before it, since an operation's memory is its owner's again when a later one
 * completes. When the queue pair
 * fails, the operation at fault gets the reason and every one after it is
 * flushed: FI_ECANCELED, or FI_ETIMEDOUT if it was why we ended it.
 *
 * Context: that of the device's CQ; for what is left then, the stop, after the
 * queue pair was drained, so that completions of one side still come one after
 * the other.
 */
#include "dgram.h"

static const u16 kfiv_wc_errno[] = {
	[IB_WC_SUCCESS] = 0,
	[IB_WC_LOC_LEN_ERR] = EMSGSIZE,
	[IB_WC_LOC_QP_OP_ERR] = EIO,
	[IB_WC_LOC_EEC_OP_ERR] = EIO,
	[IB_WC_LOC_PROT_ERR] = EIO,
	[IB_WC_WR_FLUSH_ERR] = ECANCELED,
	[IB_WC_MW_BIND_ERR] = EIO,
	[IB_WC_BAD_RESP_ERR] = EREMOTEIO,
	[IB_WC_LOC_ACCESS_ERR] = EACCES,
	[IB_WC_REM_INV_REQ_ERR] = EREMOTEIO,
	[IB_WC_REM_ACCESS_ERR] = EACCES,
	[IB_WC_REM_OP_ERR] = EREMOTEIO,
	[IB_WC_RETRY_EXC_ERR] = ETIMEDOUT,
	[IB_WC_RNR_RETRY_EXC_ERR] = ENOBUFS,
	[IB_WC_LOC_RDD_VIOL_ERR] = EIO,
	[IB_WC_REM_INV_RD_REQ_ERR] = EREMOTEIO,
	[IB_WC_REM_ABORT_ERR] = ECONNABORTED,
	[IB_WC_INV_EECN_ERR] = EIO,
	[IB_WC_INV_EEC_STATE_ERR] = EIO,
	[IB_WC_FATAL_ERR] = EIO,
	[IB_WC_RESP_TIMEOUT_ERR] = ETIMEDOUT,
	[IB_WC_GENERAL_ERR] = EIO,
};

static int kfiv_wc_to_errno(enum ib_wc_status status)
{
	return status < ARRAY_SIZE(kfiv_wc_errno) ? kfiv_wc_errno[status] : EIO;
}

static int kfiv_tx_errno(const struct kfiv_ep *ep, const struct kfiv_op *op,
			 enum ib_wc_status status)
{
	/* siw says so of what it was sending when the stream ended. */
	if (ep->sinks && status == IB_WC_LOC_QP_OP_ERR)
		status = IB_WC_WR_FLUSH_ERR;
	if (op->timed_out && status == IB_WC_WR_FLUSH_ERR)
		return ETIMEDOUT;
	return kfiv_wc_to_errno(status);
}

/*
 * The receiving side of a message that is too long. The specification says a
 * length error; soft RoCE reports what it tells the peer, or, when the last
 * segment is overrun, that the receive is malformed.
 */
int kfiv_rx_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_LOC_LEN_ERR:
	case IB_WC_LOC_QP_OP_ERR:
	case IB_WC_REM_INV_REQ_ERR:
		return FI_ETRUNC;
	default:
		return kfiv_wc_to_errno(status);
	}
}

/* The operation is over; its memory may be gone when this returns. */
void kfiv_op_finish(struct kfiv_ep *ep, struct kfiv_op *op, int err, int status)
{
	struct kfi_comp *comp = op->comp;

	kfiv_op_unmap(ep->domain, op);
	comp->entry.err = err;
	comp->entry.prov_errno = status;
	kfi_ep_complete(&ep->ep, comp);
}

/* ---- transmit --------------------------------------------------------- */

/*
 * Move everything up to and with op to the list, as far as it is over. Of what has left
 * nothing is asked any more: its memory is its owner's.
 */
static void kfiv_collect_over(struct kfiv_ep *ep, struct kfiv_op *op,
			      struct list_head *done)
{
	struct list_head *last = &op->node;
	struct kfiv_op *pos;
	unsigned long irq;

	spin_lock_irqsave(&ep->tx_lock, irq);
	op->over = true;
	if (ep->sinks) {
		last = &ep->tx_ops;
		list_for_each_entry(pos, &ep->tx_ops, node) {
			if (!pos->over)
				break;
			last = &pos->node;
		}
	}
	list_cut_position(done, &ep->tx_ops, last);
	list_for_each_entry(pos, done, node) {
		ep->tx_free += pos->places;
		if (pos == ep->asked_for)
			ep->asked_for = NULL;
	}
	spin_unlock_irqrestore(&ep->tx_lock, irq);
}

static void kfiv_finish_tx(struct kfiv_ep *ep, struct kfiv_op *op,
			   struct list_head *slots)
{
	struct kfiv_slot *slot = op->slot;
	struct kfiv_ah *ah = op->ah;

	/*
	 * Of a failed fi_inject() the completion is in its slot until somebody reads it,
	 * who may have the slot at once.
	 */
	if (op->err && !op->comp->entry.op_context &&
	    !ep->ep.tx_cq->attr.comp_handler)
		slot = NULL;
	kfiv_op_finish(ep, op, op->err, op->status);
	if (ah)
		kfiv_ah_put(ah);
	if (slot)
		list_add(&slot->node, slots);
}

/* The completion of a failed fi_inject() was read. */
void kfiv_comp_read(struct fid_ep *fep, struct kfi_comp *comp)
{
	struct kfiv_slot *slot = container_of(comp, struct kfiv_slot, comp);
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	unsigned long irq;

	spin_lock_irqsave(&ep->tx_lock, irq);
	list_add(&slot->node, &ep->slots);
	spin_unlock_irqrestore(&ep->tx_lock, irq);
}

/* How a part of an operation ended: the first failure is the operation's. */
void kfiv_tx_note(struct kfiv_ep *ep, struct kfiv_op *op,
		  enum ib_wc_status status)
{
	if (op->err)
		return;
	op->err = kfiv_tx_errno(ep, op, status);
	op->status = status;
	if (op->err)
		kfiv_ep_fail(ep, op->err, op->status);
}

/* Operations that have left their queue, and say how they ended, are completed. */
void kfiv_tx_finish(struct kfiv_ep *ep, struct list_head *done)
{
	struct kfiv_op *pos, *next;
	unsigned long irq;
	LIST_HEAD(slots);

	list_for_each_entry_safe(pos, next, done, node)
		kfiv_finish_tx(ep, pos, &slots);
	/* A slot is free again only when its operation has been completed. */
	if (!list_empty(&slots)) {
		spin_lock_irqsave(&ep->tx_lock, irq);
		list_splice(&slots, &ep->slots);
		spin_unlock_irqrestore(&ep->tx_lock, irq);
	}
	kfi_ep_space(&ep->ep, FI_TRANSMIT);
}

/* The device has done with an operation, which says how it ended. */
void kfiv_tx_over(struct kfiv_ep *ep, struct kfiv_op *op)
{
	LIST_HEAD(done);

	kfiv_collect_over(ep, op, &done);
	if (ep->dgram)
		kfiv_dgram_tx_end(ep, &done);
	else
		kfiv_tx_finish(ep, &done);
}

void kfiv_tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_op *op = container_of(wc->wr_cqe, struct kfiv_op, cqe);
	struct kfiv_ep *ep = wc->qp->qp_context;

	kfiv_tx_note(ep, op, wc->status);
	kfiv_tx_over(ep, op);
}

/*
 * An operation that has a READ behind it, which ends with that. Only a failure of this
 * part comes here, and the READ's, which follows it into the error, is still to come,
 * so that the operation's memory is needed. On iWARP success comes, too.
 */
void kfiv_front_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_op *op = container_of(wc->wr_cqe, struct kfiv_op, cqe);
	struct kfiv_ep *ep = wc->qp->qp_context;

	kfiv_tx_note(ep, op, wc->status);
	if (ep->sinks && !--op->reads)
		kfiv_tx_over(ep, op);
}

/* That READ, unless it has a sink. */
void kfiv_back_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_op *op = container_of(wc->wr_cqe, struct kfiv_op, back_cqe);
	struct kfiv_ep *ep = wc->qp->qp_context;

	kfiv_tx_note(ep, op, wc->status);
	kfiv_tx_over(ep, op);
}

/* ---- receive ---------------------------------------------------------- */

void kfiv_rx_finish(struct kfiv_ep *ep, struct kfiv_op *op,
		    const struct ib_wc *wc)
{
	struct fi_cq_err_entry *entry = &op->comp->entry;
	int err = kfiv_rx_errno(wc->status);

	if (!err) {
		entry->len = wc->byte_len;
		if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
			entry->flags = FI_RECV | FI_RMA;
		if (wc->wc_flags & IB_WC_WITH_IMM) {
			entry->flags |= FI_REMOTE_CQ_DATA;
			entry->data = be32_to_cpu(wc->ex.imm_data);
		}
	}
	kfiv_op_finish(ep, op, err, wc->status);
}

void kfiv_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_op *op = container_of(wc->wr_cqe, struct kfiv_op, cqe);
	struct kfiv_ep *ep = wc->qp->qp_context;
	unsigned long irq;

	if (wc->status)
		kfiv_ep_fail(ep, kfiv_rx_errno(wc->status), wc->status);
	spin_lock_irqsave(&ep->rx_lock, irq);
	list_del(&op->node);
	ep->rx_free++;
	spin_unlock_irqrestore(&ep->rx_lock, irq);
	kfiv_rx_finish(ep, op, wc);
	kfi_ep_space(&ep->ep, FI_RECV);
}

/* ---- what is left after the drain ------------------------------------- */

/*
 * The device reports every operation that it did not do. So those that it has
 * and said nothing of are quiet ones that it did.
 */
void kfiv_flush_left(struct kfiv_ep *ep)
{
	struct kfiv_op *op, *next, *unsent;
	bool done = !ep->sinks;
	LIST_HEAD(slots);
	LIST_HEAD(tx);
	LIST_HEAD(rx);

	lockdep_assert_held(&ep->mutex);
	spin_lock_irq(&ep->tx_lock);
	list_splice_init(&ep->tx_ops, &tx);
	unsent = ep->unsent;
	if (ep->dgram)
		unsent = kfiv_dgram_left(ep, unsent, &tx);
	ep->chain = NULL;
	ep->chain_end = &ep->chain;
	spin_unlock_irq(&ep->tx_lock);
	spin_lock_irq(&ep->rx_lock);
	list_splice_init(&ep->rx_ops, &rx);
	spin_unlock_irq(&ep->rx_lock);

	kfiv_sinks_drop(ep);
	local_bh_disable(); /* as upcalls in softirq expect it */
	list_for_each_entry_safe(op, next, &tx, node) {
		done = done && op != unsent;
		if (!done && !op->over && !op->err) {
			op->status = IB_WC_WR_FLUSH_ERR;
			op->err = kfiv_tx_errno(ep, op, op->status);
		}
		kfiv_finish_tx(ep, op, &slots);
	}
	list_for_each_entry_safe(op, next, &rx, node)
		kfiv_op_finish(ep, op, ECANCELED, IB_WC_WR_FLUSH_ERR);
	local_bh_enable();
}

/* ---- time ------------------------------------------------------------- */

/*
 * An empty WRITE behind quiet operations, of which the device tells: it is over when they
 * are. The peer looks at neither its key nor its address (InfiniBand, C9-88).
 */
static bool kfiv_ask_locked(struct kfiv_ep *ep)
{
	const struct ib_rdma_wr wr = { .wr = { .wr_cqe = &ep->asked,
					       .opcode = IB_WR_RDMA_WRITE,
					       .send_flags =
						       IB_SEND_SIGNALED } };

	lockdep_assert_held(&ep->tx_lock);
	/* Noted first: the answer may come before the post returns. */
	ep->asked_for = list_last_entry(&ep->tx_ops, struct kfiv_op, node);
	if (!kfiv_tx_post_own_locked(ep, &wr.wr))
		return true;
	ep->asked_for = NULL;
	return false;
}

/*
 * Those that were asked for are still under way, unless this fails: then the quiet ones
 * have failed before it, or the stop ends them. Nobody else takes them off meanwhile:
 * that is done where the device's CQ is read, and it is read by one at a time.
 */
void kfiv_asked_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_ep *ep = container_of(wc->wr_cqe, struct kfiv_ep, asked);
	struct kfiv_op *op = READ_ONCE(ep->asked_for);

	if (wc->status)
		kfiv_ep_fail(ep, kfiv_wc_to_errno(wc->status), wc->status);
	else if (op)
		kfiv_tx_over(ep, op);
}

/*
 * Is the time of what is under way over? A quiet operation may be done, so that the first
 * one that the device tells of counts; where all are quiet they are asked for, which has
 * the same time again. Otherwise *end says when, in jiffies.
 */
static bool kfiv_time_is_over_locked(struct kfiv_ep *ep, unsigned long limit,
				     unsigned long *end)
{
	struct kfiv_op *oldest =
		list_first_entry(&ep->tx_ops, struct kfiv_op, node);
	struct kfiv_op *told = NULL, *op;

	lockdep_assert_held(&ep->tx_lock);
	/* The first one that the device tells of; none: all are quiet. */
	list_for_each_entry(op, &ep->tx_ops, node)
		if ((op->wr.send.send_flags & IB_SEND_SIGNALED) ||
		    op->cqe.done == kfiv_front_done) {
			told = op;
			break;
		}
	*end = ep->asked_for ? ep->asked_end : (told ?: oldest)->posted + limit;
	if (time_before(jiffies, *end))
		return false;
	if (!ep->asked_for && !told && kfiv_ask_locked(ep)) {
		ep->asked_end = jiffies + limit;
		*end = ep->asked_end;
		return false;
	}
	/* Which one does not end nobody knows: the device has done none behind it. */
	oldest->timed_out = true;
	if (told)
		told->timed_out = true;
	return true;
}

/*
 * One timer for all operations: it runs at most once per timeout, and not at
 * all when nothing is under way.
 */
void kfiv_op_timer(struct work_struct *work)
{
	struct kfiv_ep *ep =
		container_of(to_delayed_work(work), struct kfiv_ep, op_timer);
	unsigned long limit = msecs_to_jiffies(READ_ONCE(ep->ep.op_timeout_ms));
	bool expired = false;
	unsigned long end;

	spin_lock_irq(&ep->tx_lock);
	ep->timer_armed = false;
	if (!list_empty(&ep->tx_ops) && limit &&
	    ep->tx_state != KFIV_QUEUE_STOPPED) {
		expired = kfiv_time_is_over_locked(ep, limit, &end);
		if (!expired) {
			ep->timer_armed = true;
			ep->timer_end = end;
			mod_delayed_work(kfiv_wq, &ep->op_timer, end - jiffies);
		}
	}
	spin_unlock_irq(&ep->tx_lock);
	if (expired)
		kfiv_ep_fail(ep, ETIMEDOUT, 0);
}
