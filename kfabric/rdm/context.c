// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: contexts: an endpoint's own, and those that are opened on a
 * scalable endpoint.
 *
 * Context: process. Who opens, enables or closes one is the engine meanwhile, and
 *	closing does a part of its work: so memory is allocated as it does.
 * Locking: see rdm.h; kfir_own() sleeps, and no lock is held around it. While a
 *	context that closes waits for others it is not the engine.
 * Lifetime: when a context is closed nothing of the endpoint points to it, nor to an
 *	operation of it. Pieces that are under way may be sent from the memory of
 *	their operation: closing waits for them, or ends their connection.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rdm.h"

void kfir_ctx_init(struct kfir_ctx *ctx, struct kfir_ep *ep,
		   const struct fi_info *info, u64 dirs)
{
	kfi_post_init(&ctx->post, info, &kfir_post_ops);
	kfi_post_limit(&ctx->post, KFIR_QUEUE_SIZE, KFIR_IOV_LIMIT,
		       RDMW_MESSAGE_MAX);
	ctx->post.up = true;
	ctx->ep = ep;
	ctx->dirs = dirs;
	INIT_LIST_HEAD(&ctx->fresh);
	INIT_LIST_HEAD(&ctx->posted);
	INIT_LIST_HEAD(&ctx->sends);
	INIT_LIST_HEAD(&ctx->canceled);
}

static struct kfir_ctx *to_kfir_ctx_fid(struct kfid *fid)
{
	return container_of(fid, struct kfir_ctx, post.ep.fid);
}

/* ---- closing ------------------------------------------------------------ */

/* One of which the inner provider has pieces that are sent from its memory, or NULL. */
static struct kfir_op *kfir_lent_send(struct kfir_ctx *ctx)
{
	const struct kfir_slot *slot;
	struct kfir_op *op;
	int i;

	list_for_each_entry(op, &ctx->sends, send.node)
		for (i = 0; op->flying && i < KFIR_TX_SLOTS; i++) {
			slot = kfir_slot_at(op->conn, KFIR_RX_SLOTS + i);
			if (slot->op == op && slot->lent)
				return op;
		}
	return NULL;
}

/* It ends now, and pieces of it that are under way are nobody's. */
static void kfir_abandon_send(struct kfir_op *op)
{
	struct kfir_conn *conn = op->conn;
	struct kfir_slot *slot;
	int i;

	for (i = 0; op->flying && i < KFIR_TX_SLOTS; i++) {
		slot = kfir_slot_at(conn, KFIR_RX_SLOTS + i);
		if (slot->op == op)
			slot->op = NULL;
	}
	if (op->whole)
		kfir_ask_forget(conn, op);
	else if (op->pieces && !op->native)
		/* Its rest will not come. */
		kfir_conn_break(conn, ECONNABORTED);
	if (op->is_answered)
		kfir_rma_finish(op);
	else
		kfir_finish(op, ECANCELED, 0);
}

/*
 * A peer that keeps the rules has buffers for what is lent, so that it does not take
 * long. Others are served meanwhile.
 */
static void kfir_settle_sends(struct kfir_ctx *ctx)
{
	unsigned long until = jiffies + msecs_to_jiffies(KFIR_SETTLE_MS);
	struct kfir_conn *conn;
	struct kfir_op *op;

	while ((op = kfir_lent_send(ctx))) {
		conn = op->conn;
		if (!conn->broken && !time_after(jiffies, until)) {
			kfir_own_end(ctx->ep);
			schedule_timeout_uninterruptible(1);
			kfir_own(ctx->ep);
			continue;
		}
		/*
		 * The peer takes nothing more: what is under way to it ends with the
		 * connection. What has begun on another one stays as it is: it is sent
		 * from memory of its operation.
		 */
		spin_lock_irq(&ctx->post.lock);
		list_for_each_entry(op, &ctx->sends, send.node)
			if (op->conn == conn)
				kfi_send_revoke(&op->send);
		spin_unlock_irq(&ctx->post.lock);
		kfir_conn_break(conn, ECONNABORTED);
		kfir_conn_end(conn);
	}
}

static void kfir_ctx_end(struct kfir_ctx *ctx)
{
	struct kfir_ep *ep = ctx->ep;
	struct kfir_op *op, *next;
	struct kfir_conn *conn;

	kfir_assert_owned(ep);
	/* Nothing more is handed over; sends that have not begun end now. */
	ctx->holds = true;
	/* Nothing is posted any more, so that only owners change the list. */
	list_for_each_entry_safe(op, next, &ctx->sends, send.node)
		if (!op->pieces)
			kfir_abandon_send(op);
	kfir_look_at_stalled(ep);
	kfir_settle_sends(ctx);
	list_for_each_entry_safe(op, next, &ctx->sends, send.node)
		kfir_abandon_send(op);
	if (ctx->dirs & FI_RECV) {
		/* Those that have begun go back, and with what waits nothing is done. */
		ctx->ending = true;
		list_for_each_entry(conn, &ep->conns, node)
			if (conn->rx.op && conn->rx.op->ctx == ctx) {
				kfir_rx_undo(&conn->rx);
				conn->rx.drop = true;
			}
		kfir_receive_all(ep);
		ep->rx[ctx->post.ep.ctx_index] = NULL;
	}
	kfir_end_posts(ctx, ECANCELED);
	spin_lock_irq(&ep->lock);
	list_del_init(&ctx->fresh);
	spin_unlock_irq(&ep->lock);
	list_del(&ctx->node);
	kfir_look_at_stalled(ep);
}

