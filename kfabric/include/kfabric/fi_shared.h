/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: shared receive contexts: one queue of receives for
 * any number of connected endpoints, so that what waits for messages grows with the
 * messages and not with the connections.
 *
 * An info that was asked for with ep_attr.rx_ctx_cnt FI_SHARED_CONTEXT, or in which the
 * caller sets it where domain_attr.max_ep_srx_ctx is not 0, opens endpoints that have no
 * receives of their own. Each must be bound to a context before it is enabled.
 *
 *   - A message on any of the endpoints takes the oldest receive. Its completion comes
 *     in the queue that this endpoint has bound with FI_RECV, and its counter counts it.
 *   - Upcalls of one endpoint come one after the other, as always. Those of two of them
 *     may run at the same time, so that completions are not told in the order in which
 *     receives were taken; the messages of one endpoint keep their order.
 *   - Without a receive the message waits at its sender, and only that connection waits
 *     with it. Who waits longest gets the next one. When the sender's time is over its
 *     connection ends, as without sharing.
 *   - The end of an endpoint takes no receive with it but one that a message was being
 *     put into: that completes in the endpoint's queue with FI_ECANCELED. Soft RoCE of
 *     Linux 6.12 forgets it, so that it is among those that are left when the context
 *     closes.
 *   - A message that is too long ends its connection, and fails its receive with
 *     FI_ETRUNC in the endpoint's queue.
 */
#ifndef KFABRIC_FI_SHARED_H
#define KFABRIC_FI_SHARED_H

#include <kfabric/fi_endpoint.h>

int kfabric_srx_context(struct fid_domain *domain,
			const struct fi_rx_attr *attr, struct fid_ep **srx,
			void *context);

/**
 * fi_srx_context() - open a shared receive context
 * @domain: parent, as of the endpoints that are to be bound
 * @attr: size, iov_limit and op_flags of the context; NULL, and a number that is 0:
 *	what the provider has
 * @srx: out; receives can be posted at once. For fi_ep_bind() of endpoints
 * @context: stored in the object
 *
 * fi_recv(), fi_recvv() and fi_recvmsg() post to it, at any time, from several threads
 * as well. fi_setopt() takes FI_OPT_LOW_WATER, and FI_OPT_SPACE_HANDLER before the first
 * receive. There is nothing else to do with it: it has no states, is not enabled, and
 * cannot cancel.
 *
 * Bind it to a completion queue with FI_RECV to be told of the receives that no message
 * took: fi_close() of the context, or the removal of its device, completes each of them
 * there with FI_ECANCELED. Without such a queue their memory is the caller's again when
 * fi_close() returns, and nothing is told: for a driver that keeps its receives in an
 * array, which it frees next.
 *
 * Context: process.
 * Return: 0; -EINVAL @attr wants more than there is; -EOPNOTSUPP the device shares no
 * receives; -ENODEV; -ENOMEM; -ENOSYS the provider has none.
 */
static inline int fi_srx_context(struct fid_domain *domain,
				 const struct fi_rx_attr *attr,
				 struct fid_ep **srx, void *context)
{
	return kfabric_srx_context(domain, attr, srx, context);
}

#endif /* KFABRIC_FI_SHARED_H */
