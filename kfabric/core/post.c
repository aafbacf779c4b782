// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: posting to providers that queue operations: see kfi_post.h.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: kfi_post_ep.lock.
 */
#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric/kfi_cancel.h>
#include <kfabric/kfi_post.h>

#include "core.h"

#define READ_FLAGS (FI_COMPLETION | FI_MORE | FI_FENCE)

static const u64 kfi_comp_flags[KFI_OP_TYPES] = {
	[KFI_OP_SEND] = FI_SEND | FI_MSG,
	[KFI_OP_RECV] = FI_RECV | FI_MSG,
	[KFI_OP_READ] = FI_READ | FI_RMA,
	[KFI_OP_WRITE] = FI_WRITE | FI_RMA,
	[KFI_OP_FLUSH] = FI_FLUSH | FI_RMA,
	[KFI_OP_ATOMIC] = FI_ATOMIC | FI_WRITE,
	[KFI_OP_FETCH_ATOMIC] = FI_ATOMIC | FI_READ,
};

static struct kfi_post_ep *to_kfi_post_ep(struct fid_ep *fid)
{
	return container_of(fid, struct kfi_post_ep, ep);
}

/* ---- filling in -------------------------------------------------------- */

/*
 * A receive's length is known when it is used. What FI_INJECT promises to have
 * copied when the post returns is copied here.
 */
static void kfi_op_fill(struct kfi_op *op, struct fi_context *ctx,
			enum kfi_op_type type, const struct fi_buf *buf,
			fi_addr_t addr, u64 flags, u64 data)
{
	kfi_comp_set(op->comp, ctx, flags, kfi_comp_flags[type],
		     type == KFI_OP_RECV ? 0 : buf->len);
	op->type = type;
	op->flags = flags;
	op->data = data;
	op->addr = addr;
	op->is_tagged = false;
	op->buf = *buf;
	op->rma_count = 0;
	if (!(flags & FI_INJECT))
		return;
	op->buf = fi_buf_linear(op->inject, buf->len);
	kfi_buf_get(op->inject, buf, 0, buf->len);
}

static struct kfi_op *kfi_op_of(struct fi_context *ctx, enum kfi_op_type type,
				const struct fi_buf *buf, fi_addr_t addr,
				u64 flags, u64 data)
{
	struct kfi_op *op = kfi_op_priv(ctx);

	op->comp = &ctx->comp;
	kfi_op_fill(op, ctx, type, buf, addr, flags, data);
	return op;
}

struct kfi_op *kfi_op_of_recv(const struct fi_msg *msg, u64 flags)
{
	return kfi_op_of(msg->context, KFI_OP_RECV, &msg->buf, msg->addr, flags,
			 0);
}

static void kfi_op_fill_rma(struct kfi_op *op, const struct fi_rma_iov *rma,
			    size_t count)
{
	op->rma_count = count;
	memcpy(op->rma, rma, count * sizeof(*rma));
}

static void kfi_op_fill_tag(struct kfi_op *op, u64 tag, u64 ignore)
{
	struct fi_cq_err_entry *entry = &op->comp->entry;

	op->is_tagged = true;
	op->tag = tag;
	op->ignore = ignore;
	entry->flags ^= FI_MSG | FI_TAGGED;
	entry->tag = tag;
}

/* Operands are copied: their memory is not needed after the post. */
static void kfi_op_fill_atomic(struct kfi_op *op,
			       const struct fi_msg_atomic *msg,
			       const struct fi_buf *compare)
{
	const struct fi_rma_ioc *ioc = msg->rma_iov;
	size_t len = ioc->count * kfabric_datatype_size(msg->datatype);

	op->comp->entry.len = len;
	op->datatype = msg->datatype;
	op->atomic_op = msg->op;
	op->rma_count = 1;
	op->range = (struct fi_rma_iov){ .addr = ioc->addr,
					 .len = len,
					 .key = ioc->key };
	kfi_buf_get(op->inject, &msg->buf, 0, msg->buf.len);
	if (compare)
		kfi_buf_get(op->compare, compare, 0, compare->len);
}

/* ---- handing over ------------------------------------------------------ */

