// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: regions by key, for providers that move their bytes: see
 * kfi_mr.h.
 *
 * Context: lookups in softirq.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>

#include <kfabric/kfi_mr.h>

#include "core.h"

int kfi_table_mr_reg(struct fid_domain *domain, const struct fi_mr_attr *attr,
		     size_t size, const struct fi_ops *ops,
		     int (*add)(struct kfi_table_mr *m), struct fid_mr **mr)
{
	struct kfi_table_mr *m = kzalloc(size, GFP_KERNEL);
	u64 end;
	int ret;

	if (!m)
		return -ENOMEM;
	m->attr = *attr;
	ret = kfi_mr_init(&m->mr, domain, ops, attr);
	if (ret) {
		kfree(m);
		return ret;
	}
	ret = check_add_overflow(m->mr.iova, (u64)m->mr.len, &end) ? -EINVAL
								   : add(m);
	if (ret) {
		kfi_obj_abort(&m->mr.fid);
		return ret;
	}
	*mr = &m->mr;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_table_mr_reg);

static struct kfi_table_mr *kfi_mr_of_key(const struct kfi_mr_table *table,
					  u64 key)
{
	struct kfi_table_mr *m;

	hash_for_each_possible(table->mrs, m, node, key)
	{
		if (m->mr.key == key)
			return m;
	}
	return NULL;
}

int kfi_mr_table_add(struct kfi_mr_table *table, struct kfi_table_mr *m)
{
	u64 key = m->attr.requested_key;

	if (m->mr.domain->mr_mode & FI_MR_PROV_KEY) {
		do
			key = get_random_u64();
		while (!key || kfi_mr_of_key(table, key));
	}
	if (kfi_mr_of_key(table, key))
		return -EEXIST;
	m->mr.key = key;
	hash_add(table->mrs, &m->node, key);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_mr_table_add);

struct kfi_table_mr *kfi_mr_table_find(const struct kfi_mr_table *table,
				       const struct fi_rma_iov *range,
				       u64 access)
{
	struct kfi_table_mr *m = kfi_mr_of_key(table, range->key);
	u64 offset;

	if (!m)
		return ERR_PTR(-ENOENT);
	if (!(m->attr.access & access))
		return ERR_PTR(-EPERM);
	offset = range->addr - m->mr.iova;
	if (range->addr < m->mr.iova || offset > m->mr.len ||
	    range->len > m->mr.len - offset)
		return ERR_PTR(-ERANGE);
	return m;
}
EXPORT_SYMBOL_GPL(kfi_mr_table_find);
