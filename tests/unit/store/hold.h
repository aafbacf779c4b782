/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interleavings that a test forces: a sync is held at a moment while other
 * threads go on, and threads are waited for, with a bound where one must not
 * end.
 */
#ifndef TESTS_STORE_HOLD_H
#define TESTS_STORE_HOLD_H

#include <pthread.h>
#include <stdbool.h>

enum hold_moment {
	HOLD_BEGUN, /* a sync has begun; nothing is written back */
	HOLD_WRITTEN, /* it has taken the error, if there was one: not told */
};

/**
 * struct hold - where a sync is held
 * @lock: guards all
 * @changed: is broadcast
 * @number: of the sync, counted from when it was armed; 0: none
 * @moment: of it
 * @is_held: it is there
 */
struct hold {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int number;
	enum hold_moment moment;
	bool is_held;
};

void hold_init(struct hold *h);
void hold_fini(struct hold *h);

/* Hold a sync that is to come. */
void hold_arm(struct hold *h, unsigned int number, enum hold_moment moment);
/* Wait until it is there. */
void hold_wait(struct hold *h);
void hold_release(struct hold *h);

/* Who syncs is at a moment; h may be NULL. */
void hold_point(struct hold *h, unsigned int number, enum hold_moment moment);

/* A thread's work and its result. */
struct worker {
	int (*work)(void *arg);
	void *arg;
	int error;
	pthread_t id;
};

void worker_start(struct worker *w);
/* Has it ended within this time? Then it is joined. */
bool worker_ends_in(struct worker *w, unsigned int ms);
void worker_join(struct worker *w);

#endif
