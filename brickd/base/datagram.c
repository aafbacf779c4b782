// SPDX-License-Identifier: BSD-2-Clause
/* Datagrams that nobody waits for. */
#include "brickd/base/datagram.h"

#include <errno.h>

int brick_datagram_send(int *fd, const struct sockaddr_un *to, socklen_t to_len,
			const void *text, size_t len)
{
	if (*fd < 0)
		*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return -errno;
	if (sendto(*fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)to, to_len) >= 0)
		return 0;
	return errno == ENOBUFS ? -EAGAIN : -errno;
}
