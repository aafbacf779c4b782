// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The udp provider registers itself, and says what it is; its domains.
 */
#include <linux/module.h>

#include "udp.h"

struct workqueue_struct *kudp_wq;

static const struct fi_ops_domain kudp_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = kudp_endpoint,
	.cq_open = kfi_plain_cq_open,
	.av_open = kfi_plain_av_open,
};

static int kudp_getinfo(struct kfi_provider *prov, const char *node,
			const char *service, u64 flags,
			const struct fi_info *hints, struct fi_info **list)
{
	struct fi_info *info =
		kfi_post_info(KUDP_NAME, KUDP_QUEUE_SIZE, KUDP_IOV_LIMIT,
			      sizeof(struct kudp_op));

	if (!info)
		return -ENOMEM;
	kfi_info_messages(info, FI_ORDER_NONE);
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_DGRAM,
		.protocol = FI_PROTO_UDP,
		.max_msg_size = KUDP_MAX_MSG,
		.op_timeout_ms = KUDP_OP_TIMEOUT_MS,
	};
	info->domain_attr->cq_data_size = 0;
	/* An endpoint without address is of the family that is asked for. */
	if (hints && (hints->addr_format == FI_SOCKADDR_IN ||
		      hints->addr_format == FI_SOCKADDR_IN6))
		info->addr_format = hints->addr_format;
	return kfi_info_answer(info, node, service, flags, hints, list);
}

static struct kfi_provider kudp_prov = {
	.name = KUDP_NAME,
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = 50,
	.getinfo = kudp_getinfo,
	.fabric = kfi_plain_fabric,
	.domain_ops = &kudp_domain_ops,
	.wqs = {
		{ &kudp_wq, "kfabric_udp",
		  WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0 },
	},
};

KFI_MODULE_PROVIDER(kudp_prov);
KFI_MODULE_ALIAS(KUDP_NAME);
MODULE_DESCRIPTION(
	"kfabric provider: UDP sockets: datagrams, unconnected and unreliable");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
