// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: receiving: pieces come into buffers of their connection and
 * wait there for receives of the endpoint.
 *
 * Context: the engine.
 */
#include <linux/jiffies.h>
#include <linux/ratelimit.h>

#include "rdm.h"

/* Give a buffer to the inner provider. */
int kfir_post_slot(struct kfir_slot *slot)
{
	struct fi_msg msg = { .buf = fi_buf_linear(slot->bytes,
						   KFIR_PIECE_BYTES),
			      .addr = FI_ADDR_UNSPEC,
			      .context = &slot->inner };

	return fi_recvmsg(slot->conn->inner, &msg, 0);
}

/* A buffer is free again; its credit goes back when it can take a piece. */
void kfir_repost(struct kfir_slot *slot)
{
	struct kfir_conn *conn = slot->conn;
	int ret;

	if (conn->broken || conn->state == KFIR_DOWN)
		return;
	ret = kfir_post_slot(slot);
	if (ret == -FI_EAGAIN) {
		list_add_tail(&slot->node, &conn->unposted);
		kfir_touch(conn);
	} else if (ret) {
		kfir_conn_break(conn, -ret);
	} else if (slot->piece.kind == RDMW_DATA) {
		rdmw_flow_freed(&conn->flow);
		kfir_touch(conn);
	}
}

void kfir_repost_all(struct kfir_conn *conn)
{
	struct kfir_slot *slot, *next;
	LIST_HEAD(slots);

	list_splice_init(&conn->unposted, &slots);
	list_for_each_entry_safe(slot, next, &slots, node) {
		list_del_init(&slot->node);
		kfir_repost(slot);
	}
}

/* ---- pieces ------------------------------------------------------------ */

static void kfir_take_piece(struct kfir_slot *slot)
{
	struct kfir_conn *conn = slot->conn;
	enum rdmw_violation bad = rdmw_flow_arrived(&conn->flow, slot->bytes,
						    slot->len, &slot->piece);

	if (bad) {
		pr_warn_ratelimited(
			"kfabric_rdm: %pISpc breaks the rules (%d)\n",
			&conn->peer->name, bad);
		kfir_conn_break(conn, EPROTO);
		return;
	}
	conn->used = jiffies;
	kfir_peer_busy(conn->ep, conn->peer);
	kfir_touch(conn);
	if (slot->piece.credits)
		conn->moved = jiffies;
	if (slot->piece.kind == RDMW_DATA) {
		slot->shown = 0;
		list_add_tail(&slot->node, &conn->arrived);
		if (list_empty(&conn->waiting))
			list_add_tail(&conn->waiting, &conn->ep->waiting);
		return;
	}
	if (slot->piece.kind == RDMW_BYE)
		conn->leaving = true;
	kfir_repost(slot);
}

void kfir_arrived(struct kfir_slot *slot)
{
	struct kfir_conn *conn = slot->conn;

	if (slot->err)
		kfir_conn_break(conn, slot->err);
	else if (conn->state == KFIR_DIALING)
		list_add_tail(&slot->node, &conn->early);
	else if (!conn->broken || conn->why != EPROTO)
		kfir_take_piece(slot);
}

/* ---- messages ---------------------------------------------------------- */

/* The receive of a message, or NULL; which receives have seen it then. */
static struct kfir_op *kfir_receive_get(struct kfir_conn *conn,
					const struct rdmw_piece *first,
					u64 *shown)
{
	const struct rdmw_label label = {
		.from = (const u8 *)&conn->peer->name,
		.is_tagged = first->flags & RDMW_TAGGED,
		.tag = first->tag,
	};
	struct kfir_ep *ep = conn->ep;
	struct rdmw_want *want;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	want = rdmw_wants_find(&ep->receives, &label, ep->afresh ? 0 : *shown,
			       ep->before);
	if (want)
		rdmw_want_del(&ep->receives, want);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	*shown = ep->before;
	return want ? kfir_op_of_want(want) : NULL;
}

/* What the completion of a receive says of its message, or of none yet. */
static u64 kfir_receive_flags(const struct kfir_op *op)
{
	return FI_RECV | (op->base.is_tagged ? FI_TAGGED : FI_MSG);
}

