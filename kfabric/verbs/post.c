// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: the transmit side: from a post to a work request.
 *
 * Everything that a work request needs lives in the operation memory, so that
 * posting neither sleeps nor allocates. Work requests of FI_MORE posts are
 * chained and handed to the device together with the next post without it.
 * Successes that nobody wants to hear of are not signaled, but at times one
 * has to be, or the queue would never be found empty.
 *
 * Every operation of the transmit side goes through kfiv_tx_post(): what the
 * callers differ in is struct kfiv_post. Until kfiv_accept_op() a refused post
 * leaves no trace; from there on the operation is the provider's, and its end
 * is a completion (completion.c).
 *
 * Locking: all under ep->tx_lock, so that ep->tx_ops has the device's order,
 * and so that the device is there as long as the queue is open.
 */
#include <linux/string.h>

#include "dgram.h"

static struct kfiv_op *kfiv_op_of_wr(const struct kfiv_ep *ep,
				     const struct ib_send_wr *wr)
{
	struct kfiv_op *op = kfiv_sink_op(ep, wr);

	if (op)
		return op;
	if (wr->wr_cqe->done == kfiv_back_done)
		return container_of(wr, struct kfiv_op, back.wr);
	return container_of(wr, struct kfiv_op, wr.send);
}

/*
 * Hand the chain to the device. What it refuses is flushed by the stop. So is what has not
 * been handed over when that begins: behind its drain a device would still take it, and
 * what it then says would be of memory that is its owner's again.
 */
void kfiv_chain_hand_over(struct kfiv_ep *ep)
{
	const struct ib_send_wr *bad;
	struct ib_send_wr *first = ep->chain;

	lockdep_assert_held(&ep->tx_lock);
	if (!first || ep->tx_state == KFIV_QUEUE_STOPPED)
		return;
	ep->chain = NULL;
	ep->chain_end = &ep->chain;
	if (!ib_post_send(ep->qp, first, &bad)) {
		ep->unsent = NULL;
		return;
	}
	/* The device refused the chain from bad on: nothing may follow. */
	ep->unsent = kfiv_op_of_wr(ep, bad);
	ep->tx_state = KFIV_QUEUE_STOPPED;
	kfiv_ep_queue_stop(ep);
}

/*
 * The device gets an operation with the next chain. The timer is left alone as long as
 * it runs early enough.
 */
void kfiv_chain_add(struct kfiv_ep *ep, struct kfiv_op *op,
		    struct ib_send_wr *first, struct ib_send_wr *last)
{
	u32 timeout_ms = READ_ONCE(ep->ep.op_timeout_ms);
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);

	lockdep_assert_held(&ep->tx_lock);
	if (!ep->unsent)
		ep->unsent = op;
	if (op->ah)
		kfiv_dgram_keep(ep->dgram, op->ah);
	*ep->chain_end = first;
	ep->chain_end = &last->next;
	if (timeout_ms &&
	    (!ep->timer_armed || time_before(end, ep->timer_end))) {
		ep->timer_armed = true;
		ep->timer_end = end;
		mod_delayed_work(kfiv_wq, &ep->op_timer, end - jiffies);
	}
}

/* Data for the peer's completion cannot travel on iWARP. */
int kfiv_check_data(const struct kfiv_ep *ep, u64 flags)
{
	return (flags & FI_REMOTE_CQ_DATA) && ep->sinks ? -EOPNOTSUPP : 0;
}

/* Without its own memory, or with FI_INJECT, an operation needs a slot. */
static bool kfiv_needs_slot(const struct kfiv_post *post)
{
	return !post->context || (post->flags & FI_INJECT);
}

/* Copy the bytes into a slot; the one segment is the slot's. */
static int kfiv_fill_slot(struct kfiv_ep *ep, struct kfiv_op *op,
			  struct kfiv_slot *slot, const struct fi_buf *buf)
{
	kfi_buf_get(slot->data, buf, 0, buf->len);
	ib_dma_sync_single_for_device(ep->domain->dev->ib, slot->dma,
				      KFIV_INJECT_BYTES, DMA_TO_DEVICE);
	op->sge[0] = (struct ib_sge){ .addr = slot->dma,
				      .length = buf->len,
				      .lkey = ep->domain->pd->local_dma_lkey };
	op->nr_sge = 0;
	return buf->len ? 1 : 0;
}

static bool kfiv_is_atomic(const struct kfiv_post *post)
{
	return post->comp_flags & FI_ATOMIC;
}

