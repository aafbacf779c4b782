// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider registers itself, and says what it is; its domains.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "tcp.h"

struct workqueue_struct *ktcp_wq;
struct workqueue_struct *ktcp_cm_wq;
struct workqueue_struct *ktcp_listen_wq;
DEFINE_MUTEX(ktcp_cm_lock);

static int ktcp_srx_context(struct fid_domain *domain,
			    const struct fi_rx_attr *attr, struct fid_ep **srx,
			    void *context)
{
	return kfi_srx_open(domain, attr, KTCP_IOV_LIMIT, KTCP_MAX_MSG, srx,
			    context);
}

static const struct fi_ops_domain ktcp_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = ktcp_endpoint,
	.cq_open = kfi_plain_cq_open,
	.mr_regattr = ktcp_mr_regattr,
	.srx_context = ktcp_srx_context,
};

static int ktcp_domain(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **domain, void *context)
{
	struct ktcp_domain *new = kzalloc(sizeof(*new), GFP_KERNEL);
	int ret;

	if (!new)
		return -ENOMEM;
	rwlock_init(&new->mr_lock);
	init_waitqueue_head(&new->commits);
	ret = kfi_domain_init(&new->domain, fabric, &kfi_plain_ops,
			      &ktcp_domain_ops, 0, context);
	if (ret) {
		kfree(new);
		return ret;
	}
	*domain = &new->domain;
	return 0;
}

static const struct fi_ops_fabric ktcp_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = ktcp_domain,
	.passive_ep = ktcp_passive_ep,
};

static int ktcp_getinfo(struct kfi_provider *prov, const char *node,
			const char *service, u64 flags,
			const struct fi_info *hints, struct fi_info **list)
{
	struct fi_info *info =
		kfi_post_info(KTCP_NAME, KTCP_QUEUE_SIZE, KTCP_IOV_LIMIT,
			      sizeof(struct ktcp_op));

	if (!info)
		return -ENOMEM;
	info->caps |= FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->addr_format = FI_SOCKADDR;
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_MSG,
		.protocol = FI_PROTO_SOCK_TCP,
		.protocol_version = KTCP_WIRE_VERSION,
		.max_msg_size = KTCP_MAX_MSG,
		.cm_data_size = min_t(size_t, TCPW_CM_DATA_MAX, FI_CM_DATA_MAX),
		.flush_modes = FI_FLUSH_READBACK,
		.op_timeout_ms = KTCP_OP_TIMEOUT_MS,
		.cm_timeout_ms = KTCP_CM_TIMEOUT_MS,
	};
	info->domain_attr->mr_max_size = KTCP_MAX_MR;
	info->domain_attr->max_ep_srx_ctx = SIZE_MAX;
	info->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
	return kfi_info_answer(info, node, service, flags, hints, list);
}

static struct kfi_provider ktcp_prov = {
	.name = KTCP_NAME,
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = 20,
	.getinfo = ktcp_getinfo,
	.fabric = kfi_plain_fabric,
	.fabric_ops = &ktcp_fabric_ops,
	.wqs = {
		{ &ktcp_wq, "kfabric_tcp", WQ_HIGHPRI | WQ_MEM_RECLAIM, 0 },
		{ &ktcp_cm_wq, "kfabric_tcp_cm",
		  WQ_UNBOUND | WQ_MEM_RECLAIM, 0 },
		{ &ktcp_listen_wq, "kfabric_tcp_listen",
		  WQ_UNBOUND, WQ_MAX_ACTIVE },
	},
};

KFI_MODULE_PROVIDER(ktcp_prov);
KFI_MODULE_ALIAS(KTCP_NAME);
MODULE_DESCRIPTION("kfabric provider: TCP sockets, libfabric's wire format");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
