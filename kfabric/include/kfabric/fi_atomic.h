/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: atomic operations on a peer's memory.
 *
 * An operation changes each of its elements at once: of others of its kind, by
 * whichever peer, it sees either nothing or all. What else touches the memory, the
 * CPU of its owner or a write, is another matter: only where the provider does the
 * operations in software (loop, rdm) are they the CPU's own, as of cmpxchg().
 *
 * The region must have been registered with FI_ATOMIC in its access, and its elements
 * lie at multiples of their size, in memory as in what peers address. A violation ends
 * the connection as one of remote memory does (fi_rma.h), with FI_EACCES.
 *
 * Operands are copied by the post: only the result, and what describes it, must stay
 * until the completion, whose flags are FI_ATOMIC with FI_READ, where there is a
 * result, else with FI_WRITE.
 */
#ifndef KFABRIC_FI_ATOMIC_H
#define KFABRIC_FI_ATOMIC_H

#include <kfabric/fi_endpoint.h>

/**
 * enum fi_datatype - types of elements; libfabric has more, and other numbers
 * @FI_INT32: 4 bytes, signed, in the byte order of the peer's host
 * @FI_UINT32: 4 bytes, unsigned, in the byte order of the peer's host
 * @FI_INT64: 8 bytes, signed, in the byte order of the peer's host
 * @FI_UINT64: 8 bytes, unsigned, in the byte order of the peer's host
 * @FI_DATATYPE_LAST: how many types there are
 */
enum fi_datatype {
	FI_INT32,
	FI_UINT32,
	FI_INT64,
	FI_UINT64,
	FI_DATATYPE_LAST,
};

/**
 * enum fi_op - what becomes of an element t by an operand b
 * @FI_MIN: the lesser of t and b
 * @FI_MAX: the greater of t and b
 * @FI_SUM: t + b; what does not fit is cut off
 * @FI_PROD: t * b; what does not fit is cut off
 * @FI_LOR: 1 if t or b is not 0, else 0
 * @FI_LAND: 1 if neither t nor b is 0, else 0
 * @FI_BOR: t | b
 * @FI_BAND: t & b
 * @FI_LXOR: 1 if one of t and b is 0 and the other is not, else 0
 * @FI_BXOR: t ^ b
 * @FI_ATOMIC_READ: t, and there is no operand
 * @FI_ATOMIC_WRITE: b
 * @FI_CSWAP: b if c == t, c being what is compared, else t
 * @FI_CSWAP_NE: b if c != t
 * @FI_CSWAP_LE: b if c <= t
 * @FI_CSWAP_LT: b if c < t
 * @FI_CSWAP_GE: b if c >= t
 * @FI_CSWAP_GT: b if c > t
 * @FI_MSWAP: the bits of b that are set in c, the others of t
 * @FI_ATOMIC_OP_LAST: how many operations there are
 */
enum fi_op {
	FI_MIN,
	FI_MAX,
	FI_SUM,
	FI_PROD,
	FI_LOR,
	FI_LAND,
	FI_BOR,
	FI_BAND,
	FI_LXOR,
	FI_BXOR,
	FI_ATOMIC_READ,
	FI_ATOMIC_WRITE,
	FI_CSWAP,
	FI_CSWAP_NE,
	FI_CSWAP_LE,
	FI_CSWAP_LT,
	FI_CSWAP_GE,
	FI_CSWAP_GT,
	FI_MSWAP,
	FI_ATOMIC_OP_LAST,
};

/**
 * struct fi_atomic_attr - what a provider does of an operation
 * @count: elements at most
 * @size: bytes of one
 */
struct fi_atomic_attr {
	size_t count;
	size_t size;
};

/**
 * struct fi_rma_ioc - elements of the peer's memory
 * @addr: as in &struct fi_rma_iov; a multiple of the type's size
 * @count: elements
 * @key: fi_mr_key() at the peer
 */
struct fi_rma_ioc {
	u64 addr;
	size_t count;
	u64 key;
};

/**
 * struct fi_msg_atomic - an atomic operation
 * @buf: operands, one for each element; FI_BUF_NONE of FI_ATOMIC_READ
 * @rma_iov: elements of the peer; copied by the post
 * @rma_iov_count: 1
 * @addr: as in &struct fi_msg
 * @datatype: of elements, operands and results
 * @op: what is done
 * @context: operation memory
 */
