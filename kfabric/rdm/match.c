// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: which receive a message goes into, its bytes, and what the
 * completion says.
 *
 * A receive of one message is taken off kfir_ctx.receives with it, and completes
 * with it. One of several stays there until it is over; each message has room of it
 * and a completion of kfi_post_ep.parts, but the last, which has the operation's
 * own.
 *
 * Context: the engine.
 * Locking: kfir_op.multi and kfir_ctx.receives under post.lock.
 */
#include "rdm.h"

static bool kfir_is_multi(const struct kfir_op *op)
{
	return op->base.flags & FI_MULTI_RECV;
}

/* What a completion says of a message to be, or of none. */
static u64 kfir_rx_flags(const struct kfir_op *op)
{
	return FI_RECV | (op->base.is_tagged ? FI_TAGGED : FI_MSG);
}

/* ---- getting one --------------------------------------------------------- */

/* A receive that takes no more, and has no message under way. */
static void kfir_give_back(struct kfir_op *op)
{
	struct fi_cq_err_entry *entry = &op->base.comp->entry;

	if (!op->canceled)
		entry->flags = FI_MULTI_RECV;
	kfir_finish(op, op->canceled ? ECANCELED : 0, 0);
}

/*
 * The receive that a message goes into, with room in it; or none. Those that are
 * too full for it are over, and go to a list when nobody uses them.
 */
static void kfir_rx_find_locked(struct kfir_ctx *ctx,
				const struct rdmw_label *label, u64 since,
				struct kfir_rx *rx, struct list_head *full)
{
	struct rdmw_want *want;
	struct kfir_op *op;

	lockdep_assert_held(&ctx->post.lock);
	while ((want = rdmw_wants_find(&ctx->receives, label, since,
				       ctx->before))) {
		op = kfir_op_of_want(want);
		rx->comp = op->base.comp;
		rx->at = 0;
		if (!kfir_is_multi(op)) {
			rdmw_want_del(&ctx->receives, want);
			rx->op = op;
			return;
		}
		rx->comp = list_first_entry_or_null(&ctx->post.parts,
						    struct kfi_comp, node);
		/*
		 * It is looked at again when one is free: see kfir_part_free(). Until
		 * then those behind it have none either, although one comes back.
		 */
		ctx->dry |= !rx->comp;
		if (ctx->dry)
			return;
		if (rdmw_multi_take(&op->multi, rx->total, &rx->at)) {
			list_del(&rx->comp->node);
			rx->op = op;
		}
		if (op->multi.is_over)
			rdmw_want_del(&ctx->receives, want);
		if (rx->op)
			return;
		if (!op->multi.users)
			list_add_tail(&op->base.node, full);
	}
}

/* What its completion will say, but for the bytes. */
static void kfir_rx_begin(struct kfir_rx *rx, const struct rdmw_piece *first)
{
	const struct kfi_op *base = &rx->op->base;
	struct fi_cq_err_entry *entry = &rx->comp->entry;
	size_t room = base->buf.len - rx->at;

	if (kfir_is_multi(rx->op)) {
		kfi_comp_set(rx->comp, base->comp->entry.op_context,
			     base->flags, 0, 0);
		entry->buf = base->buf.ptr + base->buf.offset + rx->at;
	}
	entry->flags = kfir_rx_flags(rx->op);
	entry->olen = first->at > room ? first->at - room : 0;
	if (first->flags & RDMW_WORD)
		entry->flags |= FI_REMOTE_CQ_DATA;
	entry->data = first->word;
	entry->tag = first->flags & RDMW_TAGGED ? first->tag : 0;
	rx->written = 0;
	if (!(first->flags & KFIR_WRITTEN))
		return;
	entry->flags ^= FI_MSG | FI_RMA;
	rx->written = first->tag;
}

/*
 * True: something is to be done with it. It is shown all receives that there are if
 * @shown is NULL, which takes that nobody waits for one.
 */
bool kfir_rx_get(struct kfir_conn *conn, const struct rdmw_piece *first,
		 u64 *shown, struct kfir_rx *rx)
{
	const struct rdmw_label label = {
		.from = (const u8 *)&conn->peer->name,
		.is_tagged = first->flags & RDMW_TAGGED,
		.tag = first->tag,
	};
	struct kfir_ctx *ctx = conn->ep->rx[first->ctx];
	struct kfir_op *op, *next;
	unsigned long irq;
	LIST_HEAD(full);

	*rx = (struct kfir_rx){ .total = first->at,
				.drop = ctx && ctx->ending };
	if (!ctx || ctx->ending)
		return rx->drop;
	spin_lock_irqsave(&ctx->post.lock, irq);
	if (!shown)
		ctx->before = ctx->receives.next_seq;
	kfir_rx_find_locked(ctx, &label, shown && !ctx->afresh ? *shown : 0, rx,
			    &full);
	spin_unlock_irqrestore(&ctx->post.lock, irq);
	if (shown)
		*shown = ctx->before;
	list_for_each_entry_safe(op, next, &full, base.node)
		kfir_give_back(op);
	if (rx->op)
		kfir_rx_begin(rx, first);
	return rx->op;
}

