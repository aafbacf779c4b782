// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: the engine of an endpoint: moves the data of its sends
 * and RMA, in order, and reports all its completions.
 *
 * Context: workqueue; at the end of the endpoint's life its close.
 * Locking and lifetime: see loop.h.
 * Recovery: the first failed operation breaks the connection; both engines
 *	then end what is left with ECANCELED.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "loop.h"

#define COPY_CHUNK (64 * 1024) /* between two chances to reschedule */

/* What loop_execute_op() says besides 0 and positive errors. */
#define WAIT_FOR_RECEIVE (-1)

/* The caller holds ep's post.lock, or its peer's while that points to it. */
void loop_kick(struct loop_ep *ep)
{
	if (!ep->closed)
		mod_delayed_work(loop_wq, &ep->engine, 0);
}

/* End the connection; the engines do the rest. */
void loop_break(struct loop_ep *ep)
{
	struct loop_ep *peer;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	peer = ep->peer;
	if (peer)
		kfi_obj_get(&peer->post.ep.fid);
	ep->post.broken = true;
	loop_kick(ep);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	if (peer) {
		spin_lock_irqsave(&peer->post.lock, irq);
		peer->post.broken = true;
		loop_kick(peer);
		spin_unlock_irqrestore(&peer->post.lock, irq);
		kfi_obj_put(&peer->post.ep.fid);
	}
}

/* ---- reporting -------------------------------------------------------- */

/* The operation memory is gone when this returns, slots are free again. */
static void loop_finish_tx(struct loop_ep *ep, struct kfi_op *op, int err,
			   int why)
{
	struct kfi_comp *comp = op->comp;

	ep->waits = false;
	comp->entry.err = err;
	comp->entry.prov_errno = why;
	kfi_post_done(&ep->post, op);
}

static struct kfi_op *loop_pop_first(struct loop_ep *ep, struct list_head *list)
{
	struct kfi_op *op;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	op = list_first_entry_or_null(list, struct kfi_op, node);
	if (op) {
		list_del(&op->node);
		ep->post.rx_free += !ep->post.ep.srx;
	}
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return op;
}

static void loop_report_rx(struct loop_ep *ep)
{
	struct kfi_op *op;

	while ((op = loop_pop_first(ep, &ep->rx_done)))
		kfi_post_complete(&ep->post, op->comp);
}

/* ---- moving data ------------------------------------------------------ */

static size_t loop_copy_bytes(struct kfi_buf_iter *dst,
			      struct kfi_buf_iter *src, size_t len)
{
	size_t n, done = 0;

	while (done < len) {
		n = kfi_buf_copy(dst, src,
				 min_t(size_t, len - done, COPY_CHUNK));
		if (!n)
			break;
		done += n;
		cond_resched();
	}
	return done;
}

/* Take the peer's next receive out of its queue; NULL: there is none yet. */
static struct kfi_op *loop_take_receive(struct loop_ep *peer)
{
	struct kfi_op *rx;
	unsigned long irq;

	if (peer->post.ep.srx)
		return kfi_srx_take(&peer->post);
	spin_lock_irqsave(&peer->post.lock, irq);
	rx = list_first_entry_or_null(&peer->rx, struct kfi_op, node);
	if (rx)
		list_del(&rx->node);
	else
		peer->sender_waits = true;
	spin_unlock_irqrestore(&peer->post.lock, irq);
	return rx;
}

/* The peer's engine reports the receive. */
static void loop_give_receive(struct loop_ep *peer, struct kfi_op *rx)
{
	unsigned long irq;

	spin_lock_irqsave(&peer->post.lock, irq);
	list_add_tail(&rx->node, &peer->rx_done);
	loop_kick(peer);
	spin_unlock_irqrestore(&peer->post.lock, irq);
}

static void loop_mark_data(struct kfi_op *rx, const struct kfi_op *op)
{
	if (!(op->flags & FI_REMOTE_CQ_DATA))
		return;
	rx->comp->entry.flags |= FI_REMOTE_CQ_DATA;
	rx->comp->entry.data = op->data;
}

static int loop_do_send(struct loop_ep *peer, struct kfi_op *op)
{
	struct kfi_op *rx = loop_take_receive(peer);
	struct fi_cq_err_entry *entry;
	struct kfi_buf_iter src, dst;
	int err = 0;

	if (!rx)
		return WAIT_FOR_RECEIVE;
	entry = &rx->comp->entry;
	loop_mark_data(rx, op);
	if (op->buf.len > rx->buf.len) {
		entry->err = FI_ETRUNC;
		entry->olen = op->buf.len - rx->buf.len;
		err = EREMOTEIO;
	} else {
		kfi_buf_start(&src, &op->buf);
		kfi_buf_start(&dst, &rx->buf);
		entry->len = loop_copy_bytes(&dst, &src, op->buf.len);
	}
	loop_give_receive(peer, rx);
	return err;
}

