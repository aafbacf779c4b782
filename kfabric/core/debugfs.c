// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: debugfs: version, providers, objects with their counters.
 *
 * kfabric/version    one line
 * kfabric/providers  name version preference objects
 * kfabric/objects    class id provider parent users refs, then name=value
 */
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/seq_file.h>

#include "core.h"

static struct dentry *kfi_debugfs_root;

struct dentry *kfi_debugfs_dir(void)
{
	return kfi_debugfs_root;
}
EXPORT_SYMBOL_GPL(kfi_debugfs_dir);

static int kfi_version_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%d.%d\n", FI_MAJOR_VERSION, FI_MINOR_VERSION);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kfi_version);

static int kfi_providers_show(struct seq_file *m, void *v)
{
	struct kfi_provider *p;

	mutex_lock(&kfi_prov_mutex);
	list_for_each_entry(p, &kfi_prov_list, node)
		seq_printf(m, "%s %u.%u preference=%d objects=%d\n", p->name,
			   FI_MAJOR(p->version), FI_MINOR(p->version),
			   p->preference, atomic_read(&p->nr_objects));
	mutex_unlock(&kfi_prov_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kfi_providers);

static void kfi_show_obj(struct seq_file *m, struct kfid *fid)
{
	int users = atomic_read(&fid->users);
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_eq *eq;

	seq_printf(m, "%s %u prov=%s parent=%u users=%d refs=%u%s%s",
		   kfi_class_name(fid->fclass), fid->id, fid->prov->name,
		   fid->parent ? fid->parent->id : 0, users < 0 ? 0 : users,
		   kref_read(&fid->ref), users < 0 ? " closed" : "",
		   READ_ONCE(fid->dead) ? " dead" : "");
	if (kfi_is_ep(fid)) {
		ep = container_of(fid, struct fid_ep, fid);
		seq_printf(m, " state=%s posts=%ld bytes=%ld again=%ld",
			   kfi_ep_state_name(fi_ep_state(ep)),
			   atomic_long_read(&ep->nr_posts),
			   atomic_long_read(&ep->nr_bytes),
			   atomic_long_read(&ep->nr_again));
		seq_printf(m, " done=%ld failed=%ld",
			   atomic_long_read(&ep->nr_done),
			   atomic_long_read(&ep->nr_failed));
	}
	switch (fid->fclass) {
	case FI_CLASS_CQ:
		cq = container_of(fid, struct fid_cq, fid);
		seq_printf(m, " completions=%ld errors=%ld unread=%u upcall=%d",
			   atomic_long_read(&cq->nr_comp),
			   atomic_long_read(&cq->nr_err),
			   READ_ONCE(cq->nr_done), !!cq->attr.comp_handler);
		break;
	case FI_CLASS_EQ:
		eq = container_of(fid, struct fid_eq, fid);
		seq_printf(m, " events=%ld", atomic_long_read(&eq->nr_events));
		break;
	case FI_CLASS_MR:
		seq_printf(m, " bytes=%zu",
			   container_of(fid, struct fid_mr, fid)->len);
		break;
	default:
		break;
	}
	seq_putc(m, '\n');
}

static int kfi_objects_show(struct seq_file *m, void *v)
{
	struct kfid *fid;

	mutex_lock(&kfi_obj_mutex);
	list_for_each_entry(fid, &kfi_obj_list, node)
		kfi_show_obj(m, fid);
	mutex_unlock(&kfi_obj_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kfi_objects);

void kfi_debugfs_setup(void)
{
	kfi_debugfs_root = debugfs_create_dir("kfabric", NULL);
	debugfs_create_file("version", 0444, kfi_debugfs_root, NULL,
			    &kfi_version_fops);
	debugfs_create_file("providers", 0444, kfi_debugfs_root, NULL,
			    &kfi_providers_fops);
	debugfs_create_file("objects", 0400, kfi_debugfs_root, NULL,
			    &kfi_objects_fops);
}

void kfi_debugfs_teardown(void)
{
	debugfs_remove_recursive(kfi_debugfs_root);
}
