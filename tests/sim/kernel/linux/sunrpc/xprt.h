/* SPDX-License-Identifier: BSD-2-Clause */
/* What slots know of RPC: that there are transports and requests. */
#ifndef SIM_LINUX_SUNRPC_XPRT_H
#define SIM_LINUX_SUNRPC_XPRT_H

#include <linux/types.h>

struct xdr_buf;

struct rpc_xprt {
	int unused;
};

struct rpc_rqst {
	void *rq_buffer;
};

#endif
