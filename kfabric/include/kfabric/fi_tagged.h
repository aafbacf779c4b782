/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: messages with a tag, which receives choose by.
 *
 * A message with a tag goes into the oldest receive that was posted by the calls of
 * this file, is for its sender or for anybody, and has its tag in all bits that it
 * does not ignore. Messages without a tag and their receives (fi_endpoint.h) are a
 * world of their own. What no receive is there for waits; a receive takes the
 * oldest of those that wait from one sender.
 *
 * There is no looking for a message without receiving it: libfabric's FI_PEEK,
 * FI_CLAIM and FI_DISCARD are unknown flags.
 */
#ifndef KFABRIC_FI_TAGGED_H
#define KFABRIC_FI_TAGGED_H

#include <kfabric/fi_endpoint.h>

/**
 * struct fi_msg_tagged - a message to send, or a receive
 * @buf: local buffer
 * @addr: as in &struct fi_msg
 * @tag: of the message, or that it must have
 * @ignore: of a receive: bits of the tag that may be anything
 * @context: operation memory
 * @data: for the peer's completion, with FI_REMOTE_CQ_DATA
 *
 * The struct itself is needed during the call only.
 */
struct fi_msg_tagged {
	struct fi_buf buf;
	fi_addr_t addr;
	u64 tag;
	u64 ignore;
	struct fi_context *context;
	u64 data;
};

/**
 * struct fi_ops_tagged - operations of messages with a tag
 * @size: sizeof this struct
 * @recvmsg: see fi_trecvmsg()
 * @sendmsg: see fi_tsendmsg()
 * @inject: see fi_tinject() and fi_tinjectdata(), whose flag is FI_REMOTE_CQ_DATA
 */
struct fi_ops_tagged {
	size_t size;
	ssize_t (*recvmsg)(struct fid_ep *ep, const struct fi_msg_tagged *msg,
			   u64 flags);
	ssize_t (*sendmsg)(struct fid_ep *ep, const struct fi_msg_tagged *msg,
			   u64 flags);
	ssize_t (*inject)(struct fid_ep *ep, const void *buf, size_t len,
			  u64 flags, u64 data, fi_addr_t dest_addr, u64 tag);
};

/**
 * fi_tsendmsg() - send a message with a tag
 * @ep: endpoint
 * @msg: message
 * @flags: as fi_sendmsg()
 *
 * Its completion has FI_SEND and FI_TAGGED. If the peer knows no tags it ends with
 * FI_EOPNOTSUPP.
 *
 * Context: posting.
 * Return: as fi_sendmsg(); -ENOSYS the provider has no tags.
 */
static inline ssize_t fi_tsendmsg(struct fid_ep *ep,
				  const struct fi_msg_tagged *msg, u64 flags)
{
	const struct fi_ops_tagged *ops = READ_ONCE(ep->tagged);

	return KFI_HAS_OP(ops, sendmsg) ? ops->sendmsg(ep, msg, flags)
					: KFI_NO_OP(ops);
}

/**
 * fi_tsend() - send one kernel virtual range with a tag
 * @ep: endpoint
 * @buf: start
 * @len: bytes
 * @desc: NULL
 * @dest_addr: as in &struct fi_msg
 * @tag: the tag
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_tsendmsg().
 */
static inline ssize_t fi_tsend(struct fid_ep *ep, const void *buf, size_t len,
			       void *desc, fi_addr_t dest_addr, u64 tag,
			       struct fi_context *context)
{
	struct fi_msg_tagged msg = { .buf = fi_buf_linear(buf, len),
				     .addr = dest_addr,
				     .tag = tag,
				     .context = context };

	return fi_tsendmsg(ep, &msg, ep->tx_op_flags);
}

/**
 * fi_tsendv() - send an array of kernel virtual ranges with a tag
 * @ep: endpoint
 * @iov: ranges; the array must stay until the completion
 * @desc: NULL
 * @count: ranges
 * @dest_addr: as in &struct fi_msg
 * @tag: the tag
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_tsendmsg().
 */
static inline ssize_t fi_tsendv(struct fid_ep *ep, const struct kvec *iov,
				void **desc, size_t count, fi_addr_t dest_addr,
				u64 tag, struct fi_context *context)
{
	struct fi_msg_tagged msg = {
		.buf = fi_buf_kvec(iov, count, kfi_kvec_bytes(iov, count)),
		.addr = dest_addr,
		.tag = tag,
		.context = context
	};

	return fi_tsendmsg(ep, &msg, ep->tx_op_flags);
}

/**
 * fi_tsenddata() - send one kernel virtual range with a tag and data
 * @ep: endpoint
 * @buf: start
 * @len: bytes
 * @desc: NULL
 * @data: for the peer's completion
 * @dest_addr: as in &struct fi_msg
 * @tag: the tag
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_tsendmsg().
 */
