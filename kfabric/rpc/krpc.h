/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric_rpc: a transport of the kernel's RPC client over a connection of kfabric.
 *
 * It speaks RPC-over-RDMA version 1 (RFC 8166): a call is a message, with what is too
 * long for one in memory that the server reads and writes. docs/kfabric-rpc.md has the
 * whole.
 *
 * Lifetime: a transport has one connection at a time, or none. A request of RPC's has
 * regions while its call is under way; none of them outlives the request's reply, its
 * buffers, or the connection, whichever ends first.
 *
 * Locking: RPC's write lock of a transport (XPRT_LOCKED) is held by whoever sends,
 * connects, and closes, so that these are never done at the same time. krpc_req.mutex
 * is for its regions; krpc_conn.lock, below it, for the slots.
 */
#ifndef KRPC_H
#define KRPC_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/xprt.h>
#include <linux/workqueue.h>
#include <kfabric/fi_cm.h>
#include <kfabric/fi_endpoint.h>
#include <kfabric/fi_errno.h>

#include "compat.h"
#include "kfabric/rpcwire/rpcw_hdr.h"

/* Calls that this end can have under way; a server grants fewer or more. */
#define KRPC_CREDITS 64U
/* Receives for what servers call themselves, beside those for replies. */
#define KRPC_EXTRA_RECVS 8U
#define KRPC_RECVS	 (KRPC_CREDITS + KRPC_EXTRA_RECVS)
/* Messages to send: calls, and behind them answers to calls of the server's. */
#define KRPC_SLOTS (KRPC_CREDITS + KRPC_EXTRA_RECVS)
/*
 * A receive has more than a message need have: there are servers that send what fits
 * into their own buffers.
 */
#define KRPC_RECV_BYTES 4096U
/* Of a call and of a reply: before, in, and behind the pages. */
#define KRPC_REGIONS (2 * RPCW_SEGMENTS)

/* What of a message the server may reach. */
enum krpc_part {
	KRPC_PAGES,
	KRPC_ALL,
};

/**
 * struct krpc_region - memory that the server may reach
 * @mr: region
 * @bvec: describes it, or NULL
 */
struct krpc_region {
	struct fid_mr *mr;
	struct bio_vec *bvec;
};

/**
 * struct krpc_req - a request's buffers, and what the server may reach of it
 * @ref: RPC has one until it frees the buffers, a slot has one
 * @mutex: @regions, @n_regions
 * @n_regions: how many there are
 * @regions: regions, of the connection by which the request was sent last
 * @data: rq_buffer and rq_rbuffer
 */
struct krpc_req {
	struct kref ref;
	struct mutex mutex;
	u32 n_regions;
	struct krpc_region regions[KRPC_REGIONS];
	u8 data[] __aligned(8);
};

/**
 * struct krpc_slot - room for a call under way, or for an answer
 * @req: whose call it is, with a reference; NULL: nobody's
 * @is_sending: the fabric has the message
 * @is_answered: no reply is believed: the call was not sent, or has its reply
 * @is_answer: for answers alone, which the server grants no credits for
 * @call: what the message says
 * @data: the message, RPCW_INLINE_BYTES
 * @fi: memory of the operation that sends it; has op_context_size bytes
 */
struct krpc_slot {
	struct krpc_req *req;
	bool is_sending;
	bool is_answered;
	bool is_answer;
	struct rpcw_call call;
	u8 *data;
	struct fi_context fi;
};

/**
 * struct krpc_recv - a receive
 * @conn: whose it is
 * @work: looks at the message
 * @bytes: of the message
 * @data: its buffer, KRPC_RECV_BYTES
 * @fi: memory of the operation; has op_context_size bytes
 */
struct krpc_recv {
	struct krpc_conn *conn;
	struct work_struct work;
	u32 bytes;
	u8 *data;
	struct fi_context fi;
};

/**
 * struct krpc_conn - a connection
 * @xprt: whose it is
 * @domain: its own
 * @eq: events of @ep
 * @cq: completions of @ep
 * @ep: endpoint
 * @slot_bytes: of a slot with what the fabric wants behind it
 * @recv_bytes: of a receive with what the fabric wants behind it
 * @slots: KRPC_SLOTS of them
 * @recvs: KRPC_RECVS of them
 * @lock: what follows, and the slots; irq-safe
 * @n_used: slots of calls that are not free
 * @granted: calls that may be under way, as the server said last; 1 before that
 * @error: why it is over, negative; 0: it is not
 * @is_closing: no work is queued any more
 * @settled: it is connected, or over
 * @work: takes events, and tells RPC of them
 */
struct krpc_conn {
	struct krpc_xprt *xprt;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	size_t slot_bytes;
	size_t recv_bytes;
	u8 *slots;
	u8 *recvs;
	spinlock_t lock;
	u32 n_used;
	u32 granted;
	int error;
	bool is_closing;
	struct completion settled;
	struct work_struct work;
};

