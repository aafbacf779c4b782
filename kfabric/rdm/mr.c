// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: regions of memory, and moving bytes of a request to or from them.
 *
 * Context: registering and closing: process; moving: the engine.
 * Locking: kfir_domain.mr_lock, read-held while the memory of a region is used: so
 *	closing one is the fence; what peers do by grants ends with these, which
 *	closing waits for.
 */
#include <linux/err.h>
#include <linux/wait.h>

#include "rdm.h"

static bool kfir_is_ungranted(struct kfir_domain *d, const struct kfir_mr *m)
{
	bool yes;

	read_lock_bh(&d->mr_lock);
	yes = list_empty(&m->grants);
	read_unlock_bh(&d->mr_lock);
	return yes;
}

static void kfir_mr_close(struct kfid *fid)
{
	struct kfir_mr *m = container_of(fid, struct kfir_mr, t.mr.fid);
	struct kfir_domain *d = to_kfir_domain(m->t.mr.domain);

	write_lock_bh(&d->mr_lock);
	kfi_mr_table_del(&m->t);
	d->nr_mrs--;
	kfir_grants_revoke(d, m);
	write_unlock_bh(&d->mr_lock);
	wait_event(d->grants_gone, kfir_is_ungranted(d, m));
}

static const struct fi_ops kfir_mr_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfir_mr_close,
	.release = kfi_obj_kfree,
};

static int kfir_mr_add(struct kfi_table_mr *m)
{
	struct kfir_domain *d = to_kfir_domain(m->mr.domain);
	int ret;

	INIT_LIST_HEAD(&container_of(m, struct kfir_mr, t)->grants);
	write_lock_bh(&d->mr_lock);
	ret = kfi_mr_table_add(&d->mrs, m);
	if (!ret)
		d->nr_mrs++;
	write_unlock_bh(&d->mr_lock);
	return ret;
}

int kfir_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr)
{
	return kfi_table_mr_reg(domain, attr, sizeof(struct kfir_mr),
				&kfir_mr_ops, kfir_mr_add, mr);
}

/* What a peer is told of what cannot be done with a region. */
static enum rdmw_status kfir_status_of(long err)
{
	switch (err) {
	case -EPERM:
		return RDMW_NO_ACCESS;
	case -ERANGE:
		return RDMW_NO_RANGE;
	case -EINVAL:
		return RDMW_NO_ALIGN;
	default:
		return RDMW_NO_KEY;
	}
}

static struct kfi_table_mr *kfir_mr_find(struct kfir_domain *d,
					 const struct rdmw_range *r, u64 access)
{
	const struct fi_rma_iov range = { .addr = r->addr,
					  .len = r->len,
					  .key = r->key };

	lockdep_assert_held(&d->mr_lock);
	return kfi_mr_table_find(&d->mrs, &range, access);
}

/* Are all ranges of a request the peer's to use? */
enum rdmw_status kfir_mr_check(struct kfir_domain *d,
			       const struct rdmw_head *head, u64 access)
{
	enum rdmw_status status = RDMW_DONE;
	struct kfi_table_mr *m;
	u32 i;

	read_lock_bh(&d->mr_lock);
	for (i = 0; i < head->count && status == RDMW_DONE; i++) {
		m = kfir_mr_find(d, &head->ranges[i], access);
		if (IS_ERR(m))
			status = kfir_status_of(PTR_ERR(m));
	}
	read_unlock_bh(&d->mr_lock);
	return status;
}

/* A piece of a request; a region may have gone since the last one. */
enum rdmw_status kfir_mr_move(struct kfir_domain *d,
			      const struct rdmw_head *head, u64 at, u64 access,
			      u8 *bytes, u64 len)
{
	enum rdmw_status status = RDMW_DONE;
	struct rdmw_range range;
	struct kfi_table_mr *m;
	u64 n = len, offset;

	read_lock_bh(&d->mr_lock);
	for (; n && rdmw_head_at(head, at, &n, &range); n = len) {
		m = kfir_mr_find(d, &range, access);
		if (IS_ERR(m)) {
			status = kfir_status_of(PTR_ERR(m));
			break;
		}
		offset = range.addr - m->mr.iova;
		if (access == FI_REMOTE_WRITE)
			kfi_buf_put(&m->attr.buf, offset, bytes, range.len);
		else
			kfi_buf_get(bytes, &m->attr.buf, offset, range.len);
		at += n;
		bytes += n;
		len -= n;
	}
	read_unlock_bh(&d->mr_lock);
	return status;
}

/* The elements are the peer's to change, and change: each at once, and here alone. */
enum rdmw_status kfir_mr_change(struct kfir_domain *d,
				const struct rdmw_range *range,
				const struct kfi_atomic *atomic, void *result)
{
	struct kfi_table_mr *m;
	long ret;

	read_lock_bh(&d->mr_lock);
	m = kfir_mr_find(d, range, FI_ATOMIC);
	ret = PTR_ERR_OR_ZERO(m);
	if (!ret)
		ret = kfi_atomic_apply(atomic, &m->attr.buf,
				       range->addr - m->mr.iova, result);
	read_unlock_bh(&d->mr_lock);
	return ret ? kfir_status_of(ret) : RDMW_DONE;
}
