// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: memory regions that peers reach.
 *
 * Peers count from 0 and name keys that the upper layer chose.
 *
 * Locking: ktcp_domain.mr_lock; see tcp.h for how it is the fence.
 */
#include "tcp.h"

static void ktcp_mr_close(struct kfid *fid)
{
	struct ktcp_mr *m = container_of(fid, struct ktcp_mr, t.mr.fid);
	struct ktcp_domain *d = to_ktcp_domain(m->t.mr.domain);

	write_lock_bh(&d->mr_lock);
	kfi_mr_table_del(&m->t);
	write_unlock_bh(&d->mr_lock);
	/* A commit() that is under way has taken the region out of the lock. */
	wait_event(d->commits, !atomic_read(&m->committing));
}

static const struct fi_ops ktcp_mr_ops = {
	.size = sizeof(struct fi_ops),
	.close = ktcp_mr_close,
	.release = kfi_obj_kfree,
};

static int ktcp_mr_add(struct kfi_table_mr *m)
{
	struct ktcp_domain *d = to_ktcp_domain(m->mr.domain);
	int ret;

	write_lock_bh(&d->mr_lock);
	ret = kfi_mr_table_add(&d->mrs, m);
	write_unlock_bh(&d->mr_lock);
	return ret;
}

int ktcp_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr)
{
	if (attr->buf.len > KTCP_MAX_MR)
		return -E2BIG;
	return kfi_table_mr_reg(domain, attr, sizeof(struct ktcp_mr),
				&ktcp_mr_ops, ktcp_mr_add, mr);
}
