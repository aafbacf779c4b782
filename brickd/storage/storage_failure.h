/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store, or its slow tier, that has failed, for clients and administrators.
 *
 * The store knows; here it is told, once. brickd goes on and serves what can be
 * read: it does not end by itself, because a start would find the same medium.
 * A slow tier that has failed costs nothing that was promised: it takes no more
 * blocks, and all else goes on.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_STORAGE_STORAGE_FAILURE_H
#define BRICKD_STORAGE_STORAGE_FAILURE_H

#include <stddef.h>

struct brick_storage;

#define BRICK_FAILURE_BYTES 384

/* What the service manager shows of a brick whose medium has failed. */
#define BRICK_FAILED_STATUS "the medium failed: only reads are served"

/**
 * brick_failure_look - has something failed? Tell everybody once
 * @storage: the storage
 *
 * To be called after whatever may have synced.
 */
void brick_failure_look(struct brick_storage *storage);

/* How the medium failed and what to do; BRICK_FAILURE_BYTES; it has failed. */
void brick_failure_text(const struct brick_storage *storage, char *text);

/* The same for the slow tier. */
void brick_failure_slow_text(const struct brick_storage *storage, char *text);

#endif
