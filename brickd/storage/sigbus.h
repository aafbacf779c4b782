/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGBUS: a poisoned line or a truncated file below the mapping. The daemon
 * names the place and exits rather than serve wrong bytes.
 */
#ifndef BRICKD_STORAGE_SIGBUS_H
#define BRICKD_STORAGE_SIGBUS_H

struct brick_media;
struct brick_store;

/**
 * brick_sigbus_watch - explain a SIGBUS in a medium
 * @m: the medium; NULL: back to the default
 * @store: whose slots to name; NULL: it is being opened or closed, which
 *	touches the store's metadata only
 */
void brick_sigbus_watch(const struct brick_media *m,
			const struct brick_store *store);

#endif