/* All ranges are checked before the first byte moves. */
static int loop_check_ranges(struct loop_domain *d, const struct kfi_op *op,
			     u64 access, int *why)
{
	struct kfi_table_mr *m;
	u32 i;

	lockdep_assert_held(&d->mr_lock);
	for (i = 0; i < op->rma_count; i++) {
		m = kfi_mr_table_find(&d->mrs, &op->rma[i], access);
		if (IS_ERR(m)) {
			*why = -PTR_ERR(m);
			return EACCES;
		}
	}
	return 0;
}

static int loop_commit_ranges(struct loop_domain *d, const struct kfi_op *op)
{
	const struct fi_rma_iov *r = op->rma;
	struct kfi_table_mr *m;

	for (; r < op->rma + op->rma_count; r++) {
		m = kfi_mr_table_find(&d->mrs, r, FI_REMOTE_WRITE);
		if (!m->attr.commit)
			return EOPNOTSUPP;
		if (m->attr.commit(&m->mr, r->addr - m->mr.iova, r->len))
			return EREMOTEIO;
	}
	return 0;
}

static int loop_do_rma(struct loop_ep *peer, struct kfi_op *op, u64 access,
		       int *why)
{
	struct loop_domain *d = to_loop_domain(peer->post.ep.domain);
	struct kfi_buf_iter local, remote;
	struct kfi_table_mr *m;
	int err;
	u32 i;

	down_read(&d->mr_lock);
	err = loop_check_ranges(d, op, access, why);
	/* Move between the local buffer and checked ranges. */
	kfi_buf_start(&local, &op->buf);
	for (i = 0; !err && i < op->rma_count; i++) {
		m = kfi_mr_table_find(&d->mrs, &op->rma[i], access);
		kfi_buf_start(&remote, &m->attr.buf);
		kfi_buf_advance(&remote, op->rma[i].addr - m->mr.iova);
		if (access == FI_REMOTE_WRITE)
			loop_copy_bytes(&remote, &local, op->rma[i].len);
		else
			loop_copy_bytes(&local, &remote, op->rma[i].len);
	}
	if (!err && (op->flags & FI_COMMIT_COMPLETE))
		err = loop_commit_ranges(d, op);
	up_read(&d->mr_lock);
	return err;
}

/* A write with data uses up a receive, even if it then fails. */
static int loop_do_write(struct loop_ep *peer, struct kfi_op *op, int *why)
{
	struct kfi_op *rx = NULL;
	int err;

	if (op->flags & FI_REMOTE_CQ_DATA) {
		rx = loop_take_receive(peer);
		if (!rx)
			return WAIT_FOR_RECEIVE;
	}
	err = loop_do_rma(peer, op, FI_REMOTE_WRITE, why);
	if (!rx)
		return err;
	loop_mark_data(rx, op);
	rx->comp->entry.flags ^= FI_MSG | FI_RMA;
	rx->comp->entry.len = op->buf.len;
	rx->comp->entry.err = err ? ECANCELED : 0;
	loop_give_receive(peer, rx);
	return err;
}

/* What a peer is refused, prov_errno tells: no key, no access, no range, no alignment. */
static int loop_do_atomic(struct loop_ep *peer, struct kfi_op *op, int *why)
{
	struct loop_domain *d = to_loop_domain(peer->post.ep.domain);
	const struct kfi_atomic a = kfi_post_atomic(op);
	u64 result[KFI_ATOMIC_BYTES / sizeof(u64)];
	struct kfi_table_mr *m;
	int ret;

	down_read(&d->mr_lock);
	m = kfi_mr_table_find(&d->mrs, &op->range, FI_ATOMIC);
	ret = PTR_ERR_OR_ZERO(m);
	if (!ret)
		ret = kfi_atomic_apply(&a, &m->attr.buf,
				       op->range.addr - m->mr.iova, result);
	up_read(&d->mr_lock);
	if (ret) {
		*why = -ret;
		return EACCES;
	}
	if (op->type == KFI_OP_FETCH_ATOMIC)
		kfi_buf_put(&op->buf, 0, result, op->range.len);
	return 0;
}

