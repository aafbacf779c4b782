/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric_9p: a transport of the kernel's 9P client over a connection of kfabric.
 *
 * A mount has one connection. A request and its reply are a message each. The reply
 * comes into whichever receive is next, and is copied to the request that has its tag.
 */
#ifndef K9P_H
#define K9P_H

#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/9p/9p.h>
#include <net/9p/client.h>
#include <net/9p/transport.h>
#include <kfabric/fi_cm.h>
#include <kfabric/fi_endpoint.h>
#include <kfabric/fi_errno.h>

#include "k9p_wire.h"

/**
 * struct k9p_options - what a mount asks for
 * @node: host name or address of the bridge, the device of the mount
 * @port: its service
 * @provider: kfabric's provider, or NULL: the first that reaches @node
 * @depth: requests under way at most
 * @timeout_s: until the connection is there, and of a message that does not move
 */
struct k9p_options {
	char *node;
	char *port;
	char *provider;
	unsigned int depth;
	unsigned int timeout_s;
};

/**
 * struct k9p_call - a request under way, or room for one
 * @req: the request whose reply is awaited, with a reference; NULL: none is
 * @sent: the request that the fabric sends, with a reference; NULL: it has sent it
 * @fi: memory of the operation that sends it; has op_context_size bytes
 */
struct k9p_call {
	struct p9_req_t *req;
	struct p9_req_t *sent;
	struct fi_context fi;
};

/**
 * struct k9p_recv - a receive
 * @data: its buffer, msize bytes
 * @fi: memory of the operation; has op_context_size bytes
 */
struct k9p_recv {
	u8 *data;
	struct fi_context fi;
};

/**
 * struct k9p_conn - the connection of a mount
 * @client: whose it is
 * @options: of the mount
 * @info: what the fabric offers
 * @fabric: of @info
 * @domain: of @fabric
 * @eq: events of @ep
 * @cq: completions of @ep
 * @ep: the connection
 * @msize: longest message, of both ends
 * @depth: requests under way at most, of both ends
 * @op_bytes: of a call and of a receive with what the fabric wants behind it
 * @n_places: receives, and calls: depth + K9PW_FLUSHES
 * @calls: @n_places of them; the last K9PW_FLUSHES are for Tflush
 * @recvs: @n_places of them
 * @lock: calls[].req, calls[].sent, @error, @is_closing
 * @is_closing: @events is not scheduled any more
 * @error: why it is over, negative; 0: it is not
 * @room: a call has become free, the fabric has room again, or it is over
 * @connected: there is an answer, or none will come
 * @events: work that takes what @eq has
 */
struct k9p_conn {
	struct p9_client *client;
	struct k9p_options options;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	u32 msize;
	u32 depth;
	size_t op_bytes;
	u32 n_places;
	u8 *calls;
	u8 *recvs;
	spinlock_t lock;
	bool is_closing;
	int error;
	wait_queue_head_t room;
	struct completion connected;
	struct work_struct events;
};

/* options.c */
int k9p_options_parse(struct k9p_options *o, const char *node,
		      const char *text);
void k9p_options_free(struct k9p_options *o);

/* conn.c */
void k9p_conn_init(struct k9p_conn *conn, struct p9_client *client);
int k9p_conn_open(struct k9p_conn *conn);
void k9p_conn_kick(struct k9p_conn *conn);
void k9p_conn_close(struct k9p_conn *conn);
int k9p_conn_post_recv(struct k9p_conn *conn, struct k9p_recv *recv);

/* call.c */
int k9p_call_start(struct p9_client *client, struct p9_req_t *req);
int k9p_call_cancelled(struct p9_client *client, struct p9_req_t *req);
void k9p_call_completed(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
			void *context);
void k9p_call_end_all(struct k9p_conn *conn, int error);

static inline struct k9p_call *k9p_conn_call(const struct k9p_conn *conn, u32 i)
{
	return (struct k9p_call *)(conn->calls + i * conn->op_bytes);
}

static inline struct k9p_recv *k9p_conn_recv(const struct k9p_conn *conn, u32 i)
{
	return (struct k9p_recv *)(conn->recvs + i * conn->op_bytes);
}

/* kfabric's own error numbers mean nothing to programs. Zero and others stay. */
static inline int k9p_errno(int error)
{
	if (error == -FI_ETRUNC)
		return -EMSGSIZE;
	return error <= -FI_EOTHER && error > -ERESTARTSYS ? -EIO : error;
}

#endif /* K9P_H */
