// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: the engine of an endpoint: takes what posts and upcalls have
 * queued, looks at connections and deadlines, and completes.
 *
 * Context: workqueue; at the end of the endpoint's life its close. Memory is
 *	allocated as in the path of reclaim.
 * Locking, lifetime and recovery: see rdm.h.
 */
#include <linux/jiffies.h>
#include <linux/sched/mm.h>

#include "rdm.h"

#define KFIR_PASSES 4 /* of one run, while connections want to be looked at */

static void kfir_kick_locked(struct kfir_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (!ep->closed)
		mod_delayed_work(kfir_wq, &ep->engine, 0);
}

/* Something has come. Also under the lock of a context. */
void kfir_kick(struct kfir_ep *ep)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->lock, irq);
	kfir_kick_locked(ep);
	spin_unlock_irqrestore(&ep->lock, irq);
}

void kfir_touch(struct kfir_conn *conn)
{
	if (list_empty(&conn->touched))
		list_add_tail(&conn->touched, &conn->ep->touched);
}

/* The operation memory is gone when this returns. */
void kfir_finish(struct kfir_op *op, int err, int prov_errno)
{
	struct fi_cq_err_entry *entry = &op->base.comp->entry;
	struct kfi_post_ep *post = &op->ctx->post;

	if (op->base.type != KFI_OP_RECV)
		err = kfi_send_end(post, &op->send, err);
	entry->err = err;
	entry->prov_errno = prov_errno;
	kfi_post_done(post, &op->base);
}

/* ---- what others have queued ------------------------------------------- */

void kfir_inner_done(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		     void *context)
{
	struct kfir_slot *slot =
		container_of(entry->op_context, struct kfir_slot, inner);
	struct kfir_ep *ep = context;
	unsigned long irq;

	slot->err = entry->err;
	slot->len = entry->len;
	spin_lock_irqsave(&ep->lock, irq);
	list_add_tail(&slot->node, &ep->done);
	kfir_kick_locked(ep);
	spin_unlock_irqrestore(&ep->lock, irq);
}

void kfir_take_done(struct kfir_ep *ep)
{
	struct kfir_slot *slot, *next;
	LIST_HEAD(done);

	spin_lock_irq(&ep->lock);
	list_splice_tail_init(&ep->done, &done);
	spin_unlock_irq(&ep->lock);
	list_for_each_entry_safe(slot, next, &done, node) {
		list_del_init(&slot->node);
		if (slot->rx)
			kfir_arrived(slot);
		else
			kfir_sent(slot);
	}
}

static void kfir_take_posts(struct kfir_ctx *ctx)
{
	struct kfir_ep *ep = ctx->ep;
	struct kfir_op *op, *next;
	struct kfir_peer *peer;
	LIST_HEAD(posted);

	spin_lock_irq(&ctx->post.lock);
	list_splice_tail_init(&ctx->posted, &posted);
	spin_unlock_irq(&ctx->post.lock);
	list_for_each_entry_safe(op, next, &posted, base.node) {
		peer = kfir_peer_get(ep, &op->name);
		if (!peer) {
			kfir_finish(op, FI_ENOMEM, 0);
			continue;
		}
		list_move_tail(&op->base.node, &peer->sends);
		kfir_peer_busy(ep, peer);
	}
}

/* Canceled receives; were sends canceled, too? */
static bool kfir_take_canceled(struct kfir_ctx *ctx)
{
	struct kfir_op *op, *next;
	LIST_HEAD(canceled);
	bool sends;

	spin_lock_irq(&ctx->post.lock);
	list_splice_init(&ctx->canceled, &canceled);
	sends = ctx->cancel;
	ctx->cancel = false;
	spin_unlock_irq(&ctx->post.lock);
	list_for_each_entry_safe(op, next, &canceled, base.node)
		kfir_finish(op, ECANCELED, 0);
	return sends;
}

/* ---- looking around ----------------------------------------------------- */

/*
 * Frees those that are down and have nothing left. A receive that is posted
 * meanwhile waits for the next walk: an older message may have been passed by.
 */
