// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_latency: plain verbs, as tight as can be: the page is mapped once, the
 * work requests are on the stack, a write with a read behind it is not signaled.
 */
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "latency.h"

#define QUEUE_SIZE  64
#define READ_DEPTH  4
#define RETRY_COUNT 6
#define CQ_SIZE	    (2 * QUEUE_SIZE)

static struct {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct completion event;
	struct completion done;
	struct ib_cqe cqe;
	enum rdma_cm_event_type seen;
	enum ib_wc_status status;
	struct iop_peer_data peer;
	u64 write_dma;
	u64 read_dma;
	void *data;
	u8 *sink;
	bool connected;
} raw;

static int on_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const u8 *wire = event->param.conn.private_data;

	raw.seen = event->event;
	if (event->event == RDMA_CM_EVENT_ESTABLISHED &&
	    event->param.conn.private_data_len > sizeof(raw.peer))
		memcpy(&raw.peer, wire + 1, sizeof(raw.peer));
	complete(&raw.event);
	return 0;
}

static int expect(enum rdma_cm_event_type want)
{
	if (!wait_for_completion_timeout(&raw.event,
					 msecs_to_jiffies(LAT_TIMEOUT_MS)))
		return -ETIMEDOUT;
	return raw.seen == want ? 0 : -ECONNREFUSED;
}

static void on_done(struct ib_cq *cq, struct ib_wc *wc)
{
	raw.status = wc->status;
	complete(&raw.done);
}

static int resolve(const char *node, const char *service)
{
	struct sockaddr_storage addr;
	int ret;

	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, node, service, &addr);
	ret = ret
		      ?: rdma_resolve_addr(raw.id, NULL,
					   (struct sockaddr *)&addr,
					   LAT_TIMEOUT_MS);
	ret = ret ?: expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	ret = ret ?: rdma_resolve_route(raw.id, LAT_TIMEOUT_MS);
	return ret ?: expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int make_qp(void)
{
	struct ib_qp_init_attr init = { .cap = { .max_send_wr = QUEUE_SIZE,
						 .max_recv_wr = 1,
						 .max_send_sge = 1,
						 .max_recv_sge = 1 },
					.sq_sig_type = IB_SIGNAL_REQ_WR,
					.qp_type = IB_QPT_RC };

	raw.pd = ib_alloc_pd(raw.id->device, 0);
	if (IS_ERR(raw.pd))
		return PTR_ERR(raw.pd);
	raw.cq =
		ib_alloc_cq_any(raw.id->device, NULL, CQ_SIZE, IB_POLL_SOFTIRQ);
	if (IS_ERR(raw.cq))
		return PTR_ERR(raw.cq);
	init.send_cq = raw.cq;
	init.recv_cq = raw.cq;
	return rdma_create_qp(raw.id, raw.pd, &init);
}

static int connect(void)
{
	struct rdma_conn_param param = { .responder_resources = READ_DEPTH,
					 .initiator_depth = READ_DEPTH,
					 .retry_count = RETRY_COUNT,
					 .rnr_retry_count = RETRY_COUNT };
	struct iop_ulp_data data;
	u8 wire[1 + sizeof(data)];
	int ret;

	lat_fill_data(&data);
	wire[0] = sizeof(data);
	memcpy(wire + 1, &data, sizeof(data));
	param.private_data = wire;
	param.private_data_len = sizeof(wire);
	ret = rdma_connect(raw.id, &param);
	ret = ret ?: expect(RDMA_CM_EVENT_ESTABLISHED);
	raw.connected = !ret;
	return ret;
}

static int map(void)
{
	struct ib_device *ib = raw.id->device;

	raw.write_dma =
		ib_dma_map_single(ib, raw.data, LAT_WRITE_BYTES, DMA_TO_DEVICE);
	raw.read_dma = ib_dma_map_single(ib, raw.sink, LAT_READ_BYTES,
					 DMA_FROM_DEVICE);
	return ib_dma_mapping_error(ib, raw.write_dma) ||
			       ib_dma_mapping_error(ib, raw.read_dma)
		       ? -EIO
		       : 0;
}