struct fi_msg_atomic {
	struct fi_buf buf;
	const struct fi_rma_ioc *rma_iov;
	size_t rma_iov_count;
	fi_addr_t addr;
	enum fi_datatype datatype;
	enum fi_op op;
	struct fi_context *context;
};

/**
 * struct fi_ops_atomic - atomic operations
 * @size: sizeof this struct
 * @post: fi_atomicmsg() with @kind 0, fi_fetch_atomicmsg() with FI_FETCH_ATOMIC, and
 *	fi_compare_atomicmsg() with FI_COMPARE_ATOMIC; buffers that the kind does not have
 *	are NULL. fi_inject_atomic() is the one whose message has no context, with @kind 0
 *	and FI_INJECT
 */
struct fi_ops_atomic {
	size_t size;
	ssize_t (*post)(struct fid_ep *ep, const struct fi_msg_atomic *msg,
			const struct fi_buf *compare,
			const struct fi_buf *result, u64 flags, u64 kind);
};

int kfabric_query_atomic(struct fid_domain *domain, enum fi_datatype datatype,
			 enum fi_op op, struct fi_atomic_attr *attr, u64 flags);
size_t kfabric_datatype_size(enum fi_datatype datatype);

/**
 * fi_query_atomic() - is an operation there?
 * @domain: where its endpoints are
 * @datatype: of elements
 * @op: what is to be done
 * @attr: out: how much of it
 * @flags: 0: the operation has no result; FI_FETCH_ATOMIC: the result is what was
 *	there before; FI_COMPARE_ATOMIC: that is the result, and something is compared
 *
 * Context: any.
 * Return: 0; -EOPNOTSUPP there is none; -FI_EBADFLAGS; -EINVAL no such type or
 * operation; -ENODEV; -ENOSYS the provider has no atomic operations.
 */
static inline int fi_query_atomic(struct fid_domain *domain,
				  enum fi_datatype datatype, enum fi_op op,
				  struct fi_atomic_attr *attr, u64 flags)
{
	return kfabric_query_atomic(domain, datatype, op, attr, flags);
}

static inline int kfi_atomic_is_valid(struct fid_ep *ep,
				      enum fi_datatype datatype, enum fi_op op,
				      size_t *count, u64 flags)
{
	struct fi_atomic_attr attr;
	int ret = kfabric_query_atomic(ep->domain, datatype, op, &attr, flags);

	if (!ret)
		*count = attr.count;
	return ret;
}

/**
 * fi_atomicvalid() - is an operation without result there?
 * @ep: endpoint
 * @datatype: of elements
 * @op: what is to be done
 * @count: out: elements at most
 *
 * Context: any.
 * Return: as fi_query_atomic().
 */
static inline int fi_atomicvalid(struct fid_ep *ep, enum fi_datatype datatype,
				 enum fi_op op, size_t *count)
{
	return kfi_atomic_is_valid(ep, datatype, op, count, 0);
}

/**
 * fi_fetch_atomicvalid() - is an operation with a result there?
 * @ep: endpoint
 * @datatype: of elements
 * @op: what is to be done
 * @count: out: elements at most
 *
 * Context: any.
 * Return: as fi_query_atomic().
 */
static inline int fi_fetch_atomicvalid(struct fid_ep *ep,
				       enum fi_datatype datatype, enum fi_op op,
				       size_t *count)
{
	return kfi_atomic_is_valid(ep, datatype, op, count, FI_FETCH_ATOMIC);
}

/**
 * fi_compare_atomicvalid() - is an operation that compares there?
 * @ep: endpoint
 * @datatype: of elements
 * @op: what is to be done
 * @count: out: elements at most
 *
 * Context: any.
 * Return: as fi_query_atomic().
 */
static inline int fi_compare_atomicvalid(struct fid_ep *ep,
					 enum fi_datatype datatype,
					 enum fi_op op, size_t *count)
{
	return kfi_atomic_is_valid(ep, datatype, op, count, FI_COMPARE_ATOMIC);
}

