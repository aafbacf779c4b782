// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: registered sinks of reads, which iWARP needs.
 *
 * An iWARP read response is a write that names the sink's key on the wire, so
 * the local key must not be used. Each read takes an MR of the queue pair's
 * pool, registers its segments, reads, and has the MR invalidated with the
 * completion. The segments but the first must start, and but the last must
 * end, on page borders.
 *
 * Locking: ep->tx_lock for mapping; the pool has its own lock.
 */
#include <rdma/mr_pool.h>

#include "verbs.h"

int kfiv_fastreg_setup(struct kfiv_ep *ep)
{
	struct ib_device *ib = ep->domain->dev->ib;

	if (!ep->domain->dev->iwarp)
		return 0;
	return ib_mr_pool_init(ep->qp, &ep->qp->rdma_mrs,
			       min_t(size_t, ep->tx_attr.size,
				     2 * KFIV_MAX_READS),
			       IB_MR_TYPE_MEM_REG,
			       min_t(u32, ib->attrs.max_fast_reg_page_list_len,
				     KFIV_QUEUE_SIZE),
			       0);
}

void kfiv_fastreg_teardown(struct kfiv_ep *ep)
{
	if (ep->domain->dev->iwarp)
		ib_mr_pool_destroy(ep->qp, &ep->qp->rdma_mrs);
}

void kfiv_fastreg_put(struct kfiv_ep *ep, struct kfiv_op *op)
{
	struct kfiv_fastreg *reg = op->fastreg;

	if (reg->mr)
		ib_mr_pool_put(ep->qp, &ep->qp->rdma_mrs, reg->mr);
	reg->mr = NULL;
}

/* Describe the mapped segments as a scatterlist. */
static void fill_sg(struct kfiv_fastreg *reg, const struct kfiv_op *op, int n)
{
	int i;

	sg_init_table(reg->sg, n);
	for (i = 0; i < n; i++) {
		sg_dma_address(&reg->sg[i]) = op->sge[i].addr;
		sg_dma_len(&reg->sg[i]) = op->sge[i].length;
		reg->sg[i].length = op->sge[i].length;
	}
}

/* Unsignaled: only failures come here. The read follows it into the error. */
static void reg_failed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_ep *ep = wc->qp->qp_context;

	if (wc->status != IB_WC_SUCCESS)
		kfiv_ep_fail(ep, EIO, wc->status);
}

/* Returns the first work request to post: the registration, then the read. */
struct ib_send_wr *kfiv_fastreg_map(struct kfiv_ep *ep, struct kfiv_op *op)
{
	struct kfiv_fastreg *reg = op->fastreg;
	struct ib_rdma_wr *read = &op->wr.rdma;
	int n = read->wr.num_sge;
	struct ib_mr *mr;

	lockdep_assert_held(&ep->tx_lock);
	mr = ib_mr_pool_get(ep->qp, &ep->qp->rdma_mrs);
	if (!mr)
		return ERR_PTR(-EAGAIN);
	fill_sg(reg, op, n);
	if (ib_map_mr_sg(mr, reg->sg, n, NULL, PAGE_SIZE) != n) {
		ib_mr_pool_put(ep->qp, &ep->qp->rdma_mrs, mr);
		return ERR_PTR(-EINVAL);
	}
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	reg->mr = mr;
	reg->cqe.done = reg_failed;
	reg->wr = (struct ib_reg_wr){
		.wr = { .opcode = IB_WR_REG_MR,
			.wr_cqe = &reg->cqe,
			.next = &read->wr },
		.mr = mr,
		.key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	read->wr.opcode = IB_WR_RDMA_READ_WITH_INV;
	read->wr.ex.invalidate_rkey = mr->rkey;
	reg->sink = (struct ib_sge){ .addr = mr->iova,
				     .length = mr->length,
				     .lkey = mr->rkey };
	read->wr.sg_list = &reg->sink;
	read->wr.num_sge = 1;
	return &reg->wr.wr;
}
