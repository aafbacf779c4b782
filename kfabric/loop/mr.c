// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: memory regions.
 *
 * Locking: domain.mr_lock; see loop.h for how it is the fence.
 */
#include <linux/err.h>

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

int loop_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr)
{
	struct loop_domain *d = to_loop_domain(domain);
	struct kfi_table_mr *m;
	int ret;

	if (attr->buf.len > LOOP_MAX_MR)
		return -E2BIG;
	m = kfi_table_mr_alloc(domain, attr, sizeof(*m), &loop_mr_ops);
	if (IS_ERR(m))
		return PTR_ERR(m);
	down_write(&d->mr_lock);
	ret = kfi_mr_table_add(&d->mrs, m);
	up_write(&d->mr_lock);
	if (ret) {
		kfi_obj_abort(&m->mr.fid);
		return ret;
	}
	*mr = &m->mr;
	return 0;
}
