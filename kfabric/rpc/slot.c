// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: calls under way on a connection.
 *
 * A call has a slot from before it is sent until it has been sent and its reply is
 * there, also when nobody waits for that any more: it is the server that grants how
 * many calls there may be, and it does not know who has given up.
 *
 * Until its message goes to the fabric a slot is its sender's alone, whatever the server
 * says: while regions are made it sleeps, and xids can be guessed. From then on it
 * belongs to whoever has the reply first, or takes back what could not be sent.
 *
 * Context: any, but where a function says otherwise.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "krpc.h"

static bool krpc_slot_is_free(const struct krpc_slot *slot)
{
	return !slot->req && !slot->is_sending;
}

static bool krpc_slot_is_granted(const struct krpc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return conn->n_used < min(conn->granted, KRPC_CREDITS);
}

/**
 * krpc_slot_has_room() - would krpc_slot_take() say something else than "wait"?
 * @conn: connection
 *
 * Return: yes or no.
 */
bool krpc_slot_has_room(struct krpc_conn *conn)
{
	unsigned long flags;
	bool has_room;

	spin_lock_irqsave(&conn->lock, flags);
	has_room = conn->error || krpc_slot_is_granted(conn);
	spin_unlock_irqrestore(&conn->lock, flags);
	return has_room;
}

/**
 * krpc_slot_take() - begin a call
 * @conn: connection
 * @req: whose call it is; the slot gets a reference
 * @xid: of the call
 *
 * No reply is believed before krpc_slot_post().
 *
 * Return: the slot; NULL: as many calls are under way as the server has granted; an
 * error: the connection is over, or has a call of this xid (-EALREADY).
 */
struct krpc_slot *krpc_slot_take(struct krpc_conn *conn, struct krpc_req *req,
				 u32 xid)
{
	struct krpc_slot *slot, *found = NULL;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->error)
		found = ERR_PTR(conn->error);
	for (i = 0; !IS_ERR(found) && i < KRPC_CREDITS; i++) {
		slot = krpc_conn_slot(conn, i);
		if (krpc_slot_is_free(slot))
			found = found ?: slot;
		else if (slot->req && slot->call.xid == xid)
			found = ERR_PTR(-EALREADY);
	}
	if (!IS_ERR(found) && !krpc_slot_is_granted(conn))
		found = NULL;
	if (!IS_ERR_OR_NULL(found)) {
		conn->n_used++;
		kref_get(&req->ref);
		found->req = req;
		found->is_answered = true;
		found->call = (struct rpcw_call){ .xid = xid,
						  .credits = KRPC_CREDITS };
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return found;
}

/**
 * krpc_slot_answer() - there is a reply
 * @conn: connection
 * @xid: whose it is
 *
 * Each call has one reply, after it was sent: another one finds nothing.
 *
 * Return: the slot, which krpc_slot_release() gives back; NULL: no call waits for it.
 */
struct krpc_slot *krpc_slot_answer(struct krpc_conn *conn, u32 xid)
{
	struct krpc_slot *slot, *found = NULL;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&conn->lock, flags);
	for (i = 0; !found && i < KRPC_CREDITS; i++) {
		slot = krpc_conn_slot(conn, i);
		if (slot->req && !slot->is_answered && slot->call.xid == xid)
			found = slot;
	}
	if (found)
		found->is_answered = true;
	spin_unlock_irqrestore(&conn->lock, flags);
	return found;
}

/* One of the two that use a slot has done with it. */
static void krpc_slot_unuse(struct krpc_conn *conn, struct krpc_slot *slot)
{
	lockdep_assert_held(&conn->lock);
	if (krpc_slot_is_free(slot) && !slot->is_answer)
		conn->n_used--;
}

/**
 * krpc_slot_release() - a call has its reply, or was not sent
 * @conn: connection
 * @slot: slot of a request without regions
 */
void krpc_slot_release(struct krpc_conn *conn, struct krpc_slot *slot)
{
	struct krpc_req *req;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	req = slot->req;
	slot->req = NULL;
	krpc_slot_unuse(conn, slot);
	spin_unlock_irqrestore(&conn->lock, flags);
	krpc_req_put(req);
}

/**
 * krpc_slot_post() - a slot's message is about to go to the fabric
 * @conn: connection
 * @slot: slot whose regions are all there, or of an answer
 *
 * The completion, and then the reply, may come before the post returns.
 */
void krpc_slot_post(struct krpc_conn *conn, struct krpc_slot *slot)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	slot->is_sending = true;
	slot->is_answered = false;
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * krpc_slot_unpost() - the fabric has not taken a slot's message
 * @conn: connection
 * @slot: slot after krpc_slot_post()
 *
 * Return: it is the sender's again; false: it has a reply, though nobody has asked, and
 * is of whoever looks at that.
 */
bool krpc_slot_unpost(struct krpc_conn *conn, struct krpc_slot *slot)
{
	unsigned long flags;
	bool is_senders;

	spin_lock_irqsave(&conn->lock, flags);
	is_senders = !slot->is_answered;
	slot->is_answered = true;
	slot->is_sending = false;
	krpc_slot_unuse(conn, slot);
	spin_unlock_irqrestore(&conn->lock, flags);
	return is_senders;
}

/**
 * krpc_slot_sent() - the fabric has done with a call's message
 * @conn: connection
 * @slot: slot
 */
void krpc_slot_sent(struct krpc_conn *conn, struct krpc_slot *slot)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	slot->is_sending = false;
	krpc_slot_unuse(conn, slot);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * krpc_slot_take_answer() - begin an answer to a call of the server's
 * @conn: connection
 *
 * Return: the slot, which is sending; NULL: as many answers are.
 */
struct krpc_slot *krpc_slot_take_answer(struct krpc_conn *conn)
{
	struct krpc_slot *slot, *found = NULL;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&conn->lock, flags);
	for (i = KRPC_CREDITS; !found && i < KRPC_SLOTS; i++) {
		slot = krpc_conn_slot(conn, i);
		if (krpc_slot_is_free(slot))
			found = slot;
	}
	if (found)
		found->is_sending = true;
	spin_unlock_irqrestore(&conn->lock, flags);
	return found;
}

/**
 * krpc_slot_fence_all() - let the server reach nothing any more
 * @conn: connection
 *
 * Context: process; nobody sends, and no reply is looked at.
 */
void krpc_slot_fence_all(struct krpc_conn *conn)
{
	struct krpc_slot *slot;
	u32 i;

	for (i = 0; i < KRPC_CREDITS; i++) {
		slot = krpc_conn_slot(conn, i);
		if (slot->req)
			krpc_req_fence(slot->req);
	}
}

/**
 * krpc_slot_drop_all() - no call has a reply any more
 * @conn: connection whose endpoint is closed
 *
 * Context: process; krpc_slot_fence_all() was called.
 */
void krpc_slot_drop_all(struct krpc_conn *conn)
{
	struct krpc_slot *slot;
	u32 i;

	for (i = 0; i < KRPC_CREDITS; i++) {
		slot = krpc_conn_slot(conn, i);
		if (slot->req)
			krpc_slot_release(conn, slot);
	}
}
