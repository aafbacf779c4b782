// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: datagram endpoints: receiving: the endpoint's own buffers, which the
 * queue pair receives into, and the receives that they are copied into.
 *
 * There are as many buffers as receives may be posted, each of the largest MTU that
 * there is: a port's may rise, and a datagram that a receive has no room for would be
 * the queue pair's end. So what is longer than any MTU, which soft RoCE takes from
 * whoever sends it, is received, too, and dropped. A datagram that has no receive yet
 * keeps its buffer; when all are kept, the device drops what comes.
 *
 * Context: that of the device's CQ, or kfiv_dgram.work.
 * Locking: ep->rx_lock.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "dgram.h"

/* ---- the buffers ---------------------------------------------------------------- */

static void kfiv_rbuf_done(struct ib_cq *cq, struct ib_wc *wc);

/*
 * Memory that the device writes into; NULL: there is none. Inlined: tests let it fail
 * for one of those who ask, by what allocates so much (tests/vm/probe).
 */
static __always_inline void *
kfiv_rx_mem_alloc(struct ib_device *ib, size_t bytes, gfp_t gfp, u64 *dma)
{
	void *mem = kmalloc(bytes, gfp);

	if (!mem)
		return NULL;
	*dma = ib_dma_map_single(ib, mem, bytes, DMA_FROM_DEVICE);
	if (!ib_dma_mapping_error(ib, *dma))
		return mem;
	kfree(mem);
	return NULL;
}

static void kfiv_rx_mem_free(struct ib_device *ib, void *mem, size_t bytes,
			     u64 dma)
{
	if (mem)
		ib_dma_unmap_single(ib, dma, bytes, DMA_FROM_DEVICE);
	kfree(mem);
}

/* The queue pair is gone, or never was. */
void kfiv_rbufs_free(struct kfiv_dgram *dgram)
{
	struct ib_device *ib = dgram->ep->domain->dev->ib;
	u32 i;

	if (!dgram->bufs)
		return;
	for (i = 0; i < dgram->nr_bufs; i++)
		kfiv_rx_mem_free(ib, dgram->bufs[i].data, KFIV_RBUF_BYTES,
				 dgram->bufs[i].dma);
	kfiv_rx_mem_free(ib, dgram->grhs, dgram->nr_bufs * KFIV_GRH_STRIDE,
			 dgram->grhs_dma);
	kfiv_rx_mem_free(ib, dgram->rest, KFIV_REST_BYTES, dgram->rest_dma);
	kvfree(dgram->bufs);
	dgram->bufs = NULL;
}

/* What is there on failure is freed with the hardware. */
int kfiv_rbufs_alloc(struct kfiv_dgram *dgram)
{
	struct ib_device *ib = dgram->ep->domain->dev->ib;
	struct kfiv_rbuf *buf;
	u32 i;

	dgram->nr_bufs = dgram->ep->rx_attr.size;
	dgram->bufs =
		kvcalloc(dgram->nr_bufs, sizeof(*dgram->bufs), GFP_KERNEL);
	if (!dgram->bufs)
		return -ENOMEM;
	dgram->grhs =
		kfiv_rx_mem_alloc(ib, dgram->nr_bufs * KFIV_GRH_STRIDE,
				  GFP_KERNEL | __GFP_ZERO, &dgram->grhs_dma);
	if (!dgram->grhs)
		return -ENOMEM;
	dgram->rest = kfiv_rx_mem_alloc(ib, KFIV_REST_BYTES, GFP_KERNEL,
					&dgram->rest_dma);
	if (!dgram->rest)
		return -ENOMEM;
	for (i = 0; i < dgram->nr_bufs; i++) {
		buf = &dgram->bufs[i];
		buf->cqe.done = kfiv_rbuf_done;
		buf->grh = dgram->grhs + i * KFIV_GRH_STRIDE;
		buf->grh_dma = dgram->grhs_dma + i * KFIV_GRH_STRIDE;
		buf->data = kfiv_rx_mem_alloc(ib, KFIV_RBUF_BYTES, GFP_KERNEL,
					      &buf->dma);
		if (!buf->data)
			return -ENOMEM;
	}
	return 0;
}

