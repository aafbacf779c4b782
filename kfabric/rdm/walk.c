// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: walks over connections with messages that wait for receives: all
 * of them, or those of which something is new.
 *
 * Context: the engine.
 * Locking: contexts' receives under post.lock.
 */
#include "rdm.h"

#define KFIR_WALKED 16 /* connections that wait, for an upcall to look at all */

/*
 * What is posted from here on, and not counted by one of those who wait, tells it: the
 * post reads hungry under the lock of its context, which is taken after this. What has
 * been told meanwhile is looked at once too often.
 */
static void kfir_await_receives(struct kfir_ep *ep)
{
	unsigned long irq;

	if (READ_ONCE(ep->came_receive)) {
		spin_lock_irqsave(&ep->lock, irq);
		ep->came_receive = false;
		spin_unlock_irqrestore(&ep->lock, irq);
	}
	WRITE_ONCE(ep->hungry, true);
}

/* Frees it if it is down and has nothing left. */
static void kfir_receive_conn(struct kfir_conn *conn)
{
	kfir_receive(conn);
	if (conn->state == KFIR_DOWN && !kfir_has_messages(conn))
		kfir_conn_free(conn);
}

static void kfir_end_walk(struct kfir_ep *ep)
{
	if (list_empty(&ep->waiting))
		WRITE_ONCE(ep->hungry, false);
}

/*
 * A walk over all that wait. A receive that is posted meanwhile waits for the next
 * one: an older message may have been passed by. That there is a next one is seen by
 * the post, under the lock.
 */
void kfir_receive_all(struct kfir_ep *ep)
{
	struct kfir_conn *conn, *next;
	struct kfir_ctx *ctx;
	unsigned long irq;

	kfir_assert_owned(ep);
	if (list_empty(&ep->waiting))
		return;
	kfir_await_receives(ep);
	list_for_each_entry(ctx, &ep->ctxs, node) {
		if (!(ctx->dirs & FI_RECV))
			continue;
		spin_lock_irqsave(&ctx->post.lock, irq);
		ctx->before = ctx->receives.next_seq;
		ctx->afresh = ctx->came_back;
		ctx->came_back = false;
		ctx->dry &= !ctx->afresh;
		spin_unlock_irqrestore(&ctx->post.lock, irq);
	}
	list_for_each_entry_safe(conn, next, &ep->waiting, waiting)
		kfir_receive_conn(conn);
	kfir_end_walk(ep);
}

/* Receives that those who wait were not shown: from the last walk on, or before. */
enum kfir_news {
	KFIR_NO_NEWS,
	KFIR_POSTED, /* since */
	KFIR_CAME_BACK, /* to a place before it */
};

static enum kfir_news kfir_news(struct kfir_ep *ep)
{
	enum kfir_news news = KFIR_NO_NEWS;
	struct kfir_ctx *ctx;
	unsigned long irq;

	kfir_await_receives(ep);
	list_for_each_entry(ctx, &ep->ctxs, node) {
		if (!(ctx->dirs & FI_RECV))
			continue;
		spin_lock_irqsave(&ctx->post.lock, irq);
		if (ctx->came_back)
			news = KFIR_CAME_BACK;
		else if (!news && ctx->before != ctx->receives.next_seq)
			news = KFIR_POSTED;
		spin_unlock_irqrestore(&ctx->post.lock, irq);
	}
	return news;
}

/* Where many wait, those of which nothing new has come are left to the work. */
void kfir_receive_new(struct kfir_ep *ep)
{
	struct kfir_conn *conn;
	enum kfir_news news;
	LIST_HEAD(unseen);

	kfir_assert_owned(ep);
	if (list_empty(&ep->waiting))
		return;
	if (ep->nr_waiting <= KFIR_WALKED && !ep->kept_bytes) {
		kfir_receive_all(ep);
		return;
	}
	news = kfir_news(ep);
	if (news && kfir_may_sleep(ep)) {
		kfir_receive_all(ep);
		return;
	}
	if (news)
		ep->left = true;
	if (news == KFIR_CAME_BACK)
		return;
	/*
	 * What has come is shown the receives that those who wait were shown in the last
	 * walk, and so passes none of them. One that has messages out of its buffers,
	 * which may be many, is the work's, and with it those that came later. One whose
	 * messages the work is to keep is put there again.
	 */
	list_splice_init(&ep->unseen, &unseen);
	while ((conn = list_first_entry_or_null(&unseen, struct kfir_conn,
						unseen))) {
		if (!kfir_may_sleep(ep) && !list_empty(&conn->kept)) {
			ep->left = true;
			break;
		}
		kfir_receive_conn(conn);
	}
	list_splice(&unseen, &ep->unseen);
	kfir_end_walk(ep);
}
