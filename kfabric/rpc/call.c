// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: calls on their way to the server.
 *
 * What fits goes into the message. Of a longer call the server reads either what RPC
 * has marked as data (XDRBUF_WRITE), or all of it; of a longer reply it writes either
 * what is marked so (XDRBUF_READ), or all of it. Where the message must be seen by
 * those who sign or encrypt it nothing is taken out of it.
 *
 * Context: process, memalloc_noio; XPRT_LOCKED.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/sunrpc/auth.h>

#include "krpc.h"

/*
 * May a message's pages travel beside it (direct data placement)? RPC has marked them
 * with the flag, nobody must see the message whole, and the rest of it fits.
 */
static bool krpc_call_places(const struct rpc_rqst *rqst,
			     const struct xdr_buf *buf, unsigned int flag,
			     size_t room)
{
	return !test_bit(RPCAUTH_AUTH_DATATOUCH,
			 &rqst->rq_cred->cr_auth->au_flags) &&
	       (buf->flags & flag) && buf->page_len &&
	       buf->head[0].iov_len + buf->tail[0].iov_len <= room;
}

/* Where the reply goes if it may be too long for a message. */
static int krpc_call_offer_reply(struct krpc_conn *conn, struct rpc_rqst *rqst,
				 struct rpcw_call *call)
{
	struct krpc_stats *stats = &conn->xprt->stats;
	const struct xdr_buf *buf = &rqst->rq_rcv_buf;
	u32 i, count = PAGE_ALIGN(buf->page_base + buf->page_len) >> PAGE_SHIFT;

	/* Pages that decoders want filled, and nobody has allocated. */
	if (!(buf->flags & XDRBUF_SPARSE_PAGES))
		count = 0;
	for (i = buf->page_base >> PAGE_SHIFT; i < count; i++) {
		if (!buf->pages[i])
			buf->pages[i] = alloc_page(GFP_NOIO | __GFP_NOWARN);
		if (!buf->pages[i])
			return -ENOMEM;
	}
	if (buf->buflen <= rpcw_reply_room(0))
		return 0;
	if (krpc_call_places(rqst, buf, XDRBUF_READ, rpcw_reply_room(1))) {
		atomic_long_inc(&stats->write_chunks);
		return krpc_req_offer(to_krpc_req(rqst), conn, buf, KRPC_PAGES,
				      FI_REMOTE_WRITE, &call->write);
	}
	atomic_long_inc(&stats->reply_chunks);
	return krpc_req_offer(to_krpc_req(rqst), conn, buf, KRPC_ALL,
			      FI_REMOTE_WRITE, &call->reply);
}

/* What of the call the server reads. Its header's length counts: it comes last. */
static int krpc_call_offer_call(struct krpc_conn *conn, struct rpc_rqst *rqst,
				struct rpcw_call *call)
{
	struct krpc_stats *stats = &conn->xprt->stats;
	const struct xdr_buf *buf = &rqst->rq_snd_buf;

	call->kind = RPCW_MSG;
	if (rpcw_call_bytes(call) + buf->len <= RPCW_INLINE_BYTES)
		return 0;
	call->read.count = 1;
	if (krpc_call_places(rqst, buf, XDRBUF_WRITE,
			     RPCW_INLINE_BYTES - rpcw_call_bytes(call))) {
		atomic_long_inc(&stats->read_chunks);
		atomic64_add(buf->page_len, &stats->call_bytes);
		call->position = buf->head[0].iov_len;
		return krpc_req_offer(to_krpc_req(rqst), conn, buf, KRPC_PAGES,
				      FI_REMOTE_READ, &call->read);
	}
	atomic_long_inc(&stats->long_calls);
	atomic64_add(buf->len, &stats->call_bytes);
	call->kind = RPCW_NOMSG;
	call->position = 0;
	return krpc_req_offer(to_krpc_req(rqst), conn, buf, KRPC_ALL,
			      FI_REMOTE_READ, &call->read);
}

