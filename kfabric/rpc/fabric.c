// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: what of the fabric a transport has as long as it is there.
 *
 * It is looked for when the transport is made, which is in the namespace of who mounts;
 * connections are made later, by workers, which have none.
 *
 * Context: process.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "krpc.h"

/* Of servers of others, who know RDMA alone. */
#define KRPC_PROVIDER "verbs"

/**
 * krpc_fabric_open() - find what leads to the server
 * @x: transport with the server's address
 *
 * Return: 0; -ENODATA nothing does; -EOPNOTSUPP what does has keys that the protocol
 * has no room for; -errno of the fabric. krpc_fabric_close() may follow in any case.
 */
int krpc_fabric_open(struct krpc_xprt *x)
{
	const struct rpc_xprt *xprt = &x->xprt;
	struct fi_info *hints = fi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = FI_MSG | FI_RMA | FI_REMOTE_READ | FI_REMOTE_WRITE;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = ~0u;
	hints->tx_attr->size = KRPC_SLOTS;
	hints->rx_attr->size = KRPC_RECVS;
	hints->addr_format = xprt->addr.ss_family == AF_INET6 ? FI_SOCKADDR_IN6
							      : FI_SOCKADDR_IN;
	hints->dest_addr = kmemdup(&xprt->addr, xprt->addrlen, GFP_KERNEL);
	hints->dest_addrlen = xprt->addrlen;
	hints->fabric_attr->prov_name = kstrdup(KRPC_PROVIDER, GFP_KERNEL);
	if (hints->dest_addr && hints->fabric_attr->prov_name)
		ret = fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints,
				 &x->info);
	fi_freeinfo(hints);
	if (ret)
		return ret;
	if (x->info->domain_attr->mr_key_size > sizeof(u32))
		return -EOPNOTSUPP;
	return fi_fabric(x->info->fabric_attr, &x->fabric, NULL);
}

/**
 * krpc_fabric_close() - give back what krpc_fabric_open() has found
 * @x: transport without a connection
 */
void krpc_fabric_close(struct krpc_xprt *x)
{
	fi_close_opened(x->fabric);
	fi_freeinfo(x->info);
}
