/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGBUS: a poisoned line or a truncated file below the mapping. The daemon
 * names the place and exits rather than serve wrong bytes.
 */
#ifndef BRICKD_SIGBUS_H
#define BRICKD_SIGBUS_H

struct brick_store;

/**
 * brick_sigbus_watch - explain a SIGBUS in a store
 * @store: whose slots to name; NULL: back to the default
 */
void brick_sigbus_watch(const struct brick_store *store);

#endif
