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
	u8 *scratch;
	bool connected;
} lat_rdma;

static int lat_raw_on_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const u8 *wire = event->param.conn.private_data;

	lat_rdma.seen = event->event;
	if (event->event == RDMA_CM_EVENT_ESTABLISHED &&
	    event->param.conn.private_data_len > sizeof(lat_rdma.peer))
		memcpy(&lat_rdma.peer, wire + 1, sizeof(lat_rdma.peer));
	complete(&lat_rdma.event);
	return 0;
}

static int lat_raw_await_event(enum rdma_cm_event_type want)
{
	if (!wait_for_completion_timeout(&lat_rdma.event,
					 msecs_to_jiffies(LAT_TIMEOUT_MS)))
		return -ETIMEDOUT;
	return lat_rdma.seen == want ? 0 : -ECONNREFUSED;
}

static void lat_raw_on_done(struct ib_cq *cq, struct ib_wc *wc)
{
	lat_rdma.status = wc->status;
	complete(&lat_rdma.done);
}

static int lat_raw_resolve(const char *node, const char *service)
{
	struct sockaddr_storage addr;
	int ret;

	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, node, service, &addr);
	ret = ret
		      ?: rdma_resolve_addr(lat_rdma.id, NULL,
					   (struct sockaddr *)&addr,
					   LAT_TIMEOUT_MS);
	ret = ret ?: lat_raw_await_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	ret = ret ?: rdma_resolve_route(lat_rdma.id, LAT_TIMEOUT_MS);
	return ret ?: lat_raw_await_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int lat_raw_make_qp(void)
{
	struct ib_qp_init_attr init = { .cap = { .max_send_wr = QUEUE_SIZE,
						 .max_recv_wr = 1,
						 .max_send_sge = 1,
						 .max_recv_sge = 1 },
					.sq_sig_type = IB_SIGNAL_REQ_WR,
					.qp_type = IB_QPT_RC };

	lat_rdma.pd = ib_alloc_pd(lat_rdma.id->device, 0);
	if (IS_ERR(lat_rdma.pd))
		return PTR_ERR(lat_rdma.pd);
	lat_rdma.cq = ib_alloc_cq_any(lat_rdma.id->device, NULL, CQ_SIZE,
				      IB_POLL_SOFTIRQ);
	if (IS_ERR(lat_rdma.cq))
		return PTR_ERR(lat_rdma.cq);
	init.send_cq = lat_rdma.cq;
	init.recv_cq = lat_rdma.cq;
	return rdma_create_qp(lat_rdma.id, lat_rdma.pd, &init);
}

static int lat_raw_connect(void)
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
	ret = rdma_connect(lat_rdma.id, &param);
	ret = ret ?: lat_raw_await_event(RDMA_CM_EVENT_ESTABLISHED);
	lat_rdma.connected = !ret;
	return ret;
}

static int lat_raw_map_memory(void)
{
	struct ib_device *ib = lat_rdma.id->device;

	lat_rdma.write_dma = ib_dma_map_single(ib, lat_rdma.data,
					       LAT_WRITE_BYTES, DMA_TO_DEVICE);
	lat_rdma.read_dma = ib_dma_map_single(ib, lat_rdma.scratch,
					      LAT_READ_BYTES, DMA_FROM_DEVICE);
	return ib_dma_mapping_error(ib, lat_rdma.write_dma) ||
			       ib_dma_mapping_error(ib, lat_rdma.read_dma)
		       ? -EIO
		       : 0;
}

static int lat_raw_open(const char *node, const char *service, void *data)
{
	int ret;

	memset(&lat_rdma, 0, sizeof(lat_rdma));
	init_completion(&lat_rdma.event);
	init_completion(&lat_rdma.done);
	lat_rdma.cqe.done = lat_raw_on_done;
	lat_rdma.data = data;
	lat_rdma.scratch = data + LAT_WRITE_BYTES;
	lat_rdma.id = rdma_create_id(&init_net, lat_raw_on_event, NULL,
				     RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(lat_rdma.id)) {
		ret = PTR_ERR(lat_rdma.id);
		lat_rdma.id = NULL;
		return ret;
	}
	ret = lat_raw_resolve(node, service);
	ret = ret ?: lat_raw_make_qp();
	ret = ret ?: lat_raw_connect();
	return ret ?: lat_raw_map_memory();
}

/* Post a chain and wait for the one that is signaled. */
static int lat_raw_post_and_wait(const struct ib_send_wr *first)
{
	int ret;

	reinit_completion(&lat_rdma.done);
	ret = ib_post_send(lat_rdma.id->qp, first, NULL);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&lat_rdma.done,
					 msecs_to_jiffies(LAT_TIMEOUT_MS)))
		return -ETIMEDOUT;
	return lat_rdma.status == IB_WC_SUCCESS ? 0 : -EIO;
}

static int lat_raw_round(enum lat_shape shape, u32 i)
{
	struct ib_sge from = { .addr = lat_rdma.write_dma,
			       .length = LAT_WRITE_BYTES,
			       .lkey = lat_rdma.pd->local_dma_lkey };
	struct ib_sge to = { .addr = lat_rdma.read_dma,
			     .length = LAT_READ_BYTES,
			     .lkey = lat_rdma.pd->local_dma_lkey };
	u64 target = lat_target(&lat_rdma.peer, i);
	struct ib_rdma_wr read = { .wr = { .wr_cqe = &lat_rdma.cqe,
					   .sg_list = &to,
					   .num_sge = 1,
					   .opcode = IB_WR_RDMA_READ,
					   .send_flags = IB_SEND_SIGNALED },
				   .remote_addr = target + LAT_WRITE_BYTES -
						  LAT_READ_BYTES,
				   .rkey = lat_rdma.peer.rw_key };
	struct ib_rdma_wr write = { .wr = { .wr_cqe = &lat_rdma.cqe,
					    .sg_list = &from,
					    .num_sge = 1,
					    .opcode = IB_WR_RDMA_WRITE },
				    .remote_addr = target,
				    .rkey = lat_rdma.peer.rw_key };
	int ret;

	if (shape == LAT_CHAINED) {
		write.wr.next = &read.wr;
		return lat_raw_post_and_wait(&write.wr);
	}
	write.wr.send_flags = IB_SEND_SIGNALED;
	ret = lat_raw_post_and_wait(&write.wr);
	if (!ret && shape == LAT_STEPS)
		ret = lat_raw_post_and_wait(&read.wr);
	return ret;
}

static void lat_raw_close(void)
{
	struct ib_device *ib;

	if (!lat_rdma.id)
		return;
	ib = lat_rdma.id->device;
	if (lat_rdma.connected) {
		rdma_disconnect(lat_rdma.id);
		ib_drain_qp(lat_rdma.id->qp);
		ib_dma_unmap_single(ib, lat_rdma.write_dma, LAT_WRITE_BYTES,
				    DMA_TO_DEVICE);
		ib_dma_unmap_single(ib, lat_rdma.read_dma, LAT_READ_BYTES,
				    DMA_FROM_DEVICE);
	}
	if (lat_rdma.id->qp)
		rdma_destroy_qp(lat_rdma.id);
	if (!IS_ERR_OR_NULL(lat_rdma.cq))
		ib_free_cq(lat_rdma.cq);
	if (!IS_ERR_OR_NULL(lat_rdma.pd))
		ib_dealloc_pd(lat_rdma.pd);
	rdma_destroy_id(lat_rdma.id);
}

const struct lat_way lat_raw = {
	.name = "verbs",
	.open = lat_raw_open,
	.round = lat_raw_round,
	.close = lat_raw_close,
};
