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
} lat_fab;

static void lat_fabric_on_complete(struct fid_cq *cq,
				   const struct fi_cq_err_entry *entry,
				   void *context)
{
	if (entry->flags & FI_RECV)
		return;
	lat_fab.err = entry->err;
	complete(&lat_fab.done);
}

static int lat_fabric_get_info(const char *node, const char *service)
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
	ret = fi_getinfo(FI_VERSION(1, 0), node, service, 0, hints,
			 &lat_fab.info);
	fi_freeinfo(hints);
	if (ret)
		return ret;
	size = lat_fab.info->domain_attr->op_context_size;
	lat_fab.write_ctx = kzalloc(size, GFP_KERNEL);
	lat_fab.flush_ctx = kzalloc(size, GFP_KERNEL);
	return lat_fab.write_ctx && lat_fab.flush_ctx ? 0 : -ENOMEM;
}

static int lat_fabric_open_objects(void)
{
	struct fi_cq_attr attr = { .comp_handler = lat_fabric_on_complete,
				   .comp_context = FI_CQ_SOFTIRQ };
	int ret;

	ret = fi_fabric(lat_fab.info->fabric_attr, &lat_fab.fabric, NULL);
	ret = ret ?: fi_eq_open(lat_fab.fabric, NULL, &lat_fab.eq, NULL);
	ret = ret
		      ?: fi_domain(lat_fab.fabric, lat_fab.info,
				   &lat_fab.domain, NULL);
	ret = ret ?: fi_cq_open(lat_fab.domain, &attr, &lat_fab.cq, NULL);
	ret = ret
		      ?: fi_endpoint(lat_fab.domain, lat_fab.info, &lat_fab.ep,
				     NULL);
	ret = ret ?: fi_ep_bind(lat_fab.ep, &lat_fab.eq->fid, 0);
	return ret
		       ?: fi_ep_bind(lat_fab.ep, &lat_fab.cq->fid,
				     FI_TRANSMIT | FI_RECV |
					     FI_SELECTIVE_COMPLETION);
}

static int lat_fabric_connect(void)
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
	ret = fi_connect(lat_fab.ep, NULL, &mine, sizeof(mine));
	if (ret)
		return ret;
	n = fi_eq_sread(lat_fab.eq, &kind, &event, sizeof(event), -1, 0);
	if (n < 0 || kind != FI_CONNECTED)
		return -ECONNREFUSED;
	n -= sizeof(event.cm);
	if (n < offsetof(struct iop_peer_data, len) || n > sizeof(lat_fab.peer))
		return -EPROTO;
	memcpy(&lat_fab.peer, event.data, n);
	return 0;
}

static int lat_fabric_open(const char *node, const char *service, void *data)
{
	int ret;

	memset(&lat_fab, 0, sizeof(lat_fab));
	init_completion(&lat_fab.done);
	lat_fab.bvec = (struct bio_vec){ .bv_page = virt_to_page(data),
					 .bv_offset = offset_in_page(data),
					 .bv_len = LAT_WRITE_BYTES };
	ret = lat_fabric_get_info(node, service);
	ret = ret ?: lat_fabric_open_objects();
	return ret ?: lat_fabric_connect();
}

static int lat_fabric_wait_done(void)
{
	if (!wait_for_completion_timeout(&lat_fab.done,
					 msecs_to_jiffies(LAT_TIMEOUT_MS)))
		return -ETIMEDOUT;
	return -lat_fab.err;
}

static int lat_fabric_round(enum lat_shape shape, u32 i)
{
	struct fi_rma_iov rma = { .addr = lat_target(&lat_fab.peer, i),
				  .len = LAT_WRITE_BYTES,
				  .key = lat_fab.peer.rw_key };
	struct fi_msg_rma write = { .buf = fi_buf_bvec(&lat_fab.bvec, 1, 0,
						       LAT_WRITE_BYTES),
				    .rma_iov = &rma,
				    .rma_iov_count = 1,
				    .context = lat_fab.write_ctx };
	struct fi_msg_flush flush = { .mode = FI_FLUSH_READBACK,
				      .rma_iov = &rma,
				      .rma_iov_count = 1,
				      .context = lat_fab.flush_ctx };
	int ret;

	reinit_completion(&lat_fab.done);
	ret = fi_writemsg(lat_fab.ep, &write,
			  shape == LAT_CHAINED ? FI_MORE : FI_COMPLETION);
	if (!ret && shape != LAT_CHAINED) {
		ret = lat_fabric_wait_done();
		reinit_completion(&lat_fab.done);
	}
	if (ret || shape == LAT_WRITE)
		return ret;
	ret = fi_flush(lat_fab.ep, &flush, FI_COMPLETION);
	return ret ?: lat_fabric_wait_done();
}

static void lat_fabric_close(void)
{
	if (lat_fab.ep)
		fi_close(&lat_fab.ep->fid);
	if (lat_fab.cq)
		fi_close(&lat_fab.cq->fid);
	if (lat_fab.domain)
		fi_close(&lat_fab.domain->fid);
	if (lat_fab.eq)
		fi_close(&lat_fab.eq->fid);
	if (lat_fab.fabric)
		fi_close(&lat_fab.fabric->fid);
	kfree(lat_fab.write_ctx);
	kfree(lat_fab.flush_ctx);
	fi_freeinfo(lat_fab.info);
}

const struct lat_way lat_fabric = {
	.name = "kfabric",
	.open = lat_fabric_open,
	.round = lat_fabric_round,
	.close = lat_fabric_close,
};
