/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing what the settings name as the store.
 *
 * Context: the thread that starts the daemon, while no worker runs.
 */
#ifndef BRICKD_STORAGE_STORAGE_OPEN_H
#define BRICKD_STORAGE_STORAGE_OPEN_H

#include <stdbool.h>
#include <stddef.h>

struct brick_storage;

/**
 * brick_storage_open - open the medium, the slow tier and the store
 * @storage: config and counters are set
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -errno; on failure everything is closed again.
 */
int brick_storage_open(struct brick_storage *storage, char *err,
		       size_t err_len);

/**
 * brick_storage_close - the opposite
 * @storage: open
 * @is_clean: all that was written is durable
 *
 * Return: 0 or -errno of making that durable.
 */
int brick_storage_close(struct brick_storage *storage, bool is_clean);

#endif
