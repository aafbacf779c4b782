// SPDX-License-Identifier: BSD-2-Clause
/* The fabric: the root of all objects; while one is open the threads run. */
#include <stdlib.h>

#include "impl.h"
#include "stcp.h"

bool stcp_is_inherited(const struct stcp_fabric *fabric)
{
	return fabric->generation != stcp_generation();
}

static int fabric_close(struct fid *fid)
{
	struct stcp_fabric *fabric =
		stcp_container_of(fid, struct stcp_fabric, fid.fid);

	if (stcp_is_inherited(fabric))
		return 0;
	if (atomic_load(&fabric->refs))
		return -FI_EBUSY;
	stcp_shards_put();
	pthread_mutex_destroy(&fabric->lock);
	free(fabric);
	return 0;
}

static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids,
			  int count)
{
	int rc = 0;

	if (stcp_is_inherited(
		    stcp_container_of(fabric, struct stcp_fabric, fid)))
		return -FI_EOPBADSTATE;
	for (int i = 0; !rc && i < count; i++) {
		if (fids[i]->fclass == FI_CLASS_CQ)
			rc = stcp_cq_trywait(stcp_container_of(
				fids[i], struct stcp_cq, fid.fid));
		else if (fids[i]->fclass == FI_CLASS_EQ)
			rc = stcp_eq_trywait(stcp_container_of(
				fids[i], struct stcp_eq, fid.fid));
		else
			rc = -FI_ENOSYS;
	}
	return rc;
}

/* clang-format off */
STCP_NOT_DONE(static int, no_wait_set, struct fid_fabric *fabric,
	      struct fi_wait_attr *attr, struct fid_wait **waitset)
/* clang-format on */

static int fabric_domain2(struct fid_fabric *fabric, struct fi_info *info,
			  struct fid_domain **domain, uint64_t flags,
			  void *context)
{
	return flags ? -FI_ENOSYS
		     : stcp_domain_open(fabric, info, domain, context);
}

static struct fi_ops fabric_fid_ops = STCP_FID_OPS(
	fabric_close, stcp_no_bind, stcp_no_control, stcp_no_ops_open);

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = stcp_domain_open,
	.passive_ep = stcp_pep_open,
	.eq_open = stcp_eq_open,
	.wait_open = no_wait_set,
	.trywait = fabric_trywait,
	.domain2 = fabric_domain2,
};

int stcp_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out,
		void *context)
{
	struct stcp_fabric *fabric = calloc(1, sizeof(*fabric));
	int rc;

	if (!fabric)
		return -FI_ENOMEM;
	rc = stcp_shards_get();
	if (rc) {
		free(fabric);
		return rc;
	}
	pthread_mutex_init(&fabric->lock, NULL);
	LIST_INIT(&fabric->requests);
	LIST_INIT(&fabric->peps);
	fabric->generation = stcp_generation();
	stcp_fid_init(&fabric->fid.fid, FI_CLASS_FABRIC, &fabric_fid_ops,
		      context);
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	*out = &fabric->fid;
	return 0;
}
