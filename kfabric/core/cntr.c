// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: counters of operations that are over, which are the same for all
 * providers.
 *
 * Locking: none; the binding of an endpoint does not change once it is enabled.
 * Lifetime: an endpoint pins its counters until it is closed.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "core.h"

int kfabric_cntr_open(struct fid_domain *domain,
		      const struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		      void *context)
{
	int ret = kfi_check_open(&domain->fid, NULL, true);
	struct fid_cntr *new;

	if (ret)
		return ret;
	if (attr && attr->events != FI_CNTR_EVENTS_COMP)
		return -EINVAL;
	if (attr && attr->flags)
		return -FI_EBADFLAGS;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->domain = domain;
	init_waitqueue_head(&new->wait);
	new->waiters = attr && attr->wait_obj ? attr->wait_obj : &new->wait;
	ret = kfi_obj_init(&new->fid, FI_CLASS_CNTR, domain->fid.prov,
			   &domain->fid, &kfi_plain_ops, context);
	if (ret)
		kfree(new);
	else
		*cntr = new;
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_cntr_open);

void kfabric_cntr_change(struct fid_cntr *cntr, atomic64_t *of, u64 value,
			 bool add)
{
	/* Who sees the new value sees what the operation has done. */
	smp_mb();
	if (add)
		atomic64_add(value, of);
	else
		atomic64_set(of, value);
	wake_up_all(cntr->waiters);
}
EXPORT_SYMBOL_GPL(kfabric_cntr_change);

static int kfi_cntr_look(struct fid_cntr *cntr, u64 threshold, u64 failed)
{
	if (fi_cntr_read(cntr) >= threshold)
		return 0;
	return fi_cntr_readerr(cntr) > failed ? -FI_EAVAIL : -FI_EAGAIN;
}

int kfabric_cntr_wait(struct fid_cntr *cntr, u64 threshold, int timeout_ms)
{
	u64 failed = fi_cntr_readerr(cntr);
	int ret = -FI_EAGAIN;
	long left = timeout_ms < 0 ? MAX_SCHEDULE_TIMEOUT
				   : msecs_to_jiffies(timeout_ms);

	might_sleep();
	left = wait_event_interruptible_timeout(
		*cntr->waiters,
		(ret = kfi_cntr_look(cntr, threshold, failed)) != -FI_EAGAIN,
		left);
	if (ret != -FI_EAGAIN)
		return ret;
	return left < 0 ? -EINTR : -ETIMEDOUT;
}
EXPORT_SYMBOL_GPL(kfabric_cntr_wait);

/* ---- endpoints -------------------------------------------------------------- */

int kfi_bind_cntr_locked(struct fid_ep *ep, struct fid_cntr *cntr, u64 kinds)
{
	const u64 all = KFI_CNTR_TX_KINDS | KFI_CNTR_RX_KINDS;
	int i;

	lockdep_assert_held(&ep->lock);
	if (kinds & (FI_REMOTE_READ | FI_REMOTE_WRITE))
		return -EOPNOTSUPP;
	if (!kinds || (kinds & ~all))
		return -FI_EBADFLAGS;
	if (((kinds & KFI_CNTR_TX_KINDS) &&
	     ep->fid.fclass == FI_CLASS_RX_CTX) ||
	    ((kinds & KFI_CNTR_RX_KINDS) && ep->fid.fclass == FI_CLASS_TX_CTX))
		return -FI_EBADFLAGS;
	if (cntr->domain != ep->domain)
		return -FI_EDOMAIN;
	if (kinds & ep->cntr_kinds)
		return -EBUSY;
	/* A pin for each kind, so that unbinding needs no cases. */
	for (i = 0; i < KFI_CNTR_KINDS; i++) {
		if (!(kinds & kfi_cntr_kind(i)))
			continue;
		if (!kfi_obj_pin(&cntr->fid))
			return -EINVAL;
		ep->cntr[i] = cntr;
		ep->cntr_kinds |= kfi_cntr_kind(i);
	}
	return 0;
}

void kfi_cntr_unbind(struct fid_ep *ep)
{
	int i;

	for (i = 0; i < KFI_CNTR_KINDS; i++)
		if (ep->cntr[i])
			kfi_obj_unpin(&ep->cntr[i]->fid);
}

/* An operation with these flags of its completion is over. */
void kfi_cntr_count(struct fid_ep *ep, u64 comp_flags, int err)
{
	struct fid_cntr *cntr;
	int i;

	for (i = 0; i < KFI_CNTR_KINDS; i++) {
		cntr = comp_flags & kfi_cntr_kind(i) ? ep->cntr[i] : NULL;
		if (cntr)
			kfabric_cntr_change(cntr,
					    err ? &cntr->failed : &cntr->done,
					    1, true);
	}
}
