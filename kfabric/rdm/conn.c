// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: connections: made, used, left, ended.
 *
 * Context: the engine; kfir_conn_end() at the end of the endpoint's life also its
 *	close. What is not freed at once is ended in one place, where nobody looks
 *	at a list of connections: kfir_conn_break() only says so.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "rdm.h"

/* ---- memory ------------------------------------------------------------ */

/* What comes without a header is at the beginning of a page, and quickly copied. */
int kfir_rx_pages_alloc(const struct kfir_conn *conn, void *slots, int nr,
			gfp_t gfp)
{
	struct kfir_slot *slot;
	int i;

	for (i = 0; i < nr; i++) {
		slot = kfir_slot_of(conn, slots, i);
		slot->bytes = (u8 *)__get_free_pages(
			gfp, get_order(KFIR_PIECE_BYTES));
		if (!slot->bytes)
			return -ENOMEM;
	}
	return 0;
}

void kfir_rx_pages_free(const struct kfir_conn *conn, void *slots, int nr)
{
	int i;

	for (i = 0; slots && i < nr; i++)
		free_pages((unsigned long)kfir_slot_of(conn, slots, i)->bytes,
			   get_order(KFIR_PIECE_BYTES));
}

static void kfir_slots_free(struct kfir_conn *conn)
{
	kfir_rx_pages_free(conn, conn->slots, KFIR_RX_SLOTS);
	kvfree(conn->slots);
	vfree(conn->bytes);
}

static int kfir_slots_alloc(struct kfir_conn *conn, size_t context)
{
	const int nr = KFIR_RX_SLOTS + KFIR_TX_SLOTS;
	struct kfir_slot *slot;
	int i;

	conn->stride =
		ALIGN(offsetof(struct kfir_slot, inner) + context, sizeof(u64));
	conn->slots = kvcalloc(nr, conn->stride, GFP_KERNEL);
	conn->bytes = vzalloc(KFIR_TX_SLOTS * KFIR_PIECE_BYTES);
	if (!conn->slots || !conn->bytes ||
	    kfir_rx_pages_alloc(conn, conn->slots, KFIR_RX_SLOTS, GFP_KERNEL))
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		slot = kfir_slot_at(conn, i);
		slot->conn = conn;
		slot->rx = i < KFIR_RX_SLOTS;
		INIT_LIST_HEAD(&slot->node);
		if (slot->rx)
			continue;
		slot->bytes =
			conn->bytes + (i - KFIR_RX_SLOTS) * KFIR_PIECE_BYTES;
		list_add_tail(&slot->node, &conn->free);
	}
	conn->nr_free = KFIR_TX_SLOTS;
	return 0;
}

static struct kfir_conn *kfir_conn_alloc(struct kfir_ep *ep,
					 struct kfir_peer *peer)
{
	const struct kfir_domain *d = kfir_domain_of(ep);
	size_t context = d->info->domain_attr->op_context_size;
	struct kfir_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	u32 features = RDMW_FEATURES;

	if (!conn)
		return NULL;
	/* iWARP has no completion data. */
	if (d->info->domain_attr->cq_data_size < sizeof(u32))
		features &= ~RDMW_FEATURE_BARE;
	if (!(d->info->caps & FI_RMA))
		features &= ~RDMW_FEATURE_GRANT;
	conn->ep = ep;
	conn->peer = peer;
	conn->used = jiffies;
	conn->offer = (struct rdmw_offer){ .instance = ep->instance,
					   .features = features,
					   .window = KFIR_WINDOW,
					   .piece_bytes = KFIR_PIECE_BYTES,
					   .last_ctx = ep->last_ctx };
	INIT_LIST_HEAD(&conn->touched);
	INIT_LIST_HEAD(&conn->waiting);
	INIT_LIST_HEAD(&conn->unseen);
	INIT_LIST_HEAD(&conn->early);
	INIT_LIST_HEAD(&conn->arrived);
	INIT_LIST_HEAD(&conn->kept);
	INIT_LIST_HEAD(&conn->unposted);
	INIT_LIST_HEAD(&conn->free);
	INIT_LIST_HEAD(&conn->flying);
	INIT_LIST_HEAD(&conn->granted);
	if (kfir_slots_alloc(conn, context)) {
		kfir_slots_free(conn);
		kfree(conn);
		return NULL;
	}
	list_add_tail(&conn->node, &ep->conns);
	list_add_tail(&conn->of_peer, &peer->conns);
	ep->nr_conns++;
	peer->nr_conns++;
	return conn;
}

