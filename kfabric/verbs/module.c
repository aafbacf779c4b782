// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: provider "verbs": connected and datagram endpoints over the
 * RDMA connection manager: InfiniBand, RoCE, iWARP.
 *
 * Objects hold the module, so the exit finds no endpoints. What may still run
 * is the tail of work that dropped the last reference: destroying the
 * workqueues waits for it.
 */
#include <linux/module.h>

#include "verbs.h"

struct workqueue_struct *kfiv_wq;
struct workqueue_struct *kfiv_slow_wq;
struct workqueue_struct *kfiv_ask_wq;

struct kfi_provider kfiv_provider = {
	.name = "verbs",
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = 10,
	.getinfo = kfiv_getinfo,
	.fabric = kfi_plain_fabric,
	.fabric_ops = &kfiv_fabric_ops,
	/* They are destroyed in the reverse order. */
	.wqs = {
		{ &kfiv_ask_wq, "kfabric_verbs_ask",
		  WQ_MEM_RECLAIM | WQ_UNBOUND, 0 },
		{ &kfiv_slow_wq, "kfabric_verbs_slow",
		  WQ_MEM_RECLAIM | WQ_UNBOUND, 0 },
		{ &kfiv_wq, "kfabric_verbs", WQ_MEM_RECLAIM | WQ_UNBOUND, 0 },
	},
};

static int __init kfiv_init(void)
{
	int ret = ib_register_client(&kfiv_client);

	if (ret)
		return ret;
	ret = kfi_provider_register(&kfiv_provider);
	if (ret)
		ib_unregister_client(&kfiv_client);
	return ret;
}

static void __exit kfiv_exit(void)
{
	kfi_provider_deregister(&kfiv_provider);
	ib_unregister_client(&kfiv_client);
}

module_init(kfiv_init);
module_exit(kfiv_exit);
KFI_MODULE_ALIAS("verbs");
MODULE_DESCRIPTION("kfabric provider over RDMA verbs");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
