/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets: the system's addresses. */
#ifndef SIM_LINUX_SOCKET_H
#define SIM_LINUX_SOCKET_H

#include <sys/socket.h>

#endif
