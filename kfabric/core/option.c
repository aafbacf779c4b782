// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: fi_setopt() and fi_getopt().
 */
#include <linux/export.h>
#include <linux/string.h>

#include "core.h"

/* A time-out of 0 would be none. */
static int kfi_set_timeout(u32 *to, const void *optval, size_t optlen)
{
	if (optlen != sizeof(*to) || !*(const u32 *)optval)
		return -EINVAL;
	WRITE_ONCE(*to, *(const u32 *)optval);
	return 0;
}

int kfabric_setopt(struct fid_ep *ep, int level, int optname,
		   const void *optval, size_t optlen)
{
	unsigned long irq;
	int ret = 0;

	if (level != FI_OPT_ENDPOINT)
		return -ENOSYS;
	if (ep->fid.fclass == FI_CLASS_SRX_CTX)
		return kfi_srx_setopt(ep, optname, optval, optlen);
	switch (optname) {
	case FI_OPT_SPACE_HANDLER:
		if (optlen != sizeof(ep->space))
			return -EINVAL;
		/* Nothing can be posted yet, so that readers need no lock. */
		spin_lock_irqsave(&ep->lock, irq);
		if (ep->state == KFI_EP_IDLE)
			memcpy(&ep->space, optval, optlen);
		else
			ret = -FI_EOPBADSTATE;
		spin_unlock_irqrestore(&ep->lock, irq);
		return ret;
	case FI_OPT_OP_TIMEOUT_MS:
		return kfi_set_timeout(&ep->op_timeout_ms, optval, optlen);
	case FI_OPT_CM_TIMEOUT_MS:
		return kfi_set_timeout(&ep->cm_timeout_ms, optval, optlen);
	case FI_OPT_MIN_MULTI_RECV:
		if (!ep->min_multi_recv)
			return -ENOSYS;
		/* 0 would be none. */
		if (optlen != sizeof(size_t) || !*(const size_t *)optval)
			return -EINVAL;
		WRITE_ONCE(ep->min_multi_recv, *(const size_t *)optval);
		return 0;
	case FI_OPT_PATH:
		if (!ep->ops->set_path)
			return -ENOSYS;
		return optlen == sizeof(struct fi_path)
			       ? ep->ops->set_path(ep, optval)
			       : -EINVAL;
	default:
		return -ENOSYS;
	}
}
EXPORT_SYMBOL_GPL(kfabric_setopt);

static int kfi_give_option(const void *value, size_t len, void *optval,
			   size_t *optlen)
{
	if (*optlen < len)
		return -FI_ETOOSMALL;
	memcpy(optval, value, len);
	*optlen = len;
	return 0;
}

int kfabric_getopt(struct fid_ep *ep, int level, int optname, void *optval,
		   size_t *optlen)
{
	struct fi_path path = {};
	u64 moved;
	int ret;

	if (level != FI_OPT_ENDPOINT || ep->fid.fclass == FI_CLASS_SRX_CTX)
		return -ENOSYS;
	switch (optname) {
	case FI_OPT_OP_TIMEOUT_MS:
		return kfi_give_option(&ep->op_timeout_ms, sizeof(u32), optval,
				       optlen);
	case FI_OPT_CM_TIMEOUT_MS:
		return kfi_give_option(&ep->cm_timeout_ms, sizeof(u32), optval,
				       optlen);
	case FI_OPT_CM_DATA_SIZE:
		return kfi_give_option(&ep->cm_data_size, sizeof(size_t),
				       optval, optlen);
	case FI_OPT_FLUSH_MODES:
		return kfi_give_option(&ep->flush_modes, sizeof(u32), optval,
				       optlen);
	case FI_OPT_COMP_LEVELS:
		return kfi_give_option(&ep->comp_levels, sizeof(u64), optval,
				       optlen);
	case FI_OPT_MIN_MULTI_RECV:
		if (!ep->min_multi_recv)
			return -ENOSYS;
		return kfi_give_option(&ep->min_multi_recv, sizeof(size_t),
				       optval, optlen);
	case FI_OPT_MOVED_BYTES:
		if (!ep->ops->moved)
			return -ENOSYS;
		moved = ep->ops->moved(ep);
		return kfi_give_option(&moved, sizeof(moved), optval, optlen);
	case FI_OPT_PATH:
		if (!ep->ops->path)
			return -ENOSYS;
		ret = ep->ops->path(ep, &path);
		return ret
			       ?: kfi_give_option(&path, sizeof(path), optval,
						  optlen);
	default:
		return -ENOSYS;
	}
}
EXPORT_SYMBOL_GPL(kfabric_getopt);