static void kfiv_fill_wr(struct kfiv_ep *ep, struct kfiv_op *op,
			 const struct kfiv_post *post, int n)
{
	bool fence = (post->flags & FI_FENCE) && !ep->sinks;
	bool asking;

	op->wr.rdma = (struct ib_rdma_wr){
		.wr = { .wr_cqe = &op->cqe,
			.sg_list = op->sge,
			.num_sge = n,
			.opcode = post->opcode,
			.send_flags = fence ? IB_SEND_FENCE : 0 },
		.remote_addr = post->remote_addr,
		.rkey = post->rkey,
	};
	if (kfiv_is_atomic(post)) {
		op->wr.atomic.remote_addr = post->remote_addr;
		op->wr.atomic.compare_add = post->compare_add;
		op->wr.atomic.swap = post->swap;
		op->wr.atomic.rkey = post->rkey;
	}
	op->ah = NULL;
	if (post->to && !kfiv_dgram_aim(ep->dgram, op, post->to, &asking))
		op->to = *post->to;
	if (post->flags & FI_REMOTE_CQ_DATA)
		op->wr.rdma.wr.ex.imm_data = cpu_to_be32(post->data);
}

/*
 * Is it done when the bytes are in the peer's memory? Then it is two work requests, but
 * for what is answered anyway.
 */
static bool kfiv_reads_back(const struct kfiv_post *post)
{
	return (post->flags & FI_DELIVERY_COMPLETE) && !kfiv_is_atomic(post);
}

static u32 kfiv_places(const struct kfiv_ep *ep, const struct kfiv_post *post)
{
	return kfiv_reads_back(post) ? min_t(size_t, ep->tx_attr.size, 2) : 1;
}

/* Put sinks under what an operation reads, on iWARP. */
static int kfiv_prepare_sinks(struct kfiv_ep *ep, struct kfiv_op *op,
			      const struct kfiv_post *post,
			      struct ib_send_wr **first,
			      struct ib_send_wr **last)
{
	int ret;

	if (post->opcode == IB_WR_RDMA_READ)
		return kfiv_fastreg_map(ep, op, &op->wr.rdma, first, last);
	if (!kfiv_reads_back(post))
		return 0;
	ret = kfiv_fastreg_map(ep, op, &op->back, &op->wr.send.next, last);
	op->reads += !ret; /* what is before the READ */
	return ret;
}

/*
 * What to post: first and last are of the chain of the operation's work
 * requests. On failure nothing is held.
 */
static int kfiv_prepare_op(struct kfiv_ep *ep, struct kfiv_op *op,
			   const struct kfiv_post *post,
			   struct ib_send_wr **first, struct ib_send_wr **last)
{
	int ret = 1;

	if (post->scratch) {
		op->sge[0] = (struct ib_sge){
			.addr = ep->scratch_dma,
			.length = post->buf->len,
			.lkey = ep->domain->pd->local_dma_lkey
		};
		op->nr_sge = 0;
	} else if (op->slot) {
		ret = kfiv_fill_slot(ep, op, op->slot, post->buf);
	} else {
		ret = kfiv_op_map(ep->domain, op, post->buf, post->dir,
				  post->max_sge);
	}
	if (ret < 0)
		return ret;
	kfiv_fill_wr(ep, op, post, ret);
	*first = *last = &op->wr.send;
	if (kfiv_reads_back(post)) {
		kfiv_fill_back(ep, op, post);
		op->wr.send.next = *last = &op->back.wr;
	}
	if (!ep->sinks)
		return 0;
	ret = kfiv_prepare_sinks(ep, op, post, first, last);
	if (ret)
		kfiv_op_unmap(ep->domain, op);
	return ret;
}

/*
 * There is no way back: the operation is counted, ordered and chained. On iWARP
 * it is always signaled: siw reports out of order, and sends what is not signaled
 * from where it lies, when it may be over already. So is a datagram, which
 * may wait for its peer's address, so that nobody knows what is before and behind it.
 */
static void kfiv_accept_op(struct kfiv_ep *ep, struct kfiv_op *op,
			   struct ib_send_wr *first, struct ib_send_wr *last,
			   const struct kfiv_post *post)
{
	bool heard = (post->context && (!ep->ep.tx_selective ||
					(post->flags & FI_COMPLETION))) ||
		     kfi_ep_counts(&ep->ep, post->comp_flags);
	bool back = kfiv_reads_back(post);
	bool waits = post->to && !op->ah;

	if (post->to) {
		op->wr.send.send_flags |= IB_SEND_SIGNALED;
	} else if (back) {
		/* The READ is signaled. */
		ep->tx_quiet = 0;
		if (ep->sinks)
			op->wr.send.send_flags |= IB_SEND_SIGNALED;
	} else if (heard || ep->sinks || ++ep->tx_quiet > ep->tx_quiet_max ||
		   ep->tx_free == 1) {
		ep->tx_quiet = 0;
		op->wr.send.send_flags |= IB_SEND_SIGNALED;
	}
	if (op->slot)
		list_del(&op->slot->node);
	op->places = kfiv_places(ep, post);
	ep->tx_free -= op->places;
	kfi_comp_set(op->comp, post->context, post->flags, post->comp_flags,
		     post->buf->len);
	kfiv_op_begin(&ep->ep, op, back ? kfiv_front_done : kfiv_tx_done,
		      waits ? &ep->dgram->waiting : &ep->tx_ops);
	if (waits)
		kfiv_dgram_kick(ep->dgram);
	else
		kfiv_chain_add(ep, op, first, last);
}

