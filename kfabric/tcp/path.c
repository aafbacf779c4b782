// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: the interface by which the packets of a connection leave, how it
 * is kept to one, and whether it copies what it sends.
 *
 * A datagram socket that is connected to the peer and sends nothing knows the
 * route, as rules and tables are at that moment, whatever the family. The routing
 * lock (rtnl) is not taken: who holds it may wait for memory that is freed by
 * writing to a disk which waits for this connection.
 *
 * Context: process; but for ktcp_path_copies(), before the endpoint connects.
 */
#include <linux/if_vlan.h>
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

/* Its packets go to a device that has some below it, and nowhere else. */
static bool ktcp_path_is_stacked(const struct net_device *dev)
{
	return is_vlan_dev(dev) || netif_is_lag_master(dev);
}

static bool ktcp_path_is_hardware(const struct net_device *dev)
{
	return dev->dev.parent;
}

static int ktcp_path_refuse_virtual(struct net_device *dev,
				    struct netdev_nested_priv *any)
{
	if (ktcp_path_is_hardware(dev))
		*(bool *)any->data = true;
	else if (!ktcp_path_is_stacked(dev))
		return -EXDEV;
	return 0;
}

/* Are packets that leave by it read by hardware, and by nobody else? */
static bool ktcp_path_reads_once(struct net_device *dev)
{
	bool is_hardware = ktcp_path_is_hardware(dev);
	struct netdev_nested_priv any = { .data = &is_hardware };

	if (ktcp_path_is_stacked(dev) &&
	    netdev_walk_all_lower_dev_rcu(dev, ktcp_path_refuse_virtual, &any))
		return false;
	return is_hardware;
}

/*
 * A page that a socket has as it is lies behind it until hardware has read it, which
 * sk_wmem_alloc tells. Where packets stay on this machine (loopback, a container's
 * veth, a bridge) the page is in the queue of the peer's socket, of which nobody is
 * told. Context: the socket's lock is held.
 */
bool ktcp_path_copies(struct ktcp_ep *ep)
{
	const struct dst_entry *dst;
	struct net_device *dev;

	rcu_read_lock();
	dst = __sk_dst_get(ep->sock->sk);
	dev = dst ? READ_ONCE(dst->dev) : NULL;
	if (!dev) {
		ep->s.path = 0;
		ep->s.copies = true;
	} else if (ep->s.path != dev->ifindex) {
		ep->s.path = dev->ifindex;
		ep->s.copies = !ktcp_path_reads_once(dev);
	}
	rcu_read_unlock();
	return ep->s.copies;
}
