/* SPDX-License-Identifier: BSD-2-Clause */
/* For bricks that acknowledge writes which are to be durable, and lie. */
#ifndef TESTS_POWERFAIL_PERSIST_NOTHING_H
#define TESTS_POWERFAIL_PERSIST_NOTHING_H

#include "kfabric/user/stcp.h"

static inline int persist_nothing(void *arg, void *addr, size_t len)
{
	(void)arg;
	(void)addr;
	(void)len;
	return 0;
}

/* Writes to a domain are acknowledged, and not written back. Return: false: not. */
static inline bool is_persisting_nothing(struct fid_domain *domain)
{
	struct stcp_domain_ops *ops;

	return !fi_open_ops(&domain->fid, STCP_DOMAIN_OPS, 0, (void **)&ops,
			    NULL) &&
	       !ops->set_persist(domain, persist_nothing, NULL);
}

#endif
