// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: replies.
 *
 * What a server sends is looked at in full before anything of it is believed; one that
 * breaks a rule ends the connection, and RPC sends its requests again by the next one.
 * RPC is told of a reply when the server reaches nothing of the request any more, and
 * the receive is there again: whoever sends next has one.
 *
 * Context: a workqueue.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "krpc.h"

static const char *const krpc_reply_faults[RPCW_VIOLATIONS] = {
	[RPCW_OK] = "nothing",
	[RPCW_SHORT] = "it is too short",
	[RPCW_VERSION] = "it is of another version",
	[RPCW_KIND] = "it is of an unknown kind",
	[RPCW_READS] = "it asks the client to read",
	[RPCW_LIST] = "its lists are malformed",
	[RPCW_COUNT] = "it has too many segments",
	[RPCW_LONG] = "it has bytes where none must be",
	[RPCW_XID] = "it belongs to two calls",
	[RPCW_DIRECTION] = "it is neither call nor reply",
	[RPCW_UNASKED] = "it has a chunk that was not offered",
	[RPCW_SEGMENT] = "it has other segments than were offered",
	[RPCW_EMPTY] = "it has no message",
};

static void krpc_reply_is_bad(struct krpc_conn *conn, enum rpcw_violation bad)
{
	atomic_long_inc(&conn->xprt->stats.bad_replies);
	pr_err_ratelimited(
		"kfabric_rpc: %s: the connection ends, as a reply is none: %s\n",
		conn->xprt->addr, krpc_reply_faults[bad]);
	krpc_conn_fail(conn, -EPROTO);
}

/* The request that awaits the reply of a slot, pinned; NULL: nobody does any more. */
static struct rpc_rqst *krpc_reply_pin(struct krpc_conn *conn,
				       const struct krpc_slot *slot)
{
	struct rpc_xprt *xprt = &conn->xprt->xprt;
	struct rpc_rqst *rqst;

	spin_lock(&xprt->queue_lock);
	rqst = xprt_lookup_rqst(xprt, cpu_to_be32(slot->call.xid));
	if (rqst && rqst->rq_buffer && to_krpc_req(rqst) == slot->req)
		xprt_pin_rqst(rqst);
	else
		rqst = NULL;
	spin_unlock(&xprt->queue_lock);
	return rqst;
}

/*
 * The message without the bytes that the server has written into the pages: those come
 * behind the head, filled up to a word, and what follows belongs behind them.
 *
 * Return: bytes of the reply.
 */
static size_t krpc_reply_join(struct rpc_rqst *rqst, const u8 *body,
			      size_t bytes, size_t written)
{
	struct xdr_buf *buf = &rqst->rq_rcv_buf;
	size_t head = min_t(size_t, bytes, buf->head[0].iov_len);
	size_t rest = bytes - head;
	size_t at = head + xdr_align_size(written);
	size_t room;

	memcpy(buf->head[0].iov_base, body, head);
	/* Who decodes takes the pages to be right behind it. */
	buf->head[0].iov_len = head;
	rqst->rq_private_buf.head[0].iov_len = head;
	room = head + buf->page_len + buf->tail[0].iov_len;
	rest = room > at ? min(rest, room - at) : 0;
	if (rest)
		write_bytes_to_xdr_buf(buf, at, (void *)(body + head), rest);
	return at + rest;
}

static size_t krpc_reply_copy(struct rpc_rqst *rqst, const u8 *body,
			      size_t bytes)
{
	const struct xdr_buf *buf = &rqst->rq_rcv_buf;
	size_t room =
		buf->head[0].iov_len + buf->page_len + buf->tail[0].iov_len;

	bytes = min(bytes, room);
	write_bytes_to_xdr_buf(buf, 0, (void *)body, bytes);
	return bytes;
}

