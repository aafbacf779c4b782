// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: "mount -t nfs -o proto=rdma" over kfabric.
 *
 * The file system knows a fixed set of names for what carries it. So the transport has
 * that of RDMA, and is there instead of the kernel's own (rpcrdma).
 */
#include <linux/module.h>

#include "krpc.h"

struct workqueue_struct *krpc_wq;

static struct xprt_class krpc_class = {
	.list = LIST_HEAD_INIT(krpc_class.list),
	.name = "rdma",
	.owner = THIS_MODULE,
	.ident = XPRT_TRANSPORT_RDMA,
	.setup = krpc_setup,
	.netid = { "rdma", "rdma6", "" },
};

static int __init krpc_init(void)
{
	int ret;

	krpc_wq =
		alloc_workqueue("kfabric_rpc", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!krpc_wq)
		return -ENOMEM;
	ret = xprt_register_transport(&krpc_class);
	if (!ret)
		return 0;
	destroy_workqueue(krpc_wq);
	if (ret != -EEXIST)
		return ret;
	pr_err("kfabric_rpc: another transport has the name \"rdma\": unload rpcrdma first\n");
	/* EEXIST would tell modprobe that it is this module that is there. */
	return -EBUSY;
}

static void __exit krpc_exit(void)
{
	xprt_unregister_transport(&krpc_class);
	destroy_workqueue(krpc_wq);
}

module_init(krpc_init);
module_exit(krpc_exit);
MODULE_DESCRIPTION("kfabric: transport of the RPC client, for NFS");
MODULE_VERSION(KFB_MODULE_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