static ssize_t kfi_post_room_locked(struct kfi_post_ep *ep, u64 dir)
{
	int ret;

	lockdep_assert_held(&ep->lock);
	if (ep->broken || (dir == FI_TRANSMIT && !ep->up))
		return -ENOTCONN;
	if (KFI_HAS_OP(ep->ops, ready)) {
		ret = ep->ops->ready(ep, dir);
		if (ret)
			return ret;
	}
	if (dir == FI_RECV ? ep->rx_free : ep->tx_free)
		return 0;
	/* What was posted with FI_MORE must run, to make room. */
	if (dir == FI_TRANSMIT && KFI_HAS_OP(ep->ops, kick))
		ep->ops->kick(ep);
	return kfi_ep_again(&ep->ep, dir);
}

/* As kfi_post_ops.queue(). Nobody completes it before the lock is released. */
static ssize_t kfi_post_queue_locked(struct kfi_post_ep *ep, struct kfi_op *op,
				     u64 dir)
{
	int ret;

	lockdep_assert_held(&ep->lock);
	ret = ep->ops->queue(ep, op);
	if (ret < 0)
		return ret;
	if (dir == FI_RECV)
		ep->rx_free--;
	else
		ep->tx_free--;
	kfi_trace_post(&ep->ep, op->comp);
	return ret;
}

/* The lock is released. Unless the provider keeps it, the endpoint may be gone. */
static ssize_t kfi_post_queued(struct kfi_post_ep *ep, ssize_t ret)
{
	if (ret <= 0)
		return ret;
	ep->ops->posted(ep);
	return 0;
}

static ssize_t kfi_post_queue(struct kfi_post_ep *ep, struct kfi_op *op,
			      u64 dir)
{
	unsigned long irq;
	ssize_t ret;

	spin_lock_irqsave(&ep->lock, irq);
	ret = kfi_post_room_locked(ep, dir);
	if (!ret)
		ret = kfi_post_queue_locked(ep, op, dir);
	spin_unlock_irqrestore(&ep->lock, irq);
	return kfi_post_queued(ep, ret);
}

/* What is to be injected. */
struct kfi_injected {
	enum kfi_op_type type;
	struct fi_buf buf;
	fi_addr_t addr;
	u64 flags;
	u64 data;
	const struct fi_rma_iov *rma; /* of a write */
	const u64 *tag; /* of a message with one */
	const struct fi_msg_atomic *atomic; /* of an atomic operation */
};

/* The operation is in the endpoint's own memory, of which it has enough. */
static ssize_t kfi_post_inject_locked(struct kfi_post_ep *ep,
				      const struct kfi_injected *in)
{
	struct kfi_op *op;
	ssize_t ret;

	ret = kfi_post_room_locked(ep, FI_TRANSMIT);
	if (ret)
		return ret;
	op = list_first_entry_or_null(&ep->slots, struct kfi_op, node);
	if (!op)
		return kfi_ep_again(&ep->ep, FI_TRANSMIT);
	list_del(&op->node);
	kfi_op_fill(op, NULL, in->type, &in->buf, in->addr,
		    FI_INJECT | in->flags, in->data);
	if (in->rma)
		kfi_op_fill_rma(op, in->rma, 1);
	if (in->tag)
		kfi_op_fill_tag(op, *in->tag, 0);
	if (in->atomic)
		kfi_op_fill_atomic(op, in->atomic, NULL);
	ret = kfi_post_queue_locked(ep, op, FI_TRANSMIT);
	if (ret < 0)
		list_add(&op->node, &ep->slots);
	return ret;
}

static ssize_t kfi_post_inject_op(struct kfi_post_ep *ep,
				  const struct kfi_injected *in)
{
	unsigned long irq;
	ssize_t ret;

	ret = kfi_buf_check(&in->buf, 1, ep->tx_attr.inject_size);
	if (ret)
		return ret;
	spin_lock_irqsave(&ep->lock, irq);
	ret = kfi_post_inject_locked(ep, in);
	spin_unlock_irqrestore(&ep->lock, irq);
	return kfi_post_queued(ep, ret);
}

static struct kfi_op *kfi_post_slot_of(struct kfi_comp *comp)
{
	return (void *)comp + ALIGN(sizeof(*comp), sizeof(u64));
}

/* The completion of a failed inject, or of a message of several, was read. */
static void kfi_post_comp_read(struct fid_ep *fid, struct kfi_comp *comp)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	unsigned long irq;

	spin_lock_irqsave(&ep->lock, irq);
	if (!comp->is_part) {
		list_add(&kfi_post_slot_of(comp)->node, &ep->slots);
	} else {
		list_add(&comp->node, &ep->parts);
		if (KFI_HAS_OP(ep->ops, part_free))
			ep->ops->part_free(ep);
	}
	spin_unlock_irqrestore(&ep->lock, irq);
}

