// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: operation memory: its DMA-mapped segments, and its start.
 *
 * Segments are named by the PD's local key, so nothing is registered and
 * nothing is copied. Allocation-free and atomic-safe.
 */
#include "verbs.h"

/* Bytes of one segment: a length on the wire is 32 bits. */
#define SEGMENT_MAX SZ_1G

size_t kfiv_op_context_size(void)
{
	return KFI_OP_CONTEXT_SIZE(sizeof(struct kfiv_op));
}

void kfiv_op_unmap(struct kfiv_ep *ep, struct kfiv_op *op)
{
	struct ib_device *ib = ep->domain->dev->ib;

	while (op->nr_sge) {
		const struct ib_sge *sge = &op->sge[--op->nr_sge];

		ib_dma_unmap_page(ib, sge->addr, sge->length, op->dir);
	}
}

int kfiv_op_map(struct kfiv_ep *ep, struct kfiv_op *op,
		const struct fi_buf *buf, enum dma_data_direction dir,
		u32 max_sge)
{
	struct ib_device *ib = ep->domain->dev->ib;
	struct kfi_buf_iter it;
	struct kfi_seg seg;
	int ret = -E2BIG;
	u64 addr;

	op->dir = dir;
	op->nr_sge = 0;
	kfi_buf_start(&it, buf);
	while (kfi_buf_next(&it, SEGMENT_MAX, &seg)) {
		if (op->nr_sge == max_sge)
			goto unmap;
		addr = ib_dma_map_page(ib, seg.page, seg.offset, seg.len, dir);
		if (ib_dma_mapping_error(ib, addr)) {
			ret = -EIO;
			goto unmap;
		}
		op->sge[op->nr_sge++] = (struct ib_sge){
			.addr = addr,
			.length = seg.len,
			.lkey = ep->domain->pd->local_dma_lkey
		};
	}
	return op->nr_sge;

unmap:
	kfiv_op_unmap(ep, op);
	return ret;
}

/* The operation is the provider's from here until its completion. */
void kfiv_op_begin(struct kfiv_ep *ep, struct kfiv_op *op,
		   void (*done)(struct ib_cq *cq, struct ib_wc *wc),
		   struct list_head *ops)
{
	op->cqe.done = done;
	op->posted = jiffies;
	op->timed_out = false;
	op->over = false;
	op->err = 0;
	op->status = IB_WC_SUCCESS;
	list_add_tail(&op->node, ops);
	kfi_trace_post(&ep->ep, op->comp);
}
