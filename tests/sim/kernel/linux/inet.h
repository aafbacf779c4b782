/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses in text. */
#ifndef SIM_LINUX_INET_H
#define SIM_LINUX_INET_H

struct net;
struct sockaddr_storage;

int inet_pton_with_scope(struct net *net, unsigned short family,
			 const char *node, const char *service,
			 struct sockaddr_storage *out);

#endif
