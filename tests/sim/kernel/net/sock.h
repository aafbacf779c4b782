/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets: see linux/net.h. */
#ifndef SIM_NET_SOCK_H
#define SIM_NET_SOCK_H

#include <linux/socket.h>

#include <linux/net.h>

#endif
