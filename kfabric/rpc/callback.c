// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: calls that a server makes by the client's connection (RFC 8167), which
 * NFS 4.1 and later have for what they want back.
 *
 * A call is copied out of its receive, so that nothing of the connection waits for the
 * file system. There are no more of them at a time than there are receives beside those
 * for replies; what comes beyond that is dropped, and the file system's sessions have the
 * server ask again. Neither a call nor its answer has chunks.
 */
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <kfabric/fi_endpoint.h>

#include "krpc.h"

#ifdef KFI_HAS_SVC_CALLBACK

/**
 * struct krpc_callback - a call of the server's
 * @rqst: as RPC knows it
 * @cookie: of the connection by which it came
 * @answer: a page for the answer
 * @call: the call
 */
struct krpc_callback {
	struct rpc_rqst rqst;
	unsigned int cookie;
	u8 *answer;
	u8 call[KRPC_RECV_BYTES - RPCW_HEADER_MIN];
};

static struct krpc_callback *to_krpc_callback(struct rpc_rqst *rqst)
{
	return container_of(rqst, struct krpc_callback, rqst);
}

static void krpc_callback_free(struct krpc_callback *cb)
{
	free_page((unsigned long)cb->answer);
	kfree(cb);
}

static struct krpc_callback *krpc_callback_new(struct rpc_xprt *xprt,
					       const u8 *call, size_t bytes)
{
	struct krpc_callback *cb = kzalloc(sizeof(*cb), GFP_KERNEL);
	struct rpc_rqst *rqst;

	if (!cb)
		return NULL;
	/* Those who answer write up to a page, whatever they are told. */
	cb->answer = (u8 *)__get_free_page(GFP_KERNEL);
	if (!cb->answer) {
		kfree(cb);
		return NULL;
	}
	cb->cookie = xprt->connect_cookie;
	memcpy(cb->call, call, bytes);
	rqst = &cb->rqst;
	rqst->rq_xprt = xprt;
	__set_bit(RPC_BC_PA_IN_USE, &rqst->rq_bc_pa_state);
	memcpy(&rqst->rq_xid, call, sizeof(rqst->rq_xid));
	xdr_buf_init(&rqst->rq_snd_buf, cb->answer, PAGE_SIZE);
	xdr_buf_init(&rqst->rq_rcv_buf, cb->call, bytes);
	rqst->rq_rcv_buf.len = bytes;
	rqst->rq_private_buf.len = bytes;
	return cb;
}

/**
 * krpc_callback_receive() - the server calls
 * @conn: connection
 * @call: the call, without its header
 * @bytes: of it
 *
 * Context: a workqueue, memalloc_noio.
 */
void krpc_callback_receive(struct krpc_conn *conn, const u8 *call, size_t bytes)
{
	struct krpc_xprt *x = conn->xprt;
	struct rpc_xprt *xprt = &x->xprt;
	struct krpc_callback *cb = NULL;
	struct svc_serv *serv = NULL;

	/* A peer that sends too many takes no lock of RPC's. */
	if (atomic_inc_return(&x->n_callbacks) <= KRPC_EXTRA_RECVS)
		cb = krpc_callback_new(xprt, call, bytes);
	if (cb) {
		spin_lock(&xprt->bc_pa_lock);
		serv = x->callbacks_open ? xprt->bc_serv : NULL;
		if (serv) {
			/* Whoever answers has it now. */
			xprt_get(xprt);
			atomic_inc(&xprt->bc_slot_count);
			kfi_svc_queue_callback(serv, &cb->rqst);
		}
		spin_unlock(&xprt->bc_pa_lock);
	}
	if (serv) {
		atomic_long_inc(&x->stats.callbacks);
		return;
	}
	if (cb)
		krpc_callback_free(cb);
	atomic_dec(&x->n_callbacks);
	atomic_long_inc(&x->stats.bad_replies);
}

/**
 * krpc_callback_answer() - send the answer to a call of the server's
 * @conn: connection
 * @rqst: of a &struct krpc_callback
 *
 * What cannot be sent, as it is too long or the connection by which the call came is
 * over, is dropped: RPC would have whatever call is sent next fail for it.
 *
 * Context: process, memalloc_noio; XPRT_LOCKED.
 * Return: 0; -ENOBUFS in a while.
 */
int krpc_callback_answer(struct krpc_conn *conn, struct rpc_rqst *rqst)
{
	const struct xdr_buf *buf = &rqst->rq_snd_buf;
	struct krpc_slot *slot;
	int ret = -EIO;

	if (to_krpc_callback(rqst)->cookie == rqst->rq_xprt->connect_cookie &&
	    buf->len <= RPCW_INLINE_BYTES - RPCW_HEADER_MIN) {
		slot = krpc_slot_take_answer(conn);
		if (!slot)
			return -ENOBUFS;
		slot->call = (struct rpcw_call){
			.xid = be32_to_cpu(rqst->rq_xid),
			.credits = KRPC_EXTRA_RECVS,
			.kind = RPCW_MSG,
		};
		rpcw_call_pack(&slot->call, slot->data);
		if (read_bytes_from_xdr_buf(
			    buf, 0, slot->data + RPCW_HEADER_MIN, buf->len))
			krpc_slot_sent(conn, slot);
		else
			ret = krpc_call_post(conn, slot,
					     RPCW_HEADER_MIN + buf->len);
	}
	if (ret == -FI_EAGAIN)
		return -ENOBUFS;
	if (ret)
		atomic_long_inc(&conn->xprt->stats.lost_answers);
	return 0;
}

/* ---- what RPC calls --------------------------------------------------- */

void krpc_callback_put(struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;

	krpc_callback_free(to_krpc_callback(rqst));
	atomic_dec(&to_krpc_xprt(xprt)->n_callbacks);
	xprt_put(xprt);
}

/* Nobody answers it. */
static void krpc_callback_drop(struct rpc_rqst *rqst)
{
	atomic_dec(&rqst->rq_xprt->bc_slot_count);
	krpc_callback_put(rqst);
}

int krpc_callback_setup(struct rpc_xprt *xprt, unsigned int min_reqs)
{
	spin_lock(&xprt->bc_pa_lock);
	to_krpc_xprt(xprt)->callbacks_open++;
	spin_unlock(&xprt->bc_pa_lock);
	return 0;
}

/*
 * Of one who has called krpc_callback_setup(), or of all of them (UINT_MAX). Calls that
 * are still queued may never be taken, as the threads that would do so end next; each
 * of them has a reference to the transport, and its service is there.
 */
void krpc_callback_destroy(struct rpc_xprt *xprt, unsigned int max_reqs)
{
	struct krpc_xprt *x = to_krpc_xprt(xprt);
	bool is_last;

	spin_lock(&xprt->bc_pa_lock);
	if (max_reqs == UINT_MAX)
		x->callbacks_open = 0;
	else if (x->callbacks_open)
		x->callbacks_open--;
	is_last = !x->callbacks_open;
	spin_unlock(&xprt->bc_pa_lock);
	if (is_last && atomic_read(&xprt->bc_slot_count))
		kfi_svc_drop_callbacks(xprt->bc_serv, xprt, krpc_callback_drop);
}

size_t krpc_callback_maxpayload(struct rpc_xprt *xprt)
{
	return RPCW_INLINE_BYTES - RPCW_HEADER_MIN;
}

unsigned int krpc_callback_slots(struct rpc_xprt *xprt)
{
	return KRPC_EXTRA_RECVS;
}

#endif /* KFI_HAS_SVC_CALLBACK */