void kfir_receive_all(struct kfir_ep *ep)
{
	struct kfir_conn *conn, *next;
	struct kfir_ctx *ctx;

	list_for_each_entry(ctx, &ep->ctxs, node) {
		spin_lock_irq(&ctx->post.lock);
		ctx->before = ctx->receives.next_seq;
		ctx->afresh = ctx->came_back;
		ctx->came_back = false;
		ctx->dry &= !ctx->afresh;
		spin_unlock_irq(&ctx->post.lock);
	}
	list_for_each_entry_safe(conn, next, &ep->waiting, waiting) {
		kfir_receive(conn);
		if (conn->state == KFIR_DOWN && !kfir_has_messages(conn))
			kfir_conn_free(conn);
	}
}

static void kfir_look_up(struct kfir_conn *conn)
{
	kfir_repost_all(conn);
	kfir_send_control(conn);
}

static void kfir_look_touched(struct kfir_ep *ep)
{
	struct kfir_conn *conn;
	LIST_HEAD(touched);

	list_splice_init(&ep->touched, &touched);
	while ((conn = list_first_entry_or_null(&touched, struct kfir_conn,
						touched))) {
		list_del_init(&conn->touched);
		if (conn->broken && conn->state != KFIR_DOWN)
			kfir_conn_end(conn);
		else
			kfir_look_up(conn);
	}
}

static void kfir_look_busy(struct kfir_ep *ep, bool check)
{
	struct kfir_peer *peer, *next;

	list_for_each_entry_safe(peer, next, &ep->busy, busy) {
		if (check)
			kfir_peer_check(peer);
		kfir_send_all(ep, peer);
	}
}

/* Is it in the middle of a message, of which a receive has the beginning? */
static bool kfir_is_receiving(const struct kfir_conn *conn)
{
	return conn->rx.op || conn->rx.drop;
}

static bool kfir_is_idle(const struct kfir_conn *conn)
{
	unsigned int ms = READ_ONCE(kfir_idle_ms);

	return ms && !kfir_is_receiving(conn) && !kfir_has_messages(conn) &&
	       list_empty(&conn->flying) && !conn->nr_requests &&
	       list_empty(&conn->peer->sends) &&
	       time_after(jiffies, conn->used + msecs_to_jiffies(ms));
}

/* The peer has stopped in the middle of a message, and keeps its receive. */
static bool kfir_is_stalled(const struct kfir_conn *conn)
{
	u32 ms = kfir_op_timeout_ms(conn->ep);

	/* What is in the middle of it and has arrived is received yet. */
	if (!list_empty(&conn->arrived) &&
	    !(list_last_entry(&conn->arrived, struct kfir_slot, node)
		      ->piece.flags &
	      RDMW_LAST))
		return false;
	return ms && kfir_is_receiving(conn) &&
	       time_after(jiffies, conn->fed + msecs_to_jiffies(ms));
}

/* The peer has a request, and neither answers nor says anything else. */
static bool kfir_is_silent(const struct kfir_conn *conn)
{
	u32 ms = kfir_op_timeout_ms(conn->ep);

	return ms && conn->nr_asked &&
	       time_after(jiffies, conn->used + msecs_to_jiffies(ms));
}

/*
 * Leave idle connections; end those whose peer does not say farewell, or does not
 * go on.
 */
static void kfir_look_idle(struct kfir_ep *ep)
{
	u32 cm_ms = kfir_cm_timeout_ms(ep);
	struct kfir_conn *conn;

	list_for_each_entry(conn, &ep->conns, node) {
		if (conn->state != KFIR_UP)
			continue;
		if (kfir_is_stalled(conn) || kfir_is_silent(conn)) {
			kfir_conn_break(conn, ETIMEDOUT);
		} else if (conn->leaving) {
			if (time_after(jiffies,
				       conn->used + msecs_to_jiffies(cm_ms)))
				kfir_conn_break(conn, ETIMEDOUT);
		} else if (kfir_is_idle(conn)) {
			conn->leaving = true;
			conn->used = jiffies;
			kfir_touch(conn);
			kfir_peer_busy(ep, conn->peer);
		}
	}
}

/* ---- the end of everything ---------------------------------------------- */

/*
 * What is canceled, and what nothing was done with yet. No peer is made for sends:
 * that would take memory.
 */
void kfir_end_posts(struct kfir_ctx *ctx, int err)
{
	struct kfir_op *op, *next;
	struct rdmw_want *want;
	LIST_HEAD(ops);

	kfir_take_canceled(ctx);
	spin_lock_irq(&ctx->post.lock);
	list_splice_init(&ctx->posted, &ops);
	while ((want = ctx->receives.first)) {
		rdmw_want_del(&ctx->receives, want);
		list_add_tail(&kfir_op_of_want(want)->base.node, &ops);
	}
	spin_unlock_irq(&ctx->post.lock);
	list_for_each_entry_safe(op, next, &ops, base.node)
		kfir_finish(op, err, 0);
}

