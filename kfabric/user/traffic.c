// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a connection has moved, by the word of the system: it knows of bytes that
 * are part of an operation which is not over yet.
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

static struct stcp_ep_ops own_ops = {
	.size = sizeof(struct stcp_ep_ops),
	.traffic = read_traffic,
};

int stcp_ep_ops_open(struct fid *fid, const char *name, uint64_t flags,
		     void **ops, void *context)
{
	if (flags || strcmp(name, STCP_EP_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &own_ops;
	return 0;
}
