/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The admin socket: a Unix stream socket on which root, or the user that
 * brickd runs as, asks and orders. One JSON object a line, each way; brickd(8)
 * has the ops.
 *
 * Context: the loop thread. Nothing here blocks: descriptors are non-blocking,
 * a client has one line of input and one reply of output at most, and a client
 * that does not take its turn is cut off.
 */
#ifndef BRICKD_ADMIN_ADMIN_H
#define BRICKD_ADMIN_ADMIN_H

#include <stddef.h>

struct brick_admin;
struct brick_view;

/* Clients at a time. */
#define BRICK_ADMIN_CLIENTS_MAX 8
/* From a request's first byte to its last, and for taking the reply. */
#define BRICK_ADMIN_TURN_MS 5000
/* Between requests. */
#define BRICK_ADMIN_IDLE_MS 60000
/* A reply with its newline. */
#define BRICK_ADMIN_REPLY_MAX_BYTES (256 << 10)

/**
 * brick_admin_start - open the socket of the configuration, if it names one
 * @view: its loop runs soon; gets the socket
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * A socket that nobody listens on any more is removed; anything else that is
 * in the way is left alone.
 *
 * Return: 0 or -errno.
 */
int brick_admin_start(struct brick_view *view, char *err, size_t err_len);

/* Closes it and its clients and removes the socket. */
void brick_admin_stop(struct brick_view *view);

/* Deadlines. */
void brick_admin_tick(struct brick_view *view);

#endif
