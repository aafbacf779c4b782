/* SPDX-License-Identifier: BSD-2-Clause */
/* IPv6: the system's. */
#ifndef SIM_NET_IPV6_H
#define SIM_NET_IPV6_H

#include <netinet/in.h>

#endif
