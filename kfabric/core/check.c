// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: checks of posts that are the same for all providers.
 */
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/overflow.h>

#include "core.h"

#define TX_FLAGS                                                              \
	(FI_COMPLETION | FI_INJECT | FI_MORE | FI_FENCE | FI_REMOTE_CQ_DATA | \
	 FI_COMPLETION_LEVELS)

#define RX_FLAGS (FI_COMPLETION | FI_MORE)

#define FLUSH_FLAGS (FI_COMPLETION | FI_MORE)

int kfi_check_tx(const struct fid_ep *ep, const struct fi_context *context,
		 const struct fi_buf *buf, u64 flags,
		 const struct fi_tx_attr *attr, size_t max_len)
{
	u64 level = flags & FI_COMPLETION_LEVELS;

	if (!context)
		return -EINVAL;
	if ((flags & ~TX_FLAGS) || hweight64(level) > 1)
		return -FI_EBADFLAGS;
	if (level & ~ep->comp_levels)
		return -EOPNOTSUPP;
	if (flags & FI_INJECT)
		max_len = attr->inject_size;
	return kfi_buf_check(buf, attr->iov_limit, max_len);
}
EXPORT_SYMBOL_GPL(kfi_check_tx);

int kfi_check_rx(const struct fid_ep *ep, const struct fi_context *context,
		 const struct fi_buf *buf, u64 flags,
		 const struct fi_rx_attr *attr, size_t max_len)
{
	if (!context)
		return -EINVAL;
	if (flags & ~RX_FLAGS)
		return -FI_EBADFLAGS;
	/* The shared context is where to post. */
	if (ep->shares_rx)
		return -EINVAL;
	return kfi_buf_check(buf, attr->iov_limit, max_len);
}
EXPORT_SYMBOL_GPL(kfi_check_rx);

/* Refuse ranges that wrap around; *sum becomes their length. */
static int kfi_check_ranges(const struct fi_rma_iov *r, size_t count,
			    size_t limit, size_t *sum)
{
	u64 end;

	if (!r || !count)
		return -EINVAL;
	if (count > limit)
		return -E2BIG;
	for (*sum = 0; count; count--, r++)
		if (check_add_overflow(r->addr, (u64)r->len, &end) ||
		    check_add_overflow(*sum, r->len, sum))
			return -EINVAL;
	return 0;
}

int kfi_check_rma(const struct fid_ep *ep, const struct fi_msg_rma *msg,
		  u64 flags, const struct fi_tx_attr *attr, size_t max_len)
{
	size_t sum;
	int ret;

	ret = kfi_check_tx(ep, msg->context, &msg->buf, flags, attr, max_len);
	ret = ret
		      ?: kfi_check_ranges(msg->rma_iov, msg->rma_iov_count,
					  attr->rma_iov_limit, &sum);
	if (ret)
		return ret;
	return sum == msg->buf.len ? 0 : -EINVAL;
}
EXPORT_SYMBOL_GPL(kfi_check_rma);

int kfi_check_flush(const struct fid_ep *ep, const struct fi_msg_flush *msg,
		    u64 flags, const struct fi_tx_attr *attr)
{
	size_t sum;
	int ret;

	if (!msg->context)
		return -EINVAL;
	if (flags & ~FLUSH_FLAGS)
		return -FI_EBADFLAGS;
	if (hweight32(msg->mode) != 1 || (msg->mode & ~ep->flush_modes))
		return -EOPNOTSUPP;
	ret = kfi_check_ranges(msg->rma_iov, msg->rma_iov_count,
			       attr->rma_iov_limit, &sum);
	if (ret)
		return ret;
	/* FI_FLUSH_READBACK reads the end of the last one. */
	return msg->rma_iov[msg->rma_iov_count - 1].len ? 0 : -EINVAL;
}
EXPORT_SYMBOL_GPL(kfi_check_flush);
