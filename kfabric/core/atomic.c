// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: atomic operations: what there is, checks of posts, and doing them on
 * memory of this host.
 *
 * Context: any. An element is changed by cmpxchg(), without a lock, so that whoever
 * else changes it atomically is not overtaken.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/highmem.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include <kfabric/kfi_atomic.h>

#include "core.h"

#define ATOMIC_FLAGS (FI_COMPLETION | FI_MORE | FI_FENCE | FI_COMPLETION_LEVELS)

size_t kfabric_datatype_size(enum fi_datatype datatype)
{
	switch (datatype) {
	case FI_INT32:
	case FI_UINT32:
		return sizeof(u32);
	case FI_INT64:
	case FI_UINT64:
		return sizeof(u64);
	default:
		return 0;
	}
}
EXPORT_SYMBOL_GPL(kfabric_datatype_size);

/* ---- what there is ------------------------------------------------------------ */

int kfabric_query_atomic(struct fid_domain *domain, enum fi_datatype datatype,
			 enum fi_op op, struct fi_atomic_attr *attr, u64 flags)
{
	const u64 kinds = FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC;

	if (READ_ONCE(domain->fid.dead))
		return -ENODEV;
	if ((flags & ~kinds) || hweight64(flags) > 1)
		return -FI_EBADFLAGS;
	if (!kfabric_datatype_size(datatype) ||
	    (unsigned int)op >= FI_ATOMIC_OP_LAST)
		return -EINVAL;
	if (!KFI_HAS_OP(domain->ops, query_atomic))
		return -ENOSYS;
	return domain->ops->query_atomic(domain, datatype, op, attr, flags);
}
EXPORT_SYMBOL_GPL(kfabric_query_atomic);

int kfi_query_atomic_all(struct fid_domain *domain, unsigned int datatype,
			 unsigned int op, struct fi_atomic_attr *attr,
			 u64 flags)
{
	bool compares = op >= FI_CSWAP;

	if (compares != !!(flags & FI_COMPARE_ATOMIC) ||
	    (op == FI_ATOMIC_READ && !flags))
		return -EOPNOTSUPP;
	attr->size = kfabric_datatype_size(datatype);
	attr->count = KFI_ATOMIC_BYTES / attr->size;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_query_atomic_all);

/* ---- posts -------------------------------------------------------------------- */

static int kfi_check_elements(const struct fi_buf *buf, size_t len,
			      const struct fi_tx_attr *attr)
{
	if (!buf || buf->len != len)
		return -EINVAL;
	return kfi_buf_check(buf, attr->iov_limit, KFI_ATOMIC_BYTES);
}

/* The peer's elements, of a size and as many as there may be. */
static int kfi_check_ioc(const struct fi_msg_atomic *msg,
			 const struct fi_atomic_attr *can)
{
	const struct fi_rma_ioc *ioc = msg->rma_iov;
	u64 end;

	if (!ioc || !msg->rma_iov_count)
		return -EINVAL;
	if (msg->rma_iov_count > 1)
		return -E2BIG;
	if (!ioc->count)
		return -EINVAL;
	if (ioc->count > can->count)
		return -EMSGSIZE;
	if ((ioc->addr & (can->size - 1)) ||
	    check_add_overflow(ioc->addr, (u64)(ioc->count * can->size), &end))
		return -EINVAL;
	return 0;
}

int kfi_check_atomic(struct fid_ep *ep, const struct fi_msg_atomic *msg,
		     const struct fi_buf *compare, const struct fi_buf *result,
		     u64 flags, u64 kind, const struct fi_tx_attr *attr)
{
	u64 level = flags & FI_COMPLETION_LEVELS;
	struct fi_atomic_attr can;
	size_t len;
	int ret;

	if (!msg->context && !(flags & FI_INJECT))
		return -EINVAL;
	if ((flags & ~(ATOMIC_FLAGS | (kind ? 0 : FI_INJECT))) ||
	    hweight64(level) > 1)
		return -FI_EBADFLAGS;
	if ((level & ~ep->comp_levels) || level == FI_COMMIT_COMPLETE)
		return -EOPNOTSUPP;
	ret = kfabric_query_atomic(ep->domain, msg->datatype, msg->op, &can,
				   kind);
	ret = ret ?: kfi_check_ioc(msg, &can);
	if (ret)
		return ret;
	len = msg->rma_iov->count * can.size;
	ret = kfi_check_elements(&msg->buf, msg->op == FI_ATOMIC_READ ? 0 : len,
				 attr);
	if (!ret && kind == FI_COMPARE_ATOMIC)
		ret = kfi_check_elements(compare, len, attr);
	if (!ret && kind)
		ret = kfi_check_elements(result, len, attr);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_check_atomic);

/* ---- doing them --------------------------------------------------------------- */

