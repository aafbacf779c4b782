// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: sending: messages in pieces, credits, farewells.
 *
 * Context: the engine.
 */
#include <linux/jiffies.h>

#include "rdm.h"

static struct kfir_slot *kfir_slot_get(struct kfir_conn *conn)
{
	struct kfir_slot *slot =
		list_first_entry_or_null(&conn->free, struct kfir_slot, node);

	if (slot) {
		list_del_init(&slot->node);
		conn->nr_free--;
	}
	return slot;
}

static void kfir_slot_put(struct kfir_slot *slot)
{
	list_add(&slot->node, &slot->conn->free);
	slot->conn->nr_free++;
}

/* Hand a slot to the inner provider; on failure it is free again. */
static int kfir_slot_send(struct kfir_slot *slot, size_t bytes)
{
	struct kfir_conn *conn = slot->conn;
	struct fi_msg msg = { .buf = fi_buf_linear(slot->bytes, bytes),
			      .addr = FI_ADDR_UNSPEC,
			      .context = &slot->inner };
	int ret = fi_sendmsg(conn->inner, &msg, 0);

	if (ret) {
		kfir_slot_put(slot);
		if (ret != -FI_EAGAIN)
			kfir_conn_break(conn, -ret);
		return ret;
	}
	conn->used = jiffies;
	return 0;
}

/* ---- messages ---------------------------------------------------------- */

/* From here on it cannot be canceled; false: it was. */
static bool kfir_begin(struct kfir_ep *ep, struct kfir_op *op)
{
	unsigned long irq;
	bool yes;

	spin_lock_irqsave(&ep->post.lock, irq);
	yes = !op->canceled;
	op->begun = yes;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return yes;
}

/* Nothing of it was handed over, after all. */
static void kfir_begin_undo(struct kfir_ep *ep, struct kfir_op *op)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	op->begun = false;
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

static void kfir_copy_out(struct kfir_op *op, u8 *to, size_t len)
{
	struct fi_buf buf = fi_buf_linear(to, len);
	struct kfi_buf_iter src, dst;

	kfi_buf_start(&src, &op->base.buf);
	kfi_buf_advance(&src, op->moved);
	kfi_buf_start(&dst, &buf);
	kfi_buf_copy(&dst, &src, len);
}

/* 0: a piece is on its way; else nothing has changed. */
static int kfir_send_piece(struct kfir_conn *conn, struct kfir_op *op)
{
	const struct rdmw_message message = {
		.total = op->base.buf.len,
		.flags = (op->base.flags & FI_REMOTE_CQ_DATA ? RDMW_WORD : 0) |
			 (op->base.is_tagged ? RDMW_TAGGED : 0),
		.word = op->base.data,
		.tag = op->base.tag,
	};
	struct rdmw_flow flow = conn->flow;
	struct kfir_slot *slot;
	size_t room, n;
	int ret;

	room = min_t(size_t, rdmw_flow_may_send(&conn->flow),
		     KFIR_PIECE_BYTES - RDMW_HEADER_BYTES);
	if (!room)
		return -FI_EAGAIN;
	slot = kfir_slot_get(conn);
	if (!slot)
		return -FI_EAGAIN;
	n = min_t(size_t, room, message.total - op->moved);
	rdmw_flow_data(&flow, &message, op->moved, n, slot->bytes);
	kfir_copy_out(op, slot->bytes + RDMW_HEADER_BYTES, n);
	slot->op = op;
	ret = kfir_slot_send(slot, RDMW_HEADER_BYTES + n);
	if (ret)
		return ret;
	conn->flow = flow;
	op->moved += n;
	op->pieces++;
	op->flying++;
	op->whole = op->moved == message.total;
	return 0;
}

/* Leave a connection between two messages. */
static void kfir_leave(struct kfir_conn *conn)
{
	struct kfir_peer *peer = conn->peer;

	kfir_touch(conn);
	if (peer->conn == conn)
		peer->conn = NULL;
}

static void kfir_send_on(struct kfir_ep *ep, struct kfir_conn *conn)
{
	struct kfir_peer *peer = conn->peer;
	struct kfir_op *op;

	for (;;) {
		op = list_first_entry_or_null(&peer->sends, struct kfir_op,
					      base.node);
		if (conn->leaving && !(op && op->pieces)) {
			kfir_leave(conn);
			return;
		}
		if (!op || conn->broken)
			return;
		if (!op->begun && !kfir_begin(ep, op)) {
			kfir_finish(ep, op, ECANCELED, 0);
			continue;
		}
		if (op->base.is_tagged &&
		    !(conn->flow.features & RDMW_FEATURE_TAGS)) {
			kfir_finish(ep, op, FI_EOPNOTSUPP, 0);
			continue;
		}
		if (kfir_send_piece(conn, op)) {
			if (!op->pieces)
				kfir_begin_undo(ep, op);
			return;
		}
		if (op->whole)
			list_move_tail(&op->base.node, &conn->flying);
	}
}

/* What has left on another connection is to arrive first. */
static bool kfir_is_behind(const struct kfir_peer *peer)
{
	const struct kfir_conn *conn;

	list_for_each_entry(conn, &peer->conns, of_peer)
		if (conn != peer->conn && conn->leaving &&
		    !list_empty(&conn->flying))
			return true;
	return false;
}

void kfir_send_all(struct kfir_ep *ep, struct kfir_peer *peer)
{
	if (peer->conn && peer->conn->state == KFIR_UP && !kfir_is_behind(peer))
		kfir_send_on(ep, peer->conn);
	if (!peer->conn && !list_empty(&peer->sends) && !kfir_is_behind(peer) &&
	    time_after_eq(jiffies, peer->retry_at))
		kfir_dial(ep, peer);
	if (list_empty(&peer->sends))
		kfir_peer_drop(peer);
}

/* The inner provider has done with a slot. */
void kfir_sent(struct kfir_slot *slot)
{
	struct kfir_conn *conn = slot->conn;
	struct kfir_op *op = slot->op;

	slot->op = NULL;
	kfir_slot_put(slot);
	if (slot->err) {
		/* What it was about is ended with its connection. */
		kfir_conn_break(conn, slot->err);
		return;
	}
	conn->used = jiffies;
	if (op)
		conn->moved = jiffies;
	kfir_touch(conn);
	kfir_peer_busy(conn->ep, conn->peer);
	if (op && !--op->flying && op->whole)
		kfir_finish(conn->ep, op, 0, 0);
}

/* ---- what needs no credit ---------------------------------------------- */

/* Credits that are due, and the farewell of one that is left. */
void kfir_send_control(struct kfir_conn *conn)
{
	struct rdmw_flow flow = conn->flow;
	struct kfir_slot *slot;
	bool in_use = conn->peer->conn == conn;

	if (conn->state != KFIR_UP || conn->broken)
		return;
	slot = kfir_slot_get(conn);
	if (!slot)
		return;
	if (!rdmw_flow_credit(&flow, slot->bytes) &&
	    (!conn->leaving || in_use || !rdmw_flow_bye(&flow, slot->bytes))) {
		kfir_slot_put(slot);
	} else {
		if (!kfir_slot_send(slot, RDMW_HEADER_BYTES))
			conn->flow = flow;
		/* There may be more, or it was not taken. */
		kfir_touch(conn);
		return;
	}
	if (conn->flow.bye_in && conn->flow.bye_out &&
	    conn->nr_free == KFIR_TX_SLOTS)
		kfir_conn_break(conn, 0);
}
