// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: what it says to RDS: sockets, their options, datagrams.
 *
 * Context: process; after an endpoint is opened the engine alone.
 */
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/rds.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>

#include <compat.h>

#include "rds.h"

static int krds_socket_option(struct socket *sock, int name, const void *value,
			      size_t len)
{
	return sock->ops->setsockopt(sock, SOL_RDS, name,
				     KERNEL_SOCKPTR((void *)value), len);
}

int krds_socket_open(struct net *net, struct socket **to)
{
	struct socket *sock;
	const int on = 1;
	int ret = sock_create_kern(net, PF_RDS, SOCK_SEQPACKET, 0, &sock);

	if (ret)
		return ret;
	/* RDS allows half of each, and counts payload alone. */
	lock_sock(sock->sk);
	sock->sk->sk_sndbuf = 2 * KRDS_SEND_BYTES;
	sock->sk->sk_rcvbuf = 2 * KRDS_RECV_BYTES;
	sock->sk->sk_userlocks |= SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK;
	sock->sk->sk_allocation = GFP_NOIO;
	release_sock(sock->sk);
	/* Wakes when a port that was congested is so no more. */
	ret = krds_socket_option(sock, RDS_CONG_MONITOR, &on, sizeof(on));
	if (ret) {
		sock_release(sock);
		return ret;
	}
	*to = sock;
	return 0;
}

/*
 * The bytes of a datagram, also those that do not fit, or -errno. Else @from has no
 * family when it was none, but news of congestion.
 */
ssize_t krds_socket_receive(struct krds_ep *ep, const struct fi_buf *buf,
			    int flags, struct sockaddr_in6 *from)
{
	struct sockaddr_storage name;
	struct msghdr msg = { .msg_name = &name };
	ssize_t ret;

	name.ss_family = AF_UNSPEC;
	kfi_socket_iter(&ep->base.buf, &msg.msg_iter, KFI_ITER_DEST, buf);
	ret = sock_recvmsg(ep->base.sock, &msg,
			   flags | MSG_DONTWAIT | MSG_TRUNC);
	if (ret < 0)
		return ret;
	if (!msg.msg_namelen)
		name.ss_family = AF_UNSPEC;
	kfi_name_set(from, &name);
	return ret;
}

/* Drop what was sent there and is not acknowledged. */
void krds_socket_forget(struct krds_ep *ep, const struct sockaddr_in6 *to)
{
	krds_socket_option(ep->base.sock, RDS_CANCEL_SENT_TO, to,
			   kfi_addr_len(to));
}

/* Would RDS go by its own loop? */
bool krds_is_local(struct net *net, const struct sockaddr_in6 *name)
{
	const struct sockaddr_in *v4 = (const void *)name;
	const struct net_device *dev = NULL;
	bool local;

	if (name->sin6_family != AF_INET6)
		return inet_addr_type(net, v4->sin_addr.s_addr) == RTN_LOCAL;
	if (!IS_ENABLED(CONFIG_IPV6))
		return false;
	rcu_read_lock();
	if (name->sin6_scope_id)
		dev = dev_get_by_index_rcu(net, name->sin6_scope_id);
	local = ipv6_chk_addr(net, &name->sin6_addr, dev, 0);
	rcu_read_unlock();
	return local;
}