/* Give a buffer to the device, under ep->rx_lock. */
static int kfiv_rbuf_post(struct kfiv_dgram *dgram, struct kfiv_rbuf *buf)
{
	u32 lkey = dgram->ep->domain->pd->local_dma_lkey;
	struct ib_sge sge[KFIV_DGRAM_SGES] = {
		{ .addr = buf->grh_dma,
		  .length = sizeof(struct ib_grh),
		  .lkey = lkey },
		{ .addr = buf->dma, .length = KFIV_RBUF_BYTES, .lkey = lkey },
		{ .addr = dgram->rest_dma,
		  .length = KFIV_REST_BYTES,
		  .lkey = lkey },
	};
	struct ib_recv_wr wr = { .wr_cqe = &buf->cqe,
				 .sg_list = sge,
				 .num_sge = kfiv_dgram_sges(
					 dgram->ep->domain->dev) };

	lockdep_assert_held(&dgram->ep->rx_lock);
	return ib_post_recv(dgram->ep->qp, &wr, NULL);
}

int kfiv_rbufs_post(struct kfiv_dgram *dgram)
{
	struct kfiv_ep *ep = dgram->ep;
	int ret = 0;
	u32 i;

	spin_lock_irq(&ep->rx_lock);
	for (i = 0; i < dgram->nr_bufs && !ret; i++)
		ret = kfiv_rbuf_post(dgram, &dgram->bufs[i]);
	spin_unlock_irq(&ep->rx_lock);
	return ret;
}

/* A buffer is empty again. What the device refuses is the endpoint's end. */
static void kfiv_rbuf_repost(struct kfiv_dgram *dgram, struct kfiv_rbuf *buf)
{
	struct ib_device *ib = dgram->ep->domain->dev->ib;
	struct kfiv_ep *ep = dgram->ep;
	unsigned long irq;
	int ret = 0;

	ib_dma_sync_single_for_device(ib, buf->grh_dma, sizeof(struct ib_grh),
				      DMA_FROM_DEVICE);
	ib_dma_sync_single_for_device(ib, buf->dma, KFIV_RBUF_BYTES,
				      DMA_FROM_DEVICE);
	spin_lock_irqsave(&ep->rx_lock, irq);
	if (ep->rx_state == KFIV_QUEUE_OPEN)
		ret = kfiv_rbuf_post(dgram, buf);
	spin_unlock_irqrestore(&ep->rx_lock, irq);
	if (ret)
		kfiv_ep_fail(ep, EIO, ret);
}

/* ---- what has come -------------------------------------------------------------- */

/*
 * Where a datagram comes from: nowhere that is known if its header is of no kind that
 * there is. RoCE has a header in each, whether the device says so or not.
 */
static void kfiv_source_of(const struct kfiv_dgram *dgram,
			   const struct ib_wc *wc, const void *grh,
			   struct kfiv_source *source)
{
	const struct ib_device *ib = dgram->ep->domain->dev->ib;
	bool roce = rdma_cap_eth_ah(ib, dgram->port_num);
	enum rdma_network_type type = RDMA_NETWORK_IB;
	union ib_gid to;

	memset(source, 0, sizeof(*source));
	source->qpn = wc->src_qp;
	if (!roce && !(wc->wc_flags & IB_WC_GRH)) {
		kfiv_lid_gid(&source->gid, wc->slid);
		return;
	}
	if (roce && (wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE))
		type = wc->network_hdr_type;
	else if (roce)
		type = ib_get_rdma_header_version(grh) == 4 ? RDMA_NETWORK_IPV4
							    : RDMA_NETWORK_IPV6;
	if (ib_get_gids_from_rdma_hdr(grh, type, &source->gid, &to))
		source->qpn = 0;
}

