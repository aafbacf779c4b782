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
	ep->broken = true;
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
static void run_at(struct fault_ep *ep, unsigned long when)
{
	unsigned long irq, now = jiffies;

	spin_lock_irqsave(&ep->post.lock, irq);
	if (!ep->closed)
		queue_delayed_work(fault_wq, &ep->engine,
				   time_after(when, now) ? when - now : 0);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* ---- inner completions ------------------------------------------------- */

static bool is_reported(const struct fault_ep *ep, const struct fault_op *op)
{
	if (!op->base.comp->entry.op_context)
		return false;
	return !ep->post.ep.tx_selective || (op->base.flags & FI_COMPLETION);
}

/* The inner entry is ours but for the context. */
static void copy_entry(struct fault_op *op, const struct fi_cq_err_entry *e)
{
	void *context = op->base.comp->entry.op_context;

	op->base.comp->entry = *e;
	op->base.comp->entry.op_context = context;
}

/* Is the completion of an operation to go wrong, and how? */
static void spoil_locked(struct fault_ep *ep, struct fault_op *op)
{
	bool rx = op->base.type == KFI_OP_RECV;

	lockdep_assert_held(&ep->post.lock);
	if (rx ? fault_hit(lose_recv_nth)
	       : is_reported(ep, op) && fault_hit(lose_nth)) {
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

static void done_locked(struct fault_ep *ep, struct fault_op *op,
			const struct fi_cq_err_entry *e)
{
	lockdep_assert_held(&ep->post.lock);
	if (op->state != FAULT_ISSUED) {
		fault_count(dup_dropped);
		return;
	}
	copy_entry(op, e);
	op->state = FAULT_DONE;
	if (op->base.type == KFI_OP_RECV)
		list_move_tail(&op->base.node, &ep->rx_done);
	if (!e->err)
		spoil_locked(ep, op);
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
	done_locked(ep, op, entry);
	if (fault_happens(dup_permille)) {
		fault_count(duplicated);
		if (fault_knob(dup_ulp))
			op->twice = true;
		else
			done_locked(ep, op, entry);
	}
	fault_kick(ep);
unlock:
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* ---- reporting --------------------------------------------------------- */

/* A second completion needs memory of its own unless an upcall takes it. */
static void complete_again(struct fault_ep *ep, struct kfi_comp *again)
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
static void finish(struct fault_ep *ep, struct fault_op *op)
{
	struct kfi_comp again = *op->base.comp;
	bool twice = op->twice;

	kfi_post_done(&ep->post, &op->base);
	if (twice)
		complete_again(ep, &again);
}

static void fail(struct fault_ep *ep, struct fault_op *op, int err)
{
	op->base.comp->entry.err = err;
	op->twice = false;
	finish(ep, op);
}

/* The first of a list, if it is to be reported now; else when to look. */
static struct fault_op *first_due(struct fault_ep *ep, struct list_head *list)
{
	struct fault_op *op;
	unsigned long irq;
	bool wait;

	spin_lock_irqsave(&ep->post.lock, irq);
	op = list_first_entry_or_null(list, struct fault_op, base.node);
	if (op && op->state != FAULT_DONE)
		op = NULL;
	wait = op && op->late && !ep->broken && time_before(jiffies, op->due);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	if (!wait)
		return op;
	run_at(ep, op->due);
	return NULL;
}

static void report_rx(struct fault_ep *ep)
{
	struct fault_op *op;

	while ((op = first_due(ep, &ep->rx_done)))
		finish(ep, op);
}

static void report_tx(struct fault_ep *ep)
{
	struct fault_op *op;

	while ((op = first_due(ep, &ep->sent)))
		finish(ep, op);
}

static struct fault_op *first_of(struct fault_ep *ep, struct list_head *list)
{
	struct fault_op *op;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	op = list_first_entry_or_null(list, struct fault_op, base.node);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return op;
}

/* Our own limit: the inner provider knows nothing of what was lost. */
static void check_lost(struct fault_ep *ep)
{
	struct fault_op *op = first_of(ep, &ep->lost);

	if (!op || READ_ONCE(ep->broken))
		return;
	if (time_before(jiffies, op->deadline)) {
		run_at(ep, op->deadline);
		return;
	}
	fault_count(timeouts);
	fault_end(ep, FAULT_END_CLOSE);
	fail(ep, op, ETIMEDOUT);
}

/* The connection is broken: everything that is ours fails. */
static void flush_all(struct fault_ep *ep)
{
	struct fault_op *op;

	fault_drop_lines(ep);
	while ((op = first_of(ep, &ep->lost)))
		fail(ep, op, ECANCELED);
	while ((op = first_of(ep, &ep->rx_lost)))
		fail(ep, op, ECANCELED);
	/* What was issued is the inner provider's to end, and comes first. */
	while (!first_of(ep, &ep->sent) && (op = first_of(ep, &ep->queue)))
		fail(ep, op, ECANCELED);
}

/* ---- issuing ----------------------------------------------------------- */

static ssize_t post_msg(struct fault_ep *ep, struct fault_op *op, u64 flags)
{
	struct fi_msg msg = { .buf = op->base.buf,
			      .addr = FI_ADDR_UNSPEC,
			      .context = &op->inner,
			      .data = op->base.data };

	return fi_sendmsg(ep->inner, &msg, flags);
}

static ssize_t post_rma(struct fault_ep *ep, struct fault_op *op, u64 flags)
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

static ssize_t post_flush(struct fault_ep *ep, struct fault_op *op, u64 flags)
{
	struct fi_msg_flush msg = { .mode = op->base.flush_mode,
				    .rma_iov = op->base.rma,
				    .rma_iov_count = op->base.rma_count,
				    .addr = FI_ADDR_UNSPEC,
				    .context = &op->inner };

	return fi_flush(ep->inner, &msg, flags);
}

/* The bytes of an inject are in operation memory, so it is none any more. */
static ssize_t post_inner(struct fault_ep *ep, struct fault_op *op)
{
	/* What follows may be held, and would leave a batch waiting. */
	u64 flags =
		op->base.flags & ~(FI_INJECT | FI_INJECT_COMPLETE | FI_MORE);

	WRITE_ONCE(ep->inner->op_timeout_ms,
		   READ_ONCE(ep->post.ep.op_timeout_ms));
	switch (op->base.type) {
	case KFI_OP_SEND:
		return post_msg(ep, op, flags);
	case KFI_OP_FLUSH:
		return post_flush(ep, op, flags);
	default:
		return post_rma(ep, op, flags);
	}
}

static void move(struct fault_ep *ep, struct fault_op *op,
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

static bool is_gone(ssize_t ret)
{
	return ret == -ENOTCONN || ret == -ENODEV;
}

/* The completion may come before the post returns. */
static int issue(struct fault_ep *ep, struct fault_op *op)
{
	ssize_t ret = fault_empty(ep);

	if (ret == -FI_EAGAIN)
		return ret;
	move(ep, op, FAULT_ISSUED);
	ret = ret ?: post_inner(ep, op);
	if (ret == -FI_EAGAIN) {
		move(ep, op, FAULT_QUEUED);
		return ret;
	}
	if (ret) {
		op->base.comp->entry.err = is_gone(ret) ? ECANCELED : -ret;
		op->state = FAULT_DONE;
	}
	return 0;
}

/* A held write completes as if the peer's NIC had it. */
static int hold(struct fault_ep *ep, struct fault_op *op)
{
	unsigned long irq;
	int ret = fault_hold(ep, op);

	if (ret == -FI_EAGAIN)
		return ret;
	move(ep, op, FAULT_DONE);
	if (ret) {
		op->base.comp->entry.err = ECANCELED;
		return 0;
	}
	spin_lock_irqsave(&ep->post.lock, irq);
	spoil_locked(ep, op);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return 0;
}

static struct fault_op *next_queued(struct fault_ep *ep)
{
	struct fault_op *op = NULL;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	if (ep->up && !ep->broken && ep->end == FAULT_END_NONE)
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
	run_at(ep, jiffies + msecs_to_jiffies(STALL_LOOK_MS));
	return true;
}

static void issue_all(struct fault_ep *ep)
{
	struct fault_op *op;

	while ((op = next_queued(ep))) {
		if (op->cuts) {
			fault_count(link_cuts);
			fault_end(ep, FAULT_END_CLOSE);
			return;
		}
		if (fault_stands(ep, op))
			return;
		if (fault_holds(ep, op) ? hold(ep, op) : issue(ep, op))
			return;
		report_tx(ep);
	}
}

/* ---- the engine -------------------------------------------------------- */

/*
 * We end the connection: when N is dealt with, the inner one goes down. With
 * a power cut it waits for the others, which may be the other ends of ours.
 */
static void run_end(struct fault_ep *ep)
{
	if (!ep->end_begun) {
		ep->end_begun = true;
		fault_end_lines(ep);
	}
	fault_place(ep);
	if (!fault_settled(ep) || READ_ONCE(ep->broken))
		return;
	WRITE_ONCE(ep->end_settled, true);
	if (READ_ONCE(ep->end) == FAULT_END_CUT)
		return;
	fi_shutdown(ep->inner, 0);
	fault_break(ep);
}

void fault_run(struct fault_ep *ep)
{
	report_rx(ep);
	issue_all(ep);
	fault_place(ep);
	report_tx(ep);
	check_lost(ep);
	if (READ_ONCE(ep->end) != FAULT_END_NONE && !READ_ONCE(ep->broken))
		run_end(ep);
	if (READ_ONCE(ep->broken)) {
		report_rx(ep);
		report_tx(ep);
		flush_all(ep);
	}
	wake_up_all(&ep->wait);
}

void fault_engine(struct work_struct *work)
{
	fault_run(container_of(work, struct fault_ep, engine.work));
}
