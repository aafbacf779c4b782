/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is listened on, and all connections.
 *
 * Here nobody knows what a connection is for: its owner is told through
 * struct brick_conn_ops.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_NET_NET_H
#define BRICKD_NET_NET_H

#include <stdint.h>
#include <sys/queue.h>

#include "brickd/base/flow.h"
#include "brickd/base/log.h"
#include "brickd/base/stop.h"
#include "brickd/config/config.h"
#include "brickd/net/bell.h"
#include "brickd/net/fabric.h"
#include "kfabric/tcpwire/tcpw_err.h"

struct brick_conn;

TAILQ_HEAD(brick_conn_list, brick_conn);
LIST_HEAD(brick_conn_bucket, brick_conn);

/* A power of two. */
#define BRICK_CONN_BUCKETS 4096

/*
 * struct brick_conn_ops - what the owner of connections wants to know
 * @connected: the endpoint is connected, or a message has come before that
 * @message: a message came; the bytes are good until it returns
 * @lost: it has failed, or disconnected: the owner closes it
 */
struct brick_conn_ops {
	void (*connected)(struct brick_conn *conn);
	void (*message)(struct brick_conn *conn, const void *buf, uint32_t len);
	void (*lost)(struct brick_conn *conn);
};

/*
 * Kinds of log lines that peers cause: each has a bound of its own, so that what
 * needs no key hides nothing of what tells of one.
 */
enum brick_lines {
	BRICK_LINES_REQUESTS, /* that were refused or failed */
	BRICK_LINES_STRANGERS, /* ends of connections that were not ready yet */
	BRICK_LINES_CONNS, /* ends of others */
	BRICK_LINES_NAMES, /* AUTHs of clients that there are not */
	BRICK_LINES_KEYS, /* AUTHs of those that there are, with another key */
	BRICK_LINES_ASTRAY, /* clients that want another brick */
	BRICK_LINES_FENCES, /* who is fenced and admitted */
	BRICK_LINES_FENCE_ERRORS, /* what of that cannot be written down */
	BRICK_LINES_SHARES, /* clients that want more sessions than they may */
	BRICK_LINES_QUOTAS, /* clients that want more blocks than they may */
	BRICK_LINES_RESERVES, /* what clients have reserved */
	BRICK_LINES_RESERVE_ERRORS, /* that cannot be written down */
	BRICK_LINES_RATES, /* sessions that move more than they may */
	BRICK_LINES_METRICS,
	BRICK_LINES_KINDS,
};

/*
 * struct brick_net - fabrics and connections
 * @ops: constant after the start
 * @stop: the daemon's
 * @conns: open connections; nothing that one of them does looks through it
 * @n_conns: how many
 * @by_fid: the same, by their endpoints
 * @flows: in whose turns its connections are served
 * @n_polled: connections whose completion queues have descriptors
 * @hurried: of them, those with a deadline
 * @bell: rings for their completion queues where those have no descriptor
 * @lines: bounds on log lines that peers cause, by kind
 * @violation_lines: bound on those that tell of broken rules of tcp's wire
 */
struct brick_net {
	const struct brick_conn_ops *ops;
	const struct brick_stop *stop;
	struct brick_loop *loop;
	uint32_t n_fabrics;
	struct brick_fabric fabrics[BRICK_LISTEN_MAX];
	struct brick_conn_list conns;
	uint64_t n_conns;
	struct brick_conn_bucket by_fid[BRICK_CONN_BUCKETS];
	struct brick_flows *flows;
	uint32_t n_polled;
	struct brick_conn_list hurried;
	struct brick_bell bell;
	struct brick_ratelimit lines[BRICK_LINES_KINDS];
	struct brick_ratelimit violation_lines[TCPW_VIOLATIONS];
};

#endif