int kfi_post_alloc_slots(struct kfi_post_ep *ep, size_t op_bytes)
{
	const size_t head = ALIGN(sizeof(struct kfi_comp), sizeof(u64));
	const size_t stride = head + ALIGN(op_bytes, sizeof(u64));
	struct kfi_comp *comp;
	struct kfi_op *op;
	size_t i;

	ep->ep.comp_read = kfi_post_comp_read;
	ep->slot_mem = kvcalloc(ep->tx_attr.size, stride, GFP_KERNEL);
	if (!ep->slot_mem)
		return -ENOMEM;
	for (i = 0; i < ep->tx_attr.size; i++) {
		comp = ep->slot_mem + i * stride;
		op = kfi_post_slot_of(comp);
		op->comp = comp;
		list_add_tail(&op->node, &ep->slots);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_post_alloc_slots);

int kfi_post_alloc_parts(struct kfi_post_ep *ep, size_t min_left)
{
	size_t i;

	ep->part_mem =
		kvcalloc(ep->rx_attr.size, sizeof(*ep->part_mem), GFP_KERNEL);
	if (!ep->part_mem)
		return -ENOMEM;
	for (i = 0; i < ep->rx_attr.size; i++)
		list_add_tail(&ep->part_mem[i].node, &ep->parts);
	ep->ep.comp_read = kfi_post_comp_read;
	ep->ep.min_multi_recv = min_left;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_post_alloc_parts);

struct fi_info *kfi_post_info(const char *name, size_t queue, size_t iov_limit,
			      size_t op_bytes)
{
	const u64 tx = FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE;
	const u64 rx =
		FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	info->caps = tx | rx | FI_RMA_PMEM;
	*info->tx_attr = (struct fi_tx_attr){
		.caps = tx,
		.msg_order = KFI_ORDER_QUEUE_PAIR,
		.comp_order = FI_ORDER_STRICT,
		.comp_levels = FI_COMPLETION_LEVELS,
		.inject_size = KFI_POST_INJECT_SIZE,
		.size = queue,
		.iov_limit = iov_limit,
		.rma_iov_limit = KFI_POST_RMA_LIMIT,
	};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = rx,
		.msg_order = KFI_ORDER_QUEUE_PAIR,
		.comp_order = FI_ORDER_STRICT,
		.size = queue,
		.iov_limit = iov_limit,
	};
	info->domain_attr->mr_key_size = sizeof(u64);
	info->domain_attr->mr_iov_limit = U32_MAX;
	info->domain_attr->seg_max_size = SIZE_MAX;
	info->domain_attr->cq_data_size = sizeof(u64);
	info->domain_attr->op_context_size = KFI_OP_CONTEXT_SIZE(op_bytes);
	info->domain_attr->name = kstrdup(name, GFP_KERNEL);
	info->fabric_attr->name = kstrdup(name, GFP_KERNEL);
	if (!info->domain_attr->name || !info->fabric_attr->name) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}
EXPORT_SYMBOL_GPL(kfi_post_info);

void kfi_info_messages(struct fi_info *info, u64 msg_order)
{
	struct fi_domain_attr *domain = info->domain_attr;
	struct fi_tx_attr *tx = info->tx_attr;
	struct fi_rx_attr *rx = info->rx_attr;

	info->addr_format = FI_SOCKADDR;
	domain->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
	tx->caps = FI_MSG | FI_SEND;
	tx->msg_order = msg_order;
	tx->comp_order = FI_ORDER_NONE;
	tx->comp_levels = FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE;
	tx->rma_iov_limit = 0;
	rx->caps = FI_MSG | FI_RECV | FI_SOURCE;
	rx->msg_order = msg_order;
	rx->comp_order = FI_ORDER_NONE;
	info->caps = tx->caps | rx->caps | domain->caps;
	domain->mr_mode = 0;
	domain->mr_key_size = 0;
	domain->mr_iov_limit = 0;
	domain->mr_max_size = 0;
	domain->max_ep_srx_ctx = 0;
}
EXPORT_SYMBOL_GPL(kfi_info_messages);

/* ---- messages ---------------------------------------------------------- */

