/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Syncs of one file: shared by those who wait, one after the other.
 *
 * Linux tells an error of writing back to one sync of an open file and marks
 * the pages clean: another sync, even one that runs at the same time, returns
 * 0 though the bytes are gone. So there is one sync at a time, and one that
 * fails fails everybody who waits and everybody who comes later, until the
 * file is opened again.
 *
 * A sync covers what was written before it began. Who comes while one runs
 * waits for the next, which all that wait share.
 *
 * Context: any thread that may block. Locking: the lock is not held over a
 * sync, and no other lock is taken under it.
 */
#ifndef BRICKD_STORE_SYNCS_H
#define BRICKD_STORE_SYNCS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct brick_syncs - one file's
 * @sync: makes durable what was written; 0 or -errno
 * @failed: called once, before anybody is told
 * @arg: for both
 * @lock: guards what follows
 * @ended: a sync has
 * @n_begun: syncs so far
 * @n_good: the number of the last one that returned 0
 * @is_running: one is under way
 * @error: of the one that failed
 */
struct brick_syncs {
	int (*sync)(void *arg);
	void (*failed)(void *arg, int error);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint64_t n_begun;
	uint64_t n_good;
	bool is_running;
	int error;
};

/* @syncs: sync, failed and arg are set, all else is zero. */
void brick_syncs_init(struct brick_syncs *syncs);
void brick_syncs_fini(struct brick_syncs *syncs);

/**
 * brick_syncs_wait - wait until what was written before is durable
 * @syncs: the file's
 *
 * Return: 0; -EIO: it may not be, or an earlier sync has failed.
 */
int brick_syncs_wait(struct brick_syncs *syncs);

#endif