static inline ssize_t fi_tsenddata(struct fid_ep *ep, const void *buf,
				   size_t len, void *desc, u64 data,
				   fi_addr_t dest_addr, u64 tag,
				   struct fi_context *context)
{
	struct fi_msg_tagged msg = { .buf = fi_buf_linear(buf, len),
				     .addr = dest_addr,
				     .tag = tag,
				     .context = context,
				     .data = data };

	return fi_tsendmsg(ep, &msg, ep->tx_op_flags | FI_REMOTE_CQ_DATA);
}

/**
 * fi_tinject() - send a small message with a tag, without operation memory
 * @ep: endpoint
 * @buf: reusable when the call returns
 * @len: bytes, up to tx_attr.inject_size
 * @dest_addr: as in &struct fi_msg
 * @tag: the tag
 *
 * Completes as fi_inject() does.
 *
 * Context: posting.
 * Return: as fi_tsendmsg().
 */
static inline ssize_t fi_tinject(struct fid_ep *ep, const void *buf, size_t len,
				 fi_addr_t dest_addr, u64 tag)
{
	const struct fi_ops_tagged *ops = READ_ONCE(ep->tagged);

	if (!KFI_HAS_OP(ops, inject))
		return KFI_NO_OP(ops);
	return ops->inject(ep, buf, len, 0, 0, dest_addr, tag);
}

/**
 * fi_tinjectdata() - as fi_tinject(), with data
 * @ep: endpoint
 * @buf: reusable when the call returns
 * @len: bytes, up to tx_attr.inject_size
 * @data: for the peer's completion
 * @dest_addr: as in &struct fi_msg
 * @tag: the tag
 *
 * Context: posting.
 * Return: as fi_tsendmsg().
 */
static inline ssize_t fi_tinjectdata(struct fid_ep *ep, const void *buf,
				     size_t len, u64 data, fi_addr_t dest_addr,
				     u64 tag)
{
	const struct fi_ops_tagged *ops = READ_ONCE(ep->tagged);

	if (!KFI_HAS_OP(ops, inject))
		return KFI_NO_OP(ops);
	return ops->inject(ep, buf, len, FI_REMOTE_CQ_DATA, data, dest_addr,
			   tag);
}

/**
 * fi_trecvmsg() - post a receive of messages with a tag
 * @ep: enabled endpoint
 * @msg: where to put a message, and which
 * @flags: FI_COMPLETION, FI_MORE, FI_MULTI_RECV
 *
 * Its completion has FI_RECV and FI_TAGGED, and the message's tag. fi_cancel() ends
 * it as any other receive. With FI_MULTI_RECV, where FI_TAGGED_MULTI_RECV is there,
 * it takes several messages, as fi_recvmsg() tells: of those whose tag it takes.
 *
 * Context: posting.
 * Return: as fi_recvmsg(); -ENOSYS the provider has no tags.
 */
static inline ssize_t fi_trecvmsg(struct fid_ep *ep,
				  const struct fi_msg_tagged *msg, u64 flags)
{
	const struct fi_ops_tagged *ops = READ_ONCE(ep->tagged);

	return KFI_HAS_OP(ops, recvmsg) ? ops->recvmsg(ep, msg, flags)
					: KFI_NO_OP(ops);
}

/**
 * fi_trecv() - post a receive of messages with a tag into one range
 * @ep: enabled endpoint
 * @buf: start
 * @len: bytes
 * @desc: NULL
 * @src_addr: as in &struct fi_msg
 * @tag: that a message must have
 * @ignore: bits of the tag that may be anything
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_trecvmsg().
 */
static inline ssize_t fi_trecv(struct fid_ep *ep, void *buf, size_t len,
			       void *desc, fi_addr_t src_addr, u64 tag,
			       u64 ignore, struct fi_context *context)
{
	struct fi_msg_tagged msg = { .buf = fi_buf_linear(buf, len),
				     .addr = src_addr,
				     .tag = tag,
				     .ignore = ignore,
				     .context = context };

	return fi_trecvmsg(ep, &msg, ep->rx_op_flags);
}

/**
 * fi_trecvv() - post a receive of messages with a tag into an array of ranges
 * @ep: enabled endpoint
 * @iov: ranges; the array must stay until the completion
 * @desc: NULL
 * @count: ranges
 * @src_addr: as in &struct fi_msg
 * @tag: that a message must have
 * @ignore: bits of the tag that may be anything
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_trecvmsg().
 */
static inline ssize_t fi_trecvv(struct fid_ep *ep, const struct kvec *iov,
				void **desc, size_t count, fi_addr_t src_addr,
				u64 tag, u64 ignore, struct fi_context *context)
{
	struct fi_msg_tagged msg = {
		.buf = fi_buf_kvec(iov, count, kfi_kvec_bytes(iov, count)),
		.addr = src_addr,
		.tag = tag,
		.ignore = ignore,
		.context = context
	};

	return fi_trecvmsg(ep, &msg, ep->rx_op_flags);
}

#endif /* KFABRIC_FI_TAGGED_H */
