// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc where the kernel has no RPC client.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/printk.h>

static int __init krpc_refuse(void)
{
	pr_err("kfabric_rpc: this kernel has no RPC client (CONFIG_SUNRPC)\n");
	return -EOPNOTSUPP;
}

module_init(krpc_refuse);
MODULE_DESCRIPTION("kfabric: transport of the RPC client, for NFS");
MODULE_VERSION(KFB_MODULE_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
