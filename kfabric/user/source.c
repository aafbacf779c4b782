// SPDX-License-Identifier: BSD-2-Clause
/*
 * Source addresses for programs that give none: layers above (libfabric's rxm)
 * read them unasked, and tell them to peers, who cannot use a wildcard.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impl.h"
#include "stcp.h"

static int set_source(struct fi_info *info, const struct sockaddr *addr)
{
	info->addr_format = stcp_format_of(addr);
	return stcp_set_addr(&info->src_addr, &info->src_addrlen, addr,
			     stcp_sockaddr_len(addr));
}

/* Sets the address from which the way to the destination starts. */
static int by_route(struct fi_info *info)
{
	struct sockaddr_storage ss = { 0 };
	const struct sockaddr *to = info->dest_addr;
	size_t len = sizeof(ss);
	int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = -1;

	if (fd >= 0) {
		rc = connect(fd, to, (socklen_t)stcp_sockaddr_len(to));
		if (!rc)
			rc = stcp_socket_name(fd, false, &ss, &len);
		close(fd);
	}
	/* No way there: fi_connect() will say so. */
	if (rc)
		return 0;
	if (ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&ss)->sin6_port = 0;
	else
		((struct sockaddr_in *)&ss)->sin_port = 0;
	return set_source(info, (struct sockaddr *)&ss);
}

static bool is_wanted(const struct ifaddrs *at, uint32_t format, bool loopback)
{
	const struct sockaddr *addr = at->ifa_addr;

	if (!addr || !(at->ifa_flags & IFF_UP) ||
	    !!(at->ifa_flags & IFF_LOOPBACK) != loopback)
		return false;
	if (addr->sa_family == AF_INET)
		return format != FI_SOCKADDR_IN6;
	/* A link-local one is of no use without its interface's number. */
	return addr->sa_family == AF_INET6 && format != FI_SOCKADDR_IN &&
	       !IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* Adds an info for each address of this kind; they follow the first. */
static int add_interfaces(struct fi_info *info, struct fi_info ***last,
			  uint32_t format, const struct ifaddrs *all,
			  bool loopback)
{
	for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
		struct fi_info *one = info;
		int rc;

		if (!is_wanted(at, format, loopback))
			continue;
		/* The first is filled, others are its copies. */
		if (info->src_addr) {
			one = fi_dupinfo(info);
			if (!one)
				return -FI_ENOMEM;
			**last = one;
			*last = &one->next;
			free(one->src_addr);
			one->src_addr = NULL;
		}
		rc = set_source(one, at->ifa_addr);
		if (rc)
			return rc;
	}
	return 0;
}

static int by_interface(struct fi_info *info, uint32_t format)
{
	const struct sockaddr_in6 any = {
		.sin6_family = format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET,
	};
	struct fi_info **last = &info->next;
	struct ifaddrs *all = NULL;
	int rc = 0;

	if (!getifaddrs(&all)) {
		rc = add_interfaces(info, &last, format, all, false);
		if (!rc)
			rc = add_interfaces(info, &last, format, all, true);
		freeifaddrs(all);
	}
	if (!rc && !info->src_addr)
		rc = set_source(info, (const struct sockaddr *)&any);
	return rc;
}

int stcp_info_add_sources(struct fi_info *info, uint32_t format)
{
	if (info->src_addr)
		return 0;
	return info->dest_addr ? by_route(info) : by_interface(info, format);
}
