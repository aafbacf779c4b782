/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric_rpc: how transports come to be.
 */
#ifndef KRPC_TRANSPORT_H
#define KRPC_TRANSPORT_H

#include <linux/sunrpc/xprt.h>

struct rpc_xprt *krpc_setup(struct xprt_create *args);

#endif /* KRPC_TRANSPORT_H */
