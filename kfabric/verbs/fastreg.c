// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: registered sinks of reads, which iWARP needs.
 *
 * An iWARP read response is a write that names the sink's key on the wire, so
 * the local key must not be used. A sink registers memory, reads into it, and
 * has the registration invalidated with the completion. It holds one range of
 * pages: where an operation's segments have holes in between, or are long, the
 * operation gets several sinks, and is over when all of them are.
 *
 * There are no more sinks than READs that the peer takes at a time, so that
 * none of them waits in the device. Sinks belong to the endpoint, not to the
 * operations, as siw may report a READ twice when it is flushed.
 *
 * Locking: ep->tx_lock.
 */
#include <linux/slab.h>

#include "verbs.h"

/* ---- set-up ----------------------------------------------------------- */

int kfiv_sinks_alloc(struct kfiv_ep *ep)
{
	struct kfiv_sinks *sinks = kzalloc(sizeof(*sinks), GFP_KERNEL);
	int i;

	if (!sinks)
		return -ENOMEM;
	INIT_LIST_HEAD(&sinks->free);
	sinks->limit = KFIV_MAX_READS;
	for (i = 0; i < KFIV_MAX_READS; i++)
		list_add_tail(&sinks->sink[i].node, &sinks->free);
	ep->sinks = sinks;
	return 0;
}

/*
 * Connected: the peer may take fewer READs than we asked for. One less than it
 * takes, as siw reports a READ before it has forgotten it.
 */
void kfiv_sinks_limit(struct kfiv_ep *ep, const struct rdma_conn_param *conn)
{
	u32 limit = min(conn->initiator_depth, conn->responder_resources);

	if (!ep->sinks || !limit)
		return;
	limit = max(limit - 1, 1U);
	spin_lock_irq(&ep->tx_lock);
	ep->sinks->limit = min(ep->sinks->limit, limit);
	spin_unlock_irq(&ep->tx_lock);
}

int kfiv_fastreg_setup(struct kfiv_ep *ep)
{
	struct ib_device *ib = ep->domain->dev->ib;
	u32 pages = min_t(u32, ib->attrs.max_fast_reg_page_list_len,
			  KFIV_SINK_PAGES);
	struct ib_mr *mr;
	int i;

	for (i = 0; ep->sinks && i < KFIV_MAX_READS; i++) {
		mr = ib_alloc_mr(ep->domain->pd, IB_MR_TYPE_MEM_REG, pages);
		if (IS_ERR(mr)) {
			kfiv_fastreg_teardown(ep);
			return PTR_ERR(mr);
		}
		ep->sinks->sink[i].mr = mr;
	}
	return 0;
}

void kfiv_fastreg_teardown(struct kfiv_ep *ep)
{
	struct kfiv_sink *sink;
	int i;

	for (i = 0; ep->sinks && i < KFIV_MAX_READS; i++) {
		sink = &ep->sinks->sink[i];
		if (sink->mr)
			ib_dereg_mr(sink->mr);
		sink->mr = NULL;
	}
}

/* ---- completion ------------------------------------------------------- */

/* Unsignaled: only failures come here. The read follows it into the error. */
static void kfiv_reg_failed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_ep *ep = wc->qp->qp_context;

	if (wc->status != IB_WC_SUCCESS)
		kfiv_ep_fail(ep, EIO, wc->status);
}

static void kfiv_read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_sink *sink =
		container_of(wc->wr_cqe, struct kfiv_sink, cqe);
	struct kfiv_op *op = sink->op;
	struct kfiv_ep *ep;
	unsigned long irq;

	if (!op)
		return; /* reported before */
	ep = wc->qp->qp_context;
	kfiv_tx_note(ep, op, wc->status);
	sink->op = NULL;
	spin_lock_irqsave(&ep->tx_lock, irq);
	list_add_tail(&sink->node, &ep->sinks->free);
	ep->sinks->used--;
	spin_unlock_irqrestore(&ep->tx_lock, irq);
	if (--op->reads)
		kfi_ep_space(&ep->ep, FI_TRANSMIT);
	else
		kfiv_tx_over(ep, op);
}

/* The queue pair was drained: a READ that is not over will not be. */
void kfiv_sinks_drop(struct kfiv_ep *ep)
{
	int i;

	for (i = 0; ep->sinks && i < KFIV_MAX_READS; i++)
		ep->sinks->sink[i].op = NULL;
}

/* ---- mapping ---------------------------------------------------------- */

/* What of an operation has no sink yet. */
struct rest {
	const struct ib_sge *sge;
	u32 n;
	u64 skip; /* bytes of the first segment */
	u64 remote_addr;
};

