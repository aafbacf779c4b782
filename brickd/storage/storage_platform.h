/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon and its platform: what it takes for true, and what it says of it.
 *
 * Context: the thread that starts the daemon.
 */
#ifndef BRICKD_STORAGE_STORAGE_PLATFORM_H
#define BRICKD_STORAGE_STORAGE_PLATFORM_H

#include <stddef.h>

struct brick_storage;

/**
 * brick_storage_platform_read - learn what is below the medium
 * @storage: its medium is open, its store not yet
 *
 * Sets platform, facts and flush_mode. A medium that nobody vouches for
 * becomes volatile to the store, too: it counts a power epoch at each start.
 *
 * Context: may block.
 * Return: 0 or -ENOMEM.
 */
int brick_storage_platform_read(struct brick_storage *storage);

/**
 * brick_storage_platform_mend - clear bad blocks in the store's tables
 * @storage: its platform is read, its store not open yet
 * @err: message on failure: what to do
 * @err_len: its size, bytes
 *
 * Everything there exists twice: what is cleared is repaired from the other
 * copy when the store is opened.
 *
 * Context: may block.
 * Return: 0; -EIO: they cannot be cleared, and reading them is the end.
 */
int brick_storage_platform_mend(const struct brick_storage *storage, char *err,
				size_t err_len);

/**
 * brick_storage_platform_log - say what is promised, and what is wrong
 * @storage: its platform is read
 */
void brick_storage_platform_log(const struct brick_storage *storage);

#endif
