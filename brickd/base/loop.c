// SPDX-License-Identifier: BSD-2-Clause
/* The event loop. */
#include "brickd/base/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "brickd/base/clock.h"

int brick_loop_init(struct brick_loop *loop)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0)
		return -errno;
	memset(loop, 0, sizeof(*loop));
	loop->epoll_fd = fd;
	return 0;
}

void brick_loop_fini(struct brick_loop *loop)
{
	close(loop->epoll_fd);
}

int brick_loop_add(struct brick_loop *loop, struct brick_source *source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event))
		return -errno;
	return 0;
}

void brick_loop_del(struct brick_loop *loop, struct brick_source *source)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	for (int i = 0; i < loop->n_round; i++)
		if (loop->round[i] == source)
			loop->round[i] = NULL;
}

void brick_loop_want_write(struct brick_loop *loop, struct brick_source *source,
			   bool write)
{
	struct epoll_event event = { .events = write ? EPOLLOUT : EPOLLIN,
				     .data.ptr = source };

	epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
}

static int wait_ms(struct brick_loop *loop)
{
	uint64_t until_ms, now_ms;

	if (loop->before_wait(loop->ctx) || loop->stopping)
		return 0;
	until_ms = loop->next_ms(loop->ctx);
	if (until_ms > loop->next_tick_ms)
		until_ms = loop->next_tick_ms;
	now_ms = brick_now_ms();
	return now_ms < until_ms ? (int)(until_ms - now_ms) : 0;
}

int brick_loop_run(struct brick_loop *loop)
{
	struct epoll_event events[BRICK_LOOP_EVENTS];

	loop->now_ms = brick_now_ms();
	/* What is done before it waits for the first time has no end before it. */
	brick_busy_begin(&loop->busy);
	while (!loop->stopping) {
		int n = epoll_wait(loop->epoll_fd, events, BRICK_LOOP_EVENTS,
				   wait_ms(loop));

		if (n < 0 && errno != EINTR)
			return -errno;
		loop->n_round = n < 0 ? 0 : n;
		for (int i = 0; i < loop->n_round; i++)
			loop->round[i] = events[i].data.ptr;
		brick_busy_begin(&loop->busy);
		for (int i = 0; i < loop->n_round; i++) {
			struct brick_source *source = loop->round[i];
			unsigned int kind;

			/* It was deleted in this round. */
			if (!source)
				continue;
			kind = source->kind;
			source->ready(source);
			brick_busy_with(&loop->busy, kind);
			(void)brick_busy_end(&loop->busy);
		}
		loop->n_round = 0;
		loop->now_ms = brick_now_ms();
		if (loop->now_ms >= loop->next_tick_ms) {
			loop->next_tick_ms = loop->now_ms + BRICK_TICK_MS;
			loop->tick(loop->ctx);
			brick_busy_with(&loop->busy, BRICK_BUSY_TICK);
			(void)brick_busy_end(&loop->busy);
		}
	}
	return 0;
}

void brick_loop_stop(struct brick_loop *loop)
{
	loop->stopping = true;
}