static ssize_t kfiv_post_tx_locked(struct kfiv_ep *ep,
				   const struct kfiv_post *post)
{
	struct ib_send_wr *first, *last;
	struct kfiv_slot *slot = NULL;
	struct kfiv_op *op;
	ssize_t ret;

	if (ep->tx_state != KFIV_QUEUE_OPEN ||
	    fi_ep_state(&ep->ep) !=
		    (ep->dgram ? KFI_EP_ENABLED : KFI_EP_CONNECTED))
		return -ENOTCONN;
	if (kfiv_needs_slot(post))
		slot = list_first_entry_or_null(&ep->slots, struct kfiv_slot,
						node);
	if (ep->tx_free < kfiv_places(ep, post) ||
	    (kfiv_needs_slot(post) && !slot))
		return kfi_ep_again(&ep->ep, FI_TRANSMIT);
	/*
	 * On iWARP a fence is kept here: the reads before it have to be over.
	 * siw knows none on reads, and others end when there is room to send.
	 */
	if ((post->flags & FI_FENCE) && ep->sinks && ep->sinks->used)
		return kfi_ep_again(&ep->ep, FI_TRANSMIT);
	/* The operation and its slot stay free until it is accepted. */
	op = post->context ? kfi_op_priv(post->context) : &slot->op;
	op->comp = post->context ? &post->context->comp : &slot->comp;
	op->slot = slot;
	ret = kfiv_prepare_op(ep, op, post, &first, &last);
	if (ret == -ENOBUFS)
		return kfiv_map_later(&ep->ep, &ep->map_timer, FI_TRANSMIT);
	if (ret == -EAGAIN)
		return kfi_ep_again(&ep->ep, FI_TRANSMIT);
	if (ret)
		return ret;
	kfiv_accept_op(ep, op, first, last, post);
	return 0;
}

/* A refused post ends a chain too: nobody else would. */
ssize_t kfiv_tx_post(struct kfiv_ep *ep, const struct kfiv_post *post)
{
	unsigned long irq;
	ssize_t ret;

	spin_lock_irqsave(&ep->tx_lock, irq);
	ret = kfiv_post_tx_locked(ep, post);
	if (ret || !(post->flags & FI_MORE))
		kfiv_chain_hand_over(ep);
	spin_unlock_irqrestore(&ep->tx_lock, irq);
	return ret;
}

void kfiv_post_submit(struct fid_ep *fep)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	unsigned long irq;

	spin_lock_irqsave(&ep->tx_lock, irq);
	kfiv_chain_hand_over(ep);
	spin_unlock_irqrestore(&ep->tx_lock, irq);
}

/* A post whose bytes are copied and whose success nobody hears of. */
ssize_t kfiv_tx_inject(struct kfiv_ep *ep, struct kfiv_post *post,
		       const void *bytes, size_t len)
{
	struct fi_buf buf = fi_buf_linear(bytes, len);
	int ret;

	ret = kfi_buf_check(&buf, 1, ep->tx_attr.inject_size);
	if (ret)
		return ret;
	post->buf = &buf;
	post->flags = FI_INJECT;
	return kfiv_tx_post(ep, post);
}

int kfiv_tx_post_own_locked(struct kfiv_ep *ep, const struct ib_send_wr *wr)
{
	lockdep_assert_held(&ep->tx_lock);
	kfiv_chain_hand_over(ep);
	if (ep->tx_state != KFIV_QUEUE_OPEN)
		return -ENOTCONN;
	return ib_post_send(ep->qp, wr, NULL);
}

int kfiv_tx_post_own(struct kfiv_ep *ep, const struct ib_send_wr *wr)
{
	unsigned long irq;
	int ret;

	spin_lock_irqsave(&ep->tx_lock, irq);
	ret = kfiv_tx_post_own_locked(ep, wr);
	spin_unlock_irqrestore(&ep->tx_lock, irq);
	return ret;
}

/* ---- messages --------------------------------------------------------- */

static ssize_t kfiv_post_sendmsg(struct fid_ep *fep, const struct fi_msg *msg,
				 u64 flags)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	const struct kfiv_post post = kfiv_send_of(ep, msg, flags);
	int ret;

	ret = kfi_check_tx(fep, msg->context, &msg->buf, flags, &ep->tx_attr,
			   ep->max_msg_size);
	ret = ret ?: kfiv_check_data(ep, flags);
	return ret ?: kfiv_tx_post(ep, &post);
}

static ssize_t kfiv_post_inject(struct fid_ep *fep, const void *bytes,
				size_t len, fi_addr_t dest_addr)
{
	struct kfiv_post post = { .comp_flags = FI_SEND | FI_MSG,
				  .opcode = IB_WR_SEND };

	return kfiv_tx_inject(to_kfiv_ep(fep), &post, bytes, len);
}

const struct fi_ops_msg kfiv_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.sendmsg = kfiv_post_sendmsg,
	.recvmsg = kfiv_recvmsg,
	.inject = kfiv_post_inject,
	.submit = kfiv_post_submit,
};
