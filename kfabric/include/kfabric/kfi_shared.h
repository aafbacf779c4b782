/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers that have shared receive contexts.
 *
 * The object is a struct fid_ep. The core sees to it that it stays as long as endpoints
 * are bound to it, and that these take no receives of their own. The first part is for
 * all providers, the second for those that queue operations and run them by themselves
 * (kfi_post.h), whose contexts are the core's.
 */
#ifndef KFABRIC_KFI_SHARED_H
#define KFABRIC_KFI_SHARED_H

#include <kfabric/fi_shared.h>
#include <kfabric/kfi_post.h>

/* Receives of a context, unless the caller says how many. */
#define KFI_SRX_SIZE 1024
/* Most receives of a context of those providers that queue operations. */
#define KFI_SRX_SIZE_MAX 65536

/**
 * kfi_srx_offer() - rx_attr.size of an info with FI_SHARED_CONTEXT
 * @most: receives that a context may have
 * @hints: of getinfo(), or NULL
 *
 * Context: any.
 * Return: as many as are wanted, or the usual number, and not more than there may be.
 */
static inline size_t kfi_srx_offer(size_t most, const struct fi_info *hints)
{
	size_t want = hints && hints->rx_attr ? hints->rx_attr->size : 0;

	return min(max_t(size_t, want, KFI_SRX_SIZE), most);
}

/**
 * kfi_srx_init() - make a shared receive context
 * @srx: zeroed memory
 * @domain: parent
 * @attr: of the context, from kfi_srx_limit()
 * @ops: operations; of @ops->msg only recvmsg() is there
 * @context: from fi_srx_context()
 *
 * Context: process.
 * Return: 0; -ENODEV; -EINVAL the parent is being closed.
 */
int kfi_srx_init(struct fid_ep *srx, struct fid_domain *domain,
		 const struct fi_rx_attr *attr, const struct kfi_ep_ops *ops,
		 void *context);

/**
 * kfi_srx_limit() - what a context is to have
 * @attr: in: the most there is; out: of the context
 * @wish: from fi_srx_context(), or NULL
 *
 * Context: any.
 * Return: 0; -EINVAL @wish is more than there is.
 */
int kfi_srx_limit(struct fi_rx_attr *attr, const struct fi_rx_attr *wish);

/**
 * kfi_srx_cancel() - complete a receive that no message took
 * @srx: context
 * @comp: the receive's completion; gone when this returns
 *
 * Tells it to the context's queue, if there is one.
 *
 * Context: process, without locks that posting takes.
 */
void kfi_srx_cancel(struct fid_ep *srx, struct kfi_comp *comp);

/**
 * struct kfi_low_water - FI_OPT_LOW_WATER of a context; under the context's lock
 * @value: as it was set last
 * @armed: @value.fn was not called since the option was set
 */
struct kfi_low_water {
	struct fi_low_water value;
	bool armed;
};

/**
 * kfi_low_water_due() - is it to be called now?
 * @low: under its lock
 * @left: receives that wait for messages
 * @call: out: for kfi_low_water_call(), if so
 *
 * Context: any.
 * Return: true: call it, without the lock.
 */
static inline bool kfi_low_water_due(struct kfi_low_water *low, size_t left,
				     struct fi_low_water *call)
{
	if (likely(!low->armed || left >= low->value.limit))
		return false;
	low->armed = false;
	*call = low->value;
	return true;
}

/**
 * kfi_low_water_call() - tell that few receives are left
 * @srx: context
 * @call: from kfi_low_water_due()
 *
 * Context: softirq or process.
 */
void kfi_low_water_call(struct fid_ep *srx, const struct fi_low_water *call);

/* ---- of providers that queue operations ---------------------------------- */

/**
 * struct kfi_srx - a context whose receives are queued
 * @ep: the object
 * @attr: limits
 * @max_msg_size: limit of a receive
 * @lock: irq-safe; protects what follows; kfi_post_ep.lock is taken under it
 * @rx: receives, oldest first
 * @nr: how many receives there are, with those that are put aside for who waits
 * @next: number of the next receive
 * @waiters: endpoints with a message and no receive, by kfi_post_ep.srx_node; who has
 *	waited longest first; empty unless @rx is
 * @low: FI_OPT_LOW_WATER
 */
struct kfi_srx {
	struct fid_ep ep;
	struct fi_rx_attr attr;
	size_t max_msg_size;
	spinlock_t lock;
	struct list_head rx;
	size_t nr;
	u64 next;
	struct list_head waiters;
	struct kfi_low_water low;
};

/**
 * kfi_srx_open() - what a srx_context operation may do
 * @domain: parent
 * @attr: from fi_srx_context()
 * @iov_limit: segments of a buffer
 * @max_msg_size: bytes of a message
 * @srx: out
 * @context: from fi_srx_context()
 *
 * Context: process.
 * Return: 0; -ENOMEM; as kfi_srx_limit() and kfi_srx_init().
 */
int kfi_srx_open(struct fid_domain *domain, const struct fi_rx_attr *attr,
		 size_t iov_limit, size_t max_msg_size, struct fid_ep **srx,
		 void *context);

/**
 * kfi_srx_take() - the receive for a message that has come
 * @ep: endpoint that is bound to a context
 *
 * The receive is the endpoint's: on no list, and to be completed as its own are.
 *
 * Context: softirq or process, without ep->lock.
 * Return: the oldest one; NULL: there is none. Then kfi_post_ops.rx_ready() tells when
 * to ask again, unless the endpoint is broken.
 */
struct kfi_op *kfi_srx_take(struct kfi_post_ep *ep);

/**
 * kfi_srx_leave() - no message of an endpoint comes any more
 * @ep: endpoint that is broken, bound to a context or not
 *
 * The provider has to call it before the endpoint is closed. A receive that the endpoint
 * waited for and did not take goes to the next one.
 *
 * Context: softirq or process, without ep->lock.
 */
void kfi_srx_leave(struct kfi_post_ep *ep);

#endif /* KFABRIC_KFI_SHARED_H */
