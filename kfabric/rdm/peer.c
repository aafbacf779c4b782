// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: peers: found by name, there as long as they have connections
 * or sends.
 *
 * Context: the engine.
 */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rdm.h"

static struct hlist_head *kfir_peer_head(struct kfir_ep *ep,
					 const struct sockaddr_in6 *name)
{
	return &ep->peers[jhash(name, sizeof(*name), (u32)ep->instance) %
			  KFIR_HASH_SIZE];
}

/* NULL: it is not there. */
struct kfir_peer *kfir_peer_find(struct kfir_ep *ep,
				 const struct sockaddr_in6 *name)
{
	struct kfir_peer *peer = ep->last_peer;

	if (peer && !memcmp(&peer->name, name, sizeof(*name)))
		return peer;
	hlist_for_each_entry(peer, kfir_peer_head(ep, name), hash)
	{
		if (memcmp(&peer->name, name, sizeof(*name)))
			continue;
		ep->last_peer = peer;
		return peer;
	}
	return NULL;
}

/* NULL: there is no memory. */
struct kfir_peer *kfir_peer_get(struct kfir_ep *ep,
				const struct sockaddr_in6 *name)
{
	struct kfir_peer *peer = kfir_peer_find(ep, name);

	if (peer)
		return peer;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return NULL;
	peer->name = *name;
	peer->number = FI_ADDR_UNSPEC;
	INIT_LIST_HEAD(&peer->busy);
	INIT_LIST_HEAD(&peer->sends);
	INIT_LIST_HEAD(&peer->conns);
	peer->retry_at = jiffies;
	hlist_add_head(&peer->hash, kfir_peer_head(ep, name));
	/* Until it has something, it is looked at once. */
	kfir_peer_busy(ep, peer);
	return peer;
}

/* To be looked at; again, if it is stalled. */
void kfir_peer_busy(struct kfir_ep *ep, struct kfir_peer *peer)
{
	list_move_tail(&peer->busy, &ep->busy);
}

/* Not to be looked at until something comes, or not to be there any more. */
void kfir_peer_drop(struct kfir_ep *ep, struct kfir_peer *peer)
{
	if (!list_empty(&peer->busy))
		list_del_init(&peer->busy);
	if (!list_empty(&peer->conns) || !list_empty(&peer->sends))
		return;
	if (ep->last_peer == peer)
		ep->last_peer = NULL;
	hlist_del(&peer->hash);
	kfree(peer);
}

/* When to try again, after a connection has not come to be or has ended. */
void kfir_peer_retry(struct kfir_peer *peer, int why, bool at_once)
{
	peer->why = why;
	if (at_once || !peer->retry_ms)
		peer->retry_ms = KFIR_RETRY_MIN_MS;
	else
		peer->retry_ms = min(peer->retry_ms * 2,
				     (unsigned int)KFIR_RETRY_MAX_MS);
	peer->retry_at = jiffies + msecs_to_jiffies(peer->retry_ms);
}

/* Its time counts from the last data that went to the peer, or credit that came. */
static bool kfir_is_late(const struct kfir_op *op, const struct kfir_conn *conn)
{
	u32 ms = READ_ONCE(op->ctx->post.ep.op_timeout_ms);

	return time_after_eq(jiffies, op->deadline) &&
	       (!conn || !conn->moved ||
		time_after_eq(jiffies, conn->moved + msecs_to_jiffies(ms)));
}

/*
 * End the sends that were canceled or are late, and of which nothing was sent; what is
 * in the middle of one ends with its connection.
 */
void kfir_peer_check(struct kfir_peer *peer)
{
	struct kfir_conn *conn = peer->conn;
	/* It has answered to all that it got, and takes no more. */
	bool is_full = conn && conn->state == KFIR_UP &&
		       conn->nr_free == KFIR_TX_SLOTS;
	struct kfir_op *op, *next;

	list_for_each_entry_safe(op, next, &peer->sends, base.node) {
		if (kfi_send_is_canceled(&op->send)) {
			if (op->pieces)
				kfir_conn_break(conn, ECONNABORTED);
			else
				kfir_finish(op, ECANCELED, 0);
		} else if (!kfir_is_late(op, conn)) {
			continue;
		} else if (op->pieces) {
			/* The peer has half of it, and takes no more. */
			kfir_conn_break(conn, ETIMEDOUT);
		} else {
			kfir_finish(op, is_full ? FI_ENOBUFS : EHOSTUNREACH,
				    -peer->why);
		}
	}
}
