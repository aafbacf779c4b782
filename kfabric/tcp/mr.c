// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: memory regions that peers reach.
 *
 * Peers count from 0 and name keys that the upper layer chose.
 *
 * Context: lookups in softirq.
 * Locking: ktcp_domain.mr_lock; see tcp.h for how it is the fence.
 */
#include <linux/slab.h>

#include "tcp.h"

static struct ktcp_mr *ktcp_mr_find_key(struct ktcp_domain *d, u64 key)
{
	struct ktcp_mr *m;

	lockdep_assert_held(&d->mr_lock);
	hash_for_each_possible(d->mrs, m, node, key)
	{
		if (m->mr.key == key)
			return m;
	}
	return NULL;
}

struct ktcp_mr *ktcp_mr_find(struct ktcp_domain *d, u64 key, u64 access,
			     u64 offset, u64 len)
{
	struct ktcp_mr *m = ktcp_mr_find_key(d, key);

	if (!m || !(m->attr.access & access))
		return NULL;
	if (offset > m->mr.len || len > m->mr.len - offset)
		return NULL;
	return m;
}

static void ktcp_mr_close(struct kfid *fid)
{
	struct ktcp_mr *m = container_of(fid, struct ktcp_mr, mr.fid);
	struct ktcp_domain *d = to_ktcp_domain(m->mr.domain);

	write_lock_bh(&d->mr_lock);
	hash_del(&m->node);
	write_unlock_bh(&d->mr_lock);
	/* A commit() that is under way has taken the region out of the lock. */
	wait_event(d->commits, !atomic_read(&m->committing));
}

static void ktcp_mr_release(struct kfid *fid)
{
	kfree(container_of(fid, struct ktcp_mr, mr.fid));
}

static const struct fi_ops ktcp_mr_ops = {
	.size = sizeof(struct fi_ops),
	.close = ktcp_mr_close,
	.release = ktcp_mr_release,
};

static int ktcp_mr_add(struct ktcp_domain *d, struct ktcp_mr *m)
{
	int ret = 0;

	write_lock_bh(&d->mr_lock);
	if (ktcp_mr_find_key(d, m->mr.key))
		ret = -EEXIST;
	else
		hash_add(d->mrs, &m->node, m->mr.key);
	write_unlock_bh(&d->mr_lock);
	return ret;
}

int ktcp_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr)
{
	struct ktcp_mr *m;
	int ret;

	if (attr->buf.len > KTCP_MAX_MR)
		return -E2BIG;
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->attr = *attr;
	ret = kfi_mr_init(&m->mr, domain, &ktcp_mr_ops, attr);
	if (ret) {
		kfree(m);
		return ret;
	}
	m->mr.iova = 0;
	m->mr.key = attr->requested_key;
	ret = ktcp_mr_add(to_ktcp_domain(domain), m);
	if (ret) {
		kfi_obj_abort(&m->mr.fid);
		return ret;
	}
	*mr = &m->mr;
	return 0;
}
