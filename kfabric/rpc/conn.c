// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: a connection, its events and its completions.
 *
 * Everything of it but the fabric is its own, and goes with it: a call that was under
 * way on one connection has nothing on another.
 *
 * Context: process, but where a function says otherwise.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "krpc.h"

/* ---- memory ----------------------------------------------------------- */

/* Calls and receives with the memory that the fabric wants behind them. */
static int krpc_conn_alloc(struct krpc_conn *conn)
{
	size_t context_bytes = conn->xprt->info->domain_attr->op_context_size;
	struct krpc_slot *slot;
	struct krpc_recv *recv;
	u32 i;

	conn->slot_bytes =
		round_up(offsetof(struct krpc_slot, fi) + context_bytes, 8);
	conn->recv_bytes =
		round_up(offsetof(struct krpc_recv, fi) + context_bytes, 8);
	conn->slots = kvcalloc(KRPC_SLOTS, conn->slot_bytes, GFP_KERNEL);
	conn->recvs = kvcalloc(KRPC_RECVS, conn->recv_bytes, GFP_KERNEL);
	if (!conn->slots || !conn->recvs)
		return -ENOMEM;
	for (i = 0; i < KRPC_SLOTS; i++) {
		slot = krpc_conn_slot(conn, i);
		slot->is_answer = i >= KRPC_CREDITS;
		slot->data = kmalloc(RPCW_INLINE_BYTES, GFP_KERNEL);
		if (!slot->data)
			return -ENOMEM;
	}
	for (i = 0; i < KRPC_RECVS; i++) {
		recv = krpc_conn_recv(conn, i);
		recv->conn = conn;
		INIT_WORK(&recv->work, krpc_reply_work);
		recv->data = kmalloc(KRPC_RECV_BYTES, GFP_KERNEL);
		if (!recv->data)
			return -ENOMEM;
	}
	return 0;
}

static void krpc_conn_free(struct krpc_conn *conn)
{
	u32 i;

	for (i = 0; conn->slots && i < KRPC_SLOTS; i++)
		kfree(krpc_conn_slot(conn, i)->data);
	for (i = 0; conn->recvs && i < KRPC_RECVS; i++)
		kfree(krpc_conn_recv(conn, i)->data);
	kvfree(conn->slots);
	kvfree(conn->recvs);
	kfree(conn);
}

/* ---- events and completions ------------------------------------------- */

/* Context: any. */
static void krpc_conn_queue(struct krpc_conn *conn, struct work_struct *work)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (!conn->is_closing)
		queue_work(krpc_wq, work);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * krpc_conn_kick() - there is something for the connection's work to do
 * @conn: connection
 *
 * Context: any.
 */
void krpc_conn_kick(struct krpc_conn *conn)
{
	krpc_conn_queue(conn, &conn->work);
}

/**
 * krpc_conn_fail() - the connection is over
 * @conn: connection
 * @error: why, negative; the first one stays
 *
 * RPC is told, and closes it.
 *
 * Context: any.
 */
void krpc_conn_fail(struct krpc_conn *conn, int error)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (!conn->error)
		WRITE_ONCE(conn->error, error);
	spin_unlock_irqrestore(&conn->lock, flags);
	complete_all(&conn->settled);
	krpc_conn_kick(conn);
}

static void krpc_conn_work(struct work_struct *work)
{
	struct krpc_conn *conn = container_of(work, struct krpc_conn, work);
	struct rpc_xprt *xprt = &conn->xprt->xprt;
	struct fi_eq_err_entry failure;
	union fi_eq_cm_event e;
	ssize_t n;
	u32 event;

	while ((n = fi_eq_read(conn->eq, &event, &e, sizeof(e), 0)) !=
	       -FI_EAGAIN) {
		if (n > 0 && event == FI_CONNECTED)
			complete_all(&conn->settled);
		else if (n > 0)
			krpc_conn_fail(conn, -ECONNRESET);
		else if (fi_eq_readerr(conn->eq, &failure, 0) > 0)
			krpc_conn_fail(conn, -failure.err);
	}
	/* Before it was connected it is for who connects to say. */
	if (READ_ONCE(conn->error) && xprt_connected(xprt))
		xprt_force_disconnect(xprt);
	xprt_write_space(xprt);
}

/* Context: upcall. */
static void krpc_conn_has_event(struct fid_eq *eq, void *context)
{
	krpc_conn_kick(context);
}