static void kfir_ctx_close(struct kfid *fid)
{
	struct kfir_ctx *ctx = to_kfir_ctx_fid(fid);
	unsigned int noio = memalloc_noio_save();

	spin_lock_irq(&ctx->post.lock);
	ctx->post.broken = true;
	spin_unlock_irq(&ctx->post.lock);
	kfir_own(ctx->ep);
	kfir_ctx_end(ctx);
	/* The work ends connections, and looks at buffers that are free again. */
	kfir_own_end(ctx->ep);
	memalloc_noio_restore(noio);
}

static void kfir_ctx_release(struct kfid *fid)
{
	struct kfir_ctx *ctx = to_kfir_ctx_fid(fid);

	kvfree(ctx->post.slot_mem);
	kvfree(ctx->post.part_mem);
	kfree(ctx);
}

/* ---- enabling ----------------------------------------------------------- */

/* Its queues are known: no upcall completes for those that want a work to do so. */
void kfir_ctx_enable(struct kfir_ctx *ctx)
{
	struct kfir_ep *ep = ctx->ep;

	if (kfi_ep_wants_work(&ctx->post.ep)) {
		kfir_own(ep);
		ep->in_work = true;
		kfir_own_end(ep);
	}
	smp_store_release(&ctx->enabled, true);
}

static int kfir_ctx_control(struct kfid *fid, int command, void *arg)
{
	if (command != FI_ENABLE)
		return -ENOSYS;
	kfir_ctx_enable(to_kfir_ctx_fid(fid));
	return 0;
}

/* ---- opening ------------------------------------------------------------ */

static const struct fi_ops kfir_ctx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfir_ctx_close,
	.release = kfir_ctx_release,
	.control = kfir_ctx_control,
};

/* What is not for its direction is refused: see kfir_ready(). */
static const struct kfi_ep_ops kfir_ctx_ops = {
	.fid = &kfir_ctx_fid_ops,
	.msg = &kfi_post_msg_ops,
	.rma = &kfi_post_rma_ops,
	.tagged = &kfi_post_tagged_ops,
	.atomic = &kfi_post_atomic_ops,
};

static int kfir_ctx_open(struct fid_ep *sep, u64 dir, u32 index,
			 struct fi_tx_attr *tx, struct fi_rx_attr *rx,
			 struct fid_ep **fid, void *context)
{
	struct fi_ep_attr attr = { .max_msg_size = RDMW_MESSAGE_MAX };
	const struct fi_info info = { .tx_attr = tx,
				      .rx_attr = rx,
				      .ep_attr = &attr };
	struct kfir_ep *ep = to_kfir_ep(&sep->fid);
	bool sends = dir == FI_TRANSMIT;
	struct kfir_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	int ret;

	if (!ctx)
		return -ENOMEM;
	kfir_ctx_init(ctx, ep, &info, dir);
	if (sends)
		ret = kfi_post_alloc_slots(&ctx->post, sizeof(struct kfir_op));
	else
		ret = kfi_post_alloc_parts(&ctx->post, KFIR_MULTI_MIN);
	if (!ret)
		ret = kfi_ctx_init(&ctx->post.ep, sep,
				   sends ? FI_CLASS_TX_CTX : FI_CLASS_RX_CTX,
				   index, sends ? tx->op_flags : rx->op_flags,
				   &kfir_ctx_ops, context);
	if (ret) {
		kfir_ctx_release(&ctx->post.ep.fid);
		return ret;
	}
	kfir_own(ep);
	list_add_tail(&ctx->node, &ep->ctxs);
	if (!sends)
		ep->rx[ctx->post.ep.ctx_index] = ctx;
	/* The endpoint may have died meanwhile. */
	if (ep->ending)
		kfi_obj_kill(&ctx->post.ep.fid);
	kfir_own_end(ep);
	*fid = &ctx->post.ep;
	return 0;
}

static int kfir_tx_context(struct fid_ep *sep, u32 index,
			   const struct fi_tx_attr *attr, struct fid_ep **ctx,
			   void *context)
{
	const struct kfi_post_ep *own = &to_kfir_ep(&sep->fid)->own.post;
	struct fi_tx_attr tx = attr ? *attr : own->tx_attr;
	struct fi_rx_attr rx = {};

	return kfir_ctx_open(sep, FI_TRANSMIT, index, &tx, &rx, ctx, context);
}

static int kfir_rx_context(struct fid_ep *sep, u32 index,
			   const struct fi_rx_attr *attr, struct fid_ep **ctx,
			   void *context)
{
	const struct kfi_post_ep *own = &to_kfir_ep(&sep->fid)->own.post;
	struct fi_rx_attr rx = attr ? *attr : own->rx_attr;
	struct fi_tx_attr tx = {};

	return kfir_ctx_open(sep, FI_RECV, index, &tx, &rx, ctx, context);
}

const struct fi_ops_sep kfir_sep_ops = {
	.size = sizeof(struct fi_ops_sep),
	.tx_context = kfir_tx_context,
	.rx_context = kfir_rx_context,
};
