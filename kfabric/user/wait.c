// SPDX-License-Identifier: BSD-2-Clause
/*
 * Descriptors to sleep on. Only a user who has said that it is about to sleep
 * (fi_trywait) costs a system call: one that is busy reading costs none.
 *
 * Locking: the queue's, but for stcp_wait_poll().
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "impl.h"

int stcp_wait_init(struct stcp_wait *wait, enum fi_wait_obj obj,
		   bool with_sockets)
{
	struct epoll_event event = { .events = EPOLLIN };
	int rc;

	*wait = (struct stcp_wait){ .fd = -1, .user_fd = -1, .armed = true };
	if (obj == FI_WAIT_NONE)
		return 0;
	if (obj != FI_WAIT_FD && obj != FI_WAIT_UNSPEC)
		return -FI_ENOSYS;
	wait->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wait->fd < 0)
		return -errno;
	if (!with_sockets) {
		wait->user_fd = wait->fd;
		return 0;
	}
	/* Its user sleeps on an epoll, which has room for sockets. */
	wait->user_fd = epoll_create1(EPOLL_CLOEXEC);
	if (wait->user_fd >= 0 &&
	    !epoll_ctl(wait->user_fd, EPOLL_CTL_ADD, wait->fd, &event))
		return 0;
	rc = -errno;
	stcp_wait_fini(wait);
	return rc;
}

int stcp_wait_socket(struct stcp_wait *wait, int op, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };

	if (wait->user_fd >= 0 && epoll_ctl(wait->user_fd, op, fd, &event))
		return -errno;
	return 0;
}

int stcp_wait_control(const struct stcp_wait *wait, int command, void *arg)
{
	if (command == FI_GETWAITOBJ) {
		*(enum fi_wait_obj *)arg =
			wait->fd < 0 ? FI_WAIT_NONE : FI_WAIT_FD;
		return 0;
	}
	if (command != FI_GETWAIT || wait->fd < 0)
		return -FI_ENOSYS;
	*(int *)arg = wait->user_fd;
	return 0;
}

void stcp_wait_fini(struct stcp_wait *wait)
{
	if (wait->user_fd >= 0 && wait->user_fd != wait->fd)
		close(wait->user_fd);
	if (wait->fd >= 0)
		close(wait->fd);
}

void stcp_wait_signal(struct stcp_wait *wait)
{
	uint64_t one = 1;

	if ((wait->fd < 0 && !wait->ring) || !wait->armed)
		return;
	wait->armed = false;
	if (wait->ring) {
		wait->ring(wait->ring_context);
		return;
	}
	wait->readable = true;
	/* It cannot be full: it is written once before it is read. */
	(void)!write(wait->fd, &one, sizeof(one));
}

void stcp_wait_arm(struct stcp_wait *wait)
{
	uint64_t count;

	if (wait->readable)
		(void)!read(wait->fd, &count, sizeof(count));
	wait->readable = false;
	wait->armed = true;
}

uint64_t stcp_wait_until(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX
			      : stcp_now_ms() + (uint64_t)timeout_ms;
}

int stcp_wait_poll(const struct stcp_wait *wait, uint64_t now_ms,
		   uint64_t until_ms)
{
	struct pollfd fd = { .fd = wait->user_fd, .events = POLLIN };
	int n;

	if (wait->fd < 0)
		return -FI_ENOSYS;
	n = poll(&fd, 1,
		 until_ms == UINT64_MAX ? -1 : (int)(until_ms - now_ms));
	if (n < 0)
		return -errno;
	return n ? 0 : -FI_EAGAIN;
}
