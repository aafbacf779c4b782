// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: memory regions: the inner provider's, under our name.
 */
#include <linux/slab.h>

#include "fault.h"

static void fault_mr_close(struct kfid *fid)
{
	struct fault_mr *m = container_of(fid, struct fault_mr, mr.fid);

	fi_close(&m->inner->fid);
}

static void fault_mr_release(struct kfid *fid)
{
	kfree(container_of(fid, struct fault_mr, mr.fid));
}

static int fault_mr_bind(struct kfid *fid, struct kfid *bfid, u64 flags)
{
	struct fault_mr *m = container_of(fid, struct fault_mr, mr.fid);
	struct fault_ep *ep = container_of(bfid, struct fault_ep, post.ep.fid);

	return fi_mr_bind(m->inner, &ep->inner->fid, flags);
}

static int fault_mr_control(struct kfid *fid, int command, void *arg)
{
	struct fault_mr *m = container_of(fid, struct fault_mr, mr.fid);
	int ret = fi_control(&m->inner->fid, command, arg);

	if (!ret)
		WRITE_ONCE(m->mr.key, fi_mr_key(m->inner));
	return ret;
}

static const struct fi_ops fault_mr_ops = {
	.size = sizeof(struct fi_ops),
	.close = fault_mr_close,
	.release = fault_mr_release,
	.bind = fault_mr_bind,
	.control = fault_mr_control,
};

static int fault_mr_commit(struct fid_mr *inner, u64 offset, size_t len)
{
	struct fault_mr *m = inner->fid.context;

	return m->commit(&m->mr, offset, len);
}

int fault_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		     u64 flags, struct fid_mr **mr)
{
	struct fi_mr_attr own = *attr;
	struct fault_mr *m;
	int ret;

	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->commit = attr->commit;
	own.commit = attr->commit ? fault_mr_commit : NULL;
	own.context = m;
	/* Ours first: peers may call commit as soon as the inner one exists. */
	ret = kfi_mr_init(&m->mr, domain, &fault_mr_ops, attr);
	if (ret) {
		kfree(m);
		return ret;
	}
	ret = fi_mr_regattr(to_fault_domain(domain)->inner, &own, flags,
			    &m->inner);
	if (ret) {
		kfi_obj_abort(&m->mr.fid);
		return ret;
	}
	m->mr.key = fi_mr_key(m->inner);
	m->mr.iova = m->inner->iova;
	*mr = &m->mr;
	return 0;
}