/**
 * fi_atomicmsg() - change elements of the peer's memory
 * @ep: connected endpoint, or unconnected one
 * @msg: what and where
 * @flags: FI_COMPLETION, FI_INJECT, FI_MORE, FI_FENCE, and at most one completion
 *	level
 *
 * When it completes the elements are changed, whichever level is asked for.
 *
 * Context: posting.
 * Return: as fi_writemsg(); -EOPNOTSUPP also for an operation that is not there;
 * -EMSGSIZE also for more elements than it takes; -EINVAL also if operands are missing,
 * or the address is no multiple of the type's size.
 */
static inline ssize_t fi_atomicmsg(struct fid_ep *ep,
				   const struct fi_msg_atomic *msg, u64 flags)
{
	const struct fi_ops_atomic *ops = READ_ONCE(ep->atomic);

	if (!KFI_HAS_OP(ops, post))
		return KFI_NO_OP(ops);
	return msg->context ? ops->post(ep, msg, NULL, NULL, flags, 0)
			    : -EINVAL;
}

/**
 * fi_fetch_atomicmsg() - change elements, and get what they were
 * @ep: connected endpoint, or unconnected one
 * @msg: what and where
 * @result: local buffer, as long as the elements
 * @flags: as fi_atomicmsg(), but FI_INJECT
 *
 * Context: posting.
 * Return: as fi_atomicmsg(); -EINVAL also if there is no room for the result.
 */
static inline ssize_t fi_fetch_atomicmsg(struct fid_ep *ep,
					 const struct fi_msg_atomic *msg,
					 const struct fi_buf *result, u64 flags)
{
	const struct fi_ops_atomic *ops = READ_ONCE(ep->atomic);

	return KFI_HAS_OP(ops, post) ? ops->post(ep, msg, NULL, result, flags,
						 FI_FETCH_ATOMIC)
				     : KFI_NO_OP(ops);
}

/**
 * fi_compare_atomicmsg() - change elements if they are so, and get what they were
 * @ep: connected endpoint, or unconnected one
 * @msg: what and where
 * @compare: what is compared, one for each element; copied by the post
 * @result: local buffer, as long as the elements
 * @flags: as fi_fetch_atomicmsg()
 *
 * Context: posting.
 * Return: as fi_fetch_atomicmsg(); -EINVAL also if something to compare is missing.
 */
static inline ssize_t fi_compare_atomicmsg(struct fid_ep *ep,
					   const struct fi_msg_atomic *msg,
					   const struct fi_buf *compare,
					   const struct fi_buf *result,
					   u64 flags)
{
	const struct fi_ops_atomic *ops = READ_ONCE(ep->atomic);

	return KFI_HAS_OP(ops, post) ? ops->post(ep, msg, compare, result,
						 flags, FI_COMPARE_ATOMIC)
				     : KFI_NO_OP(ops);
}

/**
 * fi_atomic() - change elements of the peer's memory by one kernel virtual range
 * @ep: connected endpoint, or unconnected one
 * @buf: operands
 * @count: elements
 * @desc: NULL
 * @dest_addr: as in &struct fi_msg
 * @addr: see &struct fi_rma_ioc
 * @key: see &struct fi_rma_ioc
 * @datatype: of elements
 * @op: what is done
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_atomicmsg().
 */
static inline ssize_t fi_atomic(struct fid_ep *ep, const void *buf,
				size_t count, void *desc, fi_addr_t dest_addr,
				u64 addr, u64 key, enum fi_datatype datatype,
				enum fi_op op, struct fi_context *context)
{
	const struct fi_rma_ioc ioc = { .addr = addr,
					.count = count,
					.key = key };
	const size_t len = count * kfabric_datatype_size(datatype);
	const struct fi_msg_atomic msg = { .buf = fi_buf_linear(buf, len),
					   .rma_iov = &ioc,
					   .rma_iov_count = 1,
					   .addr = dest_addr,
					   .datatype = datatype,
					   .op = op,
					   .context = context };

	return fi_atomicmsg(ep, &msg, ep->tx_op_flags);
}

/**
 * fi_fetch_atomic() - change elements by one kernel virtual range, and get them
 * @ep: connected endpoint, or unconnected one
 * @buf: operands; NULL of FI_ATOMIC_READ
 * @count: elements
 * @desc: NULL
 * @result: gets what they were
 * @result_desc: NULL
 * @dest_addr: as in &struct fi_msg
 * @addr: see &struct fi_rma_ioc
 * @key: see &struct fi_rma_ioc
 * @datatype: of elements
 * @op: what is done
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_fetch_atomicmsg().
 */
