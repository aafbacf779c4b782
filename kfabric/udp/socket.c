// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The udp provider: what it says to UDP: sockets, datagrams.
 *
 * Context: process; after an endpoint is opened the engine alone.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp.h>

#include <compat.h>

#include "udp.h"

int kudp_socket_open(struct net *net, int family, struct socket **to)
{
	struct socket *sock;
	int ret = sock_create_kern(net, family, SOCK_DGRAM, IPPROTO_UDP, &sock);

	if (ret)
		return ret;
	lock_sock(sock->sk);
	/* Datagrams of IPv4 are for a socket of IPv4, at the same port. */
	if (family == AF_INET6)
		sock->sk->sk_ipv6only = true;
	sock->sk->sk_sndbuf = KUDP_SEND_BYTES;
	sock->sk->sk_rcvbuf = KUDP_RECV_BYTES;
	sock->sk->sk_userlocks |= SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK;
	sock->sk->sk_allocation = GFP_NOIO;
	kfi_sock_own_pages(sock);
	release_sock(sock->sk);
	*to = sock;
	return 0;
}

/* The next datagram that arrived as it was sent, or NULL: there is none. */
struct sk_buff *kudp_socket_receive(struct kudp_ep *ep)
{
	struct sk_buff *skb;
	bool told = false;
	int err;

	for (;;) {
		skb = skb_recv_udp(ep->base.sock->sk, MSG_DONTWAIT, &err);
		if (skb && udp_lib_checksum_complete(skb)) {
			kfree_skb(skb);
			continue;
		}
		/* An error of the socket comes once, before what is there. */
		if (skb || err == -EAGAIN || told)
			return skb;
		told = true;
	}
}

/* Return: how many of its bytes are in the buffer: those that fit. */
size_t kudp_datagram_read(struct kudp_ep *ep, struct sk_buff *skb,
			  const struct fi_buf *buf)
{
	size_t len = min_t(size_t, skb->len, buf->len);
	struct iov_iter iter;

	kfi_socket_iter(&ep->base.buf, &iter, KFI_ITER_DEST, buf);
	return skb_copy_datagram_iter(skb, 0, &iter, len) ? 0 : len;
}

void kudp_datagram_from(const struct sk_buff *skb, struct sockaddr_in6 *from)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)from;

	memset(from, 0, sizeof(*from));
	if (skb->protocol == htons(ETH_P_IPV6)) {
		from->sin6_family = AF_INET6;
		from->sin6_port = udp_hdr(skb)->source;
		from->sin6_addr = ipv6_hdr(skb)->saddr;
		from->sin6_scope_id =
			ipv6_iface_scope_id(&from->sin6_addr, inet6_iif(skb));
	} else {
		v4->sin_family = AF_INET;
		v4->sin_port = udp_hdr(skb)->source;
		v4->sin_addr.s_addr = ip_hdr(skb)->saddr;
	}
}