/* What of the call is in the message. Return: its bytes; -EMSGSIZE: more than fit. */
static int krpc_call_fill(const struct rpc_rqst *rqst,
			  const struct rpcw_call *call, u8 *out)
{
	const struct xdr_buf *buf = &rqst->rq_snd_buf;
	u32 header = rpcw_call_bytes(call);
	const struct kvec *tail = &buf->tail[0];
	u32 head_bytes, tail_bytes;
	/* The pages are filled up to a word at the tail's beginning. */
	u32 pad;

	rpcw_call_pack(call, out);
	if (call->kind == RPCW_NOMSG)
		return header;
	if (!call->read.count) {
		if (header + buf->len > RPCW_INLINE_BYTES ||
		    read_bytes_from_xdr_buf(buf, 0, out + header, buf->len))
			return -EMSGSIZE;
		return header + buf->len;
	}
	head_bytes = buf->head[0].iov_len;
	pad = min_t(size_t, xdr_pad_size(buf->page_len), tail->iov_len);
	tail_bytes = tail->iov_len - pad;
	if (header + head_bytes + tail_bytes > RPCW_INLINE_BYTES)
		return -EMSGSIZE;
	memcpy(out + header, buf->head[0].iov_base, head_bytes);
	memcpy(out + header + head_bytes, tail->iov_base + pad, tail_bytes);
	return header + head_bytes + tail_bytes;
}

/**
 * krpc_call_post() - send a slot's message
 * @conn: connection
 * @slot: slot
 * @bytes: of the message
 *
 * Return: 0: the slot is no longer the caller's; -errno of the fabric: it still is.
 */
int krpc_call_post(struct krpc_conn *conn, struct krpc_slot *slot, u32 bytes)
{
	int ret;

	krpc_slot_post(conn, slot);
	ret = fi_send(conn->ep, slot->data, bytes, NULL, FI_ADDR_UNSPEC,
		      &slot->fi);
	if (ret && !krpc_slot_unpost(conn, slot)) {
		/* A server that answers what it was not asked is none. */
		krpc_conn_fail(conn, -EPROTO);
		return 0;
	}
	return ret;
}

/* What RPC understands; what says nothing of the request ends the connection. */
static int krpc_call_errno(struct krpc_conn *conn, int error)
{
	switch (error) {
	case 0:
	case -ENOMEM:
		return error;
	case -FI_EAGAIN:
		return -ENOBUFS;
	case -E2BIG:
	case -EINVAL:
	case -EMSGSIZE:
	case -EOPNOTSUPP:
		return -EIO;
	default:
		krpc_conn_fail(conn, -ECONNABORTED);
		return -ENOTCONN;
	}
}

/**
 * krpc_call_send() - send a request
 * @conn: connection
 * @rqst: request with buffers
 *
 * Return: 0; -EAGAIN when the server grants more calls; -ENOMEM, -ENOBUFS in a while;
 * -ENOTCONN by another connection; -EIO never.
 */
int krpc_call_send(struct krpc_conn *conn, struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = &conn->xprt->xprt;
	struct krpc_req *req = to_krpc_req(rqst);
	struct krpc_slot *slot;
	int ret;

	slot = krpc_slot_take(conn, req, be32_to_cpu(rqst->rq_xid));
	if (!slot) {
		/* As many are under way as the server grants; one may have ended. */
		xprt_wait_for_buffer_space(xprt);
		if (krpc_slot_has_room(conn))
			xprt_write_space(xprt);
		return -EAGAIN;
	}
	if (IS_ERR(slot)) {
		/* It is over, or has a call of this xid: another one is needed. */
		krpc_conn_fail(conn, PTR_ERR(slot));
		return -ENOTCONN;
	}
	rqst->rq_xtime = ktime_get();
	ret = krpc_call_offer_reply(conn, rqst, &slot->call);
	ret = ret ?: krpc_call_offer_call(conn, rqst, &slot->call);
	ret = ret ?: krpc_call_fill(rqst, &slot->call, slot->data);
	if (ret >= 0)
		ret = krpc_call_post(conn, slot, ret);
	if (!ret) {
		rqst->rq_xmit_bytes_sent += rqst->rq_snd_buf.len;
		return 0;
	}
	krpc_req_fence(req);
	krpc_slot_release(conn, slot);
	return krpc_call_errno(conn, ret);
}
