// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider registers itself, and says what it is; its domains.
 */
#include <linux/in.h>
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

static int loop_srx_context(struct fid_domain *domain,
			    const struct fi_rx_attr *attr, struct fid_ep **srx,
			    void *context)
{
	return kfi_srx_open(domain, attr, LOOP_IOV_LIMIT, LOOP_MAX_MSG, srx,
			    context);
}

/* Upcalls come from the engine, if asked for with bottom halves off. */
static const struct fi_ops_domain loop_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = loop_endpoint,
	.cq_open = kfi_plain_cq_open,
	.mr_regattr = loop_mr_regattr,
	.query_atomic = kfi_query_atomic_all,
	.srx_context = loop_srx_context,
};

static int loop_domain(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **domain, void *context)
{
	struct loop_domain *new = kzalloc(sizeof(*new), GFP_KERNEL);
	int ret;

	if (!new)
		return -ENOMEM;
	init_rwsem(&new->mr_lock);
	ret = kfi_domain_init(&new->domain, fabric, &kfi_plain_ops,
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

static int loop_getinfo(struct kfi_provider *prov, const char *node,
			const char *service, u64 flags,
			const struct fi_info *hints, struct fi_info **list)
{
	struct fi_info *info =
		kfi_post_info(LOOP_NAME, LOOP_QUEUE_SIZE, LOOP_IOV_LIMIT,
			      sizeof(struct kfi_op));
	int ret;

	if (!info)
		return -ENOMEM;
	info->caps |= FI_LOCAL_COMM | FI_ATOMIC;
	info->tx_attr->caps |= FI_ATOMIC;
	info->rx_attr->caps |= FI_ATOMIC;
	/* The engine does one operation after the other. */
	info->tx_attr->msg_order |= FI_ORDER_WAR | FI_ORDER_SAR;
	info->rx_attr->msg_order |= FI_ORDER_WAR | FI_ORDER_SAR;
	info->addr_format = FI_SOCKADDR_IN;
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
	info->domain_attr->mr_max_size = LOOP_MAX_MR;
	info->domain_attr->max_ep_srx_ctx = SIZE_MAX;
	info->domain_attr->caps = FI_LOCAL_COMM;
	ret = kfi_info_answer(info, node, service, flags, hints, list);
	if (ret ||
	    (loop_is_local(info->src_addr) && loop_is_local(info->dest_addr)))
		return ret;
	fi_freeinfo(info);
	return -ENODATA;
}

static struct kfi_provider loop_prov = {
	.name = LOOP_NAME,
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = 40,
	.getinfo = loop_getinfo,
	.fabric = kfi_plain_fabric,
	.fabric_ops = &loop_fabric_ops,
	.wqs = {
		{ &loop_wq, "kfabric_loop",
		  WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0 },
	},
};

KFI_MODULE_PROVIDER(loop_prov);
KFI_MODULE_ALIAS(LOOP_NAME);
MODULE_DESCRIPTION("kfabric provider: endpoints of the same kernel");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