/* What a message leaves at the peer is in its receive, which nothing makes persistent. */
static int kfi_check_send(const struct kfi_post_ep *ep,
			  const struct fi_context *context,
			  const struct fi_buf *buf, u64 flags)
{
	int ret = kfi_check_tx(&ep->ep, context, buf, flags, &ep->tx_attr,
			       ep->max_msg_size);

	if (ret)
		return ret;
	return flags & FI_COMMIT_COMPLETE ? -EOPNOTSUPP : 0;
}

static ssize_t kfi_post_sendmsg(struct fid_ep *fid, const struct fi_msg *msg,
				u64 flags)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	int ret = kfi_check_send(ep, msg->context, &msg->buf, flags);

	if (ret)
		return ret;
	return kfi_post_queue(ep,
			      kfi_op_of(msg->context, KFI_OP_SEND, &msg->buf,
					msg->addr, flags, msg->data),
			      FI_TRANSMIT);
}

static int kfi_check_recv(struct kfi_post_ep *ep,
			  const struct fi_context *context,
			  const struct fi_buf *buf, u64 flags)
{
	int ret;

	if (flags & FI_MULTI_RECV) {
		if (!ep->ep.min_multi_recv)
			return -FI_EBADFLAGS;
		if (buf->type != FI_BUF_LINEAR || !buf->len)
			return -EINVAL;
	}
	ret = kfi_check_rx(&ep->ep, context, buf, flags & ~FI_MULTI_RECV,
			   &ep->rx_attr, ep->max_msg_size);
	if (ret)
		return ret;
	return fi_ep_state(&ep->ep) == KFI_EP_IDLE ? -FI_EOPBADSTATE : 0;
}

static ssize_t kfi_post_recvmsg(struct fid_ep *fid, const struct fi_msg *msg,
				u64 flags)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);

	return kfi_check_recv(ep, msg->context, &msg->buf, flags)
		       ?: kfi_post_queue(ep, kfi_op_of_recv(msg, flags),
					 FI_RECV);
}

static ssize_t kfi_post_inject(struct fid_ep *fid, const void *buf, size_t len,
			       fi_addr_t dest_addr)
{
	const struct kfi_injected in = { .type = KFI_OP_SEND,
					 .buf = fi_buf_linear(buf, len),
					 .addr = dest_addr };

	return kfi_post_inject_op(to_kfi_post_ep(fid), &in);
}

static void kfi_post_submit(struct fid_ep *fid)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	unsigned long irq;

	if (!KFI_HAS_OP(ep->ops, kick))
		return;
	spin_lock_irqsave(&ep->lock, irq);
	ep->ops->kick(ep);
	spin_unlock_irqrestore(&ep->lock, irq);
}

static void kfi_post_submit_inline(struct fid_ep *fid)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);

	if (KFI_HAS_OP(ep->ops, submit_inline))
		ep->ops->submit_inline(ep);
	else
		kfi_post_submit(fid);
}

static int kfi_post_cancel(struct fid_ep *fid, struct fi_context *context)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	unsigned long irq;
	int ret;

	if (!KFI_HAS_OP(ep->ops, cancel))
		return -ENOSYS;
	spin_lock_irqsave(&ep->lock, irq);
	ret = ep->ops->cancel(ep, kfi_op_priv(context));
	spin_unlock_irqrestore(&ep->lock, irq);
	return ret;
}

const struct fi_ops_msg kfi_post_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.sendmsg = kfi_post_sendmsg,
	.recvmsg = kfi_post_recvmsg,
	.inject = kfi_post_inject,
	.submit = kfi_post_submit,
	.submit_inline = kfi_post_submit_inline,
	.cancel = kfi_post_cancel,
};
EXPORT_SYMBOL_GPL(kfi_post_msg_ops);

/* ---- messages with a tag ----------------------------------------------- */

static ssize_t kfi_post_tsendmsg(struct fid_ep *fid,
				 const struct fi_msg_tagged *msg, u64 flags)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	struct kfi_op *op;
	int ret = kfi_check_send(ep, msg->context, &msg->buf, flags);

	if (ret)
		return ret;
	op = kfi_op_of(msg->context, KFI_OP_SEND, &msg->buf, msg->addr, flags,
		       msg->data);
	kfi_op_fill_tag(op, msg->tag, 0);
	return kfi_post_queue(ep, op, FI_TRANSMIT);
}

static ssize_t kfi_post_trecvmsg(struct fid_ep *fid,
				 const struct fi_msg_tagged *msg, u64 flags)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	struct kfi_op *op;
	int ret = kfi_check_recv(ep, msg->context, &msg->buf, flags);

	if (ret)
		return ret;
	op = kfi_op_of(msg->context, KFI_OP_RECV, &msg->buf, msg->addr, flags,
		       0);
	kfi_op_fill_tag(op, msg->tag, msg->ignore);
	return kfi_post_queue(ep, op, FI_RECV);
}