/*
 * A length of less than the header's is none that a device may tell. Of one that is too
 * long for the buffer the rest is lost, and it is no datagram.
 */
static void kfiv_rbuf_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kfiv_rbuf *buf = container_of(wc->wr_cqe, struct kfiv_rbuf, cqe);
	struct kfiv_ep *ep = wc->qp->qp_context;
	struct ib_device *ib = ep->domain->dev->ib;
	struct kfiv_dgram *dgram = ep->dgram;
	unsigned long irq;

	if (wc->status != IB_WC_SUCCESS) {
		kfiv_ep_fail(ep, EIO, wc->status);
		return;
	}
	if (wc->byte_len < sizeof(struct ib_grh) ||
	    wc->byte_len - sizeof(struct ib_grh) > KFIV_RBUF_BYTES) {
		kfiv_rbuf_repost(dgram, buf);
		return;
	}
	ib_dma_sync_single_for_cpu(ib, buf->grh_dma, sizeof(struct ib_grh),
				   DMA_FROM_DEVICE);
	ib_dma_sync_single_for_cpu(ib, buf->dma, KFIV_RBUF_BYTES,
				   DMA_FROM_DEVICE);
	buf->len = wc->byte_len - sizeof(struct ib_grh);
	buf->has_imm = wc->wc_flags & IB_WC_WITH_IMM;
	buf->imm = buf->has_imm ? be32_to_cpu(wc->ex.imm_data) : 0;
	kfiv_source_of(dgram, wc, buf->grh, &buf->source);
	spin_lock_irqsave(&ep->rx_lock, irq);
	list_add_tail(&buf->node, &dgram->arrived);
	spin_unlock_irqrestore(&ep->rx_lock, irq);
	if (kfiv_dgram_deliver(dgram))
		kfiv_dgram_kick(dgram);
}

/* ---- receives ------------------------------------------------------------------- */

/* Copy a datagram into its receive, which it may be too long for. */
static int kfiv_rbuf_copy(struct kfiv_dgram *dgram, const struct kfiv_rbuf *buf,
			  struct kfiv_op *op)
{
	struct fi_cq_err_entry *entry = &op->comp->entry;
	struct sockaddr_in6 name;

	entry->len = min_t(size_t, buf->len, op->wr.buf.len);
	entry->olen = buf->len - entry->len;
	kfi_buf_put(&op->wr.buf, 0, buf->data, entry->len);
	if (buf->has_imm) {
		entry->flags |= FI_REMOTE_CQ_DATA;
		entry->data = buf->imm;
	}
	entry->src_addr = FI_ADDR_UNSPEC;
	if (kfiv_peer_name(dgram, &buf->source, &name)) {
		dgram->last_from = kfi_av_find_again(dgram->ep->ep.av, &name,
						     dgram->last_from);
		entry->src_addr = dgram->last_from;
	}
	return entry->olen ? FI_ETRUNC : 0;
}

/* What is to be completed next: a canceled receive, or one for which something is there. */
static struct kfiv_op *kfiv_next_rx_locked(struct kfiv_dgram *dgram,
					   struct kfiv_rbuf **buf)
{
	struct kfiv_ep *ep = dgram->ep;
	struct kfiv_op *op;

	lockdep_assert_held(&ep->rx_lock);
	*buf = NULL;
	op = list_first_entry_or_null(&dgram->canceled, struct kfiv_op, node);
	if (!op) {
		op = list_first_entry_or_null(&ep->rx_ops, struct kfiv_op,
					      node);
		*buf = list_first_entry_or_null(&dgram->arrived,
						struct kfiv_rbuf, node);
		if (!op || !*buf)
			return NULL;
		list_del(&(*buf)->node);
	}
	list_del(&op->node);
	ep->rx_free++;
	return op;
}

/*
 * Complete receives, unless somebody does it already, who then does these, too.
 * Returns whether some are left for another run.
 */
