/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes that are durable when they are acknowledged: what brickd's own tcp
 * provider calls for each that asks for it (FI_COMMIT_COMPLETE).
 *
 * Context: brick_durable_write_enable() in the loop, before the session's endpoint;
 * what it sets runs in the provider's threads, where bytes are received, and
 * touches nothing but the medium.
 */
#ifndef BRICKD_STORAGE_DURABLE_WRITE_H
#define BRICKD_STORAGE_DURABLE_WRITE_H

#include <rdma/fi_domain.h>
#include <stdbool.h>

struct brick_fabric;
struct brick_storage;

/**
 * brick_durable_write_enable - let a session's writes ask to be made durable
 * @storage: what they go to
 * @fabric: through which they come
 * @domain: of the session
 *
 * Only where that takes cache lines or nothing at all: a disk would hold up
 * everybody whose bytes the same thread receives. And not where the caches are in
 * doubt, and nobody flushes them: what it promises is not so.
 *
 * Return: true when they may.
 */
bool brick_durable_write_enable(struct brick_storage *storage,
				const struct brick_fabric *fabric,
				struct fid_domain *domain);

#endif
