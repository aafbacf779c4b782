/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of the admin socket: made with mode 0600, removed when stale.
 *
 * Context: the loop thread, before and after the loop.
 */
#ifndef BRICKD_ADMIN_ADMIN_SOCKET_H
#define BRICKD_ADMIN_ADMIN_SOCKET_H

#include <stddef.h>
#include <sys/stat.h>

/**
 * brick_admin_socket_open - listen on a path
 * @path: at most BRICK_ADMIN_PATH_MAX characters
 * @made: what was made there
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * A socket there on which nobody listens is removed first.
 *
 * Return: the listening socket, non-blocking; -EADDRINUSE when somebody
 * listens; -EEXIST when something else is in the way; another negative errno.
 */
int brick_admin_socket_open(const char *path, struct stat *made, char *err,
			    size_t err_len);

/* Removes the file, if it is still the one that was made. */
void brick_admin_socket_remove(const char *path, const struct stat *made);

#endif
