// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: makes socket addresses of node and service strings.
 */
#include <linux/export.h>
#include <linux/inet.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "core.h"

/* Copy what the hints say of one end, unless it was given already. */
static int kfi_addr_from_hints(void **addr, size_t *len, const void *hint,
			       size_t hint_len)
{
	if (*addr || !hint || !hint_len)
		return 0;
	return kfi_info_set_addr(addr, len, hint, hint_len);
}

int kfi_resolve(const char *node, const char *service, u64 flags,
		const struct fi_info *hints, struct fi_info *info)
{
	bool v6 = hints && hints->addr_format == FI_SOCKADDR_IN6;
	bool source = flags & FI_SOURCE;
	const struct sockaddr *sa;
	void *addr[2] = {}; /* source, destination */
	size_t len[2] = {};
	struct sockaddr_storage ss = {};
	int ret = 0, i = source ? 0 : 1;

	/* A port without a node means the wildcard or the loopback address. */
	if (!node && service)
		node = v6 ? (source ? "::" : "::1")
			  : (source ? "0.0.0.0" : "127.0.0.1");
	if (node && inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC,
					 node, service, &ss))
		return -EINVAL;
	if (node)
		ret = kfi_info_set_addr(&addr[i], &len[i], &ss,
					kfi_addr_len(&ss));
	if (!ret && hints)
		ret = kfi_addr_from_hints(&addr[0], &len[0], hints->src_addr,
					  hints->src_addrlen);
	if (!ret && hints)
		ret = kfi_addr_from_hints(&addr[1], &len[1], hints->dest_addr,
					  hints->dest_addrlen);
	if (ret) {
		kfree(addr[0]);
		kfree(addr[1]);
		return ret;
	}
	kfree(info->src_addr);
	kfree(info->dest_addr);
	info->src_addr = addr[0];
	info->src_addrlen = len[0];
	info->dest_addr = addr[1];
	info->dest_addrlen = len[1];
	sa = addr[1] ?: addr[0];
	if (sa)
		info->addr_format = sa->sa_family == AF_INET6 ? FI_SOCKADDR_IN6
							      : FI_SOCKADDR_IN;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_resolve);