static int loop_execute_op(struct loop_ep *peer, struct kfi_op *op, int *why)
{
	struct loop_domain *d = to_loop_domain(peer->post.ep.domain);
	int err;

	switch (op->type) {
	case KFI_OP_SEND:
		return loop_do_send(peer, op);
	case KFI_OP_READ:
		return loop_do_rma(peer, op, FI_REMOTE_READ, why);
	case KFI_OP_WRITE:
		return loop_do_write(peer, op, why);
	case KFI_OP_FLUSH:
		if (op->flush_mode != FI_FLUSH_READBACK) {
			down_read(&d->mr_lock);
			err = loop_check_ranges(d, op, FI_REMOTE_WRITE, why);
			if (!err)
				err = loop_commit_ranges(d, op);
			up_read(&d->mr_lock);
			return err;
		}
		kfi_post_make_readback(op);
		return loop_do_rma(peer, op, FI_REMOTE_READ, why);
	case KFI_OP_ATOMIC:
	case KFI_OP_FETCH_ATOMIC:
		return loop_do_atomic(peer, op, why);
	default:
		return EINVAL;
	}
}

/* ---- the engine ------------------------------------------------------- */

/* Wait for the peer to post a receive, within the endpoint's limit. */
static bool loop_may_wait(struct loop_ep *ep)
{
	unsigned long irq;

	if (!ep->waits) {
		ep->waits = true;
		ep->deadline = kfi_post_deadline(&ep->post);
	}
	if (time_after_eq(jiffies, ep->deadline))
		return false;
	spin_lock_irqsave(&ep->post.lock, irq);
	/* Does nothing if the engine was kicked meanwhile. */
	if (!ep->closed)
		queue_delayed_work(loop_wq, &ep->engine,
				   ep->deadline - jiffies);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return true;
}

static void loop_run_tx(struct loop_ep *ep)
{
	struct loop_ep *peer;
	unsigned long irq;
	struct kfi_op *op;
	int err, why;

	for (;;) {
		op = NULL;
		spin_lock_irqsave(&ep->post.lock, irq);
		peer = ep->peer;
		if (ep->post.up && !ep->post.broken && peer)
			op = list_first_entry_or_null(&ep->tx, struct kfi_op,
						      node);
		spin_unlock_irqrestore(&ep->post.lock, irq);
		if (!op)
			return;
		why = 0;
		err = loop_execute_op(peer, op, &why);
		if (err == WAIT_FOR_RECEIVE) {
			if (loop_may_wait(ep))
				return;
			err = ENOBUFS;
		}
		if (err)
			loop_break(ep);
		loop_finish_tx(ep, op, err, why);
		loop_report_rx(ep);
		cond_resched();
	}
}

static void loop_run_engine(struct loop_ep *ep)
{
	struct kfi_op *op;

	loop_report_rx(ep);
	loop_run_tx(ep);
	if (!READ_ONCE(ep->post.broken))
		return;
	kfi_ep_down(&ep->post.ep, ECONNABORTED, 0, NULL, 0);
	kfi_srx_leave(&ep->post);
	/* The peer may have filled more before it saw the break. */
	loop_report_rx(ep);
	while ((op = list_first_entry_or_null(&ep->tx, struct kfi_op, node)))
		loop_finish_tx(ep, op, ECANCELED, 0);
	while ((op = loop_pop_first(ep, &ep->rx))) {
		op->comp->entry.err = ECANCELED;
		kfi_post_complete(&ep->post, op->comp);
	}
}

void loop_engine(struct work_struct *work)
{
	loop_run_engine(container_of(work, struct loop_ep, engine.work));
}

/* ---- the end ---------------------------------------------------------- */

/*
 * When it returns, nobody touches the endpoint's operations any more. The pointers stay
 * until its own engine is out, which may be in the midst of the peer's memory: a peer that
 * finds its pointer gone has nobody to wait for.
 */
void loop_drain(struct loop_ep *ep)
{
	struct loop_ep *peer;
	unsigned long irq;
	bool had;

	spin_lock_irqsave(&ep->post.lock, irq);
	ep->post.broken = true;
	ep->closed = true;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	/* The peer may kick it once more: what is broken moves no data. */
	cancel_delayed_work_sync(&ep->engine);
	spin_lock_irqsave(&ep->post.lock, irq);
	peer = ep->peer;
	ep->peer = NULL;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	if (peer) {
		spin_lock_irqsave(&peer->post.lock, irq);
		had = peer->peer == ep;
		if (had)
			peer->peer = NULL;
		peer->post.broken = true;
		loop_kick(peer);
		spin_unlock_irqrestore(&peer->post.lock, irq);
		/* The reference that the peer had on us is ours now. */
		if (had)
			kfi_obj_put(&ep->post.ep.fid);
		flush_delayed_work(&peer->engine);
		kfi_obj_put(&peer->post.ep.fid);
	}
	cancel_delayed_work_sync(&ep->engine);
	loop_run_engine(ep);
}