static bool kfi_is_signed(enum fi_datatype datatype)
{
	return datatype == FI_INT32 || datatype == FI_INT64;
}

/*
 * What an element becomes, of which it has bits enough: t by b, compared with c. On its
 * own, so that a test can have others come between it and the change.
 */
static noinline __noclone u64 kfi_atomic_value(const struct kfi_atomic *a,
					       u64 t, u64 b, u64 c)
{
	bool is_signed = kfi_is_signed(a->datatype);
	bool t_less_b = is_signed ? (s64)t < (s64)b : t < b;
	bool t_less_c = is_signed ? (s64)t < (s64)c : t < c;
	bool c_less_t = is_signed ? (s64)c < (s64)t : c < t;

	switch (a->op) {
	case FI_MIN:
		return t_less_b ? t : b;
	case FI_MAX:
		return t_less_b ? b : t;
	case FI_SUM:
		return t + b;
	case FI_PROD:
		return t * b;
	case FI_LOR:
		return t || b;
	case FI_LAND:
		return t && b;
	case FI_BOR:
		return t | b;
	case FI_BAND:
		return t & b;
	case FI_LXOR:
		return !t != !b;
	case FI_BXOR:
		return t ^ b;
	case FI_ATOMIC_WRITE:
		return b;
	case FI_CSWAP:
		return c == t ? b : t;
	case FI_CSWAP_NE:
		return c != t ? b : t;
	case FI_CSWAP_LE:
		return t_less_c ? t : b;
	case FI_CSWAP_LT:
		return c_less_t ? b : t;
	case FI_CSWAP_GE:
		return c_less_t ? t : b;
	case FI_CSWAP_GT:
		return t_less_c ? b : t;
	case FI_MSWAP:
		return (b & c) | (t & ~c);
	default: /* FI_ATOMIC_READ */
		return t;
	}
}

/* Element i of an array that need not be aligned, with the sign in all bits. */
static u64 kfi_atomic_load(const struct kfi_atomic *a, const void *array,
			   size_t i)
{
	u32 word;
	u64 wide;

	if (kfabric_datatype_size(a->datatype) == sizeof(wide)) {
		memcpy(&wide, array + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&word, array + i * sizeof(word), sizeof(word));
	return kfi_is_signed(a->datatype) ? (u64)(s32)word : word;
}

static void kfi_change_u64(const struct kfi_atomic *a, u64 *at, u64 b, u64 c,
			   void *result)
{
	u64 seen, old;

	/* Two loads, where words have 32 bits, could see half of what somebody writes. */
	old = sizeof(long) < sizeof(*at) ? cmpxchg64(at, 0, 0) : READ_ONCE(*at);
	while (a->op != FI_ATOMIC_READ) {
		seen = cmpxchg64(at, old, kfi_atomic_value(a, old, b, c));
		if (seen == old)
			break;
		old = seen;
	}
	memcpy(result, &old, sizeof(old));
}

static void kfi_change_u32(const struct kfi_atomic *a, u32 *at, u64 b, u64 c,
			   void *result)
{
	u32 seen, old = READ_ONCE(*at);
	u64 t;

	while (a->op != FI_ATOMIC_READ) {
		t = kfi_is_signed(a->datatype) ? (u64)(s32)old : old;
		seen = cmpxchg(at, old, (u32)kfi_atomic_value(a, t, b, c));
		if (seen == old)
			break;
		old = seen;
	}
	memcpy(result, &old, sizeof(old));
}

/* Where the next element is; false: it is in pieces, or not aligned. */
static bool kfi_atomic_next(struct kfi_buf_iter *it, size_t size,
			    struct kfi_seg *seg)
{
	return kfi_buf_next(it, size, seg) == size &&
	       !(seg->offset & (size - 1));
}

int kfi_atomic_apply(const struct kfi_atomic *a, const struct fi_buf *mem,
		     u64 offset, void *result)
{
	size_t i, size = kfabric_datatype_size(a->datatype);
	struct kfi_buf_iter start, it;
	struct kfi_seg seg;
	u64 b = 0, c = 0;
	void *at;

	kfi_buf_start(&start, mem);
	kfi_buf_advance(&start, offset);
	for (it = start, i = 0; i < a->count; i++)
		if (!kfi_atomic_next(&it, size, &seg))
			return -EINVAL;
	for (it = start, i = 0; i < a->count; i++) {
		kfi_atomic_next(&it, size, &seg);
		at = kmap_local_page(seg.page) + seg.offset;
		if (a->op != FI_ATOMIC_READ)
			b = kfi_atomic_load(a, a->operand, i);
		if (a->op >= FI_CSWAP)
			c = kfi_atomic_load(a, a->compare, i);
		if (size == sizeof(u64))
			kfi_change_u64(a, at, b, c, result + i * size);
		else
			kfi_change_u32(a, at, b, c, result + i * size);
		kunmap_local(at);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_atomic_apply);
