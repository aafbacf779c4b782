/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers that move the bytes of regions themselves: a domain's
 * regions by key, and what a peer's access must fulfil.
 *
 * Such a provider has struct kfi_mr_table in its domain, and its regions begin
 * with struct kfi_table_mr.
 *
 * Locking: the provider's, which is the fence: held for reading over
 *	kfi_mr_table_find() and as long as the region's memory is used, held
 *	for writing over kfi_mr_table_add() and kfi_mr_table_del().
 */
#ifndef KFABRIC_KFI_MR_H
#define KFABRIC_KFI_MR_H

#include <linux/hashtable.h>

#include <kfabric/kfi_provider.h>

#define KFI_MR_TABLE_BITS 6

/**
 * struct kfi_table_mr - a region that can be in a table
 * @mr: the region
 * @attr: what it was registered with
 * @node: the table's
 */
struct kfi_table_mr {
	struct fid_mr mr;
	struct fi_mr_attr attr;
	struct hlist_node node;
};

/**
 * struct kfi_mr_table - regions by key; zeroed it is empty
 * @mrs: the regions
 */
struct kfi_mr_table {
	DECLARE_HASHTABLE(mrs, KFI_MR_TABLE_BITS);
};

/**
 * kfi_table_mr_reg() - make a region that peers reach
 * @domain: parent
 * @attr: from fi_mr_regattr()
 * @size: bytes of the provider's region
 * @ops: base operations; @ops->release is kfi_obj_kfree()
 * @add: makes the rest of the provider's region, and calls kfi_mr_table_add() under
 *	the provider's lock; when it fails nothing of the region is left
 * @mr: set on success
 *
 * Context: process.
 * Return: 0; -ENOMEM; -EINVAL its addresses overflow; as kfi_mr_init() and
 * kfi_mr_table_add().
 */
int kfi_table_mr_reg(struct fid_domain *domain, const struct fi_mr_attr *attr,
		     size_t size, const struct fi_ops *ops,
		     int (*add)(struct kfi_table_mr *m), struct fid_mr **mr);

/**
 * kfi_mr_table_add() - let peers reach a region
 * @table: of its domain
 * @m: region
 *
 * Its key is the one that was requested, or with FI_MR_PROV_KEY a random one
 * that is not 0.
 *
 * Context: any.
 * Return: 0; -EEXIST another one has the key.
 */
int kfi_mr_table_add(struct kfi_mr_table *table, struct kfi_table_mr *m);

/**
 * kfi_mr_table_del() - let peers reach a region no more
 * @m: region
 *
 * Context: any.
 */
static inline void kfi_mr_table_del(struct kfi_table_mr *m)
{
	hash_del(&m->node);
}

/**
 * kfi_mr_table_find() - the region of a range that a peer names
 * @table: of the domain
 * @range: key, address and length; nothing of it is trusted
 * @access: FI_REMOTE_READ or FI_REMOTE_WRITE
 *
 * Context: any.
 * Return: the region, which has all of the range; -ENOENT no such key; -EPERM
 * not for this access; -ERANGE not all of it.
 */
struct kfi_table_mr *kfi_mr_table_find(const struct kfi_mr_table *table,
				       const struct fi_rma_iov *range,
				       u64 access);

#endif /* KFABRIC_KFI_MR_H */
