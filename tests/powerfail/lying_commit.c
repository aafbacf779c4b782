// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd, with lost_caches.c: a brick that acknowledges each write
 * that is to be durable, and writes nothing back. Tests of power failures must
 * fail with it.
 */
#include "brickd/storage/durable_write.h"
#include "tests/powerfail/persist_nothing.h"

bool __real_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain);
bool __wrap_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain);

bool __wrap_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain)
{
	return __real_brick_durable_write_enable(storage, fabric, domain) &&
	       is_persisting_nothing(domain);
}
