// SPDX-License-Identifier: BSD-2-Clause
/* Sockets: how they are tuned, and names. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "impl.h"

/* A peer that vanished is noticed within half a minute, idle or not. */
#define KEEPALIVE_IDLE_S     10
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES     4
#define UNACKED_MAX_MS	     30000

static void set_option(int fd, int level, int option, int value)
{
	/* Without one of these it is slower or later, but not wrong. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

void stcp_socket_tune(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKED_MAX_MS);
}

void stcp_socket_share_ports(int fd)
{
	set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
}

int stcp_socket_keep_to(int fd, unsigned int interface)
{
	int index = (int)interface;

	return setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &index,
			  sizeof(index))
		       ? -errno
		       : 0;
}

size_t stcp_sockaddr_len(const void *addr)
{
	const struct sockaddr *sa = addr;

	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					 : sizeof(struct sockaddr_in);
}

int stcp_socket_name(int fd, bool peer, void *addr, size_t *addrlen)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	size_t room = *addrlen;

	if (peer ? getpeername(fd, (struct sockaddr *)&ss, &len)
		 : getsockname(fd, (struct sockaddr *)&ss, &len))
		return -errno;
	*addrlen = len;
	memcpy(addr, &ss, len < room ? len : room);
	return len <= room ? 0 : -FI_ETOOSMALL;
}
