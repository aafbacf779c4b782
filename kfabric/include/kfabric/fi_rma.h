/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: reading, writing and flushing a peer's
 * memory.
 *
 * Writes of one endpoint are placed in the order of posting; a read may see
 * or miss writes posted after it. A range or key that the peer did not allow
 * ends the connection: the operation completes with FI_EACCES, the others of
 * both sides with FI_ECANCELED. Unconnected endpoints: docs/kfabric-rdm.md.
 */
#ifndef KFABRIC_FI_RMA_H
#define KFABRIC_FI_RMA_H

#include <kfabric/fi_endpoint.h>

/**
 * fi_writemsg() - write to the peer's memory
 * @ep: connected endpoint
 * @msg: what and where
 * @flags: as fi_sendmsg()
 *
 * With FI_REMOTE_CQ_DATA the write uses up one receive of the peer, whose
 * completion has the data. What a completion means is the completion level:
 * at least FI_TRANSMIT_COMPLETE, on iWARP FI_INJECT_COMPLETE. Over verbs
 * FI_DELIVERY_COMPLETE reads the end of the range back: without FI_REMOTE_READ the
 * peer refuses that.
 *
 * Context: posting.
 * Return: as fi_sendmsg(); -EINVAL also if the remote ranges do not add up
 * to the buffer; -E2BIG also for more than rma_iov_limit ranges.
 */
static inline ssize_t fi_writemsg(struct fid_ep *ep,
				  const struct fi_msg_rma *msg, u64 flags)
{
	const struct fi_ops_rma *ops = READ_ONCE(ep->rma);

	return KFI_HAS_OP(ops, writemsg) ? ops->writemsg(ep, msg, flags)
					 : KFI_NO_OP(ops);
}

/**
 * fi_write() - write one kernel virtual range to the peer's memory
 * @ep: connected endpoint
 * @buf: start
 * @len: bytes
 * @desc: NULL
 * @dest_addr: as in &struct fi_msg
 * @addr: see &struct fi_rma_iov
 * @key: see &struct fi_rma_iov
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_writemsg().
 */
static inline ssize_t fi_write(struct fid_ep *ep, const void *buf, size_t len,
			       void *desc, fi_addr_t dest_addr, u64 addr,
			       u64 key, struct fi_context *context)
{
	struct fi_rma_iov rma_iov = { .addr = addr, .len = len, .key = key };
	struct fi_msg_rma msg = { .buf = fi_buf_linear(buf, len),
				  .rma_iov = &rma_iov,
				  .rma_iov_count = 1,
				  .addr = dest_addr,
				  .context = context };

	return fi_writemsg(ep, &msg, ep->tx_op_flags);
}

/**
 * fi_inject_write() - small write without operation memory
 * @ep: connected endpoint
 * @buf: reusable when the call returns
 * @len: bytes, up to tx_attr.inject_size
 * @dest_addr: as in &struct fi_msg
 * @addr: see &struct fi_rma_iov
 * @key: see &struct fi_rma_iov
 *
 * No completion on success; a failure has op_context NULL.
 *
 * Context: posting.
 * Return: as fi_writemsg().
 */
static inline ssize_t fi_inject_write(struct fid_ep *ep, const void *buf,
				      size_t len, fi_addr_t dest_addr, u64 addr,
				      u64 key)
{
	const struct fi_ops_rma *ops = READ_ONCE(ep->rma);

	if (!KFI_HAS_OP(ops, inject_write))
		return KFI_NO_OP(ops);
	return ops->inject_write(ep, buf, len, dest_addr, addr, key);
}

/**
 * fi_readmsg() - read the peer's memory
 * @ep: connected endpoint
 * @msg: from where and where to
 * @flags: FI_COMPLETION, FI_MORE, FI_FENCE
 *
 * Context: posting.
 * Return: as fi_writemsg().
 */
static inline ssize_t fi_readmsg(struct fid_ep *ep,
				 const struct fi_msg_rma *msg, u64 flags)
{
	const struct fi_ops_rma *ops = READ_ONCE(ep->rma);

	return KFI_HAS_OP(ops, readmsg) ? ops->readmsg(ep, msg, flags)
					: KFI_NO_OP(ops);
}

/**
 * fi_read() - read the peer's memory into one kernel virtual range
 * @ep: connected endpoint
 * @buf: start
 * @len: bytes
 * @desc: NULL
 * @src_addr: as in &struct fi_msg
 * @addr: see &struct fi_rma_iov
 * @key: see &struct fi_rma_iov
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_writemsg().
 */
static inline ssize_t fi_read(struct fid_ep *ep, void *buf, size_t len,
			      void *desc, fi_addr_t src_addr, u64 addr, u64 key,
			      struct fi_context *context)
{
	struct fi_rma_iov rma_iov = { .addr = addr, .len = len, .key = key };
	struct fi_msg_rma msg = { .buf = fi_buf_linear(buf, len),
				  .rma_iov = &rma_iov,
				  .rma_iov_count = 1,
				  .addr = src_addr,
				  .context = context };

	return fi_readmsg(ep, &msg, ep->tx_op_flags & FI_COMPLETION);
}

/**
 * fi_flush() - make earlier writes of this endpoint safe
 * @ep: connected endpoint
 * @msg: mode and ranges
 * @flags: FI_COMPLETION, FI_MORE
 *
 * Completes after every write posted before it on this endpoint (chain it
 * behind FI_MORE writes). What its success means depends on the mode:
 *   FI_FLUSH_READBACK - the writes have left the fabric and the peer's NIC
 *	and I/O buses; whether that is persistence depends on its platform;
 *   FI_FLUSH_NATIVE, FI_FLUSH_COMMIT - the ranges are persistent.
 * Nothing is said of writes of other endpoints.
 *
 * Context: posting.
 * Return: as fi_writemsg(); -EINVAL also if the last range is empty;
 * -EOPNOTSUPP the mode is not one of fi_flush_modes().
 */
static inline ssize_t fi_flush(struct fid_ep *ep,
			       const struct fi_msg_flush *msg, u64 flags)
{
	const struct fi_ops_rma *ops = READ_ONCE(ep->rma);

	return KFI_HAS_OP(ops, flush) ? ops->flush(ep, msg, flags)
				      : KFI_NO_OP(ops);
}

#endif /* KFABRIC_FI_RMA_H */
