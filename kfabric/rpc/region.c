// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: the buffers of requests, and what the server may reach of them.
 *
 * A chunk is offered by regions, each of which is one range of addresses: what is before
 * the pages of a message, the pages, and what is behind them. krpc_req_fence() closes
 * them. When it has returned the server reaches nothing of the request any more,
 * whatever it does; nothing of a request is given back to RPC before.
 *
 * Context: process.
 */
#include <linux/bvec.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "krpc.h"

/* For a request's buffers, bytes in all; NULL: there is no memory. */
struct krpc_req *krpc_req_alloc(size_t bytes)
{
	struct krpc_req *req;

	req = kmalloc(struct_size(req, data, bytes), rpc_task_gfp_mask());
	if (!req)
		return NULL;
	kref_init(&req->ref);
	mutex_init(&req->mutex);
	req->n_regions = 0;
	return req;
}

static void krpc_req_free(struct kref *ref)
{
	struct krpc_req *req = container_of(ref, struct krpc_req, ref);

	WARN_ON_ONCE(req->n_regions);
	mutex_destroy(&req->mutex);
	kfree(req);
}

/* Context: any. */
void krpc_req_put(struct krpc_req *req)
{
	kref_put(&req->ref, krpc_req_free);
}

/* One more region, and the segment of a chunk that tells of it. */
static int krpc_req_add(struct krpc_req *req, struct krpc_conn *conn,
			const struct fi_buf *buf, u64 access,
			struct bio_vec *bvec, struct rpcw_chunk *chunk)
{
	struct fi_mr_attr attr = { .buf = *buf, .access = access };
	struct krpc_region *region;
	int ret;

	lockdep_assert_held(&req->mutex);
	if (WARN_ON_ONCE(req->n_regions == KRPC_REGIONS ||
			 chunk->count == RPCW_SEGMENTS))
		return -EINVAL;
	region = &req->regions[req->n_regions];
	ret = fi_mr_regattr(conn->domain, &attr, 0, &region->mr);
	if (ret)
		return ret;
	ret = fi_mr_bind(region->mr, &conn->ep->fid, 0)
		      ?: fi_mr_enable(region->mr);
	if (ret) {
		WARN_ON_ONCE(fi_close(&region->mr->fid));
		return ret;
	}
	region->bvec = bvec;
	req->n_regions++;
	chunk->segments[chunk->count++] = (struct rpcw_segment){
		.handle = fi_mr_key(region->mr),
		.length = buf->len,
		.offset = region->mr->iova,
	};
	return 0;
}

static int krpc_req_add_kvec(struct krpc_req *req, struct krpc_conn *conn,
			     const struct kvec *kvec, u64 access,
			     struct rpcw_chunk *chunk)
{
	struct fi_buf buf = fi_buf_linear(kvec->iov_base, kvec->iov_len);

	if (!kvec->iov_len)
		return 0;
	return krpc_req_add(req, conn, &buf, access, NULL, chunk);
}

static int krpc_req_add_pages(struct krpc_req *req, struct krpc_conn *conn,
			      const struct xdr_buf *buf, u64 access,
			      struct rpcw_chunk *chunk)
{
	struct page **page = buf->pages + (buf->page_base >> PAGE_SHIFT);
	u32 offset = offset_in_page(buf->page_base), left = buf->page_len;
	u32 i, count = DIV_ROUND_UP((size_t)offset + left, PAGE_SIZE);
	struct bio_vec *bvec;
	struct fi_buf pages;
	int ret;

	if (!buf->page_len)
		return 0;
	bvec = kvmalloc_array(count, sizeof(*bvec), GFP_KERNEL);
	if (!bvec)
		return -ENOMEM;
	/* The pages of a message, as ranges of a page each. */
	for (i = 0; i < count; i++, offset = 0) {
		bvec[i].bv_page = page[i];
		bvec[i].bv_offset = offset;
		bvec[i].bv_len = min_t(u32, left, PAGE_SIZE - offset);
		left -= bvec[i].bv_len;
	}
	pages = fi_buf_bvec(bvec, count, 0, buf->page_len);
	ret = krpc_req_add(req, conn, &pages, access, bvec, chunk);
	if (ret)
		kvfree(bvec);
	return ret;
}

/**
 * krpc_req_offer() - let the server reach a message
 * @req: request
 * @conn: connection by which it will be sent
 * @buf: its call or its reply
 * @part: what of it
 * @access: FI_REMOTE_READ or FI_REMOTE_WRITE
 * @chunk: out: where it is
 *
 * Context: memalloc_noio; XPRT_LOCKED.
 * Return: 0; -errno of the fabric, and krpc_req_fence() must follow.
 */
int krpc_req_offer(struct krpc_req *req, struct krpc_conn *conn,
		   const struct xdr_buf *buf, enum krpc_part part, u64 access,
		   struct rpcw_chunk *chunk)
{
	int ret = 0;

	chunk->count = 0;
	mutex_lock(&req->mutex);
	if (part == KRPC_ALL)
		ret = krpc_req_add_kvec(req, conn, &buf->head[0], access,
					chunk);
	ret = ret ?: krpc_req_add_pages(req, conn, buf, access, chunk);
	if (!ret && part == KRPC_ALL)
		ret = krpc_req_add_kvec(req, conn, &buf->tail[0], access,
					chunk);
	mutex_unlock(&req->mutex);
	return ret;
}

/**
 * krpc_req_fence() - let the server reach nothing of a request any more
 * @req: request
 */
void krpc_req_fence(struct krpc_req *req)
{
	struct krpc_region *region;

	mutex_lock(&req->mutex);
	while (req->n_regions) {
		region = &req->regions[--req->n_regions];
		WARN_ON_ONCE(fi_close(&region->mr->fid));
		kvfree(region->bvec);
	}
	mutex_unlock(&req->mutex);
}
