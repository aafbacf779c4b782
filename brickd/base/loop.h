/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop: epoll over sources, a one-second tick and a hook that runs
 * before every wait.
 *
 * Context: one thread, except brick_loop_wake(). Nothing in a callback may
 * block: with the stock tcp provider all data moves in this thread.
 */
#ifndef BRICKD_BASE_LOOP_H
#define BRICKD_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/base/busy.h"

struct brick_source;

typedef void (*brick_source_fn)(struct brick_source *source);

/**
 * struct brick_source - a descriptor the loop waits for
 * @fd: readable means ready, or writable after brick_loop_want_write()
 * @ready: called when it is; level-triggered
 * @kind: BRICK_BUSY_* of what it does
 *
 * Embedded in its owner, who keeps it until brick_loop_del(). A callback may
 * delete any source: events of this round for a deleted one are dropped.
 */
struct brick_source {
	int fd;
	brick_source_fn ready;
	unsigned int kind;
};

#define BRICK_LOOP_EVENTS 64
#define BRICK_TICK_MS	  1000

/*
 * struct brick_loop - the loop
 * @before_wait: called before each wait; true: do not sleep, come back
 * @next_ms: then: when to come back at the latest, KFB_TIME_NEVER: any time
 * @tick: called every BRICK_TICK_MS
 * @ctx: theirs
 * @now_ms: the time when it woke up last
 * @busy: what it is at
 *
 * The rest is private.
 */
struct brick_loop {
	bool (*before_wait)(void *ctx);
	uint64_t (*next_ms)(void *ctx);
	void (*tick)(void *ctx);
	void *ctx;
	int epoll_fd;
	bool stopping;
	uint64_t now_ms;
	struct brick_busy busy;
	uint64_t next_tick_ms;
	struct brick_source *round[BRICK_LOOP_EVENTS];
	int n_round;
};

/**
 * brick_loop_init - make a loop
 * @loop: hooks are set by the caller afterwards
 *
 * Return: 0 or -errno.
 */
int brick_loop_init(struct brick_loop *loop);
void brick_loop_fini(struct brick_loop *loop);

/**
 * brick_loop_add - wait for a descriptor
 * @loop: the loop
 * @source: fd and ready are set
 *
 * Return: 0 or -errno.
 */
int brick_loop_add(struct brick_loop *loop, struct brick_source *source);
void brick_loop_del(struct brick_loop *loop, struct brick_source *source);

/**
 * brick_loop_want_write - wait for room to write, or for something to read
 * @loop: the loop
 * @source: one of it; waits to read when added
 * @write: which
 */
void brick_loop_want_write(struct brick_loop *loop, struct brick_source *source,
			   bool write);

/**
 * brick_loop_run - serve until brick_loop_stop()
 * @loop: the loop
 *
 * Return: 0, or -errno when epoll fails.
 */
int brick_loop_run(struct brick_loop *loop);
void brick_loop_stop(struct brick_loop *loop);

#endif
