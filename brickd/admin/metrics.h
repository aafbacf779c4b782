/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The metrics page: brickd's counters as OpenMetrics text over HTTP.
 *
 * libmicrohttpd does the HTTP. It runs inside the event loop, on an epoll
 * descriptor of its own, with non-blocking sockets and no thread.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_ADMIN_METRICS_H
#define BRICKD_ADMIN_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "brickd/config/address.h"

struct brick_view;

/* Connections at a time; others wait in the listening socket's queue. */
#define BRICK_METRICS_CONNECTIONS_MAX 8
/* From a connection's begin to its end, whatever it does meanwhile. */
#define BRICK_METRICS_TURN_MS 5000

/**
 * brick_metrics_start - serve the page, if the configuration says where
 * @view: its loop runs soon
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -errno; -ENOSYS when brickd was built without.
 */
int brick_metrics_start(struct brick_view *view, char *err, size_t err_len);
void brick_metrics_stop(struct brick_view *view);

/**
 * brick_metrics_before_wait - do what is left over
 * @view: what it shows
 *
 * Return: is there still more? Then the loop must not sleep.
 */
bool brick_metrics_before_wait(struct brick_view *view);

/* Deadlines. */
void brick_metrics_tick(struct brick_view *view);

/**
 * brick_metrics_url - where the page is
 * @view: what it shows
 * @url: filled when there is one
 *
 * Return: is there one?
 */
bool brick_metrics_url(const struct brick_view *view,
		       char url[BRICK_URL_BYTES]);

/**
 * brick_metrics_text - all counters as OpenMetrics text
 * @view: what is shown
 * @len: bytes, without the NUL
 *
 * Return: for free(), NULL without memory.
 */
char *brick_metrics_text(const struct brick_view *view, size_t *len);

#endif
