// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: operation memory: its DMA-mapped segments, and its start.
 *
 * Segments are named by the PD's local key, so nothing is registered and
 * nothing is copied. Allocation-free and atomic-safe.
 */
#include "verbs.h"

/* Until a mapping is tried again: others have to end theirs. */
#define MAP_PAUSE_MS 10

size_t kfiv_op_context_size(void)
{
	return KFI_OP_CONTEXT_SIZE(sizeof(struct kfiv_op));
}

void kfiv_op_unmap(struct kfiv_domain *domain, struct kfiv_op *op)
{
	struct ib_device *ib = domain->dev->ib;

	while (op->nr_sge) {
		const struct ib_sge *sge = &op->sge[--op->nr_sge];

		ib_dma_unmap_page(ib, sge->addr, sge->length, op->dir);
	}
}

/* It is not inlined, as tests let it fail (tests/vm/probe). */
static noinline __noclone bool kfiv_dma_map(struct ib_device *ib,
					    const struct kfi_seg *seg,
					    u64 *addr,
					    enum dma_data_direction dir)
{
	*addr = ib_dma_map_page(ib, seg->page, seg->offset, seg->len, dir);
	return !ib_dma_mapping_error(ib, *addr);
}

/*
 * Bounce buffers or addresses of an IOMMU are used up, by others perhaps, so
 * that no completion of ours says when there are some again: time does. Who
 * waits is noted first: the timer may run at once.
 */
int kfiv_map_later(struct fid_ep *ep, struct delayed_work *timer, u64 dir)
{
	int ret = kfi_ep_again(ep, dir);

	queue_delayed_work(kfiv_wq, timer, msecs_to_jiffies(MAP_PAUSE_MS));
	return ret;
}

void kfiv_map_timer(struct work_struct *work)
{
	struct kfiv_ep *ep =
		container_of(to_delayed_work(work), struct kfiv_ep, map_timer);

	local_bh_disable(); /* as upcalls in softirq expect it */
	kfi_ep_space(&ep->ep, FI_TRANSMIT);
	kfi_ep_space(&ep->ep, FI_RECV);
	local_bh_enable();
}

/* Returns the number of segments, or -ENOBUFS: kfiv_map_later(). */
int kfiv_op_map(struct kfiv_domain *domain, struct kfiv_op *op,
		const struct fi_buf *buf, enum dma_data_direction dir,
		u32 max_sge)
{
	const struct kfiv_device *dev = domain->dev;
	struct kfi_buf_iter it;
	struct kfi_seg seg;
	int ret = -E2BIG;
	u64 addr;

	op->dir = dir;
	op->nr_sge = 0;
	kfi_buf_start(&it, buf);
	while (it.left && kfi_buf_next(&it, dev->max_seg, &seg)) {
		if (op->nr_sge == max_sge)
			goto unmap;
		if (!kfiv_dma_map(dev->ib, &seg, &addr, dir)) {
			ret = -ENOBUFS;
			goto unmap;
		}
		op->sge[op->nr_sge++] =
			(struct ib_sge){ .addr = addr,
					 .length = seg.len,
					 .lkey = domain->pd->local_dma_lkey };
	}
	return op->nr_sge;

unmap:
	kfiv_op_unmap(domain, op);
	return ret;
}

/* The operation is the provider's from here until its completion. */
void kfiv_op_begin(struct fid_ep *ep, struct kfiv_op *op,
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
	kfi_trace_post(ep, op->comp);
}
