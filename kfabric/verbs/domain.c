// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: fabrics and domains.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <kfabric/kfi_av.h>

#include "verbs.h"

bool kfiv_domain_get_hw(struct kfiv_domain *domain)
{
	return refcount_inc_not_zero(&domain->hw);
}

void kfiv_domain_put_hw(struct kfiv_domain *domain)
{
	if (!refcount_dec_and_test(&domain->hw))
		return;
	ib_dealloc_pd(domain->pd);
	kfiv_device_put(domain->dev);
}

/* The domain's own count; close and removal may meet here. */
static void kfiv_domain_drop_hw(struct kfiv_domain *domain)
{
	if (!test_and_set_bit(0, &domain->hw_dropped))
		kfiv_domain_put_hw(domain);
}

static void kfiv_domain_close(struct kfid *fid)
{
	struct kfiv_domain *domain =
		container_of(fid, struct kfiv_domain, domain.fid);

	mutex_lock(&kfiv_device_mutex);
	list_del_init(&domain->node);
	mutex_unlock(&kfiv_device_mutex);
	kfiv_loan_end(&domain->loan);
	kfiv_domain_drop_hw(domain);
}

static const struct fi_ops kfiv_domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfiv_domain_close,
	.release = kfi_obj_kfree,
	.ops_open = kfiv_ops_open,
};

static const struct fi_ops_domain kfiv_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = kfiv_endpoint,
	.cq_open = kfi_plain_cq_open,
	.av_open = kfi_plain_av_open,
	.mr_regattr = kfiv_mr_regattr,
	.query_atomic = kfiv_query_atomic,
	.srx_context = kfiv_srx_context,
};

/* Let the removal know of an endpoint, region or context; false: it has begun. */
bool kfiv_domain_add(struct kfiv_domain *domain, struct list_head *node,
		     struct list_head *list)
{
	bool added = false;

	mutex_lock(&domain->mutex);
	if (!domain->dying) {
		list_add_tail(node, list);
		added = true;
	}
	mutex_unlock(&domain->mutex);
	return added;
}

void kfiv_domain_del(struct kfiv_domain *domain, struct list_head *node)
{
	mutex_lock(&domain->mutex);
	list_del_init(node);
	mutex_unlock(&domain->mutex);
}

/* The device is going. Endpoints stop first: all else is not in use then. */
void kfiv_domain_remove(struct kfiv_domain *domain)
{
	struct kfiv_srx *srx;
	struct kfiv_ep *ep;
	struct kfiv_mr *mr;

	mutex_lock(&domain->mutex);
	domain->dying = true;
	mutex_unlock(&domain->mutex);
	kfi_obj_kill(&domain->domain.fid);
	mutex_lock(&domain->mutex);
	while (!list_empty(&domain->eps)) {
		ep = list_first_entry(&domain->eps, struct kfiv_ep, node);
		list_del_init(&ep->node);
		kfi_obj_get(&ep->ep.fid);
		mutex_unlock(&domain->mutex);
		kfiv_ep_remove(ep);
		kfi_obj_put(&ep->ep.fid);
		mutex_lock(&domain->mutex);
	}
	while (!list_empty(&domain->srxs)) {
		srx = list_first_entry(&domain->srxs, struct kfiv_srx, node);
		list_del_init(&srx->node);
		kfi_obj_get(&srx->ep.fid);
		mutex_unlock(&domain->mutex);
		kfiv_srx_remove(srx);
		kfi_obj_put(&srx->ep.fid);
		mutex_lock(&domain->mutex);
	}
	while (!list_empty(&domain->mrs)) {
		mr = list_first_entry(&domain->mrs, struct kfiv_mr, node);
		list_del_init(&mr->node);
		kfi_obj_get(&mr->mr.fid);
		mutex_unlock(&domain->mutex);
		kfi_obj_kill(&mr->mr.fid);
		kfiv_mr_free_hw(mr);
		kfi_obj_put(&mr->mr.fid);
		mutex_lock(&domain->mutex);
	}
	mutex_unlock(&domain->mutex);
	kfiv_loan_end(&domain->loan);
	kfiv_domain_drop_hw(domain);
}

/* Attach a domain to its device, with a protection domain and counts. */
static int kfiv_take_device(struct kfiv_domain *domain, const char *name)
{
	struct kfiv_device *dev, *found = NULL;
	unsigned int noio;
	struct ib_pd *pd;

	lockdep_assert_held(&kfiv_device_mutex);
	list_for_each_entry(dev, &kfiv_devices, node) {
		if (!name || !strcmp(dev_name(&dev->ib->dev), name)) {
			found = dev;
			break;
		}
	}
	if (!found)
		return -ENODEV;
	noio = memalloc_noio_save();
	pd = ib_alloc_pd(dev->ib, 0);
	memalloc_noio_restore(noio);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	refcount_inc(&dev->users);
	domain->dev = dev;
	domain->pd = pd;
	domain->atomic = dev->atomic;
	refcount_set(&domain->hw, 1);
	list_add_tail(&domain->node, &dev->domains);
	return 0;
}

static int kfiv_domain_open(struct fid_fabric *fabric, struct fi_info *info,
			    struct fid_domain **out, void *context)
{
	const u32 mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
			    FI_MR_ENDPOINT;
	struct kfiv_domain *domain;
	int ret;

	domain = kzalloc(sizeof(*domain), GFP_KERNEL);
	if (!domain)
		return -ENOMEM;
	mutex_init(&domain->mutex);
	kfiv_loan_init(&domain->loan);
	INIT_LIST_HEAD(&domain->node);
	INIT_LIST_HEAD(&domain->eps);
	INIT_LIST_HEAD(&domain->mrs);
	INIT_LIST_HEAD(&domain->srxs);
	ret = kfi_domain_init(&domain->domain, fabric, &kfiv_domain_fid_ops,
			      &kfiv_domain_ops, mr_mode, context);
	if (ret) {
		kfree(domain);
		return ret;
	}
	mutex_lock(&kfiv_device_mutex);
	ret = kfiv_take_device(domain, info->domain_attr->name);
	mutex_unlock(&kfiv_device_mutex);
	if (ret) {
		kfi_obj_abort(&domain->domain.fid);
		return ret;
	}
	*out = &domain->domain;
	return 0;
}

const struct fi_ops_fabric kfiv_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = kfiv_domain_open,
	.passive_ep = kfiv_passive_ep,
};