/* Context: upcall. */
static void krpc_conn_completed(struct fid_cq *cq,
				const struct fi_cq_err_entry *entry,
				void *context)
{
	struct krpc_conn *conn = context;
	struct krpc_recv *recv;

	if (entry->flags & FI_SEND) {
		krpc_slot_sent(conn, container_of(entry->op_context,
						  struct krpc_slot, fi));
		krpc_conn_kick(conn);
	} else if (!entry->err) {
		recv = container_of(entry->op_context, struct krpc_recv, fi);
		recv->bytes = entry->len;
		krpc_conn_queue(conn, &recv->work);
	}
	if (entry->err)
		krpc_conn_fail(conn, -entry->err);
}

/* ---- beginning and end ------------------------------------------------ */

/* Context: posting. Once the connection is over a receive is no use. */
int krpc_conn_post_recv(struct krpc_conn *conn, struct krpc_recv *recv)
{
	return fi_recv(conn->ep, recv->data, KRPC_RECV_BYTES, NULL,
		       FI_ADDR_UNSPEC, &recv->fi);
}

static int krpc_conn_open_endpoint(struct krpc_conn *conn)
{
	struct fi_eq_attr eq_attr = { .handler = krpc_conn_has_event };
	struct fi_cq_attr cq_attr = { .comp_handler = krpc_conn_completed };
	const struct krpc_xprt *x = conn->xprt;
	int ret;

	ret = fi_domain(x->fabric, x->info, &conn->domain, NULL);
	ret = ret ?: fi_eq_open(x->fabric, &eq_attr, &conn->eq, conn);
	ret = ret ?: fi_cq_open(conn->domain, &cq_attr, &conn->cq, conn);
	ret = ret ?: fi_endpoint(conn->domain, x->info, &conn->ep, conn);
	ret = ret ?: fi_ep_bind(conn->ep, &conn->eq->fid, 0);
	ret = ret
		      ?: fi_ep_bind(conn->ep, &conn->cq->fid,
				    FI_TRANSMIT | FI_RECV);
	return ret ?: fi_enable(conn->ep);
}

/**
 * krpc_conn_open() - connect with the server
 * @x: transport without a connection
 *
 * Context: process, memalloc_noio; XPRT_LOCKED. Waits for the server.
 * Return: the connection; an error of the fabric.
 */
struct krpc_conn *krpc_conn_open(struct krpc_xprt *x)
{
	struct krpc_conn *conn;
	int ret;
	u32 i;

	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		return ERR_PTR(-ENOMEM);
	conn->xprt = x;
	conn->granted = 1;
	spin_lock_init(&conn->lock);
	init_completion(&conn->settled);
	INIT_WORK(&conn->work, krpc_conn_work);
	ret = krpc_conn_alloc(conn);
	ret = ret ?: krpc_conn_open_endpoint(conn);
	/* Receives are there before anything can be sent for which a reply comes. */
	for (i = 0; !ret && i < KRPC_RECVS; i++)
		ret = krpc_conn_post_recv(conn, krpc_conn_recv(conn, i));
	ret = ret ?: fi_connect(conn->ep, &x->xprt.addr, NULL, 0);
	if (!ret) {
		/* The fabric keeps to its timeout. */
		wait_for_completion(&conn->settled);
		ret = READ_ONCE(conn->error);
	}
	if (!ret)
		return conn;
	krpc_conn_close(conn);
	return ERR_PTR(ret);
}

/**
 * krpc_conn_close() - end a connection, and free what it has
 * @conn: connection, as far as it came
 *
 * When it has returned the server reaches nothing of any request that was sent by it,
 * and each of them can be sent by another one.
 *
 * Context: process, memalloc_noio; XPRT_LOCKED.
 */
void krpc_conn_close(struct krpc_conn *conn)
{
	u32 i;

	if (conn->ep)
		fi_shutdown(conn->ep, 0);
	spin_lock_irq(&conn->lock);
	conn->is_closing = true;
	spin_unlock_irq(&conn->lock);
	cancel_work_sync(&conn->work);
	/* Without an endpoint nothing was sent or received. */
	if (conn->ep) {
		for (i = 0; i < KRPC_RECVS; i++)
			cancel_work_sync(&krpc_conn_recv(conn, i)->work);
		/* Regions go before the endpoint that they are bound to. */
		krpc_slot_fence_all(conn);
		/*
		 * Each operation completes: the slots' messages are theirs again. An
		 * endpoint that does not close still has all of that: nothing may be
		 * freed under it.
		 */
		if (WARN_ON_ONCE(fi_close(&conn->ep->fid))) {
			__module_get(THIS_MODULE);
			return;
		}
		krpc_slot_drop_all(conn);
	}
	fi_close_opened(conn->cq);
	fi_close_opened(conn->eq);
	fi_close_opened(conn->domain);
	krpc_conn_free(conn);
}
