/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bell: one descriptor that wakes the loop for any number of completion
 * queues. Each of them would have a descriptor of its own else, and with tens of
 * thousands of sessions those are half of what a process may have.
 *
 * Context: brick_bell_pull() in any thread, the rest in the loop thread.
 * Locking: lock guards the list, and is a leaf.
 */
#ifndef BRICKD_NET_BELL_H
#define BRICKD_NET_BELL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "brickd/base/loop.h"

struct brick_bell;

/*
 * struct brick_rope - who may want to be looked at
 * @bell: at the other end; NULL: none
 * @is_pulled: it is in the bell's list
 */
struct brick_rope {
	struct brick_bell *bell;
	bool is_pulled;
	TAILQ_ENTRY(brick_rope) link;
};

TAILQ_HEAD(brick_rope_list, brick_rope);

/*
 * struct brick_bell - the bell
 * @rung: called for each rope that was pulled; may cut any
 * @pulled: since the loop looked last, in that order
 * @is_rung: the loop was woken and has not looked at the descriptor since
 */
struct brick_bell {
	void (*rung)(struct brick_rope *rope);
	struct brick_source source;
	pthread_mutex_t lock;
	struct brick_rope_list pulled; /* guarded by lock */
	bool is_rung; /* guarded by lock */
};

/**
 * brick_bell_init - make a bell
 * @bell: filled; its source is the caller's to add to the loop
 * @rung: see the struct
 *
 * Return: 0 or -errno.
 */
int brick_bell_init(struct brick_bell *bell,
		    void (*rung)(struct brick_rope *rope));
void brick_bell_fini(struct brick_bell *bell);

/**
 * brick_bell_look - call rung() of all that have pulled
 * @bell: the bell
 *
 * The loop may do so before it looks at its descriptors.
 */
void brick_bell_look(struct brick_bell *bell);

/**
 * brick_bell_pull - have the loop look
 * @rope: tied to a bell; pulling it again before the loop has looked does nothing
 */
void brick_bell_pull(struct brick_rope *rope);

/* Nobody pulls it any more: it is not rung for, even if it was pulled. */
void brick_bell_cut(struct brick_rope *rope);

#endif
