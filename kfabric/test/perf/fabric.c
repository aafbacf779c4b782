// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_latency: through kfabric, as a block driver would do it: a page of a
 * bio, a quiet write, a flush chained behind it, an upcall that ends it.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric/kfi_provider.h>

#include "latency.h"

static struct {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fi_context *write_ctx;
	struct fi_context *flush_ctx;
	struct bio_vec bvec;
	struct iop_peer_data peer;
	struct completion done;
	int err;
} fab;

static void on_complete(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
			void *context)
{
	if (entry->flags & FI_RECV)
		return;
	fab.err = entry->err;
	complete(&fab.done);
}

static int get_info(const char *node, const char *service)
{
	struct fi_info *hints = fi_allocinfo();
	size_t size;
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->cm_timeout_ms = LAT_TIMEOUT_MS;
	hints->domain_attr->mr_mode = ~0u;
	hints->fabric_attr->prov_name = kstrdup("verbs", GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), node, service, 0, hints, &fab.info);
	fi_freeinfo(hints);
	if (ret)
		return ret;
	size = fab.info->domain_attr->op_context_size;
	fab.write_ctx = kzalloc(size, GFP_KERNEL);
	fab.flush_ctx = kzalloc(size, GFP_KERNEL);
	return fab.write_ctx && fab.flush_ctx ? 0 : -ENOMEM;
}

static int open_objects(void)
{
	struct fi_cq_attr attr = { .comp_handler = on_complete,
				   .comp_context = FI_CQ_SOFTIRQ };
	int ret;

	ret = fi_fabric(fab.info->fabric_attr, &fab.fabric, NULL);
	ret = ret ?: fi_eq_open(fab.fabric, NULL, &fab.eq, NULL);
	ret = ret ?: fi_domain(fab.fabric, fab.info, &fab.domain, NULL);
	ret = ret ?: fi_cq_open(fab.domain, &attr, &fab.cq, NULL);
	ret = ret ?: fi_endpoint(fab.domain, fab.info, &fab.ep, NULL);
	ret = ret ?: fi_ep_bind(fab.ep, &fab.eq->fid, 0);
	return ret
		       ?: fi_ep_bind(fab.ep, &fab.cq->fid,
				     FI_TRANSMIT | FI_RECV |
					     FI_SELECTIVE_COMPLETION);
}

static int connect(void)
{
	struct {
		struct fi_eq_cm_entry cm;
		u8 data[FI_CM_DATA_MAX];
	} event;
	struct iop_ulp_data mine;
	u32 kind;
	ssize_t n;
	int ret;

	lat_fill_data(&mine);
	ret = fi_connect(fab.ep, NULL, &mine, sizeof(mine));
	if (ret)
		return ret;
	n = fi_eq_sread(fab.eq, &kind, &event, sizeof(event), -1, 0);
	if (n < 0 || kind != FI_CONNECTED)
		return -ECONNREFUSED;
	n -= sizeof(event.cm);
	if (n < offsetof(struct iop_peer_data, len) || n > sizeof(fab.peer))
		return -EPROTO;
	memcpy(&fab.peer, event.data, n);
	return 0;
}

static int fabric_open(const char *node, const char *service, void *data)
{
	int ret;

	memset(&fab, 0, sizeof(fab));
	init_completion(&fab.done);
	fab.bvec = (struct bio_vec){ .bv_page = virt_to_page(data),
				     .bv_offset = offset_in_page(data),
				     .bv_len = LAT_WRITE_BYTES };
	ret = get_info(node, service);
	ret = ret ?: open_objects();
	return ret ?: connect();
}

static int wait_done(void)
{
	if (!wait_for_completion_timeout(&fab.done,
					 msecs_to_jiffies(LAT_TIMEOUT_MS)))
		return -ETIMEDOUT;
	return -fab.err;
}

static int fabric_round(enum lat_shape shape, u32 i)
{
	struct fi_rma_iov rma = { .addr = lat_target(&fab.peer, i),
				  .len = LAT_WRITE_BYTES,
				  .key = fab.peer.rw_key };
	struct fi_msg_rma write = { .buf = fi_buf_bvec(&fab.bvec, 1, 0,
						       LAT_WRITE_BYTES),
				    .rma_iov = &rma,
				    .rma_iov_count = 1,
				    .context = fab.write_ctx };
	struct fi_msg_flush flush = { .mode = FI_FLUSH_READBACK,
				      .rma_iov = &rma,
				      .rma_iov_count = 1,
				      .context = fab.flush_ctx };
	int ret;

	reinit_completion(&fab.done);
	ret = fi_writemsg(fab.ep, &write,
			  shape == LAT_CHAINED ? FI_MORE : FI_COMPLETION);
	if (!ret && shape != LAT_CHAINED) {
		ret = wait_done();
		reinit_completion(&fab.done);
	}
	if (ret || shape == LAT_WRITE)
		return ret;
	ret = fi_flush(fab.ep, &flush, FI_COMPLETION);
	return ret ?: wait_done();
}

static void fabric_close(void)
{
	if (fab.ep)
		fi_close(&fab.ep->fid);
	if (fab.cq)
		fi_close(&fab.cq->fid);
	if (fab.domain)
		fi_close(&fab.domain->fid);
	if (fab.eq)
		fi_close(&fab.eq->fid);
	if (fab.fabric)
		fi_close(&fab.fabric->fid);
	kfree(fab.write_ctx);
	kfree(fab.flush_ctx);
	fi_freeinfo(fab.info);
}

const struct lat_way lat_fabric = {
	.name = "kfabric",
	.open = fabric_open,
	.round = fabric_round,
	.close = fabric_close,
};
