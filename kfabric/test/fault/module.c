// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: registration, fabrics, domains, CQs.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "fault.h"

#define FAULT_PREFERENCE 90

struct workqueue_struct *fault_wq;

static void fault_domain_close(struct kfid *fid)
{
	struct fault_domain *d =
		container_of(fid, struct fault_domain, domain.fid);

	fi_close(&d->inner->fid);
}

static void fault_domain_release(struct kfid *fid)
{
	kfree(container_of(fid, struct fault_domain, domain.fid));
}

static const struct fi_ops fault_domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fault_domain_close,
	.release = fault_domain_release,
};

static int fault_query_atomic(struct fid_domain *domain, unsigned int datatype,
			      unsigned int op, struct fi_atomic_attr *attr,
			      u64 flags)
{
	return fi_query_atomic(to_fault_domain(domain)->inner, datatype, op,
			       attr, flags);
}

/* Inner queues belong to endpoints; the engine can upcall in any context. */
static const struct fi_ops_domain fault_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = fault_endpoint,
	.cq_open = kfi_plain_cq_open,
	.mr_regattr = fault_mr_regattr,
	.query_atomic = fault_query_atomic,
};

static int fault_open_inner_domain(struct fault_domain *d,
				   struct fid_fabric *fabric,
				   const struct fi_info *info)
{
	struct kfid *handle = NULL;
	struct fi_info *inner;
	int ret;

	if (info->handle && info->handle->ops == &fault_req_ops)
		handle = container_of(info->handle, struct fault_req, req.fid)
				 ->inner->handle;
	inner = fault_info_inner(info, handle);
	if (!inner)
		return -ENOMEM;
	d->inner_context = inner->domain_attr->op_context_size;
	/* An info that does not come from fi_getinfo() lacks it. */
	if (d->inner_context < sizeof(struct fi_context))
		ret = -EINVAL;
	else
		ret = fi_domain(kfi_layer_inner(fabric), inner, &d->inner, d);
	fi_freeinfo(inner);
	return ret;
}

static int fault_domain(struct fid_fabric *fabric, struct fi_info *info,
			struct fid_domain **domain, void *context)
{
	struct fault_domain *new = kzalloc(sizeof(*new), GFP_KERNEL);
	int ret;

	if (!new)
		return -ENOMEM;
	ret = fault_open_inner_domain(new, fabric, info);
	if (ret)
		goto free;
	ret = kfi_domain_init(&new->domain, fabric, &fault_domain_fid_ops,
			      &fault_domain_ops, new->inner->mr_mode, context);
	if (ret)
		goto close_inner;
	*domain = &new->domain;
	return 0;
close_inner:
	fi_close(&new->inner->fid);
free:
	kfree(new);
	return ret;
}

static const struct fi_ops_fabric fault_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = fault_domain,
	.passive_ep = fault_passive_ep,
};

struct kfi_provider fault_prov = {
	.name = FAULT_NAME,
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = FAULT_PREFERENCE,
	.flags = KFI_PROV_EXPLICIT,
	.getinfo = fault_getinfo,
	.fabric = kfi_layer_fabric,
	.fabric_ops = &fault_fabric_ops,
};

static int __init fault_init(void)
{
	int ret;

	fault_reseed(fault_seed);
	fault_wq = alloc_workqueue("kfabric_fault",
				   WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!fault_wq)
		return -ENOMEM;
	fault_debugfs_setup();
	ret = kfi_provider_register(&fault_prov);
	if (ret) {
		fault_debugfs_teardown();
		destroy_workqueue(fault_wq);
	}
	return ret;
}

static void __exit fault_exit(void)
{
	kfi_provider_deregister(&fault_prov);
	fault_power_off_end();
	fault_debugfs_teardown();
	destroy_workqueue(fault_wq);
}

module_init(fault_init);
module_exit(fault_exit);
KFI_MODULE_ALIAS(FAULT_NAME);
MODULE_DESCRIPTION("kfabric provider: faults and power cuts over another one");
MODULE_LICENSE("Dual BSD/GPL");