static void kfir_end_peers(struct kfir_ep *ep)
{
	struct hlist_node *next_peer;
	struct kfir_op *op, *next;
	struct kfir_peer *peer;
	int i;

	for (i = 0; i < KFIR_HASH_SIZE; i++)
		hlist_for_each_entry_safe(peer, next_peer, &ep->peers[i], hash)
		{
			list_for_each_entry_safe(op, next, &peer->sends,
						 base.node)
				kfir_finish(op, ep->ending, 0);
			kfir_peer_drop(peer);
		}
}

/* Every operation ends, every connection, every peer. */
static void kfir_end_all(struct kfir_ep *ep)
{
	struct kfir_conn *conn, *next;
	struct kfir_ctx *ctx;

	kfir_drop_events(ep);
	/* First those that are down: the end of another one may free them. */
	list_for_each_entry_safe(conn, next, &ep->conns, node)
		if (conn->state == KFIR_DOWN)
			kfir_conn_free(conn);
	list_for_each_entry_safe(conn, next, &ep->conns, node)
		kfir_conn_end(conn);
	list_for_each_entry_safe(conn, next, &ep->conns, node)
		kfir_conn_free(conn);
	kfir_end_peers(ep);
	list_for_each_entry(ctx, &ep->ctxs, node)
		kfir_end_posts(ctx, ep->ending);
}

/* The device below is gone. */
static void kfir_die(struct kfir_ep *ep)
{
	struct kfir_ctx *ctx;

	ep->ending = ENODEV;
	kfi_obj_kill(&ep->own.post.ep.fid);
	list_for_each_entry(ctx, &ep->ctxs, node)
		if (ctx != &ep->own)
			kfi_obj_kill(&ctx->post.ep.fid);
}

/* ---- the engine ---------------------------------------------------------- */

static bool kfir_is_dead(const struct kfir_ep *ep)
{
	return READ_ONCE(ep->pep->fid.dead) ||
	       READ_ONCE(kfir_domain_of(ep)->inner->fid.dead);
}

static void kfir_pass(struct kfir_ep *ep)
{
	struct kfir_ctx *ctx;
	bool check = false;

	list_for_each_entry(ctx, &ep->ctxs, node)
		check |= kfir_take_canceled(ctx);
	kfir_read_events(ep);
	kfir_take_done(ep);
	list_for_each_entry(ctx, &ep->ctxs, node)
		kfir_take_posts(ctx);
	if (time_after_eq(jiffies, ep->next_tick)) {
		ep->next_tick = jiffies + msecs_to_jiffies(KFIR_TICK_MS);
		kfir_look_idle(ep);
		check = true;
	}
	kfir_receive_all(ep);
	kfir_look_touched(ep);
	kfir_look_busy(ep, check);
}

void kfir_run(struct kfir_ep *ep)
{
	int passes = 0;

	lockdep_assert_held(&ep->mutex);
	if (!ep->ending && kfir_is_dead(ep))
		kfir_die(ep);
	if (ep->ending) {
		kfir_end_all(ep);
		return;
	}
	do
		kfir_pass(ep);
	while (!list_empty(&ep->touched) && ++passes < KFIR_PASSES);
}

/* Run again at a time, unless it is kicked before. */
static void kfir_run_later(struct kfir_ep *ep)
{
	bool busy = !list_empty(&ep->busy) || !list_empty(&ep->touched);
	unsigned int ms = busy ? KFIR_TICK_MS : KFIR_IDLE_TICK_MS;
	unsigned long irq;

	spin_lock_irqsave(&ep->lock, irq);
	if (!ep->closed && !ep->ending)
		queue_delayed_work(kfir_wq, &ep->engine, msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&ep->lock, irq);
}

void kfir_engine(struct work_struct *work)
{
	struct kfir_ep *ep = container_of(work, struct kfir_ep, engine.work);
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&ep->mutex);
	kfir_run(ep);
	kfir_run_later(ep);
	mutex_unlock(&ep->mutex);
	memalloc_noio_restore(noio);
}
