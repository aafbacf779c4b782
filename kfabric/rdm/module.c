// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider registers itself; its fabrics and domains.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "rdm.h"

unsigned int kfir_idle_ms = 60000;
module_param_named(idle_ms, kfir_idle_ms, uint, 0644);
MODULE_PARM_DESC(idle_ms, "a connection without traffic is closed after so "
			  "many milliseconds; 0: never");

struct workqueue_struct *kfir_wq;

static void kfir_domain_close(struct kfid *fid)
{
	struct kfir_domain *d =
		container_of(fid, struct kfir_domain, domain.fid);

	fi_close(&d->inner->fid);
}

static void kfir_domain_release(struct kfid *fid)
{
	struct kfir_domain *d =
		container_of(fid, struct kfir_domain, domain.fid);

	fi_freeinfo(d->info);
	kfree(d);
}

static const struct fi_ops kfir_domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfir_domain_close,
	.release = kfir_domain_release,
};

static const struct fi_ops_domain kfir_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = kfir_endpoint,
	.cq_open = kfi_plain_cq_open,
	.mr_regattr = kfir_mr_regattr,
	.av_open = kfi_plain_av_open,
	.scalable_ep = kfir_scalable_ep,
	.query_atomic = kfi_query_atomic_all,
};

static int kfir_domain(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **domain, void *context)
{
	struct kfir_domain *new = kzalloc(sizeof(*new), GFP_KERNEL);
	struct fi_info *list;
	int ret;

	if (!new)
		return -ENOMEM;
	rwlock_init(&new->mr_lock);
	init_waitqueue_head(&new->grants_gone);
	ret = kfir_ask_inner(NULL, NULL, 0, info, &list);
	if (ret) {
		ret = ret == -ENODATA ? -ENODEV : ret;
		goto free;
	}
	new->info = fi_dupinfo(list);
	fi_freeinfo(list);
	ret = new->info ? fi_domain(kfi_layer_inner(fabric), new->info,
				    &new->inner, new)
			: -ENOMEM;
	if (ret)
		goto free;
	ret = kfi_domain_init(&new->domain, fabric, &kfir_domain_fid_ops,
			      &kfir_domain_ops, 0, context);
	if (ret)
		goto close_inner;
	*domain = &new->domain;
	return 0;
close_inner:
	fi_close(&new->inner->fid);
free:
	kfir_domain_release(&new->domain.fid);
	return ret;
}

static const struct fi_ops_fabric kfir_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = kfir_domain,
};

struct kfi_provider kfir_prov = {
	.name = KFIR_NAME,
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = 90,
	.getinfo = kfir_getinfo,
	.fabric = kfi_layer_fabric,
	.fabric_ops = &kfir_fabric_ops,
	.wqs = {
		{ &kfir_wq, "kfabric_rdm",
		  WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0 },
	},
};

KFI_MODULE_PROVIDER(kfir_prov);
KFI_MODULE_ALIAS(KFIR_NAME);
MODULE_DESCRIPTION("kfabric provider: reliable datagrams over another one");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
