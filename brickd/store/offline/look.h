/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is there a store where the settings say? Also while brickd serves it: nothing is
 * locked and nothing written.
 */
#ifndef BRICKD_STORE_LOOK_H
#define BRICKD_STORE_LOOK_H

#include <stddef.h>
#include <stdint.h>

/**
 * brick_store_look - see whether a path holds a store
 * @path: of a file or a devdax device
 * @expect_uuid: which store it is to be, or NULL
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Context: may block; the store may be in use.
 * Return: 0, -ENOENT (nothing there, or no store), -EINVAL (another uuid, or
 * truncated), -EUCLEAN (damaged), -EPROTONOSUPPORT (newer), -ENOTSUP (no kind of
 * thing that can hold one), or why it cannot be opened.
 */
int brick_store_look(const char *path, const uint8_t *expect_uuid, char *err,
		     size_t err_len);

/**
 * brick_slow_look_at_path - see whether a path may be a slow tier
 * @path: of a file or block device
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Context: may block; the tier may be in use.
 * Return: 0, -ENOTSUP (neither file nor block device), or -errno.
 */
int brick_slow_look_at_path(const char *path, char *err, size_t err_len);

#endif