static ssize_t kfi_post_tinject(struct fid_ep *fid, const void *buf, size_t len,
				u64 flags, u64 data, fi_addr_t dest_addr,
				u64 tag)
{
	const struct kfi_injected in = { .type = KFI_OP_SEND,
					 .buf = fi_buf_linear(buf, len),
					 .addr = dest_addr,
					 .flags = flags,
					 .data = data,
					 .tag = &tag };

	return kfi_post_inject_op(to_kfi_post_ep(fid), &in);
}

const struct fi_ops_tagged kfi_post_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recvmsg = kfi_post_trecvmsg,
	.sendmsg = kfi_post_tsendmsg,
	.inject = kfi_post_tinject,
};
EXPORT_SYMBOL_GPL(kfi_post_tagged_ops);

/* ---- remote memory ----------------------------------------------------- */

static ssize_t kfi_post_rma(struct fid_ep *fid, const struct fi_msg_rma *msg,
			    u64 flags, enum kfi_op_type type)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	struct kfi_op *op;
	int ret =
		kfi_check_rma(fid, msg, flags, &ep->tx_attr, ep->max_msg_size);

	if (ret)
		return ret;
	op = kfi_op_of(msg->context, type, &msg->buf, msg->addr, flags,
		       msg->data);
	kfi_op_fill_rma(op, msg->rma_iov, msg->rma_iov_count);
	return kfi_post_queue(ep, op, FI_TRANSMIT);
}

static ssize_t kfi_post_readmsg(struct fid_ep *fid,
				const struct fi_msg_rma *msg, u64 flags)
{
	if (flags & ~READ_FLAGS)
		return -FI_EBADFLAGS;
	return kfi_post_rma(fid, msg, flags, KFI_OP_READ);
}

static ssize_t kfi_post_writemsg(struct fid_ep *fid,
				 const struct fi_msg_rma *msg, u64 flags)
{
	return kfi_post_rma(fid, msg, flags, KFI_OP_WRITE);
}

static ssize_t kfi_post_flush(struct fid_ep *fid,
			      const struct fi_msg_flush *msg, u64 flags)
{
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	const struct fi_buf none = {};
	struct kfi_op *op;
	int ret = kfi_check_flush(fid, msg, flags, &ep->tx_attr);

	if (ret)
		return ret;
	op = kfi_op_of(msg->context, KFI_OP_FLUSH, &none, msg->addr, flags, 0);
	kfi_op_fill_rma(op, msg->rma_iov, msg->rma_iov_count);
	op->flush_mode = msg->mode;
	return kfi_post_queue(ep, op, FI_TRANSMIT);
}

static ssize_t kfi_post_inject_write(struct fid_ep *fid, const void *buf,
				     size_t len, fi_addr_t dest_addr, u64 addr,
				     u64 key)
{
	const struct fi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	const struct kfi_injected in = { .type = KFI_OP_WRITE,
					 .buf = fi_buf_linear(buf, len),
					 .addr = dest_addr,
					 .rma = &rma };
	u64 end;

	if (check_add_overflow(addr, (u64)len, &end))
		return -EINVAL;
	return kfi_post_inject_op(to_kfi_post_ep(fid), &in);
}

const struct fi_ops_rma kfi_post_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.readmsg = kfi_post_readmsg,
	.writemsg = kfi_post_writemsg,
	.inject_write = kfi_post_inject_write,
	.flush = kfi_post_flush,
};
EXPORT_SYMBOL_GPL(kfi_post_rma_ops);

/* ---- atomic operations -------------------------------------------------- */

static ssize_t kfi_post_atomicmsg(struct fid_ep *fid,
				  const struct fi_msg_atomic *msg,
				  const struct fi_buf *compare,
				  const struct fi_buf *result, u64 flags,
				  u64 kind)
{
	static const struct fi_buf none;
	struct kfi_post_ep *ep = to_kfi_post_ep(fid);
	struct kfi_op *op;
	int ret = kfi_check_atomic(fid, msg, compare, result, flags, kind,
				   &ep->tx_attr);

	if (ret)
		return ret;
	if (!msg->context) {
		const struct kfi_injected in = { .type = KFI_OP_ATOMIC,
						 .addr = msg->addr,
						 .atomic = msg };

		return kfi_post_inject_op(ep, &in);
	}
	op = kfi_op_of(msg->context, kind ? KFI_OP_FETCH_ATOMIC : KFI_OP_ATOMIC,
		       result ?: &none, msg->addr, flags & ~FI_INJECT, 0);
	kfi_op_fill_atomic(op, msg, compare);
	return kfi_post_queue(ep, op, FI_TRANSMIT);
}

