// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: the engine of an endpoint: takes what posts and upcalls have
 * queued, looks at connections and deadlines, and completes.
 *
 * Context: that of its owner (enum kfir_owner): a work, in which memory is allocated
 *	as in the path of reclaim; who opens or closes contexts, and at the end of
 *	the endpoint's life its close; an upcall of the inner provider; a post.
 * Locking, lifetime and recovery: see rdm.h.
 */
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "rdm.h"

#define KFIR_PASSES 4 /* of one run, while connections want to be looked at */

/* Of a post or an upcall, which leave the rest to the work. */
#define KFIR_TAKES 64 /* operations that were posted */
#define KFIR_LOOKS 8 /* peers that they are for, or that news is from */

void kfir_kick_locked(struct kfir_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (ep->closed)
		return;
	ep->run_at = jiffies;
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

/*
 * Something has come or gone: is there anything to be done for the connection, or can
 * a send of its peer go on?
 */
void kfir_stir(struct kfir_conn *conn)
{
	struct kfir_peer *peer = conn->peer;
	bool answers = kfir_has_answers(conn);

	if (conn->leaving || answers || rdmw_flow_owes(&conn->flow) ||
	    conn->flow.is_revoked || conn->grants_due ||
	    !list_empty(&conn->unposted))
		kfir_touch(conn);
	if (!list_empty(&peer->sends) || answers || conn->leaving)
		kfir_peer_busy(conn->ep, peer);
}

/* The operation memory is gone when this returns. */
void kfir_finish(struct kfir_op *op, int err, int prov_errno)
{
	kfi_op_end(&op->ctx->post, &op->base,
		   op->base.type == KFI_OP_RECV ? NULL : &op->send, err,
		   prov_errno);
}

/* One step less of those that a post or an upcall may do. */
static bool kfir_may_go_on(unsigned int *steps)
{
	if (!*steps)
		return false;
	--*steps;
	return true;
}

/* ---- what others have queued ------------------------------------------- */

static void kfir_take_slot(struct kfir_slot *slot)
{
	if (slot->rx)
		kfir_arrived(slot);
	else
		kfir_sent(slot);
}

void kfir_take_done(struct kfir_ep *ep)
{
	struct kfir_slot *slot, *next;
	unsigned long irq;
	LIST_HEAD(done);

	kfir_assert_owned(ep);
	/* What comes to an empty one meanwhile has the engine run again. */
	if (list_empty(&ep->done))
		return;
	spin_lock_irqsave(&ep->lock, irq);
	list_splice_tail_init(&ep->done, &done);
	spin_unlock_irqrestore(&ep->lock, irq);
	list_for_each_entry_safe(slot, next, &done, node) {
		list_del_init(&slot->node);
		kfir_take_slot(slot);
	}
}

/*
 * The peer of an operation; NULL: it takes memory to have one, or whoever may have
 * interrupts off has done enough.
 */
static struct kfir_peer *kfir_peer_of(struct kfir_ep *ep,
				      const struct kfir_op *op)
{
	if (kfir_may_sleep(ep))
		return kfir_peer_get(ep, &op->name);
	return kfir_may_go_on(&ep->takes) ? kfir_peer_find(ep, &op->name)
					  : NULL;
}

/* What was posted to it is left to the work. */
static void kfir_leave_ctx_locked(struct kfir_ctx *ctx)
{
	struct kfir_ep *ep = ctx->ep;

	lockdep_assert_held(&ctx->post.lock);
	ep->left = true;
	spin_lock(&ep->lock);
	list_move_tail(&ctx->fresh, &ep->fresh);
	spin_unlock(&ep->lock);
}

/* False: the work goes on. */
static bool kfir_take_posted(struct kfir_ctx *ctx)
{
	struct kfir_ep *ep = ctx->ep;
	struct kfir_op *op, *next;
	struct kfir_peer *peer;
	unsigned long irq;
	LIST_HEAD(posted);

	spin_lock_irqsave(&ctx->post.lock, irq);
	list_splice_tail_init(&ctx->posted, &posted);
	spin_unlock_irqrestore(&ctx->post.lock, irq);
	list_for_each_entry_safe(op, next, &posted, base.node) {
		peer = kfir_peer_of(ep, op);
		if (!peer && !kfir_may_sleep(ep)) {
			/* What is left is again before what was posted since. */
			spin_lock_irqsave(&ctx->post.lock, irq);
			list_splice(&posted, &ctx->posted);
			kfir_leave_ctx_locked(ctx);
			spin_unlock_irqrestore(&ctx->post.lock, irq);
			return false;
		}
		if (!peer) {
			kfir_finish(op, FI_ENOMEM, 0);
			continue;
		}
		list_move_tail(&op->base.node, &peer->sends);
		kfir_peer_busy(ep, peer);
	}
	return true;
}

static void kfir_take_posts(struct kfir_ep *ep)
{
	struct kfir_ctx *ctx;
	unsigned long irq;

	/* What comes to an empty one meanwhile has the engine run again. */
	while (!list_empty(&ep->fresh)) {
		spin_lock_irqsave(&ep->lock, irq);
		ctx = list_first_entry_or_null(&ep->fresh, struct kfir_ctx,
					       fresh);
		if (ctx)
			list_del_init(&ctx->fresh);
		spin_unlock_irqrestore(&ep->lock, irq);
		if (!ctx || !kfir_take_posted(ctx))
			return;
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

static void kfir_look_touched(struct kfir_ep *ep)
{
	struct kfir_conn *conn;
	LIST_HEAD(touched);

	if (list_empty(&ep->touched))
		return;
	list_splice_init(&ep->touched, &touched);
	while ((conn = list_first_entry_or_null(&touched, struct kfir_conn,
						touched))) {
		list_del_init(&conn->touched);
		if (!conn->broken || conn->state == KFIR_DOWN) {
			kfir_repost_all(conn);
			if (conn->wants_room)
				kfir_grow(conn);
			kfir_grants_look(conn);
			kfir_send_control(conn);
		} else if (kfir_may_sleep(ep)) {
			kfir_conn_end(conn);
		} else {
			kfir_touch(conn);
			ep->left = true;
		}
	}
}

/* What they wait for may have come. */
void kfir_look_at_stalled(struct kfir_ep *ep)
{
	list_splice_tail_init(&ep->stalled, &ep->busy);
}

/* With those that are stalled, if all are to be looked at. */
static void kfir_look_busy(struct kfir_ep *ep, bool all, bool check)
{
	struct kfir_peer *peer;
	LIST_HEAD(busy);

	if (all)
		kfir_look_at_stalled(ep);
	if (list_empty(&ep->busy))
		return;
	list_splice_init(&ep->busy, &busy);
	while ((peer = list_first_entry_or_null(&busy, struct kfir_peer,
						busy))) {
		if (!kfir_may_sleep(ep) && !kfir_may_go_on(&ep->looks)) {
			list_splice(&busy, &ep->busy);
			ep->left = true;
			return;
		}
		list_del_init(&peer->busy);
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

/*
 * Leave idle connections; end those whose peer does not say farewell, or does not
 * go on.
 */
static void kfir_look_idle(struct kfir_ep *ep)
{
	u32 cm_ms = kfir_cm_timeout_ms(ep), ms = kfir_op_timeout_ms(ep);
	struct kfir_conn *conn;
	bool is_silent;

	list_for_each_entry(conn, &ep->conns, node) {
		if (conn->state != KFIR_UP)
			continue;
		/* The peer has a request, and neither answers nor says anything else. */
		is_silent =
			ms && conn->nr_asked &&
			time_after(jiffies, conn->used + msecs_to_jiffies(ms));
		if (kfir_is_stalled(conn) || is_silent ||
		    kfir_grants_are_late(conn)) {
			kfir_conn_break(conn, ETIMEDOUT);
		} else if (conn->leaving) {
			if (time_after(jiffies,
				       conn->used + msecs_to_jiffies(cm_ms)))
				kfir_conn_break(conn, ETIMEDOUT);
		} else if (kfir_is_idle(conn) && conn->nr_granted) {
			/* The peer may use them, unseen: then it is not idle. */
			kfir_grants_take_back(conn);
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

/* Every operation ends, every connection, every peer. */
static void kfir_end_all(struct kfir_ep *ep)
{
	struct kfir_conn *conn, *next;
	struct kfir_op *op, *next_op;
	struct hlist_node *next_peer;
	struct kfir_peer *peer;
	struct kfir_ctx *ctx;
	int i;

	kfir_drop_events(ep);
	/* First those that are down: the end of another one may free them. */
	list_for_each_entry_safe(conn, next, &ep->conns, node)
		if (conn->state == KFIR_DOWN)
			kfir_conn_free(conn);
	list_for_each_entry_safe(conn, next, &ep->conns, node)
		kfir_conn_end(conn);
	list_for_each_entry_safe(conn, next, &ep->conns, node)
		kfir_conn_free(conn);
	for (i = 0; i < KFIR_HASH_SIZE; i++)
		hlist_for_each_entry_safe(peer, next_peer, &ep->peers[i], hash)
		{
			list_for_each_entry_safe(op, next_op, &peer->sends,
						 base.node)
				kfir_finish(op, ep->ending, 0);
			kfir_peer_drop(ep, peer);
		}
	list_for_each_entry(ctx, &ep->ctxs, node)
		kfir_end_posts(ctx, ep->ending);
}

/* ---- the engine ---------------------------------------------------------- */

static void kfir_pass(struct kfir_ep *ep)
{
	bool room, check = false;
	struct kfir_ctx *ctx;

	spin_lock_irq(&ep->lock);
	room = ep->came_room;
	ep->came_room = false;
	spin_unlock_irq(&ep->lock);
	list_for_each_entry(ctx, &ep->ctxs, node)
		check |= kfir_take_canceled(ctx);
	kfir_read_events(ep);
	kfir_take_done(ep);
	kfir_take_grants(ep);
	kfir_take_posts(ep);
	if (time_after_eq(jiffies, ep->next_tick)) {
		ep->next_tick = jiffies + msecs_to_jiffies(KFIR_TICK_MS);
		kfir_look_idle(ep);
		check = true;
		/* A region may be new that something is behind messages for. */
		kfir_receive_all(ep);
	} else {
		kfir_receive_new(ep);
	}
	kfir_look_touched(ep);
	kfir_look_busy(ep, check || room, check);
}

void kfir_run(struct kfir_ep *ep)
{
	struct kfir_ctx *ctx;
	int passes = 0;

	kfir_assert_owned(ep);
	/* Is the device below gone? */
	if (!ep->ending && (READ_ONCE(ep->pep->fid.dead) ||
			    READ_ONCE(kfir_domain_of(ep)->inner->fid.dead))) {
		ep->ending = ENODEV;
		kfi_obj_kill(&ep->own.post.ep.fid);
		list_for_each_entry(ctx, &ep->ctxs, node)
			if (ctx != &ep->own)
				kfi_obj_kill(&ctx->post.ep.fid);
	}
	if (ep->ending) {
		kfir_end_all(ep);
		return;
	}
	do
		kfir_pass(ep);
	while (!list_empty(&ep->touched) && ++passes < KFIR_PASSES);
}

/* ---- the work ------------------------------------------------------------ */

static bool kfir_is_busy(const struct kfir_ep *ep)
{
	return !list_empty(&ep->busy) || !list_empty(&ep->stalled) ||
	       !list_empty(&ep->touched);
}

void kfir_engine(struct work_struct *work)
{
	struct kfir_ep *ep = container_of(work, struct kfir_ep, engine.work);
	unsigned int noio, ms;
	bool own;

	spin_lock_irq(&ep->lock);
	own = ep->owner == KFIR_NOBODY && !ep->claims;
	if (own)
		ep->owner = KFIR_WORK;
	ep->passed_by = !own;
	spin_unlock_irq(&ep->lock);
	/* The other owner, or who is to be it, kicks it when that has done. */
	if (!own)
		return;
	noio = memalloc_noio_save();
	kfir_run(ep);
	/* It runs again at a time, unless it is kicked before. */
	ms = kfir_is_busy(ep) ? KFIR_TICK_MS : KFIR_IDLE_TICK_MS;
	spin_lock_irq(&ep->lock);
	ep->left = false;
	ep->owner = KFIR_NOBODY;
	if (!ep->closed && !ep->ending &&
	    queue_delayed_work(kfir_wq, &ep->engine, msecs_to_jiffies(ms)))
		ep->run_at = jiffies + msecs_to_jiffies(ms);
	spin_unlock_irq(&ep->lock);
	memalloc_noio_restore(noio);
}

/* ---- who opens and closes ------------------------------------------------- */

/* This context is the engine: as the work is, which is not meanwhile. */
void kfir_own(struct kfir_ep *ep)
{
	might_sleep();
	spin_lock_irq(&ep->lock);
	ep->claims++;
	while (ep->owner != KFIR_NOBODY) {
		spin_unlock_irq(&ep->lock);
		schedule_timeout_uninterruptible(1);
		spin_lock_irq(&ep->lock);
	}
	ep->claims--;
	ep->owner = KFIR_WORK;
	spin_unlock_irq(&ep->lock);
}

/* What has come meanwhile, or was left, is the work's. */
void kfir_own_end(struct kfir_ep *ep)
{
	kfir_assert_owned(ep);
	spin_lock_irq(&ep->lock);
	ep->owner = KFIR_NOBODY;
	kfir_kick_locked(ep);
	spin_unlock_irq(&ep->lock);
}

/* ---- upcalls and posts ---------------------------------------------------- */

static bool kfir_own_locked(struct kfir_ep *ep, enum kfir_owner as)
{
	lockdep_assert_held(&ep->lock);
	/* Else those who post and receive all the time keep the work waiting. */
	if (ep->owner != KFIR_NOBODY || ep->claims || ep->passed_by)
		return false;
	if (ep->closed || ep->ending || !smp_load_acquire(&ep->listening))
		return false;
	if (as == KFIR_UPCALL && ep->in_work)
		return false;
	ep->owner = as;
	ep->takes = KFIR_TAKES;
	ep->looks = KFIR_LOOKS;
	return true;
}

/* False: it is to go on. */
static bool kfir_disown(struct kfir_ep *ep, bool enough)
{
	const unsigned long tick = msecs_to_jiffies(KFIR_TICK_MS);
	unsigned long irq;
	bool news, over;

	spin_lock_irqsave(&ep->lock, irq);
	/* Is there something that its owner has not looked at? */
	news = !list_empty(&ep->fresh) || !list_empty(&ep->touched);
	if (ep->owner == KFIR_UPCALL)
		news |= !list_empty(&ep->done) ||
			(ep->came_receive && !list_empty(&ep->waiting));
	over = !news || enough || ep->left || ep->claims || ep->passed_by ||
	       ep->closed;
	if (over) {
		if (news || ep->left || ep->passed_by) {
			kfir_kick_locked(ep);
		} else if (kfir_is_busy(ep) && !ep->closed &&
			   time_before(jiffies + tick, ep->run_at)) {
			/* The work looks at what waits within a tick, and not sooner. */
			ep->run_at = jiffies + tick;
			mod_delayed_work(kfir_wq, &ep->engine, tick);
		}
		ep->left = false;
		ep->owner = KFIR_NOBODY;
	}
	spin_unlock_irqrestore(&ep->lock, irq);
	return over;
}

void kfir_inner_done(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		     void *context)
{
	struct kfir_slot *slot =
		container_of(entry->op_context, struct kfir_slot, inner);
	struct kfir_ep *ep = context;
	unsigned long irq;
	int passes = 0;
	bool own, queued;

	slot->err = entry->err;
	slot->len = entry->len;
	slot->bare = entry->flags & FI_REMOTE_CQ_DATA;
	slot->data = entry->data;
	spin_lock_irqsave(&ep->lock, irq);
	own = kfir_own_locked(ep, KFIR_UPCALL);
	if (!own && ep->owner != KFIR_UPCALL)
		kfir_kick_locked(ep);
	queued = !own || !list_empty(&ep->done);
	if (queued)
		list_add_tail(&slot->node, &ep->done);
	spin_unlock_irqrestore(&ep->lock, irq);
	if (!own)
		return;
	if (!queued)
		kfir_take_slot(slot);
	do {
		kfir_take_done(ep);
		if (!list_empty(&ep->waiting))
			kfir_receive_new(ep);
		/* What upcalls have posted is among them. */
		if (!list_empty(&ep->fresh))
			kfir_take_posts(ep);
		if (!list_empty(&ep->touched))
			kfir_look_touched(ep);
		if (!list_empty(&ep->busy))
			kfir_look_busy(ep, false, false);
	} while (!kfir_disown(ep, ++passes == KFIR_PASSES));
}

/* A receive was posted while messages waited for some: is there one for it? */
void kfir_tell_receive(struct kfir_ep *ep)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->lock, irq);
	WRITE_ONCE(ep->came_receive, true);
	/* It looks itself when it has done. */
	if (ep->owner != KFIR_UPCALL)
		kfir_kick_locked(ep);
	spin_unlock_irqrestore(&ep->lock, irq);
}

/*
 * A send is posted; nothing needs to be done with it yet, if more are to come. 1: who
 * posts is the engine now, and must go on with it.
 */
int kfir_tell(struct kfir_ctx *ctx, struct kfir_op *op)
{
	bool more = op->base.flags & FI_MORE, own, first;
	struct kfir_ep *ep = ctx->ep;
	struct kfir_peer *peer;
	unsigned long irq;

	lockdep_assert_held(&ctx->post.lock);
	spin_lock_irqsave(&ep->lock, irq);
	own = !more && kfir_own_locked(ep, KFIR_POST);
	first = own && list_empty(&ctx->posted);
	if (!first) {
		list_add_tail(&op->base.node, &ctx->posted);
		if (list_empty(&ctx->fresh))
			list_add_tail(&ctx->fresh, &ep->fresh);
	}
	/* Another post or upcall looks for it when it has done. */
	if (!own && !more &&
	    (ep->owner == KFIR_WORK || ep->owner == KFIR_NOBODY))
		kfir_kick_locked(ep);
	/* Until kfir_posted(): all of the endpoint waits for whoever owns it. */
	if (own)
		preempt_disable();
	spin_unlock_irqrestore(&ep->lock, irq);
	if (!first)
		return own;
	/*
	 * A send that its owner posts, and nothing of its context waits before it: it
	 * need not be queued for who comes by.
	 */
	peer = kfir_peer_of(ep, op);
	if (peer) {
		list_add_tail(&op->base.node, &peer->sends);
		ep->posted_to = peer;
	} else {
		list_add_tail(&op->base.node, &ctx->posted);
		kfir_leave_ctx_locked(ctx);
	}
	return own;
}

/* Who posts may hold any lock. */
void kfir_posted(struct kfi_post_ep *post)
{
	struct kfir_ep *ep = to_kfir_ctx(post)->ep;
	struct kfir_peer *peer;
	int passes = 0;

	do {
		peer = ep->posted_to;
		if (peer) {
			ep->posted_to = NULL;
			kfir_send_all(ep, peer);
		}
		if (!list_empty(&ep->fresh))
			kfir_take_posts(ep);
		if (!list_empty(&ep->busy))
			kfir_look_busy(ep, false, false);
		if (!list_empty(&ep->touched))
			ep->left = true;
	} while (!kfir_disown(ep, ++passes == KFIR_PASSES));
	preempt_enable();
}
