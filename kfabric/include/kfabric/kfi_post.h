/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers that queue operations and run them by themselves: the
 * posting side, which is the same for all of them.
 *
 * Such a provider puts struct kfi_post_ep where others put struct fid_ep,
 * begins its part of operation memory with struct kfi_op, points its vectors
 * at kfi_post_msg_ops, kfi_post_rma_ops, kfi_post_tagged_ops and
 * kfi_post_atomic_ops, and brings struct kfi_post_ops.
 * The core then checks each post, fills in the operation, copies what is
 * injected, counts free places, and hands the operation over. The provider
 * runs it, and ends it with kfi_post_done().
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: kfi_post_ep.lock, irq-safe; the provider uses it for its own queues
 *	too. It is initialised in the provider's code, so that a layer's lock
 *	is of another class than that of the provider below it.
 */
#ifndef KFABRIC_KFI_POST_H
#define KFABRIC_KFI_POST_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>

#include <kfabric/kfi_atomic.h>
#include <kfabric/kfi_provider.h>

/* Limits of these providers; tx_attr must not promise more. */
#define KFI_POST_INJECT_SIZE 64
#define KFI_POST_RMA_LIMIT   4

/* A flush by readback reads so many bytes at most; they fit into kfi_op.inject. */
#define KFI_POST_READBACK_SIZE 8

/**
 * enum kfi_op_type - what was posted
 * @KFI_OP_SEND: fi_sendmsg(), fi_inject(), fi_tsendmsg(), fi_tinject()
 * @KFI_OP_RECV: fi_recvmsg(), fi_trecvmsg()
 * @KFI_OP_READ: fi_readmsg()
 * @KFI_OP_WRITE: fi_writemsg(), fi_inject_write()
 * @KFI_OP_FLUSH: fi_flush()
 * @KFI_OP_ATOMIC: fi_atomicmsg(), fi_inject_atomic()
 * @KFI_OP_FETCH_ATOMIC: fi_fetch_atomicmsg(), fi_compare_atomicmsg()
 * @KFI_OP_TYPES: how many types there are; the provider's own begin here
 */
enum kfi_op_type {
	KFI_OP_SEND,
	KFI_OP_RECV,
	KFI_OP_READ,
	KFI_OP_WRITE,
	KFI_OP_FLUSH,
	KFI_OP_ATOMIC,
	KFI_OP_FETCH_ATOMIC,
	KFI_OP_TYPES,
};

/**
 * struct kfi_op - an operation; heads the private part of operation memory
 * @node: the provider's
 * @comp: the operation's completion
 * @type: &enum kfi_op_type, or one of the provider's own
 * @flush_mode: of a flush
 * @flags: of the post
 * @data: of the post; of a shared receive its number, by which they are in order
 * @addr: of the post
 * @is_tagged: a send or receive with a tag
 * @tag: of the post
 * @ignore: of the post
 * @datatype: &enum fi_datatype of an atomic operation
 * @atomic_op: &enum fi_op of an atomic operation
 * @buf: local buffer; with FI_INJECT @inject; of an atomic operation the result's buffer
 * @rma_count: how many remote ranges
 * @rma: remote ranges
 * @range: of an atomic operation
 * @compare: of an atomic operation: what is compared
 * @inject: copied bytes, operands of an atomic operation; else the provider's
 */
struct kfi_op {
	struct list_head node;
	struct kfi_comp *comp;
	enum kfi_op_type type;
	u32 flush_mode;
	u64 flags;
	u64 data;
	fi_addr_t addr;
	bool is_tagged;
	u8 datatype;
	u8 atomic_op;
	u64 tag;
	u64 ignore;
	struct fi_buf buf;
	u32 rma_count;
	union {
		struct fi_rma_iov rma[KFI_POST_RMA_LIMIT];
		struct {
			struct fi_rma_iov range;
			u8 compare[KFI_ATOMIC_BYTES];
		};
	};
	u8 inject[KFI_POST_INJECT_SIZE];
};

static_assert(KFI_POST_INJECT_SIZE >= KFI_ATOMIC_BYTES);

struct kfi_post_ep;

/**
 * struct kfi_post_ops - what the provider does with posts; under ep->lock, but
 *	for posted() and submit_inline()
 * @size: sizeof this struct
 * @ready: optional: may be posted in a direction (FI_TRANSMIT, FI_RECV)
 *	besides what ep->up and ep->broken say? 0, or -errno for the post to
 *	return
 * @queue: take an operation. 0: kfi_post_done() will end it; 1: that, too, and
 *	posted() is called when the lock is released, until when the provider must
 *	keep the endpoint; -errno: it is the caller's again
 * @posted: optional: go on with what @queue has taken, in the context of a post: no
 *	completion may come from it
 * @kick: optional: run what was queued with FI_MORE
 * @submit_inline: optional: run what was queued with FI_MORE in this context,
 *	which may sleep; with it goes &fid_ep.is_inline
 * @part_free: optional: a &kfi_post_ep.parts is free
 * @cancel: optional: see fi_cancel(); @op may be one that is over: nothing of it
 *	is to be read before it was found on a list
 * @rx_ready: with kfi_srx_take(): there is a receive now for the message that
 *	waits; also under the shared context's lock
 */
