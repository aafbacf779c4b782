// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd, with lost_caches.c: a brick that acknowledges each write
 * that is to be durable, and writes nothing back. Tests of power failures must
 * fail with it.
 */
#include "brickd/storage/durable_write.h"
#include "kfabric/user/stcp.h"

bool __real_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain);
bool __wrap_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain);

static int persist_nothing(void *arg, void *addr, size_t len)
{
	(void)arg;
	(void)addr;
	(void)len;
	return 0;
}

bool __wrap_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain)
{
	struct stcp_domain_ops *ops;

	return __real_brick_durable_write_enable(storage, fabric, domain) &&
	       !fi_open_ops(&domain->fid, STCP_DOMAIN_OPS, 0, (void **)&ops,
			    NULL) &&
	       !ops->set_persist(domain, persist_nothing, NULL);
}
