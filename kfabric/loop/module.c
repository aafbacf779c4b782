// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: registration, infos, fabrics, domains, CQs.
 */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "loop.h"

static unsigned int loop_mr_mode;
module_param_named(mr_mode, loop_mr_mode, uint, 0444);
MODULE_PARM_DESC(mr_mode, "demands on memory registration: 1 virtual "
			  "addresses, 4 keys chosen by the provider (sum)");

#define MR_MODES (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY)

struct workqueue_struct *loop_wq;

static void loop_domain_release(struct kfid *fid)
{
	kfree(container_of(fid, struct loop_domain, domain.fid));
}

static const struct fi_ops loop_domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.release = loop_domain_release,
};

/* Upcalls come from the engine, if asked for with bottom halves off. */
static const struct fi_ops_domain loop_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = loop_endpoint,
	.cq_open = kfi_plain_cq_open,
	.mr_regattr = loop_mr_regattr,
};

static int loop_domain(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **domain, void *context)
{
	struct loop_domain *new = kzalloc(sizeof(*new), GFP_KERNEL);
	int ret;

	if (!new)
		return -ENOMEM;
	init_rwsem(&new->mr_lock);
	ret = kfi_domain_init(&new->domain, fabric, &loop_domain_fid_ops,
			      &loop_domain_ops, info->domain_attr->mr_mode,
			      context);
	if (ret) {
		kfree(new);
		return ret;
	}
	*domain = &new->domain;
	return 0;
}

static const struct fi_ops_fabric loop_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = loop_domain,
	.passive_ep = loop_passive_ep,
};

static int loop_fabric(struct kfi_provider *prov, struct fi_fabric_attr *attr,
		       struct fid_fabric **fabric, void *context)
{
	return kfi_plain_fabric(prov, &loop_fabric_ops, fabric, context);
}

/* Loopback, wildcard or none: everything else is some other machine's. */
static bool loop_is_local(const void *addr)
{
	const struct sockaddr_in6 *v6 = addr;
	const struct sockaddr_in *v4 = addr;

	if (!addr)
		return true;
	if (v4->sin_family == AF_INET)
		return ipv4_is_loopback(v4->sin_addr.s_addr) ||
		       ipv4_is_zeronet(v4->sin_addr.s_addr);
	return ipv6_addr_loopback(&v6->sin6_addr) ||
	       ipv6_addr_any(&v6->sin6_addr);
}

static void loop_fill_info(struct fi_info *info)
{
	const u64 tx = FI_SEND | FI_READ | FI_WRITE;
	const u64 rx = FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;

	info->caps = FI_MSG | FI_RMA | tx | rx | FI_LOCAL_COMM | FI_RMA_PMEM;
	info->addr_format = FI_SOCKADDR_IN;
	*info->tx_attr = (struct fi_tx_attr){
		.caps = FI_MSG | FI_RMA | tx,
		.comp_levels = FI_COMPLETION_LEVELS,
		.inject_size = KFI_POST_INJECT_SIZE,
		.size = LOOP_QUEUE_SIZE,
		.iov_limit = LOOP_IOV_LIMIT,
		.rma_iov_limit = KFI_POST_RMA_LIMIT,
	};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = FI_MSG | FI_RMA | rx,
		.size = LOOP_QUEUE_SIZE,
		.iov_limit = LOOP_IOV_LIMIT,
	};
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_MSG,
		.protocol = FI_PROTO_LOOP,
		.protocol_version = 1,
		.max_msg_size = LOOP_MAX_MSG,
		.cm_data_size = FI_CM_DATA_MAX,
		.flush_modes = FI_FLUSH_READBACK | FI_FLUSH_COMMIT,
		.op_timeout_ms = LOOP_OP_TIMEOUT_MS,
		.cm_timeout_ms = LOOP_CM_TIMEOUT_MS,
	};
	info->domain_attr->mr_mode = loop_mr_mode & MR_MODES;
	info->domain_attr->mr_key_size = sizeof(u64);
	info->domain_attr->mr_iov_limit = U32_MAX;
	info->domain_attr->mr_max_size = LOOP_MAX_MR;
	info->domain_attr->seg_max_size = SIZE_MAX;
	info->domain_attr->cq_data_size = sizeof(u64);
	info->domain_attr->op_context_size =
		KFI_OP_CONTEXT_SIZE(sizeof(struct kfi_op));
	info->domain_attr->caps = FI_LOCAL_COMM;
}

static int loop_getinfo(struct kfi_provider *prov, const char *node,
			const char *service, u64 flags,
			const struct fi_info *hints, struct fi_info **list)
{
	struct fi_info *info = fi_allocinfo();
	int ret = -ENOMEM;

	if (!info)
		return -ENOMEM;
	loop_fill_info(info);
	kfi_obey_hints(info, hints);
	info->domain_attr->name = kstrdup(LOOP_NAME, GFP_KERNEL);
	info->fabric_attr->name = kstrdup(LOOP_NAME, GFP_KERNEL);
	if (!info->domain_attr->name || !info->fabric_attr->name)
		goto free_info;
	if (!(flags & FI_PROV_ATTR_ONLY)) {
		ret = kfi_resolve(node, service, flags, hints, info);
		if (ret)
			goto free_info;
	}
	ret = -ENODATA;
	if (!loop_is_local(info->src_addr) || !loop_is_local(info->dest_addr))
		goto free_info;
	*list = info;
	return 0;
free_info:
	fi_freeinfo(info);
	return ret;
}

struct kfi_provider loop_prov = {
	.name = LOOP_NAME,
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = 40,
	.getinfo = loop_getinfo,
	.fabric = loop_fabric,
};

static int __init loop_init(void)
{
	int ret;

	loop_wq = alloc_workqueue("kfabric_loop",
				  WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!loop_wq)
		return -ENOMEM;
	ret = kfi_provider_register(&loop_prov);
	if (ret)
		destroy_workqueue(loop_wq);
	return ret;
}

static void __exit loop_exit(void)
{
	kfi_provider_deregister(&loop_prov);
	destroy_workqueue(loop_wq);
}

module_init(loop_init);
module_exit(loop_exit);
KFI_MODULE_ALIAS(LOOP_NAME);
MODULE_DESCRIPTION("kfabric provider: endpoints of the same kernel");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
