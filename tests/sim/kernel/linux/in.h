/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of IPv4: the system's. */
#ifndef SIM_LINUX_IN_H
#define SIM_LINUX_IN_H

#include <netinet/in.h>

#endif
