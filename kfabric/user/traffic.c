// SPDX-License-Identifier: BSD-2-Clause
/*
 * What fi_open_ops() gives of an endpoint: what its connection has moved, by the
 * word of the system, which knows of bytes that are part of an operation which is
 * not over yet; what its peer's one-sided operations have moved, by our own count;
 * by which interface it is to go; and where memory was missing that ended it.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

#include "impl.h"
#include "stcp.h"

static int read_traffic(struct fid_ep *fid, struct stcp_traffic *out)
{
	const struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (ep->source.fd < 0)
		return -FI_ENOTCONN;
	if (getsockopt(ep->source.fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -errno;
	out->sent_bytes = info.tcpi_bytes_acked;
	out->received_bytes = info.tcpi_bytes_received;
	out->idle_ms = info.tcpi_last_data_recv;
	return 0;
}

/* The socket is made by fi_connect(). */
static int keep_to(struct fid_ep *fid, unsigned int interface)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	int rc = -FI_EOPBADSTATE;

	pthread_mutex_lock(&ep->lock);
	if (ep->state == TCPW_IDLE && ep->source.fd < 0) {
		ep->keep_to = interface;
		rc = 0;
	}
	pthread_mutex_unlock(&ep->lock);
	return rc;
}

static uint64_t load_counter(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Under no lock: whoever holds that may be receiving. */
static void read_moved(struct fid_ep *fid, struct stcp_moved *out)
{
	const struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);

	out->written_bytes = load_counter(&ep->written_bytes);
	out->read_bytes = load_counter(&ep->read_bytes);
	out->n_ops = load_counter(&ep->n_moves);
}

static void *read_fault(struct fid_ep *fid)
{
	const struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);

	return atomic_load(&ep->fault);
}

static struct stcp_ep_ops own_ops = {
	.size = sizeof(struct stcp_ep_ops),
	.traffic = read_traffic,
	.keep_to = keep_to,
	.moved = read_moved,
	.fault = read_fault,
};

int stcp_ep_ops_open(struct fid *fid, const char *name, uint64_t flags,
		     void **ops, void *context)
{
	if (flags || strcmp(name, STCP_EP_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &own_ops;
	return 0;
}