struct kfi_post_ops {
	size_t size;
	int (*ready)(struct kfi_post_ep *ep, u64 dir);
	int (*queue)(struct kfi_post_ep *ep, struct kfi_op *op);
	void (*posted)(struct kfi_post_ep *ep);
	void (*kick)(struct kfi_post_ep *ep);
	void (*submit_inline)(struct kfi_post_ep *ep);
	void (*part_free)(struct kfi_post_ep *ep);
	int (*cancel)(struct kfi_post_ep *ep, const struct kfi_op *op);
	void (*rx_ready)(struct kfi_post_ep *ep);
};

/**
 * struct kfi_post_ep - endpoint whose posts are queued
 * @ep: the endpoint
 * @ops: the provider's part
 * @tx_attr: limits of sends and RMA; not changed once enabled
 * @rx_attr: limits of receives; not changed once enabled
 * @max_msg_size: limit of both; not changed once enabled
 * @slot_mem: memory of @slots; the provider frees it with kvfree()
 * @lock: irq-safe; protects what follows it
 * @part_mem: memory of @parts; the provider frees it with kvfree()
 * @srx_node: in kfi_srx.waiters, under that lock
 * @srx_op: the receive that it waited for, under that lock
 * @slots: free &struct kfi_op of fi_inject(), as many as tx_attr.size
 * @parts: free &struct kfi_comp for messages of receives of several, as many as
 *	rx_attr.size
 * @tx_free: places left for sends and RMA
 * @rx_free: places left for receives
 * @up: sends and RMA may be posted
 * @broken: nothing may be posted any more; what is there completes with an
 *	error
 */
struct kfi_post_ep {
	struct fid_ep ep;
	const struct kfi_post_ops *ops;
	struct fi_tx_attr tx_attr;
	struct fi_rx_attr rx_attr;
	size_t max_msg_size;
	void *slot_mem;
	struct kfi_comp *part_mem;
	struct list_head srx_node;
	struct kfi_op *srx_op;
	spinlock_t lock;
	struct list_head slots;
	struct list_head parts;
	size_t tx_free;
	size_t rx_free;
	bool up;
	bool broken;
};

/**
 * kfi_post_info() - what there is, as far as such providers agree
 * @name: of fabric and domain
 * @queue: operations for each direction
 * @iov_limit: segments of a buffer
 * @op_bytes: of the provider's operation, which begins with struct kfi_op
 *
 * Context: process.
 * Return: an info, in which the provider sets the endpoint's attributes and
 * what it can do besides; NULL: no memory.
 */
struct fi_info *kfi_post_info(const char *name, size_t queue, size_t iov_limit,
			      size_t op_bytes);

/**
 * kfi_info_messages() - make an info one of unconnected endpoints with messages alone
 * @info: keeps its limits and endpoint attributes, and whether completions have data
 * @msg_order: order that messages keep
 *
 * Context: any.
 */
void kfi_info_messages(struct fi_info *info, u64 msg_order);

/* The vectors to give to kfi_ep_init(). */
extern const struct fi_ops_msg kfi_post_msg_ops;
extern const struct fi_ops_rma kfi_post_rma_ops;
extern const struct fi_ops_tagged kfi_post_tagged_ops;
extern const struct fi_ops_atomic kfi_post_atomic_ops;

/**
 * kfi_post_init() - prepare an endpoint, before kfi_ep_init()
 * @ep: zeroed memory
 * @info: has the limits that are taken; the provider may lower these afterwards
 * @ops: the provider's part
 *
 * Context: any.
 */
static inline void kfi_post_init(struct kfi_post_ep *ep,
				 const struct fi_info *info,
				 const struct kfi_post_ops *ops)
{
	spin_lock_init(&ep->lock);
	INIT_LIST_HEAD(&ep->slots);
	INIT_LIST_HEAD(&ep->parts);
	INIT_LIST_HEAD(&ep->srx_node);
	ep->ops = ops;
	ep->tx_attr = *info->tx_attr;
	ep->rx_attr = *info->rx_attr;
	ep->max_msg_size = info->ep_attr->max_msg_size;
	ep->tx_free = ep->tx_attr.size;
	ep->rx_free = ep->rx_attr.size;
}

/**
 * kfi_post_limit() - lower an endpoint's limits to what the provider has
 * @ep: endpoint, after kfi_post_init()
 * @queue: operations for each direction; fewer if the info wanted fewer
 * @iov_limit: segments of a buffer
 * @max_msg_size: bytes of an operation
 *
 * Context: any.
 */
