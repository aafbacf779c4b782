// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: memory regions.
 *
 * Locking: domain.mr_lock; see loop.h for how it is the fence.
 */
#include <linux/hash.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "loop.h"

static struct loop_mr *loop_mr_find_key(struct loop_domain *d, u64 key)
{
	struct loop_mr *m;

	lockdep_assert_held(&d->mr_lock);
	hash_for_each_possible(d->mrs, m, node,
			       key) if (m->mr.key == key) return m;
	return NULL;
}

/*
 * The region of a remote range. Call it with mr_lock held for reading, and
 * keep it while the memory is used. On failure *why tells the reason, for
 * fi_cq_err_entry.prov_errno.
 */
struct loop_mr *loop_mr_find(struct loop_domain *d,
			     const struct fi_rma_iov *iov, u64 access,
			     u64 *offset, int *why)
{
	struct loop_mr *m = loop_mr_find_key(d, iov->key);

	if (!m) {
		*why = ENOENT;
		return NULL;
	}
	if (!(m->attr.access & access)) {
		*why = EPERM;
		return NULL;
	}
	if (iov->addr < m->mr.iova || iov->addr - m->mr.iova > m->mr.len ||
	    iov->len > m->mr.len - (iov->addr - m->mr.iova)) {
		*why = ERANGE;
		return NULL;
	}
	*offset = iov->addr - m->mr.iova;
	return m;
}

static void loop_mr_close(struct kfid *fid)
{
	struct loop_mr *m = container_of(fid, struct loop_mr, mr.fid);
	struct loop_domain *d = to_loop_domain(m->mr.domain);

	down_write(&d->mr_lock);
	hash_del(&m->node);
	up_write(&d->mr_lock);
}

static void loop_mr_release(struct kfid *fid)
{
	kfree(container_of(fid, struct loop_mr, mr.fid));
}

static const struct fi_ops loop_mr_ops = {
	.size = sizeof(struct fi_ops),
	.close = loop_mr_close,
	.release = loop_mr_release,
};

/* Keys that the provider chooses are random and not 0. */
static u64 loop_mr_choose_key(struct loop_domain *d)
{
	u64 key;

	do
		key = get_random_u64();
	while (!key || loop_mr_find_key(d, key));
	return key;
}

static int loop_mr_add(struct loop_domain *d, struct loop_mr *m)
{
	int ret = 0;

	down_write(&d->mr_lock);
	if (d->domain.mr_mode & FI_MR_PROV_KEY)
		m->mr.key = loop_mr_choose_key(d);
	else
		m->mr.key = m->attr.requested_key;
	if (loop_mr_find_key(d, m->mr.key))
		ret = -EEXIST;
	else
		hash_add(d->mrs, &m->node, m->mr.key);
	up_write(&d->mr_lock);
	return ret;
}

int loop_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr)
{
	struct loop_mr *m;
	u64 end;
	int ret;

	if (attr->buf.len > LOOP_MAX_MR)
		return -E2BIG;
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->attr = *attr;
	ret = kfi_mr_init(&m->mr, domain, &loop_mr_ops, attr);
	if (ret) {
		kfree(m);
		return ret;
	}
	ret = -EINVAL;
	if (check_add_overflow(m->mr.iova, (u64)m->mr.len, &end))
		goto abort;
	ret = loop_mr_add(to_loop_domain(domain), m);
	if (ret)
		goto abort;
	*mr = &m->mr;
	return 0;
abort:
	kfi_obj_abort(&m->mr.fid);
	return ret;
}