/* To its place: it has not received anything. */
static void kfir_receive_put(struct kfir_ep *ep, struct kfir_op *op)
{
	struct fi_cq_err_entry *entry = &op->base.comp->entry;
	unsigned long irq;

	op->moved = 0;
	entry->flags = kfir_receive_flags(op);
	entry->data = 0;
	entry->tag = op->base.tag;
	entry->olen = 0;
	spin_lock_irqsave(&ep->post.lock, irq);
	rdmw_want_put(&ep->receives, &op->want);
	ep->came_back = true;
	kfir_kick(ep);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* As much as fits. */
static void kfir_copy_in(struct kfir_op *op, const u8 *from, size_t len)
{
	struct fi_buf buf = fi_buf_linear(from, len);
	struct kfi_buf_iter src, dst;

	len = min(len, op->base.buf.len - op->moved);
	kfi_buf_start(&src, &buf);
	kfi_buf_start(&dst, &op->base.buf);
	kfi_buf_advance(&dst, op->moved);
	kfi_buf_copy(&dst, &src, len);
	op->moved += len;
}

static void kfir_receive_begin(struct kfir_op *op,
			       const struct rdmw_piece *piece)
{
	struct fi_cq_err_entry *entry = &op->base.comp->entry;

	entry->olen = 0;
	if (piece->at > op->base.buf.len)
		entry->olen = piece->at - op->base.buf.len;
	entry->flags = kfir_receive_flags(op);
	if (piece->flags & RDMW_WORD)
		entry->flags |= FI_REMOTE_CQ_DATA;
	entry->data = piece->word;
	entry->tag = piece->tag;
}

static void kfir_receive_end(struct kfir_conn *conn, struct kfir_op *op)
{
	struct kfir_ep *ep = conn->ep;
	struct fi_cq_err_entry *entry = &op->base.comp->entry;

	entry->len = op->moved;
	entry->src_addr = kfi_av_find(ep->post.ep.av, &conn->peer->name);
	kfir_finish(ep, op, entry->olen ? FI_ETRUNC : 0, 0);
}

static void kfir_receive_piece(struct kfir_conn *conn, struct kfir_slot *slot,
			       struct kfir_op *op)
{
	const struct rdmw_piece *piece = &slot->piece;

	if (piece->flags & RDMW_FIRST)
		kfir_receive_begin(op, piece);
	conn->fed = jiffies;
	kfir_copy_in(op, slot->bytes + RDMW_HEADER_BYTES, piece->bytes);
	if (piece->flags & RDMW_LAST)
		kfir_receive_end(conn, op);
	list_del_init(&slot->node);
	kfir_repost(slot);
}

/* Is there a message, or a part of one, that no receive has? */
bool kfir_has_messages(const struct kfir_conn *conn)
{
	return !list_empty(&conn->arrived) || !list_empty(&conn->kept);
}

static void kfir_receive_kept(struct kfir_conn *conn)
{
	struct kfir_kept *kept, *next;
	struct kfir_op *op;

	list_for_each_entry_safe(kept, next, &conn->kept, node) {
		op = kfir_receive_get(conn, &kept->first, &kept->shown);
		if (!op)
			continue;
		kfir_receive_begin(op, &kept->first);
		kfir_copy_in(op, kept->bytes, kept->got);
		conn->fed = jiffies;
		if (kept == conn->filling)
			conn->rx = op;
		else
			kfir_receive_end(conn, op);
		kfir_kept_drop(conn, kept);
	}
}

/*
 * What has arrived goes into receives, as far as there are any for it; the others
 * wait, and those behind them pass by. Pieces that are not of a message which begins
 * here are of the one whose rest was to come.
 */
static void kfir_receive_arrived(struct kfir_conn *conn)
{
	struct kfir_op *op = NULL;
	struct kfir_slot *slot, *next;
	bool begins = false; /* the message at hand does so in this list */
	u16 flags;

	list_for_each_entry_safe(slot, next, &conn->arrived, node) {
		flags = slot->piece.flags;
		if (flags & RDMW_FIRST) {
			op = kfir_receive_get(conn, &slot->piece, &slot->shown);
			begins = true;
		} else if (!begins) {
			op = conn->rx;
		}
		if (op) {
			kfir_receive_piece(conn, slot, op);
		} else if (!begins) {
			kfir_kept_piece(conn, slot);
			list_del_init(&slot->node);
			kfir_repost(slot);
		}
		if (!(flags & RDMW_LAST))
			continue;
		if (!begins)
			conn->rx = NULL;
		begins = false;
	}
	if (begins)
		conn->rx = op;
}

void kfir_receive(struct kfir_conn *conn)
{
	kfir_receive_kept(conn);
	kfir_receive_arrived(conn);
	kfir_keep(conn);
	if (!kfir_has_messages(conn))
		list_del_init(&conn->waiting);
}

/* The connection is down: a message that has not come whole never was. */
void kfir_receive_undo(struct kfir_conn *conn)
{
	struct kfir_slot *slot, *prev;

	if (conn->filling)
		kfir_kept_drop(conn, conn->filling);
	if (conn->rx) {
		kfir_receive_put(conn->ep, conn->rx);
		conn->rx = NULL;
	}
	list_for_each_entry_safe_reverse(slot, prev, &conn->arrived, node)
	{
		if (slot->piece.flags & RDMW_LAST)
			break;
		list_del_init(&slot->node);
	}
}
