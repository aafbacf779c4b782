// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: receiving: pieces come into buffers of their connection and
 * wait there for receives of the endpoint.
 *
 * Context: the engine.
 */
#include <linux/jiffies.h>

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
		kfir_stir(conn);
	} else if (ret) {
		kfir_conn_break(conn, -ret);
	} else if (rdmw_has_bytes(slot->piece.kind)) {
		rdmw_flow_freed(&conn->flow);
		kfir_stir(conn);
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

/* ---- who waits for receives ---------------------------------------------- */

/* It has something that the next walk is to look at. */
void kfir_wait(struct kfir_conn *conn)
{
	struct kfir_ep *ep = conn->ep;

	if (list_empty(&conn->waiting)) {
		list_add_tail(&conn->waiting, &ep->waiting);
		ep->nr_waiting++;
	}
	if (list_empty(&conn->unseen))
		list_add_tail(&conn->unseen, &ep->unseen);
}

void kfir_wait_end(struct kfir_conn *conn)
{
	list_del_init(&conn->unseen);
	if (list_empty(&conn->waiting))
		return;
	list_del_init(&conn->waiting);
	conn->ep->nr_waiting--;
}

/* ---- pieces ------------------------------------------------------------ */

static void kfir_receive_piece(struct kfir_conn *conn, struct kfir_slot *slot,
			       struct kfir_rx *rx)
{
	conn->fed = jiffies;
	kfir_rx_copy(rx, kfir_slot_data(slot), slot->piece.bytes);
	if (slot->piece.flags & RDMW_LAST)
		kfir_rx_end(conn, rx);
	kfir_repost(slot);
}

/*
 * A whole message that comes while nobody waits passes nothing by: it needs no walk to
 * go into a receive. True: it has gone into one.
 */
static bool kfir_receive_at_once(struct kfir_conn *conn, struct kfir_slot *slot)
{
	const u16 whole = RDMW_FIRST | RDMW_LAST;
	struct kfir_rx rx;

	if (slot->piece.kind != RDMW_DATA ||
	    (slot->piece.flags & whole) != whole ||
	    !list_empty(&conn->ep->waiting))
		return false;
	if (!kfir_rx_get(conn, &slot->piece, NULL, &rx))
		return false;
	kfir_receive_piece(conn, slot, &rx);
	return true;
}

static void kfir_take_piece(struct kfir_slot *slot)
{
	struct kfir_conn *conn = slot->conn;
	enum rdmw_violation bad;

	if (slot->bare)
		bad = rdmw_flow_bare_arrived(&conn->flow, slot->data, slot->len,
					     &slot->piece);
	else
		bad = rdmw_flow_arrived(&conn->flow, slot->bytes, slot->len,
					&slot->piece);
	if (bad) {
		kfir_conn_violated(conn, bad);
		return;
	}
	conn->used = jiffies;
	if (slot->piece.credits)
		conn->moved = jiffies;
	if (kfir_receive_at_once(conn, slot))
		return;
	if (slot->piece.kind == RDMW_BYE)
		conn->leaving = true;
	kfir_stir(conn);
	switch (slot->piece.kind) {
	case RDMW_CREDIT:
	case RDMW_BYE:
		break;
	case RDMW_GRANT:
	case RDMW_REVOKE:
	case RDMW_RETURN:
		kfir_take_grant(conn, slot);
		break;
	default:
		slot->shown = 0;
		list_add_tail(&slot->node, &conn->arrived);
		kfir_wait(conn);
		return;
	}
	kfir_repost(slot);
}

void kfir_arrived(struct kfir_slot *slot)
{
	struct kfir_conn *conn = slot->conn;

	if (slot->err)
		kfir_conn_break(conn, slot->err);
	else if (conn->state == KFIR_DIALING)
		list_add_tail(&slot->node, &conn->early);
	else if (!conn->violated)
		kfir_take_piece(slot);
}

/* ---- messages ---------------------------------------------------------- */

/* Is there a message, or a part of one, that no receive has? */
bool kfir_has_messages(const struct kfir_conn *conn)
{
	return !list_empty(&conn->arrived) || !list_empty(&conn->kept);
}

/*
 * What has arrived goes into receives, as far as there are any for it; the others
 * wait, and those behind them pass by. Pieces that are not of a message which begins
 * here are of the one whose rest was to come.
 */
static void kfir_receive_arrived(struct kfir_conn *conn)
{
	struct kfir_rx begun = {}, *rx = &conn->rx;
	struct kfir_slot *slot, *next;
	u16 flags;

	list_for_each_entry_safe(slot, next, &conn->arrived, node) {
		if (slot->piece.kind != RDMW_DATA &&
		    !kfir_rma_piece(conn, slot)) {
			list_del_init(&slot->node);
			kfir_repost(slot);
			continue;
		}
		flags = slot->piece.flags;
		if (flags & RDMW_FIRST) {
			rx = &begun;
			kfir_rx_get(conn, &slot->piece, &slot->shown, rx);
		}
		if (rx->op || rx->drop) {
			list_del_init(&slot->node);
			kfir_receive_piece(conn, slot, rx);
		} else if (rx == &conn->rx) {
			kfir_kept_piece(conn, slot);
			list_del_init(&slot->node);
			kfir_repost(slot);
		}
		if (flags & RDMW_LAST)
			rx = &conn->rx;
	}
	if (rx == &begun)
		conn->rx = begun;
}

void kfir_receive(struct kfir_conn *conn)
{
	struct kfir_kept *kept, *next;
	struct kfir_rx rx;

	list_del_init(&conn->unseen);
	list_for_each_entry_safe(kept, next, &conn->kept, node) {
		if (!kfir_rx_get(conn, &kept->first, &kept->shown, &rx))
			continue;
		kfir_rx_copy(&rx, kept->bytes, kept->got);
		conn->fed = jiffies;
		if (kept == conn->filling)
			conn->rx = rx;
		else
			kfir_rx_end(conn, &rx);
		kfir_kept_drop(conn, kept);
	}
	kfir_receive_arrived(conn);
	kfir_keep(conn);
	if (!kfir_has_messages(conn))
		kfir_wait_end(conn);
}

/* The connection is down: a message that has not come whole never was. */
void kfir_receive_undo(struct kfir_conn *conn)
{
	struct kfir_slot *slot, *prev;

	if (conn->filling)
		kfir_kept_drop(conn, conn->filling);
	if (conn->rx.op)
		kfir_rx_undo(&conn->rx);
	conn->rx.drop = false;
	list_for_each_entry_safe_reverse(slot, prev, &conn->arrived, node)
	{
		if (slot->piece.flags & RDMW_LAST)
			break;
		list_del_init(&slot->node);
	}
}
