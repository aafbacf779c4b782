/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers that have atomic operations: the checks of posts, and, for
 * those that do them by themselves, how an element changes.
 */
#ifndef KFABRIC_KFI_ATOMIC_H
#define KFABRIC_KFI_ATOMIC_H

#include <kfabric/fi_atomic.h>
#include <kfabric/kfi_provider.h>

/**
 * kfi_check_atomic() - checks of an atomic operation that are the same for all
 * @ep: endpoint
 * @msg: of the post; without context it is injected
 * @compare: of the post, or NULL
 * @result: of the post, or NULL
 * @flags: of the post
 * @kind: as the flags of fi_query_atomic(), which is asked
 * @attr: limits
 *
 * Context: posting.
 * Return: 0; as fi_compare_atomicmsg().
 */
int kfi_check_atomic(struct fid_ep *ep, const struct fi_msg_atomic *msg,
		     const struct fi_buf *compare, const struct fi_buf *result,
		     u64 flags, u64 kind, const struct fi_tx_attr *attr);

/* Bytes of elements that an atomic operation of any provider takes at most. */
#define KFI_ATOMIC_BYTES 64

/**
 * struct kfi_atomic - an atomic operation that is done by this host
 * @datatype: of elements
 * @op: what is done
 * @count: elements
 * @operand: operands
 * @compare: what is compared, if @op does
 */
struct kfi_atomic {
	enum fi_datatype datatype;
	enum fi_op op;
	size_t count;
	const void *operand;
	const void *compare;
};

/**
 * kfi_query_atomic_all() - the query_atomic operation of who does them by
 *	kfi_atomic_apply()
 * @domain: unused
 * @datatype: of elements
 * @op: what is to be done
 * @attr: out: how much of it
 * @flags: of fi_query_atomic()
 *
 * Context: any.
 * Return: as fi_query_atomic().
 */
int kfi_query_atomic_all(struct fid_domain *domain, unsigned int datatype,
			 unsigned int op, struct fi_atomic_attr *attr,
			 u64 flags);

/**
 * kfi_atomic_apply() - do an atomic operation on memory of this host
 * @a: operation
 * @mem: memory, of which the caller has seen that it has the elements
 * @offset: bytes into it
 * @result: out: what the elements were; KFI_ATOMIC_BYTES
 *
 * Context: any.
 * Return: 0; -EINVAL an element does not lie at a multiple of its size, or is not in
 * one piece: nothing was changed.
 */
int kfi_atomic_apply(const struct kfi_atomic *a, const struct fi_buf *mem,
		     u64 offset, void *result);

#endif /* KFABRIC_KFI_ATOMIC_H */
