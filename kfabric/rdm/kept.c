// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: messages that are taken out of the buffers of their connection,
 * since no receive takes them and one waits for what is behind them.
 *
 * Context: the engine.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rdm.h"

static size_t kfir_kept_cost(const struct kfir_kept *kept)
{
	return sizeof(*kept) + kept->first.at;
}

void kfir_kept_drop(struct kfir_conn *conn, struct kfir_kept *kept)
{
	if (conn->filling == kept)
		conn->filling = NULL;
	conn->kept_bytes -= kfir_kept_cost(kept);
	conn->ep->kept_bytes -= kfir_kept_cost(kept);
	list_del(&kept->node);
	kvfree(kept);
}

void kfir_kept_drop_all(struct kfir_conn *conn)
{
	struct kfir_kept *kept, *next;

	list_for_each_entry_safe(kept, next, &conn->kept, node)
		kfir_kept_drop(conn, kept);
}

/* Room for a message of which the first piece is there; NULL: not for this one. */
static struct kfir_kept *kfir_kept_new(struct kfir_conn *conn,
				       const struct rdmw_piece *first)
{
	size_t cost = sizeof(struct kfir_kept) + first->at;
	struct kfir_kept *kept;

	if (conn->kept_bytes + cost > KFIR_KEPT_BYTES ||
	    conn->ep->kept_bytes + cost > KFIR_EP_KEPT_BYTES)
		return NULL;
	kept = kvmalloc(cost, GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);
	if (!kept)
		return NULL;
	kept->first = *first;
	kept->got = 0;
	conn->kept_bytes += cost;
	conn->ep->kept_bytes += cost;
	list_add_tail(&kept->node, &conn->kept);
	return kept;
}

void kfir_kept_piece(struct kfir_conn *conn, const struct kfir_slot *slot)
{
	struct kfir_kept *kept = conn->filling;

	memcpy(kept->bytes + kept->got, kfir_slot_data(slot),
	       slot->piece.bytes);
	kept->got += slot->piece.bytes;
	if (slot->piece.flags & RDMW_LAST)
		conn->filling = NULL;
}

/* Does anything wait for what is behind the messages of a peer? */
static bool kfir_is_awaited(struct kfir_conn *conn)
{
	const u8 *name = (const u8 *)&conn->peer->name;
	struct kfir_ctx *ctx;
	unsigned long irq;
	bool yes = false;

	/* Requests and answers can be behind it as well. */
	if (conn->nr_asked || READ_ONCE(kfir_domain_of(conn->ep)->nr_mrs))
		return true;
	list_for_each_entry(ctx, &conn->ep->ctxs, node) {
		spin_lock_irqsave(&ctx->post.lock, irq);
		yes |= rdmw_wants_from(&ctx->receives, name);
		spin_unlock_irqrestore(&ctx->post.lock, irq);
	}
	return yes;
}

/* Half of the buffers must be free, for credits to go back. */
static bool kfir_is_half_free(const struct kfir_conn *conn)
{
	return conn->flow.held <= conn->flow.window_in / 2;
}

/* None of what has arrived is taken by a receive. */
void kfir_keep(struct kfir_conn *conn)
{
	struct kfir_slot *slot;

	if (conn->broken || conn->state == KFIR_DOWN ||
	    kfir_is_half_free(conn) || !kfir_is_awaited(conn))
		return;
	if (!kfir_may_sleep(conn->ep)) {
		kfir_wait(conn);
		conn->ep->left = true;
		return;
	}
	while ((slot = list_first_entry_or_null(&conn->arrived,
						struct kfir_slot, node))) {
		if (slot->piece.flags & RDMW_FIRST) {
			if (kfir_is_half_free(conn))
				return;
			conn->filling = kfir_kept_new(conn, &slot->piece);
			if (!conn->filling)
				return;
			conn->filling->shown = slot->shown;
		}
		kfir_kept_piece(conn, slot);
		list_del_init(&slot->node);
		kfir_repost(slot);
	}
}
