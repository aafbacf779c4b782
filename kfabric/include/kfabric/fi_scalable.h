/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: scalable endpoints: one address, and several
 * queues of its own for what is sent and what is received: its contexts.
 *
 * A scalable endpoint has neither operations nor completion queues. Its transmit
 * contexts send, and its receive contexts receive, each with a queue of completions
 * of its own; workers that have a context each do not meet. A peer names the receive
 * context that a message is for (fi_rx_addr()); without a name it is the first.
 *
 * The scalable endpoint is bound to an address vector, and to an event queue if its
 * end is to be told; contexts are bound to completion queues. Both are enabled, in
 * any order. It closes when its contexts are closed.
 */
#ifndef KFABRIC_FI_SCALABLE_H
#define KFABRIC_FI_SCALABLE_H

#include <kfabric/fi_av.h>
#include <kfabric/fi_endpoint.h>

/**
 * struct fi_ops_sep - operations of a scalable endpoint
 * @size: sizeof this struct
 * @tx_context: see fi_tx_context(); index is in range, and not open
 * @rx_context: see fi_rx_context(); the same
 */
struct fi_ops_sep {
	size_t size;
	int (*tx_context)(struct fid_ep *sep, u32 index,
			  const struct fi_tx_attr *attr, struct fid_ep **ctx,
			  void *context);
	int (*rx_context)(struct fid_ep *sep, u32 index,
			  const struct fi_rx_attr *attr, struct fid_ep **ctx,
			  void *context);
};

int kfabric_scalable_ep(struct fid_domain *domain, struct fi_info *info,
			struct fid_ep **sep, void *context);
int kfabric_tx_context(struct fid_ep *sep, int index,
		       const struct fi_tx_attr *attr, struct fid_ep **ctx,
		       void *context);
int kfabric_rx_context(struct fid_ep *sep, int index,
		       const struct fi_rx_attr *attr, struct fid_ep **ctx,
		       void *context);

/**
 * fi_scalable_ep() - open a scalable endpoint
 * @domain: parent
 * @info: as for fi_endpoint(); the counts of contexts in its ep_attr may be changed
 *	by the caller
 * @sep: out
 * @context: stored in the object
 *
 * Peers are told how many receive contexts it has, whether they are open or not.
 *
 * Context: process.
 * Return: 0; -EINVAL a count is 0 or beyond what domain_attr says, or as
 * fi_endpoint(); -ENODEV; -ENOMEM; -ENOSYS the provider has none.
 */
static inline int fi_scalable_ep(struct fid_domain *domain,
				 struct fi_info *info, struct fid_ep **sep,
				 void *context)
{
	return kfabric_scalable_ep(domain, info, sep, context);
}

/**
 * fi_scalable_ep_bind() - attach an address vector or an event queue
 * @sep: scalable endpoint, not enabled yet
 * @bfid: base of an AV or an EQ
 * @flags: 0
 *
 * Context: process.
 * Return: as fi_ep_bind(); -EINVAL also for a CQ: contexts have them.
 */
static inline int fi_scalable_ep_bind(struct fid_ep *sep, struct kfid *bfid,
				      u64 flags)
{
	return kfabric_bind(&sep->fid, bfid, flags);
}

/**
 * fi_tx_context() - open a transmit context
 * @sep: scalable endpoint
 * @index: number of the context, from 0 to ep_attr.tx_ctx_cnt - 1
 * @attr: limits and flags of the context, in which size may be lowered; NULL: as the
 *	info has that @sep was opened with
 * @ctx: out; bind it to a CQ with FI_TRANSMIT, and enable it
 * @context: stored in the object
 *
 * It posts what an endpoint sends, reads and writes. Messages of one context to one
 * peer keep their order. fi_close() of a context ends its own operations; one in the
 * middle of a message ends the connection with that peer as well.
 *
 * Context: process.
 * Return: 0; -EINVAL @sep is no scalable endpoint, or @index is out of range;
 * -EBUSY that context is open; -ENODEV; -ENOMEM.
 */
static inline int fi_tx_context(struct fid_ep *sep, int index,
				const struct fi_tx_attr *attr,
				struct fid_ep **ctx, void *context)
{
	return kfabric_tx_context(sep, index, attr, ctx, context);
}

/**
 * fi_rx_context() - open a receive context
 * @sep: scalable endpoint
 * @index: number of the context, from 0 to ep_attr.rx_ctx_cnt - 1, which peers name
 * @attr: as in fi_tx_context()
 * @ctx: out; bind it to a CQ with FI_RECV, and enable it
 * @context: stored in the object
 *
 * Messages for a context that is not open wait as if it had no receives. fi_close()
 * of a context drops what waits for it.
 *
 * Context: process.
 * Return: as fi_tx_context().
 */
static inline int fi_rx_context(struct fid_ep *sep, int index,
				const struct fi_rx_attr *attr,
				struct fid_ep **ctx, void *context)
{
	return kfabric_rx_context(sep, index, attr, ctx, context);
}

#endif /* KFABRIC_FI_SCALABLE_H */
