/* SPDX-License-Identifier: BSD-2-Clause */
/* The namespaces of a thread. */
#ifndef SIM_LINUX_NSPROXY_H
#define SIM_LINUX_NSPROXY_H

#include <net/net_namespace.h>

struct nsproxy {
	struct net *net_ns;
};

#endif
