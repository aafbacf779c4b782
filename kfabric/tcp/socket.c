// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: sockets: options, and blocking transfers with a deadline.
 *
 * Context: process.
 */
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#include <compat.h>

#include "tcp.h"

#define KEEP_IDLE_S  5
#define KEEP_COUNT   3
#define KEEP_PAUSE_S 2

int ktcp_socket_open(struct net *net, int family, struct socket **sock)
{
	int ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, sock);

	if (!ret)
		kfi_sock_own_pages(*sock);
	return ret;
}

int ktcp_socket_accept(struct socket *listener, struct socket **sock)
{
	int ret = kernel_accept(listener, sock, O_NONBLOCK);

	if (!ret)
		kfi_sock_own_pages(*sock);
	return ret;
}

/* A dead peer is noticed, latency comes first, and reclaim is no deadlock. */
void ktcp_socket_tune(struct socket *sock, u32 timeout_ms)
{
	struct sock *sk = sock->sk;

	sk->sk_allocation = GFP_NOIO;
	sk_set_memalloc(sk);
	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, KEEP_IDLE_S);
	tcp_sock_set_keepintvl(sk, KEEP_PAUSE_S);
	tcp_sock_set_keepcnt(sk, KEEP_COUNT);
	tcp_sock_set_user_timeout(sk, timeout_ms);
}

/* Jiffies that are left, for sk_sndtimeo and sk_rcvtimeo. */
static long ktcp_time_left(unsigned long deadline)
{
	long left = deadline - jiffies;

	return left > 0 ? left : 1;
}

int ktcp_socket_send(struct socket *sock, const void *buf, size_t len,
		     unsigned long deadline)
{
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	int ret;

	sock->sk->sk_sndtimeo = ktcp_time_left(deadline);
	ret = kernel_sendmsg(sock, &msg, &vec, 1, len);
	if (ret < 0)
		return ret == -EAGAIN ? -ETIMEDOUT : ret;
	return ret == len ? 0 : -ETIMEDOUT;
}

int ktcp_socket_receive(struct socket *sock, void *buf, size_t len,
			unsigned long deadline)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vec;
	size_t done = 0;
	int ret;

	while (done < len) {
		if (time_after_eq(jiffies, deadline))
			return -ETIMEDOUT;
		vec = (struct kvec){ buf + done, len - done };
		sock->sk->sk_rcvtimeo = ktcp_time_left(deadline);
		ret = kernel_recvmsg(sock, &msg, &vec, 1, len - done, 0);
		if (ret == -EAGAIN)
			return -ETIMEDOUT;
		if (ret < 0)
			return ret;
		if (!ret)
			return -ECONNRESET;
		done += ret;
	}
	return 0;
}
