// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider registers itself, and says what it is; its domains.
 */
#include <linux/module.h>
#include <net/net_namespace.h>

#include "rds.h"

struct workqueue_struct *krds_wq;

static const struct fi_ops_domain krds_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = krds_endpoint,
	.cq_open = kfi_plain_cq_open,
	.av_open = kfi_plain_av_open,
};

static int krds_getinfo(struct kfi_provider *prov, const char *node,
			const char *service, u64 flags,
			const struct fi_info *hints, struct fi_info **list)
{
	struct fi_info *info =
		kfi_post_info(KRDS_NAME, KRDS_QUEUE_SIZE, KRDS_IOV_LIMIT,
			      sizeof(struct krds_op));

	if (!info)
		return -ENOMEM;
	kfi_info_messages(info, FI_ORDER_SAS);
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_RDM,
		.protocol = FI_PROTO_RDS,
		.max_msg_size = KRDS_MAX_MSG,
		.op_timeout_ms = KRDS_OP_TIMEOUT_MS,
	};
	info->domain_attr->cq_data_size = 0;
	return kfi_info_answer(info, node, service, flags, hints, list);
}

static struct kfi_provider krds_prov = {
	.name = KRDS_NAME,
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = 30,
	.getinfo = krds_getinfo,
	.fabric = kfi_plain_fabric,
	.domain_ops = &krds_domain_ops,
	.wqs = {
		{ &krds_wq, "kfabric_rds",
		  WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0 },
	},
};

static int __init krds_init(void)
{
	struct socket *sock;
	int ret;

	/* Is there anything to be a provider of? */
	ret = krds_socket_open(&init_net, &sock);
	if (ret) {
		pr_err("kfabric_rds: there are no RDS sockets (%d): load the kernel's module rds\n",
		       ret);
		return ret;
	}
	sock_release(sock);
	krds_runners_init();
	return kfi_provider_register(&krds_prov);
}

static void __exit krds_exit(void)
{
	kfi_provider_deregister(&krds_prov);
}

module_init(krds_init);
module_exit(krds_exit);
KFI_MODULE_ALIAS(KRDS_NAME);
/* Debian's kernels do not load them for a socket that is opened. */
MODULE_SOFTDEP("pre: rds rds_tcp");
MODULE_DESCRIPTION("kfabric provider: the kernel's reliable datagram sockets");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
