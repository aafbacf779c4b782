// SPDX-License-Identifier: BSD-2-Clause
/* Writes that are durable when they are acknowledged. */
#include "brickd/storage/durable_write.h"

#include <errno.h>

#include "brickd/media/media.h"
#include "brickd/net/fabric.h"
#include "brickd/platform/durability.h"
#include "brickd/storage/storage.h"
#include "kfabric/user/stcp.h"

/* Flush and drain in one thread: a drain covers that thread's flushes. */
static int persist_range(void *arg, void *addr, size_t len)
{
	struct brick_storage *storage = arg;
	struct brick_media *media = storage->media;
	uint64_t off;

	if (!brick_media_offset_of(media, addr, &off) ||
	    len > media->size - off)
		return -EFAULT;
	media->ops->flush(media, off, len);
	return brick_store_drain(storage->store);
}

bool brick_durable_write_enable(struct brick_storage *storage,
				const struct brick_fabric *fabric,
				struct fid_domain *domain)
{
	struct stcp_domain_ops *ops;

	if (!fabric->address->scheme->is_strict ||
	    storage->flush_mode == KFB_FLUSH_NONE ||
	    storage->media->granularity == BRICK_GRANULARITY_PAGE ||
	    brick_medium_is_never_flushed(&storage->facts))
		return false;
	return !fi_open_ops(&domain->fid, STCP_DOMAIN_OPS, 0, (void **)&ops,
			    NULL) &&
	       !ops->set_persist(domain, persist_range, storage);
}