/**
 * struct krpc_stats - what mountstats shows of a transport, beside what RPC counts
 * @read_chunks: calls with bytes that the server read
 * @write_chunks: calls with room for bytes that it wrote
 * @reply_chunks: calls with room for a long reply
 * @long_calls: calls that the server read as a whole
 * @call_bytes: bytes of these reads
 * @reply_bytes: bytes that it wrote
 * @bad_replies: messages that were no replies to anything, or broke a rule
 * @callbacks: calls of the server's
 * @lost_answers: answers to these that were not sent
 */
struct krpc_stats {
	atomic_long_t read_chunks;
	atomic_long_t write_chunks;
	atomic_long_t reply_chunks;
	atomic_long_t long_calls;
	atomic64_t call_bytes;
	atomic64_t reply_bytes;
	atomic_long_t bad_replies;
	atomic_long_t callbacks;
	atomic_long_t lost_answers;
};

/**
 * struct krpc_xprt - a transport
 * @xprt: as RPC knows it
 * @info: what the fabric offers
 * @fabric: of @info, in the namespace of who mounted
 * @conn: connection, or NULL; XPRT_LOCKED
 * @connect: makes it
 * @callbacks_open: how many are there that want calls of the server's; xprt.bc_pa_lock
 * @n_callbacks: such calls that have no answer yet
 * @stats: counters
 * @addr: the server's address, as text
 * @hex_addr: the same, as hexadecimal digits
 * @port: its port
 * @hex_port: the same, as hexadecimal digits
 */
struct krpc_xprt {
	struct rpc_xprt xprt;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct krpc_conn *conn;
	struct delayed_work connect;
	int callbacks_open;
	atomic_t n_callbacks;
	struct krpc_stats stats;
	char addr[64];
	char hex_addr[36];
	char port[8];
	char hex_port[8];
};

extern struct workqueue_struct *krpc_wq;

/* transport.c */
struct xprt_create;
struct rpc_xprt *krpc_setup(struct xprt_create *args);

/* conn.c */
struct krpc_conn *krpc_conn_open(struct krpc_xprt *x);
void krpc_conn_close(struct krpc_conn *conn);
void krpc_conn_fail(struct krpc_conn *conn, int error);
void krpc_conn_kick(struct krpc_conn *conn);
int krpc_conn_post_recv(struct krpc_conn *conn, struct krpc_recv *recv);

/* region.c */
struct krpc_req *krpc_req_alloc(size_t bytes);
void krpc_req_put(struct krpc_req *req);
int krpc_req_offer(struct krpc_req *req, struct krpc_conn *conn,
		   const struct xdr_buf *buf, enum krpc_part part, u64 access,
		   struct rpcw_chunk *chunk);
void krpc_req_fence(struct krpc_req *req);

/* slot.c */
struct krpc_slot *krpc_slot_take(struct krpc_conn *conn, struct krpc_req *req,
				 u32 xid);
bool krpc_slot_has_room(struct krpc_conn *conn);
struct krpc_slot *krpc_slot_answer(struct krpc_conn *conn, u32 xid);
struct krpc_slot *krpc_slot_take_answer(struct krpc_conn *conn);
void krpc_slot_release(struct krpc_conn *conn, struct krpc_slot *slot);
void krpc_slot_post(struct krpc_conn *conn, struct krpc_slot *slot);
bool krpc_slot_unpost(struct krpc_conn *conn, struct krpc_slot *slot);
void krpc_slot_sent(struct krpc_conn *conn, struct krpc_slot *slot);
void krpc_slot_fence_all(struct krpc_conn *conn);
void krpc_slot_drop_all(struct krpc_conn *conn);

/* call.c */
int krpc_call_send(struct krpc_conn *conn, struct rpc_rqst *rqst);
int krpc_call_post(struct krpc_conn *conn, struct krpc_slot *slot, u32 bytes);

/* callback.c; without KFI_HAS_SVC_CALLBACK of compat.h none of them is there */
void krpc_callback_receive(struct krpc_conn *conn, const u8 *call,
			   size_t bytes);
int krpc_callback_answer(struct krpc_conn *conn, struct rpc_rqst *rqst);
int krpc_callback_setup(struct rpc_xprt *xprt, unsigned int min_reqs);
void krpc_callback_destroy(struct rpc_xprt *xprt, unsigned int max_reqs);
size_t krpc_callback_maxpayload(struct rpc_xprt *xprt);
unsigned int krpc_callback_slots(struct rpc_xprt *xprt);
void krpc_callback_put(struct rpc_rqst *rqst);

/* reply.c */
void krpc_reply_work(struct work_struct *work);

static inline struct krpc_xprt *to_krpc_xprt(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct krpc_xprt, xprt);
}

/* Of a request that has buffers. */
static inline struct krpc_req *to_krpc_req(const struct rpc_rqst *rqst)
{
	return container_of(rqst->rq_buffer, struct krpc_req, data[0]);
}

static inline struct krpc_slot *krpc_conn_slot(const struct krpc_conn *conn,
					       u32 i)
{
	return (struct krpc_slot *)(conn->slots + i * conn->slot_bytes);
}

static inline struct krpc_recv *krpc_conn_recv(const struct krpc_conn *conn,
					       u32 i)
{
	return (struct krpc_recv *)(conn->recvs + i * conn->recv_bytes);
}

#endif /* KRPC_H */
