/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A datagram to a socket of this host, such as the journal's or the service manager's,
 * which nobody waits for.
 */
#ifndef BRICKD_BASE_DATAGRAM_H
#define BRICKD_BASE_DATAGRAM_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

/**
 * brick_datagram_send - send one, if it is taken at once
 * @fd: the sender's socket; -1: there is none yet, it is made and stays
 * @to: where to
 * @to_len: of @to, bytes
 * @text: what
 * @len: of @text, bytes
 *
 * Context: any thread, one at a time for each @fd.
 * Return: 0, -EAGAIN: there is no room now, or another negative errno; when @fd is
 * still -1: no socket could be made.
 */
int brick_datagram_send(int *fd, const struct sockaddr_un *to, socklen_t to_len,
			const void *text, size_t len);

#endif
