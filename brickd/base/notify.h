/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the service manager is told: sd_notify(3) where libsystemd was found and
 * a manager listens, else nothing. Nobody waits for the manager: one that takes nothing
 * is told at a later tick what has become of it by then.
 *
 * Context: the loop thread, or main() before and after the loop.
 */
#ifndef BRICKD_BASE_NOTIFY_H
#define BRICKD_BASE_NOTIFY_H

#include <stdint.h>

/**
 * brick_notify_ready - the daemon serves
 * @what: one line for "systemctl status"
 *
 * Also ends what brick_notify_reloading() began.
 */
void brick_notify_ready(const char *what);

/* One line for "systemctl status", while the daemon serves. */
void brick_notify_status(const char *what);

/* The settings are being read again. */
void brick_notify_reloading(void);

/**
 * brick_notify_stopping - the daemon is going
 * @timeout_ms: until it is gone at the latest
 */
void brick_notify_stopping(uint64_t timeout_ms);

/**
 * brick_notify_alive - the loop turns
 *
 * Called at every tick; tells the manager at half the watchdog's time, and what it was
 * not told yet.
 */
void brick_notify_alive(void);

#endif
