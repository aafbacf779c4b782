/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small files that remember a table over restarts: replaced as a whole, durably.
 *
 * The new file is durable before it takes the old one's name, and the name before
 * anybody is told.
 *
 * Context: any thread, one at a time for each file.
 */
#ifndef BRICKD_BASE_STATE_FILE_H
#define BRICKD_BASE_STATE_FILE_H

#include <stddef.h>

/**
 * brick_state_file_lock - keep other brickds from a file
 * @path: of the file, which need not be there
 * @what: the setting that names it, for the message
 * @lock_fd: gets a descriptor that is closed to give the file back
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Two that replace one file undo each other's changes. The file itself is another
 * one after each change, so that the lock is that of PATH.lock beside it, which stays.
 *
 * Return: 0 or -errno, -EWOULDBLOCK: another brickd has it.
 */
int brick_state_file_lock(const char *path, const char *what, int *lock_fd,
			  char *err, size_t err_len);

/**
 * brick_state_file_replace - replace a file, durably
 * @path: of the file, in a folder
 * @text: what it is to hold
 *
 * Return: 0 or -errno; the file is the old one or the new one then.
 */
int brick_state_file_replace(const char *path, const char *text);

#endif
