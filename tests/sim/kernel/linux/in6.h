/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of IPv6: the system's. */
#ifndef SIM_LINUX_IN6_H
#define SIM_LINUX_IN6_H

#include <netinet/in.h>

#endif