/* A message may wait for it, which was shown its receive. Under post.lock. */
void kfir_part_free(struct kfi_post_ep *post)
{
	struct kfir_ctx *ctx = to_kfir_ctx(post);

	if (!list_is_singular(&post->parts))
		return;
	ctx->came_back = true;
	kfir_kick(ctx->ep);
}

/* ---- bytes ----------------------------------------------------------------- */

/* As much as fits. */
void kfir_rx_copy(struct kfir_rx *rx, const u8 *from, size_t len)
{
	const struct fi_buf *to;

	if (rx->drop)
		return;
	to = &rx->op->base.buf;
	len = min_t(size_t, len, to->len - rx->at - rx->moved);
	kfi_buf_put(to, rx->at + rx->moved, from, len);
	rx->moved += len;
}

/* ---- the end ----------------------------------------------------------------- */

static void kfir_part_put_locked(struct kfi_post_ep *post, struct kfir_rx *rx)
{
	lockdep_assert_held(&post->lock);
	list_add(&rx->comp->node, &post->parts);
	kfir_part_free(post);
}

/* A message of a receive of several is whole: is it the last? */
static bool kfir_multi_end(struct kfir_rx *rx)
{
	struct kfir_op *op = rx->op;
	struct kfi_post_ep *post = &op->ctx->post;
	unsigned long irq;
	bool last;

	spin_lock_irqsave(&post->lock, irq);
	last = rdmw_multi_done(&op->multi);
	if (last && !op->canceled) {
		op->base.comp->entry = rx->comp->entry;
		op->base.comp->entry.flags |= FI_MULTI_RECV;
		kfir_part_put_locked(post, rx);
	}
	spin_unlock_irqrestore(&post->lock, irq);
	if (last && !op->canceled)
		return true;
	kfi_post_part(post, rx->comp);
	if (last)
		kfir_give_back(op);
	return false;
}

void kfir_rx_end(struct kfir_conn *conn, struct kfir_rx *rx)
{
	struct fid_av *av = conn->ep->own.post.ep.av;
	struct fi_cq_err_entry *entry;
	struct kfir_op *op = rx->op;
	int err;

	if (rx->drop) {
		rx->drop = false;
		return;
	}
	entry = &rx->comp->entry;
	err = entry->olen ? FI_ETRUNC : 0;
	entry->len = rx->moved + rx->written;
	entry->src_addr =
		kfi_av_find_again(av, &conn->peer->name, conn->peer->number);
	conn->peer->number = entry->src_addr;
	entry->err = err;
	if (!kfir_is_multi(op) || kfir_multi_end(rx))
		kfir_finish(op, err, 0);
	rx->op = NULL;
}

/* To its place: it has not received anything. */
static void kfir_want_put_locked(struct kfir_op *op)
{
	struct kfir_ctx *ctx = op->ctx;

	lockdep_assert_held(&ctx->post.lock);
	rdmw_want_put(&ctx->receives, &op->want);
	ctx->came_back = true;
	kfir_kick(ctx->ep);
}

void kfir_rx_undo(struct kfir_rx *rx)
{
	struct fi_cq_err_entry *entry = &rx->comp->entry;
	struct kfir_op *op = rx->op;
	spinlock_t *lock = &op->ctx->post.lock;
	unsigned long irq;
	bool over = false, was_over;

	spin_lock_irqsave(lock, irq);
	if (kfir_is_multi(op)) {
		/* Its room is taken back; where it is over it is given back. */
		was_over = op->multi.is_over;
		kfir_part_put_locked(&op->ctx->post, rx);
		rdmw_multi_undo(&op->multi, rx->total, rx->at);
		if (was_over && !op->canceled && !op->multi.is_over)
			kfir_want_put_locked(op);
		over = (op->multi.is_over || op->canceled) && !op->multi.users;
	} else {
		entry->flags = kfir_rx_flags(op);
		entry->data = 0;
		entry->tag = op->base.tag;
		entry->olen = 0;
		kfir_want_put_locked(op);
	}
	spin_unlock_irqrestore(lock, irq);
	rx->op = NULL;
	if (over)
		kfir_give_back(op);
}
