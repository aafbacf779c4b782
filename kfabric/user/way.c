// SPDX-License-Identifier: BSD-2-Clause
/* Asks the kernel for routes and links. */
#include "kfabric/user/way.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "kfabric/user/peer.h"

/* The kernel answers while it is asked; an answer of a link fits. */
#define ANSWER_BYTES 16384
#define ANSWER_S     5

/* A request, with room for one attribute. */
struct question {
	struct nlmsghdr header;
	union {
		struct rtmsg route;
		struct ifinfomsg link;
	} u;
	uint8_t attributes[64];
};

static void add_attribute(struct question *q, unsigned short type,
			  const void *value, size_t len)
{
	uint8_t *at = (uint8_t *)q + NLMSG_ALIGN(q->header.nlmsg_len);
	const struct rtattr attr = { .rta_type = type,
				     .rta_len =
					     (unsigned short)RTA_LENGTH(len) };

	memcpy(at, &attr, sizeof(attr));
	memcpy(at + RTA_LENGTH(0), value, len);
	q->header.nlmsg_len =
		(uint32_t)(NLMSG_ALIGN(q->header.nlmsg_len) + RTA_SPACE(len));
}

/* Return: bytes of the answer, or a negative errno, also of the kernel's. */
static ssize_t ask_kernel(struct question *q, void *answer)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };
	const struct nlmsghdr *header = answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct nlmsgerr error;
	ssize_t n;

	if (fd < 0)
		return -errno;
	q->header.nlmsg_flags = NLM_F_REQUEST;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			 sizeof(patience));
	n = send(fd, q, q->header.nlmsg_len, 0);
	if (n >= 0)
		n = recv(fd, answer, ANSWER_BYTES, 0);
	n = n < 0 ? -errno : n;
	close(fd);
	if (n < 0)
		return n;
	if (n < (ssize_t)sizeof(*header) || header->nlmsg_len > (size_t)n)
		return -EPROTO;
	if (header->nlmsg_type != NLMSG_ERROR)
		return (ssize_t)header->nlmsg_len;
	if (header->nlmsg_len < NLMSG_LENGTH(sizeof(error)))
		return -EPROTO;
	memcpy(&error, NLMSG_DATA(answer), sizeof(error));
	return error.error < 0 ? error.error : -EPROTO;
}

/* An attribute among those of @len bytes at @at; NULL: it is not there. */
static const struct rtattr *find_attribute(const void *at, ssize_t len,
					   unsigned short type)
{
	const struct rtattr *attr = at;

	for (; RTA_OK(attr, len); attr = RTA_NEXT(attr, len))
		if ((attr->rta_type & NLA_TYPE_MASK) == type)
			return attr;
	return NULL;
}

static void copy_text(char *to, size_t room, const struct rtattr *attr)
{
	snprintf(to, room, "%.*s", attr ? (int)RTA_PAYLOAD(attr) : 0,
		 attr ? (const char *)RTA_DATA(attr) : "");
}

static int read_link(const void *answer, ssize_t n, struct stcp_way *out)
{
	const struct ifinfomsg *link = NLMSG_DATA(answer);
	ssize_t len = n - (ssize_t)NLMSG_SPACE(sizeof(*link));
	const struct rtattr *info;
	struct stcp_way way = { 0 };

	if (len < 0)
		return -EPROTO;
	way.index = (unsigned int)link->ifi_index;
	way.is_local = link->ifi_flags & IFF_LOOPBACK;
	copy_text(way.name, sizeof(way.name),
		  find_attribute(IFLA_RTA(link), len, IFLA_IFNAME));
	info = find_attribute(IFLA_RTA(link), len, IFLA_LINKINFO);
	if (info)
		copy_text(way.kind, sizeof(way.kind),
			  find_attribute(RTA_DATA(info),
					 (ssize_t)RTA_PAYLOAD(info),
					 IFLA_INFO_KIND));
	*out = way;
	return 0;
}

static int ask_link(struct question *q, struct stcp_way *out)
{
	__attribute__((aligned(NLMSG_ALIGNTO))) uint8_t answer[ANSWER_BYTES];
	ssize_t n;

	q->header.nlmsg_type = RTM_GETLINK;
	n = ask_kernel(q, answer);
	if (n < 0)
		return (int)n;
	return read_link(answer, n, out);
}

int stcp_way_by(const char *name, struct stcp_way *out)
{
	struct question q = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(q.u.link)),
	};

	if (!*name || strlen(name) >= IF_NAMESIZE)
		return -ENODEV;
	add_attribute(&q, IFLA_IFNAME, name, strlen(name) + 1);
	return ask_link(&q, out);
}

bool stcp_never_leaves(const struct sockaddr *addr)
{
	const struct in_addr *in4 = stcp_peer_ipv4(addr);

	if (in4)
		return ntohl(in4->s_addr) >> 24 == IN_LOOPBACKNET;
	return addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(
		       &((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* A link-local address means nothing without its interface. */
static void ask_for(struct question *q, const struct sockaddr *to)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)to;
	const struct in_addr *in4 = stcp_peer_ipv4(to);

	q->u.route.rtm_family = in4 ? AF_INET : AF_INET6;
	q->u.route.rtm_dst_len =
		8 * (in4 ? sizeof(*in4) : sizeof(in6->sin6_addr));
	if (in4)
		add_attribute(q, RTA_DST, in4, sizeof(*in4));
	else
		add_attribute(q, RTA_DST, &in6->sin6_addr,
			      sizeof(in6->sin6_addr));
	if (!in4 && in6->sin6_scope_id)
		add_attribute(q, RTA_OIF, &in6->sin6_scope_id,
			      sizeof(in6->sin6_scope_id));
}

int stcp_way_to(const struct sockaddr *to, struct stcp_way *out)
{
	__attribute__((aligned(NLMSG_ALIGNTO))) uint8_t answer[ANSWER_BYTES];
	struct question q = {
		.header.nlmsg_type = RTM_GETROUTE,
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(q.u.route)),
	};
	const struct rtmsg *route = NLMSG_DATA(answer);
	const struct rtattr *oif;
	struct stcp_way way;
	ssize_t n;
	int index, rc;

	ask_for(&q, to);
	n = ask_kernel(&q, answer);
	if (n == -ENETUNREACH)
		return -EHOSTUNREACH;
	if (n < 0)
		return (int)n;
	n -= (ssize_t)NLMSG_SPACE(sizeof(*route));
	oif = n < 0 ? NULL : find_attribute(RTM_RTA(route), n, RTA_OIF);
	if (!oif || RTA_PAYLOAD(oif) < sizeof(index))
		return -EHOSTUNREACH;
	memcpy(&index, RTA_DATA(oif), sizeof(index));
	q = (struct question){
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(q.u.link)),
		.u.link.ifi_index = index,
	};
	rc = ask_link(&q, &way);
	if (rc)
		return rc;
	/* This host's own addresses are reached by way of themselves. */
	way.is_local |= route->rtm_type == RTN_LOCAL;
	*out = way;
	return 0;
}