static inline void kfi_post_limit(struct kfi_post_ep *ep, size_t queue,
				  size_t iov_limit, size_t max_msg_size)
{
	ep->tx_attr.size = min_not_zero(ep->tx_attr.size, queue);
	ep->rx_attr.size = min_not_zero(ep->rx_attr.size, queue);
	ep->tx_attr.inject_size = KFI_POST_INJECT_SIZE;
	ep->tx_attr.rma_iov_limit = KFI_POST_RMA_LIMIT;
	ep->tx_attr.iov_limit = iov_limit;
	ep->rx_attr.iov_limit = iov_limit;
	ep->tx_free = ep->tx_attr.size;
	ep->rx_free = ep->rx_attr.size;
	ep->max_msg_size = max_msg_size;
}

/**
 * kfi_post_alloc_slots() - give an endpoint memory for fi_inject()
 * @ep: endpoint that nobody else knows yet, with its limits
 * @op_bytes: of the provider's operation, which begins with struct kfi_op
 *
 * Context: process.
 * Return: 0; -ENOMEM.
 */
int kfi_post_alloc_slots(struct kfi_post_ep *ep, size_t op_bytes);

/**
 * kfi_post_alloc_parts() - give an endpoint memory for receives of several messages
 * @ep: endpoint that nobody else knows yet, with its limits
 * @min_left: what &fid_ep.min_multi_recv begins as
 *
 * From then on fi_recvmsg() and fi_trecvmsg() take FI_MULTI_RECV.
 *
 * Context: process.
 * Return: 0; -ENOMEM.
 */
int kfi_post_alloc_parts(struct kfi_post_ep *ep, size_t min_left);

/**
 * kfi_post_part() - a message of a receive of several is there
 * @ep: endpoint
 * @comp: was taken from &kfi_post_ep.parts; its entry is set
 *
 * It is one of the parts again when its completion was read, which
 * kfi_post_ops.part_free() tells; at once if nobody will read it.
 *
 * Context: as kfi_post_complete(), without ep->lock.
 */
void kfi_post_part(struct kfi_post_ep *ep, struct kfi_comp *comp);

/**
 * kfi_post_make_readback() - make a flush the read that it is done by
 * @op: flush with FI_FLUSH_READBACK; its ranges become the last bytes of the
 *	last one, its buffer is @op->inject
 *
 * Context: any.
 */
static inline void kfi_post_make_readback(struct kfi_op *op)
{
	struct fi_rma_iov *last = &op->rma[op->rma_count - 1];
	size_t len = min_t(size_t, last->len, KFI_POST_READBACK_SIZE);

	op->rma[0] = (struct fi_rma_iov){
		.addr = last->addr + last->len - len,
		.len = len,
		.key = last->key,
	};
	op->rma_count = 1;
	op->buf = fi_buf_linear(op->inject, len);
}

/**
 * kfi_post_atomic() - the atomic operation that an operation is
 * @op: KFI_OP_ATOMIC or KFI_OP_FETCH_ATOMIC; must stay as long as the answer is used
 *
 * Context: any.
 * Return: it.
 */
static inline struct kfi_atomic kfi_post_atomic(const struct kfi_op *op)
{
	return (struct kfi_atomic){
		.datatype = op->datatype,
		.op = op->atomic_op,
		.count = op->range.len / kfabric_datatype_size(op->datatype),
		.operand = op->inject,
		.compare = op->compare,
	};
}

/**
 * kfi_post_deadline() - when an operation that begins now has taken too long
 * @ep: endpoint
 *
 * Context: any.
 * Return: jiffies, by the endpoint's FI_OPT_OP_TIMEOUT_MS.
 */
static inline unsigned long kfi_post_deadline(const struct kfi_post_ep *ep)
{
	return jiffies + msecs_to_jiffies(READ_ONCE(ep->ep.op_timeout_ms));
}

/**
 * kfi_post_done() - an operation is over
 * @ep: endpoint
 * @op: on a list of the provider's; the rest of comp->entry is set
 *
 * Takes the operation off its list, frees its place, and completes it. The
 * operation memory may be gone when it returns.
 *
 * Context: as kfi_post_complete(), without ep->lock.
 */
void kfi_post_done(struct kfi_post_ep *ep, struct kfi_op *op);

/**
 * kfi_post_complete() - complete an operation whose place is free
 * @ep: endpoint
 * @comp: the operation's completion
 *
 * kfi_ep_complete() and kfi_ep_space(). Calls the upcall as from a softirq,
 * unless the queue wants a workqueue.
 *
 * Context: process, of a workqueue or of the provider's close.
 */
void kfi_post_complete(struct kfi_post_ep *ep, struct kfi_comp *comp);

#endif /* KFABRIC_KFI_POST_H */
