// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: the engine of an endpoint: hands posted operations to
 * the inner endpoint, and delivers all completions.
 *
 * Context: workqueue; at the end of the endpoint's life its close. The inner
 *	queues' upcall only marks operations.
 * Locking, lifetime and recovery: see fault.h. Transmit operations are
 *	delivered in the order of posting, but for lost ones, so that one with
 *	a suppressed completion is never overtaken.
 */
#include <linux/jiffies.h>

#include "fault.h"

#define STALL_LOOK_MS 20

/* Under ep->post.lock. */
void fault_kick(struct fault_ep *ep)
{
	lockdep_assert_held(&ep->post.lock);
	if (!ep->closed)
		mod_delayed_work(fault_wq, &ep->engine, 0);
}

/* The connection is gone. */
void fault_break(struct fault_ep *ep)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	ep->post.broken = true;
	fault_kick(ep);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* End the connection; what N holds is dealt with first. */
void fault_end(struct fault_ep *ep, enum fault_end how)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	if (ep->end == (how == FAULT_END_DOWN ? FAULT_END_CUT : FAULT_END_NONE))
		ep->end = how;
	fault_kick(ep);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* Run again at a time, unless it is kicked before. */
static void fault_run_at(struct fault_ep *ep, unsigned long when)
{
	unsigned long irq, now = jiffies;

	spin_lock_irqsave(&ep->post.lock, irq);
	if (!ep->closed)
		queue_delayed_work(fault_wq, &ep->engine,
				   time_after(when, now) ? when - now : 0);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* ---- inner completions ------------------------------------------------- */

static bool fault_is_reported(const struct fault_ep *ep,
			      const struct fault_op *op)
{
	if (!op->base.comp->entry.op_context)
		return false;
	return !ep->post.ep.tx_selective || (op->base.flags & FI_COMPLETION);
}

/* Is the completion of an operation to go wrong, and how? */
static void fault_spoil_locked(struct fault_ep *ep, struct fault_op *op)
{
	bool rx = op->base.type == KFI_OP_RECV;

	lockdep_assert_held(&ep->post.lock);
	if (rx ? fault_hit(lose_recv_nth)
	       : fault_is_reported(ep, op) && fault_hit(lose_nth)) {
		fault_count(lost);
		op->state = FAULT_LOST;
		list_move_tail(&op->base.node, rx ? &ep->rx_lost : &ep->lost);
		return;
	}
	if (fault_happens(delay_permille)) {
		fault_count(delayed);
		op->late = true;
		op->due = jiffies + msecs_to_jiffies(fault_knob(delay_ms));
	}
}

static void fault_done_locked(struct fault_ep *ep, struct fault_op *op,
			      const struct fi_cq_err_entry *e)
{
	void *context;

	lockdep_assert_held(&ep->post.lock);
	if (op->state != FAULT_ISSUED) {
		fault_count(dup_dropped);
		return;
	}
	context = op->base.comp->entry.op_context;
	/* The inner entry is ours but for the context. */
	op->base.comp->entry = *e;
	op->base.comp->entry.op_context = context;
	op->state = FAULT_DONE;
	if (op->base.type == KFI_OP_RECV)
		list_move_tail(&op->base.node, &ep->rx_done);
	if (!e->err)
		fault_spoil_locked(ep, op);
}

void fault_inner_done(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		      void *context)
{
	struct fault_op *op =
		container_of(entry->op_context, struct fault_op, inner);
	struct fault_ep *ep = context;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	if (op->base.type == FAULT_DRAIN) {
		fault_placed(ep, op, entry->err);
		goto unlock;
	}
	fault_done_locked(ep, op, entry);
	if (fault_happens(dup_permille)) {
		fault_count(duplicated);
		if (fault_knob(dup_ulp))
			op->twice = true;
		else
			fault_done_locked(ep, op, entry);
	}
	fault_kick(ep);
unlock:
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* ---- reporting --------------------------------------------------------- */

/* A second completion needs memory of its own unless an upcall takes it. */
static void fault_complete_again(struct fault_ep *ep, struct kfi_comp *again)
{
	const struct fid_ep *outer = &ep->post.ep;
	const struct fid_cq *cq =
		again->entry.flags & FI_RECV ? outer->rx_cq : outer->tx_cq;

	if (!cq->attr.comp_handler) {
		fault_count(dup_dropped);
		return;
	}
	fault_count(dup_delivered);
	kfi_post_complete(&ep->post, again);
}

/* The operation memory is gone when this returns, slots are free again. */
static void fault_finish_op(struct fault_ep *ep, struct fault_op *op)
{
	struct kfi_comp again = *op->base.comp;
	bool twice = op->twice;

	kfi_post_done(&ep->post, &op->base);
	if (twice)
		fault_complete_again(ep, &again);
}

static void fault_fail_op(struct fault_ep *ep, struct fault_op *op, int err)
{
	op->base.comp->entry.err = err;
	op->twice = false;
	fault_finish_op(ep, op);
}

/* The first of a list, if it is to be reported now; else when to look. */
static struct fault_op *fault_first_due(struct fault_ep *ep,
					struct list_head *list)
{
	struct fault_op *op;
	unsigned long irq;
	bool wait;

	spin_lock_irqsave(&ep->post.lock, irq);
	op = list_first_entry_or_null(list, struct fault_op, base.node);
	if (op && op->state != FAULT_DONE)
		op = NULL;
	wait = op && op->late && !ep->post.broken &&
	       time_before(jiffies, op->due);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	if (!wait)
		return op;
	fault_run_at(ep, op->due);
	return NULL;
}

static void fault_report_rx(struct fault_ep *ep)
{
	struct fault_op *op;

	while ((op = fault_first_due(ep, &ep->rx_done)))
		fault_finish_op(ep, op);
}

static void fault_report_tx(struct fault_ep *ep)
{
	struct fault_op *op;

	while ((op = fault_first_due(ep, &ep->sent)))
		fault_finish_op(ep, op);
}

static struct fault_op *fault_first_of(struct fault_ep *ep,
				       struct list_head *list)
{
	struct fault_op *op;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	op = list_first_entry_or_null(list, struct fault_op, base.node);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return op;
}

/* Our own limit: the inner provider knows nothing of what was lost. */
static void fault_check_lost(struct fault_ep *ep)
{
	struct fault_op *op = fault_first_of(ep, &ep->lost);

	if (!op || READ_ONCE(ep->post.broken))
		return;
	if (time_before(jiffies, op->deadline)) {
		fault_run_at(ep, op->deadline);
		return;
	}
	fault_count(timeouts);
	fault_end(ep, FAULT_END_CLOSE);
	fault_fail_op(ep, op, ETIMEDOUT);
}

/* The connection is broken: everything that is ours fails. */
static void fault_flush_all(struct fault_ep *ep)
{
	struct fault_op *op;

	fault_drop_lines(ep);
	while ((op = fault_first_of(ep, &ep->lost)))
		fault_fail_op(ep, op, ECANCELED);
	while ((op = fault_first_of(ep, &ep->rx_lost)))
		fault_fail_op(ep, op, ECANCELED);
	/* What was issued is the inner provider's to end, and comes first. */
	while (!fault_first_of(ep, &ep->sent) &&
	       (op = fault_first_of(ep, &ep->queue)))
		fault_fail_op(ep, op, ECANCELED);
}

/* ---- issuing ----------------------------------------------------------- */

static ssize_t fault_post_msg(struct fault_ep *ep, struct fault_op *op,
			      u64 flags)
{
	struct fi_msg msg = { .buf = op->base.buf,
			      .addr = FI_ADDR_UNSPEC,
			      .context = &op->inner,
			      .data = op->base.data };

	return fi_sendmsg(ep->inner, &msg, flags);
}

static ssize_t fault_post_rma(struct fault_ep *ep, struct fault_op *op,
			      u64 flags)
{
	struct fi_msg_rma msg = { .buf = op->base.buf,
				  .rma_iov = op->base.rma,
				  .rma_iov_count = op->base.rma_count,
				  .addr = FI_ADDR_UNSPEC,
				  .context = &op->inner,
				  .data = op->base.data };

	return op->base.type == KFI_OP_READ
		       ? fi_readmsg(ep->inner, &msg, flags)
		       : fi_writemsg(ep->inner, &msg, flags);
}

static ssize_t fault_post_flush(struct fault_ep *ep, struct fault_op *op,
				u64 flags)
{
	struct fi_msg_flush msg = { .mode = op->base.flush_mode,
				    .rma_iov = op->base.rma,
				    .rma_iov_count = op->base.rma_count,
				    .addr = FI_ADDR_UNSPEC,
				    .context = &op->inner };

	return fi_flush(ep->inner, &msg, flags);
}

static ssize_t fault_post_atomic(struct fault_ep *ep, struct fault_op *op,
				 u64 flags)
{
	const struct kfi_atomic a = kfi_post_atomic(&op->base);
	const size_t len = op->base.range.len;
	const struct fi_buf compare = fi_buf_linear(a.compare, len);
	const struct fi_rma_ioc ioc = { .addr = op->base.range.addr,
					.count = a.count,
					.key = op->base.range.key };
	struct fi_msg_atomic msg = { .rma_iov = &ioc,
				     .rma_iov_count = 1,
				     .addr = FI_ADDR_UNSPEC,
				     .datatype = a.datatype,
				     .op = a.op,
				     .context = &op->inner };

	if (a.op != FI_ATOMIC_READ)
		msg.buf = fi_buf_linear(a.operand, len);
	if (op->base.type == KFI_OP_ATOMIC)
		return fi_atomicmsg(ep->inner, &msg, flags);
	if (a.op < FI_CSWAP)
		return fi_fetch_atomicmsg(ep->inner, &msg, &op->base.buf,
					  flags);
	return fi_compare_atomicmsg(ep->inner, &msg, &compare, &op->base.buf,
				    flags);
}

/* The bytes of an inject are in operation memory, so it is none any more. */
static ssize_t fault_post_inner(struct fault_ep *ep, struct fault_op *op)
{
	/* What follows may be held, and would leave a batch waiting. */
	u64 flags =
		op->base.flags & ~(FI_INJECT | FI_INJECT_COMPLETE | FI_MORE);

	WRITE_ONCE(ep->inner->op_timeout_ms,
		   READ_ONCE(ep->post.ep.op_timeout_ms));
	switch (op->base.type) {
	case KFI_OP_SEND:
		return fault_post_msg(ep, op, flags);
	case KFI_OP_FLUSH:
		return fault_post_flush(ep, op, flags);
	case KFI_OP_ATOMIC:
	case KFI_OP_FETCH_ATOMIC:
		return fault_post_atomic(ep, op, flags);
	default:
		return fault_post_rma(ep, op, flags);
	}
}

static void fault_move_op(struct fault_ep *ep, struct fault_op *op,
			  enum fault_op_state state)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	op->state = state;
	if (state == FAULT_QUEUED)
		list_move(&op->base.node, &ep->queue);
	else
		list_move_tail(&op->base.node, &ep->sent);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* The completion may come before the post returns. */
static int fault_issue_op(struct fault_ep *ep, struct fault_op *op)
{
	ssize_t ret = fault_empty(ep);

	if (ret == -FI_EAGAIN)
		return ret;
	fault_move_op(ep, op, FAULT_ISSUED);
	ret = ret ?: fault_post_inner(ep, op);
	if (ret == -FI_EAGAIN) {
		fault_move_op(ep, op, FAULT_QUEUED);
		return ret;
	}
	if (ret) {
		op->base.comp->entry.err =
			ret == -ENOTCONN || ret == -ENODEV ? ECANCELED : -ret;
		op->state = FAULT_DONE;
	}
	return 0;
}

/* A held write completes as if the peer's NIC had it. */
static int fault_hold_op(struct fault_ep *ep, struct fault_op *op)
{
	unsigned long irq;
	int ret = fault_hold(ep, op);

	if (ret == -FI_EAGAIN)
		return ret;
	fault_move_op(ep, op, FAULT_DONE);
	if (ret) {
		op->base.comp->entry.err = ECANCELED;
		return 0;
	}
	spin_lock_irqsave(&ep->post.lock, irq);
	fault_spoil_locked(ep, op);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return 0;
}

static struct fault_op *fault_next_queued(struct fault_ep *ep)
{
	struct fault_op *op = NULL;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	if (ep->post.up && !ep->post.broken && ep->end == FAULT_END_NONE)
		op = list_first_entry_or_null(&ep->queue, struct fault_op,
					      base.node);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return op;
}

/*
 * Nothing tells the engine that the knob is 0 again: it looks. The time limit of
 * operations does not end a stall: what waits for it is what tests are about.
 */
static bool fault_stands(struct fault_ep *ep, const struct fault_op *op)
{
	if (!op->stalls || !fault_knob(stall))
		return false;
	fault_run_at(ep, jiffies + msecs_to_jiffies(STALL_LOOK_MS));
	return true;
}

static void fault_issue_all(struct fault_ep *ep)
{
	struct fault_op *op;

	while ((op = fault_next_queued(ep))) {
		if (op->cuts) {
			fault_count(link_cuts);
			fault_end(ep, FAULT_END_CLOSE);
			return;
		}
		if (fault_stands(ep, op))
			return;
		if (fault_holds(ep, op) ? fault_hold_op(ep, op)
					: fault_issue_op(ep, op))
			return;
		fault_report_tx(ep);
	}
}

/* ---- the engine -------------------------------------------------------- */

/*
 * We end the connection: when N is dealt with, the inner one goes down. With
 * a power cut it waits for the others, which may be the other ends of ours.
 */
static void fault_run_end(struct fault_ep *ep)
{
	if (!ep->end_begun) {
		ep->end_begun = true;
		fault_end_lines(ep);
	}
	fault_place(ep);
	if (!fault_settled(ep) || READ_ONCE(ep->post.broken))
		return;
	WRITE_ONCE(ep->end_settled, true);
	if (READ_ONCE(ep->end) == FAULT_END_CUT)
		return;
	fi_shutdown(ep->inner, 0);
	fault_break(ep);
}

void fault_run(struct fault_ep *ep)
{
	fault_report_rx(ep);
	fault_issue_all(ep);
	fault_place(ep);
	fault_report_tx(ep);
	fault_check_lost(ep);
	if (READ_ONCE(ep->end) != FAULT_END_NONE && !READ_ONCE(ep->post.broken))
		fault_run_end(ep);
	if (READ_ONCE(ep->post.broken)) {
		fault_report_rx(ep);
		fault_report_tx(ep);
		fault_flush_all(ep);
	}
	wake_up_all(&ep->wait);
}

void fault_engine(struct work_struct *work)
{
	fault_run(container_of(work, struct fault_ep, engine.work));
}