/* Register as much of the rest as makes one range. */
static int kfiv_register_range(struct kfiv_ep *ep, struct kfiv_sink *sink,
			       const struct rest *rest)
{
	struct scatterlist *sg = ep->sinks->sg;
	struct ib_mr *mr = sink->mr;
	u64 skip = rest->skip;
	u32 i;
	int n;

	sg_init_table(sg, rest->n);
	for (i = 0; i < rest->n; i++, skip = 0) {
		sg_dma_address(&sg[i]) = rest->sge[i].addr + skip;
		sg_dma_len(&sg[i]) = rest->sge[i].length - skip;
		sg[i].length = rest->sge[i].length - skip;
	}
	n = ib_map_mr_sg(mr, sg, rest->n, NULL, PAGE_SIZE);
	if (n < 0)
		return n;
	if (WARN_ON_ONCE(!mr->length))
		return -EIO;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	sink->reg_cqe.done = kfiv_reg_failed;
	sink->reg = (struct ib_reg_wr){
		.wr = { .opcode = IB_WR_REG_MR,
			.wr_cqe = &sink->reg_cqe,
			.next = &sink->read.wr },
		.mr = mr,
		.key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	sink->sge = (struct ib_sge){ .addr = mr->iova,
				     .length = mr->length,
				     .lkey = mr->rkey };
	sink->read.wr.opcode = IB_WR_RDMA_READ_WITH_INV;
	sink->read.wr.ex.invalidate_rkey = mr->rkey;
	return 0;
}

/* Take a sink for what comes next; a read of nothing needs no memory. */
static int kfiv_take_sink(struct kfiv_ep *ep, const struct kfiv_op *op,
			  u32 rkey, struct rest *rest, struct list_head *taken)
{
	struct kfiv_sinks *sinks = ep->sinks;
	struct kfiv_sink *sink;
	u64 len;
	int ret;

	if (op->reads == sinks->limit)
		return -E2BIG;
	if (sinks->used == sinks->limit)
		return -EAGAIN;
	sink = list_first_entry(&sinks->free, struct kfiv_sink, node);
	sink->sge = (struct ib_sge){};
	sink->cqe.done = kfiv_read_done;
	sink->read = (struct ib_rdma_wr){
		.wr = { .opcode = IB_WR_RDMA_READ,
			.wr_cqe = &sink->cqe,
			.sg_list = &sink->sge,
			.num_sge = 1,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = rest->remote_addr,
		.rkey = rkey,
	};
	if (rest->n) {
		ret = kfiv_register_range(ep, sink, rest);
		if (ret)
			return ret;
		len = sink->mr->length;
		rest->remote_addr += len;
		while (rest->n && rest->skip + len >= rest->sge->length) {
			len -= rest->sge->length - rest->skip;
			rest->skip = 0;
			rest->sge++;
			rest->n--;
		}
		rest->skip += len;
	}
	list_move_tail(&sink->node, taken);
	sinks->used++;
	return 0;
}

/*
 * Put sinks under a read, which is the operation or behind it. first and last are of
 * the chain of its work requests. -EAGAIN: not enough sinks are free.
 */
int kfiv_fastreg_map(struct kfiv_ep *ep, struct kfiv_op *op,
		     const struct ib_rdma_wr *wr, struct ib_send_wr **first,
		     struct ib_send_wr **last)
{
	struct rest rest = { .sge = wr->wr.sg_list,
			     .n = wr->wr.num_sge,
			     .remote_addr = wr->remote_addr };
	struct kfiv_sink *sink, *next;
	struct ib_send_wr **end = first;
	LIST_HEAD(taken);
	int ret;

	lockdep_assert_held(&ep->tx_lock);
	op->reads = 0;
	do {
		ret = kfiv_take_sink(ep, op, wr->rkey, &rest, &taken);
		op->reads += !ret;
	} while (rest.n && !ret);
	if (ret) {
		list_splice(&taken, &ep->sinks->free);
		ep->sinks->used -= op->reads;
		op->reads = 0;
		return ret;
	}
	list_for_each_entry_safe(sink, next, &taken, node) {
		list_del_init(&sink->node);
		sink->op = op;
		*end = sink->sge.length ? &sink->reg.wr : &sink->read.wr;
		*last = &sink->read.wr;
		end = &sink->read.wr.next;
	}
	return 0;
}

/* Return the operation that a work request of a sink belongs to, or NULL. */
struct kfiv_op *kfiv_sink_op(const struct kfiv_ep *ep,
			     const struct ib_send_wr *wr)
{
	const struct kfiv_sink *sink;
	int i;

	for (i = 0; ep->sinks && i < KFIV_MAX_READS; i++) {
		sink = &ep->sinks->sink[i];
		if (wr == &sink->reg.wr || wr == &sink->read.wr)
			return sink->op;
	}
	return NULL;
}
