// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: memory regions.
 *
 * Locking: domain.mr_lock; see loop.h for how it is the fence.
 */
#include "loop.h"

static void loop_mr_close(struct kfid *fid)
{
	struct kfi_table_mr *m = container_of(fid, struct kfi_table_mr, mr.fid);
	struct loop_domain *d = to_loop_domain(m->mr.domain);

	down_write(&d->mr_lock);
	kfi_mr_table_del(m);
	up_write(&d->mr_lock);
}

static const struct fi_ops loop_mr_ops = {
	.size = sizeof(struct fi_ops),
	.close = loop_mr_close,
	.release = kfi_obj_kfree,
};

static int loop_mr_add(struct kfi_table_mr *m)
{
	struct loop_domain *d = to_loop_domain(m->mr.domain);
	int ret;

	down_write(&d->mr_lock);
	ret = kfi_mr_table_add(&d->mrs, m);
	up_write(&d->mr_lock);
	return ret;
}

int loop_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr)
{
	if (attr->buf.len > LOOP_MAX_MR)
		return -E2BIG;
	return kfi_table_mr_reg(domain, attr, sizeof(struct kfi_table_mr),
				&loop_mr_ops, loop_mr_add, mr);
}