static inline ssize_t fi_fetch_atomic(struct fid_ep *ep, const void *buf,
				      size_t count, void *desc, void *result,
				      void *result_desc, fi_addr_t dest_addr,
				      u64 addr, u64 key,
				      enum fi_datatype datatype, enum fi_op op,
				      struct fi_context *context)
{
	const struct fi_rma_ioc ioc = { .addr = addr,
					.count = count,
					.key = key };
	const size_t len = count * kfabric_datatype_size(datatype);
	const struct fi_buf to = fi_buf_linear(result, len);
	struct fi_msg_atomic msg = { .rma_iov = &ioc,
				     .rma_iov_count = 1,
				     .addr = dest_addr,
				     .datatype = datatype,
				     .op = op,
				     .context = context };

	if (op != FI_ATOMIC_READ)
		msg.buf = fi_buf_linear(buf, len);
	return fi_fetch_atomicmsg(ep, &msg, &to, ep->tx_op_flags & ~FI_INJECT);
}

/**
 * fi_compare_atomic() - change elements of one range if they are so, and get them
 * @ep: connected endpoint, or unconnected one
 * @buf: operands
 * @count: elements
 * @desc: NULL
 * @compare: what is compared
 * @compare_desc: NULL
 * @result: gets what they were
 * @result_desc: NULL
 * @dest_addr: as in &struct fi_msg
 * @addr: see &struct fi_rma_ioc
 * @key: see &struct fi_rma_ioc
 * @datatype: of elements
 * @op: what is done
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_compare_atomicmsg().
 */
static inline ssize_t
fi_compare_atomic(struct fid_ep *ep, const void *buf, size_t count, void *desc,
		  const void *compare, void *compare_desc, void *result,
		  void *result_desc, fi_addr_t dest_addr, u64 addr, u64 key,
		  enum fi_datatype datatype, enum fi_op op,
		  struct fi_context *context)
{
	const struct fi_rma_ioc ioc = { .addr = addr,
					.count = count,
					.key = key };
	const size_t len = count * kfabric_datatype_size(datatype);
	const struct fi_buf to = fi_buf_linear(result, len);
	const struct fi_buf with = fi_buf_linear(compare, len);
	const struct fi_msg_atomic msg = { .buf = fi_buf_linear(buf, len),
					   .rma_iov = &ioc,
					   .rma_iov_count = 1,
					   .addr = dest_addr,
					   .datatype = datatype,
					   .op = op,
					   .context = context };

	return fi_compare_atomicmsg(ep, &msg, &with, &to,
				    ep->tx_op_flags & ~FI_INJECT);
}

/**
 * fi_inject_atomic() - change elements without operation memory
 * @ep: connected endpoint, or unconnected one
 * @buf: operands; reusable when the call returns
 * @count: elements
 * @dest_addr: as in &struct fi_msg
 * @addr: see &struct fi_rma_ioc
 * @key: see &struct fi_rma_ioc
 * @datatype: of elements
 * @op: what is done
 *
 * No completion on success; a failure has op_context NULL.
 *
 * Context: posting.
 * Return: as fi_atomicmsg().
 */
static inline ssize_t fi_inject_atomic(struct fid_ep *ep, const void *buf,
				       size_t count, fi_addr_t dest_addr,
				       u64 addr, u64 key,
				       enum fi_datatype datatype, enum fi_op op)
{
	const struct fi_ops_atomic *ops = READ_ONCE(ep->atomic);
	const struct fi_rma_ioc ioc = { .addr = addr,
					.count = count,
					.key = key };
	const size_t len = count * kfabric_datatype_size(datatype);
	const struct fi_msg_atomic msg = { .buf = fi_buf_linear(buf, len),
					   .rma_iov = &ioc,
					   .rma_iov_count = 1,
					   .addr = dest_addr,
					   .datatype = datatype,
					   .op = op };

	return KFI_HAS_OP(ops, post)
		       ? ops->post(ep, &msg, NULL, NULL, FI_INJECT, 0)
		       : KFI_NO_OP(ops);
}

#endif /* KFABRIC_FI_ATOMIC_H */