static int raw_open(const char *node, const char *service, void *data)
{
	int ret;

	memset(&raw, 0, sizeof(raw));
	init_completion(&raw.event);
	init_completion(&raw.done);
	raw.cqe.done = on_done;
	raw.data = data;
	raw.sink = data + LAT_WRITE_BYTES;
	raw.id = rdma_create_id(&init_net, on_event, NULL, RDMA_PS_TCP,
				IB_QPT_RC);
	if (IS_ERR(raw.id)) {
		ret = PTR_ERR(raw.id);
		raw.id = NULL;
		return ret;
	}
	ret = resolve(node, service);
	ret = ret ?: make_qp();
	ret = ret ?: connect();
	return ret ?: map();
}

/* Post a chain and wait for the one that is signaled. */
static int post_and_wait(const struct ib_send_wr *first)
{
	int ret;

	reinit_completion(&raw.done);
	ret = ib_post_send(raw.id->qp, first, NULL);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&raw.done,
					 msecs_to_jiffies(LAT_TIMEOUT_MS)))
		return -ETIMEDOUT;
	return raw.status == IB_WC_SUCCESS ? 0 : -EIO;
}

static int raw_round(enum lat_shape shape, u32 i)
{
	struct ib_sge from = { .addr = raw.write_dma,
			       .length = LAT_WRITE_BYTES,
			       .lkey = raw.pd->local_dma_lkey };
	struct ib_sge to = { .addr = raw.read_dma,
			     .length = LAT_READ_BYTES,
			     .lkey = raw.pd->local_dma_lkey };
	u64 target = lat_target(&raw.peer, i);
	struct ib_rdma_wr read = { .wr = { .wr_cqe = &raw.cqe,
					   .sg_list = &to,
					   .num_sge = 1,
					   .opcode = IB_WR_RDMA_READ,
					   .send_flags = IB_SEND_SIGNALED },
				   .remote_addr = target + LAT_WRITE_BYTES -
						  LAT_READ_BYTES,
				   .rkey = raw.peer.rw_key };
	struct ib_rdma_wr write = { .wr = { .wr_cqe = &raw.cqe,
					    .sg_list = &from,
					    .num_sge = 1,
					    .opcode = IB_WR_RDMA_WRITE },
				    .remote_addr = target,
				    .rkey = raw.peer.rw_key };
	int ret;

	if (shape == LAT_CHAINED) {
		write.wr.next = &read.wr;
		return post_and_wait(&write.wr);
	}
	write.wr.send_flags = IB_SEND_SIGNALED;
	ret = post_and_wait(&write.wr);
	if (!ret && shape == LAT_STEPS)
		ret = post_and_wait(&read.wr);
	return ret;
}

static void raw_close(void)
{
	struct ib_device *ib;

	if (!raw.id)
		return;
	ib = raw.id->device;
	if (raw.connected) {
		rdma_disconnect(raw.id);
		ib_drain_qp(raw.id->qp);
		ib_dma_unmap_single(ib, raw.write_dma, LAT_WRITE_BYTES,
				    DMA_TO_DEVICE);
		ib_dma_unmap_single(ib, raw.read_dma, LAT_READ_BYTES,
				    DMA_FROM_DEVICE);
	}
	if (raw.id->qp)
		rdma_destroy_qp(raw.id);
	if (!IS_ERR_OR_NULL(raw.cq))
		ib_free_cq(raw.cq);
	if (!IS_ERR_OR_NULL(raw.pd))
		ib_dealloc_pd(raw.pd);
	rdma_destroy_id(raw.id);
}

const struct lat_way lat_raw = {
	.name = "verbs",
	.open = raw_open,
	.round = raw_round,
	.close = raw_close,
};