/* Closed, or never opened; nothing is on any of its lists. */
void kfir_conn_free(struct kfir_conn *conn)
{
	list_del(&conn->node);
	list_del(&conn->of_peer);
	list_del(&conn->touched);
	kfir_wait_end(conn);
	conn->ep->nr_conns--;
	conn->peer->nr_conns--;
	/* It may be gone now. */
	kfir_peer_busy(conn->ep, conn->peer);
	kfir_kept_drop_all(conn);
	kfir_grown_free(conn);
	WARN_ON_ONCE(!conn->ep->nr_conns && conn->ep->grown_bytes);
	kfir_slots_free(conn);
	kfree(conn);
}

/* ---- opening ----------------------------------------------------------- */

/* The inner provider has room for what it had refused, of whichever peer. */
static void kfir_space_came(struct fid_ep *inner, u64 dir, void *context)
{
	struct kfir_ep *ep = ((struct kfir_conn *)context)->ep;
	unsigned long irq;

	spin_lock_irqsave(&ep->lock, irq);
	ep->came_room = true;
	kfir_kick_locked(ep);
	spin_unlock_irqrestore(&ep->lock, irq);
}

/* Open the inner endpoint with its receives; the caller frees the connection. */
static int kfir_conn_open(struct kfir_conn *conn, struct fi_info *info)
{
	struct fi_space_handler space = { .fn = kfir_space_came,
					  .context = conn };
	struct kfir_ep *ep = conn->ep;
	int i, ret;

	info->tx_attr->size = KFIR_TX_SLOTS;
	/* A place of the queue is small; what it is for comes when it is needed. */
	info->rx_attr->size = KFIR_RX_SLOTS + KFIR_MORE_SLOTS;
	info->rx_attr->iov_limit = 1;
	info->tx_attr->op_flags = 0;
	info->rx_attr->op_flags = 0;
	ret = fi_endpoint(kfir_domain_of(ep)->inner, info, &conn->inner, conn);
	if (ret)
		return ret;
	WRITE_ONCE(conn->inner->op_timeout_ms, kfir_op_timeout_ms(ep));
	WRITE_ONCE(conn->inner->cm_timeout_ms, kfir_cm_timeout_ms(ep));
	ret = fi_setopt(&conn->inner->fid, FI_OPT_ENDPOINT,
			FI_OPT_SPACE_HANDLER, &space, sizeof(space));
	ret = ret
		      ?: fi_ep_bind(conn->inner, &ep->cq->fid,
				    FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(conn->inner, &ep->eq->fid, 0);
	ret = ret ?: fi_enable(conn->inner);
	for (i = 0; i < KFIR_RX_SLOTS && !ret; i++)
		ret = kfir_post_slot(kfir_slot_at(conn, i));
	return ret;
}

static void kfir_conn_abort(struct kfir_conn *conn)
{
	conn->broken = true;
	if (conn->inner)
		fi_close(&conn->inner->fid);
	kfir_take_done(conn->ep);
	kfir_conn_free(conn);
}

/* The inner provider's info to talk to a peer; from our address, of any port. */
static struct fi_info *kfir_info_for(struct kfir_ep *ep,
				     const struct kfir_peer *peer)
{
	struct sockaddr_in6 src = ep->name;
	bool bound = !kfi_name_is_any(&src) &&
		     src.sin6_family == peer->name.sin6_family;
	struct fi_info *info =
		kfi_info_to_peer(kfir_domain_of(ep)->info, &peer->name,
				 kfi_addr_len(&peer->name));

	if (!info)
		return NULL;
	src.sin6_port = 0;
	info->addr_format = peer->name.sin6_family == AF_INET6 ? FI_SOCKADDR_IN6
							       : FI_SOCKADDR_IN;
	if (kfi_info_set_addr(&info->src_addr, &info->src_addrlen,
			      bound ? &src : NULL, kfi_addr_len(&src))) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

void kfir_dial(struct kfir_ep *ep, struct kfir_peer *peer)
{
	u8 hello[RDMW_HELLO_BYTES];
	struct kfir_conn *conn = NULL;
	struct fi_info *info;
	int ret = -ENOMEM;

	if (peer->nr_conns >= KFIR_PEER_CONNS_MAX ||
	    ep->nr_conns >= KFIR_CONNS_MAX) {
		kfir_peer_retry(peer, EBUSY, false);
		return;
	}
	info = kfir_info_for(ep, peer);
	if (info)
		conn = kfir_conn_alloc(ep, peer);
	if (conn) {
		conn->offer.serial = ep->serial++;
		ret = kfir_conn_open(conn, info);
	}
	if (!ret) {
		kfir_hello_make(conn, hello);
		ret = fi_connect(conn->inner, NULL, hello, sizeof(hello));
	}
	fi_freeinfo(info);
	if (!ret) {
		peer->conn = conn;
		return;
	}
	if (conn)
		kfir_conn_abort(conn);
	kfir_peer_retry(peer, -ret, false);
}

int kfir_conn_accept(struct kfir_ep *ep, struct kfir_peer *peer,
		     struct fi_info *info, const struct rdmw_offer *theirs,
		     struct kfir_conn **out)
{
	struct kfir_conn *conn = kfir_conn_alloc(ep, peer);
	u8 welcome[RDMW_WELCOME_BYTES];
	int ret;

	if (!conn)
		return -ENOMEM;
	conn->state = KFIR_ACCEPTING;
	conn->offer.serial = ep->serial;
	conn->offer.features &= theirs->features;
	rdmw_flow_init(&conn->flow, &conn->offer, theirs);
	ret = kfir_conn_open(conn, info);
	if (!ret) {
		rdmw_welcome_pack(&conn->offer, welcome);
		ret = fi_accept(conn->inner, welcome, sizeof(welcome));
	}
	if (ret) {
		kfir_conn_abort(conn);
		return ret;
	}
	*out = conn;
	return 0;
}

void kfir_conn_up(struct kfir_conn *conn)
{
	struct kfir_slot *slot, *next;
	LIST_HEAD(early);

	if (conn->broken)
		return;
	conn->state = KFIR_UP;
	conn->used = jiffies;
	conn->peer->retry_ms = 0;
	list_splice_init(&conn->early, &early);
	list_for_each_entry_safe(slot, next, &early, node) {
		list_del_init(&slot->node);
		kfir_arrived(slot);
	}
	kfir_peer_busy(conn->ep, conn->peer);
	kfir_touch(conn);
}

/* ---- ending ------------------------------------------------------------ */

void kfir_conn_break(struct kfir_conn *conn, int why)
{
	if (conn->broken && conn->shut && why != ECANCELED) {
		/* The end is told before its reason, which an operation has. */
		conn->shut = false;
		conn->why = why;
	}
	if (conn->broken || conn->state == KFIR_DOWN)
		return;
	conn->broken = true;
	conn->why = why;
	kfir_touch(conn);
}

/*
 * The peer breaks the rules: what it says from here on does not count, also where the
 * connection is over for another reason.
 */
void kfir_conn_violated(struct kfir_conn *conn, enum rdmw_violation bad)
{
	pr_warn_ratelimited("kfabric_rdm: %pISpc breaks the rules (%d)\n",
			    &conn->peer->name, bad);
	conn->violated = true;
	kfir_conn_break(conn, EPROTO);
}

static int kfir_error_of(const struct kfir_conn *conn)
{
	if (conn->ep->ending)
		return conn->ep->ending;
	switch (conn->why) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENOBUFS:
		return EHOSTUNREACH;
	default:
		return FI_ECONNRESET;
	}
}

/* The next one to send on: the oldest that is there, if there is one. */
static void kfir_conn_replace(struct kfir_conn *conn)
{
	struct kfir_peer *peer = conn->peer;
	struct kfir_conn *other;

	if (peer->conn != conn)
		return;
	peer->conn = NULL;
	list_for_each_entry(other, &peer->conns, of_peer) {
		if (other->state == KFIR_DOWN || other->broken ||
		    other->leaving)
			continue;
		peer->conn = other;
		return;
	}
}

/* After this nothing of it comes any more. It may be freed, but for messages. */
void kfir_conn_end(struct kfir_conn *conn)
{
	struct kfir_peer *peer = conn->peer;
	bool was_up = conn->state == KFIR_UP;
	struct kfir_op *op, *next;

	/* Nothing is posted to it any more. */
	conn->broken = true;
	kfir_grants_end(conn);
	fi_close(&conn->inner->fid);
	kfir_take_done(conn->ep);
	/* All of them: another's message may be before this one's. */
	kfir_receive_all(conn->ep);
	conn->state = KFIR_DOWN;
	list_del_init(&conn->touched);
	/* What was handed over may have arrived, or not. */
	list_for_each_entry_safe(op, next, &conn->flying, base.node)
		if (op->is_answered)
			kfir_rma_finish(op);
		else
			kfir_finish(op, kfir_error_of(conn), conn->why);
	op = list_first_entry_or_null(&peer->sends, struct kfir_op, base.node);
	if (peer->conn == conn && op && op->pieces)
		kfir_finish(op, kfir_error_of(conn), conn->why);
	if (peer->conn == conn && !conn->leaving)
		kfir_peer_retry(peer, conn->why, was_up || conn->crossed);
	kfir_conn_replace(conn);
	kfir_receive_undo(conn);
	kfir_peer_busy(conn->ep, peer);
	if (!kfir_has_messages(conn))
		kfir_conn_free(conn);
}
