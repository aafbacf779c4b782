// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: the interface by which the packets of a connection leave, and
 * how it is kept to one.
 *
 * A datagram socket that is connected to the peer and sends nothing knows the
 * route, as rules and tables are at that moment, whatever the family. The routing
 * lock (rtnl) is not taken: who holds it may wait for memory that is freed by
 * writing to a disk which waits for this connection.
 *
 * Context: process, before the endpoint connects.
 */
#include <linux/in.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <net/dst.h>
#include <net/rtnetlink.h>

#include "tcp.h"

/* The device, and the kind of its link, stay as long as the RCU section lasts. */
static int ktcp_path_of(struct sock *sk, struct fi_path *path)
{
	struct dst_entry *dst = sk_dst_get(sk);
	const struct net_device *dev;

	if (!dst)
		return -EHOSTUNREACH;
	rcu_read_lock();
	dev = READ_ONCE(dst->dev);
	path->ifindex = dev->ifindex;
	path->is_local = dev->flags & IFF_LOOPBACK;
	strscpy(path->name, dev->name, sizeof(path->name));
	if (dev->rtnl_link_ops)
		strscpy(path->kind, dev->rtnl_link_ops->kind,
			sizeof(path->kind));
	rcu_read_unlock();
	dst_release(dst);
	return 0;
}

int ktcp_ep_path(struct fid_ep *fid, struct fi_path *path)
{
	struct ktcp_ep *ep = to_ktcp_ep(fid);
	struct sockaddr_in6 local = ep->local;
	struct socket *probe;
	int ret;

	if (ep->sock || !ep->remote.sin6_family)
		return -FI_EOPBADSTATE;
	ret = sock_create_kern(fid->domain->fabric->net, ep->remote.sin6_family,
			       SOCK_DGRAM, IPPROTO_UDP, &probe);
	if (ret)
		return ret;
	/* Rules may look at where a packet comes from. */
	local.sin6_port = 0; /* of either family */
	if (local.sin6_family)
		ret = kernel_bind(probe, (struct sockaddr *)&local,
				  kfi_addr_len(&local));
	ret = ret
		      ?: kernel_connect(probe, (struct sockaddr *)&ep->remote,
					kfi_addr_len(&ep->remote), 0);
	ret = ret ?: ktcp_path_of(probe->sk, path);
	sock_release(probe);
	return ret;
}

int ktcp_ep_set_path(struct fid_ep *fid, const struct fi_path *path)
{
	struct ktcp_ep *ep = to_ktcp_ep(fid);

	if (ep->sock)
		return -FI_EOPBADSTATE;
	ep->ifindex = path->ifindex;
	return 0;
}

int ktcp_path_keep(struct ktcp_ep *ep)
{
	if (!ep->ifindex)
		return 0;
	return sock_bindtoindex(ep->sock->sk, ep->ifindex, true);
}