const struct fi_ops_atomic kfi_post_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.post = kfi_post_atomicmsg,
};
EXPORT_SYMBOL_GPL(kfi_post_atomic_ops);

/* ---- the end of an operation ------------------------------------------- */

void kfi_post_complete(struct kfi_post_ep *ep, struct kfi_comp *comp)
{
	u64 dir = comp->entry.flags & KFI_RX_FLAGS ? FI_RECV : FI_TRANSMIT;
	struct fid_cq *cq = dir == FI_RECV ? ep->ep.rx_cq : ep->ep.tx_cq;
	bool softirq = cq->attr.comp_context != FI_CQ_WORKQUEUE;

	if (softirq)
		local_bh_disable();
	kfi_ep_complete(&ep->ep, comp);
	kfi_ep_space(&ep->ep, dir);
	if (softirq)
		local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_post_complete);

void kfi_post_part(struct kfi_post_ep *ep, struct kfi_comp *comp)
{
	struct kfi_comp copy;

	comp->is_part = true;
	if (ep->ep.rx_cq->attr.comp_handler ||
	    kfi_comp_suppressed(&ep->ep, comp)) {
		copy = *comp;
		kfi_post_comp_read(&ep->ep, comp);
		comp = &copy;
	}
	kfi_post_complete(ep, comp);
}
EXPORT_SYMBOL_GPL(kfi_post_part);

/*
 * Its place is free: what is to be completed, which is @copy if its memory goes. A
 * failed inject keeps its slot, with the completion, until that is read.
 */
static inline struct kfi_comp *kfi_post_free_locked(struct kfi_post_ep *ep,
						    struct kfi_op *op,
						    struct kfi_comp *copy)
{
	const struct fid_cq *cq = ep->ep.tx_cq;
	struct kfi_comp *comp = op->comp;

	lockdep_assert_held(&ep->lock);
	list_del(&op->node);
	if (op->type != KFI_OP_RECV)
		ep->tx_free++;
	else if (!ep->ep.srx)
		ep->rx_free++;
	if (comp->entry.op_context ||
	    (comp->entry.err && !cq->attr.comp_handler))
		return comp;
	/* No queue keeps it, and the next post may take the slot. */
	*copy = *comp;
	list_add(&op->node, &ep->slots);
	return copy;
}

void kfi_post_done(struct kfi_post_ep *ep, struct kfi_op *op)
{
	struct kfi_comp copy, *comp;
	unsigned long irq;

	spin_lock_irqsave(&ep->lock, irq);
	comp = kfi_post_free_locked(ep, op, &copy);
	spin_unlock_irqrestore(&ep->lock, irq);
	kfi_post_complete(ep, comp);
}
EXPORT_SYMBOL_GPL(kfi_post_done);

int kfi_send_cancel(struct list_head *sends, const struct kfi_op *op)
{
	struct kfi_send *send;

	list_for_each_entry(send, sends, node) {
		if (send->op != op)
			continue;
		if (cmpxchg(&send->state, KFI_SEND_WAITS, KFI_SEND_CANCELED) ==
		    KFI_SEND_BEGUN)
			break;
		return 0;
	}
	return -ENOENT;
}
EXPORT_SYMBOL_GPL(kfi_send_cancel);

void kfi_op_end(struct kfi_post_ep *post, struct kfi_op *op,
		struct kfi_send *send, int err, int prov_errno)
{
	struct kfi_comp copy, *comp;
	unsigned long irq;

	spin_lock_irqsave(&post->lock, irq);
	if (send) {
		list_del(&send->node);
		if (send->state == KFI_SEND_CANCELED)
			err = ECANCELED;
	}
	op->comp->entry.err = err;
	op->comp->entry.prov_errno = prov_errno;
	comp = kfi_post_free_locked(post, op, &copy);
	spin_unlock_irqrestore(&post->lock, irq);
	kfi_post_complete(post, comp);
}
EXPORT_SYMBOL_GPL(kfi_op_end);