/* The reply is put where RPC wants it. *bytes: of it. */
static enum rpcw_violation krpc_reply_deliver(struct krpc_conn *conn,
					      struct rpc_rqst *rqst,
					      const struct krpc_recv *recv,
					      const struct rpcw_reply *reply,
					      size_t *bytes)
{
	const struct kvec *head = &rqst->rq_rcv_buf.head[0];
	const u8 *body = recv->data + reply->header_bytes;
	size_t body_bytes = recv->bytes - reply->header_bytes;
	u8 failure[RPCW_FAILURE_BYTES];

	if (reply->kind == RPCW_ERROR) {
		/*
		 * The server has none: RPC gets one that says so. An error that is
		 * told otherwise is lost on who still sends.
		 */
		pr_err_ratelimited(
			"kfabric_rpc: %s: the server cannot make anything of a call (%u)\n",
			conn->xprt->addr, reply->error);
		rpcw_failure_pack(be32_to_cpu(rqst->rq_xid), failure);
		*bytes = krpc_reply_copy(rqst, failure, sizeof(failure));
	} else if (reply->kind == RPCW_NOMSG) {
		/* What the server wrote as a whole has to begin as a reply, too. */
		if (head->iov_len < sizeof(rqst->rq_xid) ||
		    memcmp(head->iov_base, &rqst->rq_xid, sizeof(rqst->rq_xid)))
			return RPCW_XID;
		*bytes = reply->reply_bytes;
	} else if (reply->write_bytes) {
		*bytes = krpc_reply_join(rqst, body, body_bytes,
					 reply->write_bytes);
	} else {
		*bytes = krpc_reply_copy(rqst, body, body_bytes);
	}
	atomic64_add(reply->write_bytes + reply->reply_bytes,
		     &conn->xprt->stats.reply_bytes);
	return RPCW_OK;
}

/* What a reply says of credits; the receive and the slot are free again. */
static void krpc_reply_end(struct krpc_conn *conn, struct krpc_recv *recv,
			   struct krpc_slot *slot, u32 credits)
{
	unsigned long flags;

	/* A failure is the connection's, which tells of it itself. */
	krpc_conn_post_recv(conn, recv);
	spin_lock_irqsave(&conn->lock, flags);
	conn->granted = credits;
	spin_unlock_irqrestore(&conn->lock, flags);
	krpc_slot_release(conn, slot);
	/* It is a server that answers: after a loss there is no need to wait. */
	conn->xprt->xprt.reestablish_timeout = 0;
	xprt_write_space(&conn->xprt->xprt);
}

/* The slot stays as it is when a rule is broken: closing the connection ends it. */
static enum rpcw_violation krpc_reply_take(struct krpc_conn *conn,
					   struct krpc_recv *recv,
					   struct krpc_slot *slot,
					   const struct rpcw_reply *reply)
{
	struct rpc_xprt *xprt = &conn->xprt->xprt;
	enum rpcw_violation bad;
	struct rpc_rqst *rqst;
	size_t bytes = 0;

	bad = rpcw_reply_check(&slot->call, reply);
	if (bad)
		return bad;
	rqst = krpc_reply_pin(conn, slot);
	krpc_req_fence(slot->req);
	if (rqst)
		bad = krpc_reply_deliver(conn, rqst, recv, reply, &bytes);
	if (!bad)
		krpc_reply_end(conn, recv, slot, reply->credits);
	if (!rqst)
		return bad;
	spin_lock(&xprt->queue_lock);
	if (!bad)
		xprt_complete_rqst(rqst->rq_task, bytes);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
	return bad;
}

static void krpc_reply_look(struct krpc_conn *conn, struct krpc_recv *recv)
{
	enum rpcw_violation bad;
	struct rpcw_reply reply;
	struct krpc_slot *slot;

	bad = rpcw_reply_parse(recv->data, recv->bytes, &reply);
	if (bad) {
		krpc_reply_is_bad(conn, bad);
		return;
	}
	slot = reply.is_call ? NULL : krpc_slot_answer(conn, reply.xid);
	if (slot) {
		bad = krpc_reply_take(conn, recv, slot, &reply);
		if (bad)
			krpc_reply_is_bad(conn, bad);
		return;
	}
	/* A call of the server's, or a reply that nobody waits for. */
#ifdef KFI_HAS_SVC_CALLBACK
	if (reply.is_call)
		krpc_callback_receive(conn, recv->data + reply.header_bytes,
				      recv->bytes - reply.header_bytes);
	else
#endif
		atomic_long_inc(&conn->xprt->stats.bad_replies);
	krpc_conn_post_recv(conn, recv);
}

/**
 * krpc_reply_work() - look at what came
 * @work: of a receive
 */
void krpc_reply_work(struct work_struct *work)
{
	struct krpc_recv *recv = container_of(work, struct krpc_recv, work);
	unsigned int noio = memalloc_noio_save();

	krpc_reply_look(recv->conn, recv);
	memalloc_noio_restore(noio);
}
