/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers that have scalable endpoints.
 *
 * All of their objects are a struct fid_ep. The core sees to it that a context opens
 * once and that its endpoint stays, and what is bound to which.
 */
#ifndef KFABRIC_KFI_SCALABLE_H
#define KFABRIC_KFI_SCALABLE_H

#include <kfabric/fi_scalable.h>
#include <kfabric/kfi_provider.h>

/**
 * kfi_sep_init() - make a scalable endpoint object
 * @sep: zeroed memory
 * @domain: parent
 * @info: from fi_scalable_ep(), as with kfi_ep_init(); the counts of contexts are
 *	taken from it
 * @ops: operations; there are none that post
 * @context: from fi_scalable_ep()
 *
 * Context: process.
 * Return: 0; -ENODEV; -EINVAL the parent is being closed, or a count is 0 or beyond
 * KFI_CTX_MAX.
 */
int kfi_sep_init(struct fid_ep *sep, struct fid_domain *domain,
		 const struct fi_info *info, const struct kfi_ep_ops *ops,
		 void *context);

/**
 * kfi_ctx_init() - make a context of a scalable endpoint
 * @ctx: zeroed memory
 * @sep: parent, which time-outs and levels are taken from
 * @fclass: FI_CLASS_TX_CTX or FI_CLASS_RX_CTX
 * @index: from fi_tx_context() or fi_rx_context()
 * @op_flags: of operations that are posted without flags
 * @ops: operations
 * @context: from fi_tx_context() or fi_rx_context()
 *
 * The scalable endpoint stays open as long as it is.
 *
 * Context: process.
 * Return: 0; -ENODEV; -EINVAL the parent is being closed.
 */
int kfi_ctx_init(struct fid_ep *ctx, struct fid_ep *sep, enum fi_class fclass,
		 u32 index, u64 op_flags, const struct kfi_ep_ops *ops,
		 void *context);

#endif /* KFABRIC_KFI_SCALABLE_H */