bool kfiv_dgram_deliver(struct kfiv_dgram *dgram)
{
	struct kfiv_ep *ep = dgram->ep;
	struct kfiv_rbuf *buf;
	struct kfiv_op *op;
	unsigned long irq;
	int n, err;

	spin_lock_irqsave(&ep->rx_lock, irq);
	if (dgram->delivering || dgram->closed) {
		spin_unlock_irqrestore(&ep->rx_lock, irq);
		return false;
	}
	dgram->delivering = true;
	for (n = 0; n < KFIV_BATCH; n++) {
		op = kfiv_next_rx_locked(dgram, &buf);
		if (!op)
			break;
		spin_unlock_irqrestore(&ep->rx_lock, irq);
		err = ECANCELED;
		if (buf) {
			err = kfiv_rbuf_copy(dgram, buf, op);
			kfiv_rbuf_repost(dgram, buf);
		}
		/* Without the lock; the operation memory is gone when this returns. */
		kfiv_op_finish(ep, op, err, 0);
		kfi_ep_space(&ep->ep, FI_RECV);
		spin_lock_irqsave(&ep->rx_lock, irq);
	}
	dgram->delivering = false;
	spin_unlock_irqrestore(&ep->rx_lock, irq);
	return n == KFIV_BATCH;
}

static ssize_t kfiv_dgram_post_rx_locked(struct kfiv_ep *ep,
					 const struct fi_msg *msg, u64 flags)
{
	struct kfiv_op *op = kfi_op_priv(msg->context);

	if (ep->rx_state == KFIV_QUEUE_CLOSED)
		return -FI_EOPBADSTATE;
	if (ep->rx_state == KFIV_QUEUE_STOPPED)
		return -ENOTCONN;
	if (!ep->rx_free)
		return kfi_ep_again(&ep->ep, FI_RECV);
	op->comp = &msg->context->comp;
	op->slot = NULL;
	op->nr_sge = 0;
	op->wr.buf = msg->buf;
	ep->rx_free--;
	kfi_comp_set(op->comp, msg->context, flags, FI_RECV | FI_MSG, 0);
	kfiv_op_begin(&ep->ep, op, NULL, &ep->rx_ops);
	/* No completion comes within a post. */
	if (!list_empty(&ep->dgram->arrived))
		kfiv_dgram_kick(ep->dgram);
	return 0;
}

ssize_t kfiv_dgram_recvmsg(struct fid_ep *fep, const struct fi_msg *msg,
			   u64 flags)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	unsigned long irq;
	ssize_t ret;

	if (!msg->context)
		return -EINVAL;
	if (flags & ~(FI_COMPLETION | FI_MORE))
		return -FI_EBADFLAGS;
	if (fi_ep_state(fep) == KFI_EP_IDLE)
		return -FI_EOPBADSTATE;
	ret = kfi_buf_check(&msg->buf, ep->rx_attr.iov_limit, ep->max_msg_size);
	if (ret)
		return ret;
	spin_lock_irqsave(&ep->rx_lock, irq);
	ret = kfiv_dgram_post_rx_locked(ep, msg, flags);
	spin_unlock_irqrestore(&ep->rx_lock, irq);
	return ret;
}

/*
 * A context that is over may be named: only what is on the list is looked into. When the
 * endpoint stops all that is there is canceled.
 */
bool kfiv_dgram_cancel_rx(struct kfiv_dgram *dgram, const struct kfiv_op *op)
{
	struct kfiv_ep *ep = dgram->ep;
	struct kfiv_op *pos;
	unsigned long irq;
	bool found = false;

	spin_lock_irqsave(&ep->rx_lock, irq);
	if (ep->rx_state != KFIV_QUEUE_OPEN)
		goto unlock;
	list_for_each_entry(pos, &ep->rx_ops, node)
		if (pos == op) {
			list_move_tail(&pos->node, &dgram->canceled);
			kfiv_dgram_kick(dgram);
			found = true;
			break;
		}
unlock:
	spin_unlock_irqrestore(&ep->rx_lock, irq);
	return found;
}
