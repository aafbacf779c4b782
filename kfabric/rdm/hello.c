// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: what is said while a connection is made: events of the inner
 * provider, who is who, who connects.
 *
 * Context: the engine.
 */
#include <linux/in.h>
#include <linux/ratelimit.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "rdm.h"

#define KFIR_EVENTS 32 /* of one pass */

/* ---- names ------------------------------------------------------------- */

void kfir_hello_make(struct kfir_conn *conn, u8 *out)
{
	const struct sockaddr_in6 *name = &conn->ep->name;
	/* Both families have the port at the same place. */
	struct rdmw_hello hello = { .offer = conn->offer,
				    .port = be16_to_cpu(name->sin6_port) };
	struct in6_addr addr = {};

	if (name->sin6_family == AF_INET6)
		addr = name->sin6_addr;
	else if (!kfi_name_is_any(name))
		ipv6_addr_set_v4mapped(
			((const struct sockaddr_in *)name)->sin_addr.s_addr,
			&addr);
	memcpy(hello.addr, &addr, RDMW_ADDR_BYTES);
	rdmw_hello_pack(&hello, out);
}

/*
 * Who sent a hello, which came from an address: false if it says another. An inner
 * provider that has none (loop) leaves it 0, and says so of the local host alone.
 */
static bool kfir_name_of(const struct rdmw_hello *hello, const void *from,
			 struct sockaddr_in6 *name)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in6 came, said;
	const struct sockaddr_in *v4 = (const void *)&said;

	if (!kfi_name_set(&came, from))
		return false;
	came.sin6_port = cpu_to_be16(hello->port);
	memcpy(&v6.sin6_addr, hello->addr, RDMW_ADDR_BYTES);
	v6.sin6_port = came.sin6_port;
	kfi_name_set(&said, &v6);
	if (ipv6_addr_any(&v6.sin6_addr) || kfi_name_is_any(&said)) {
		*name = came;
		return true;
	}
	if (kfi_name_is_any(&came)) {
		*name = said;
		return said.sin6_family == AF_INET6
			       ? ipv6_addr_loopback(&said.sin6_addr)
			       : ipv4_is_loopback(v4->sin_addr.s_addr);
	}
	/* Which of our links it is on is not for the peer to say. */
	if (said.sin6_family == AF_INET6)
		said.sin6_scope_id = came.sin6_scope_id;
	*name = said;
	return !memcmp(&said, &came, sizeof(said));
}

/* ---- requests ---------------------------------------------------------- */

/*
 * Accept a request, if it is to live. What has to give way does so when the new
 * one is accepted. Returns why not, or 0.
 */
static enum rdmw_reason kfir_accept(struct kfir_ep *ep, struct kfir_peer *peer,
				    struct fi_info *info,
				    const struct rdmw_offer *theirs)
{
	struct rdmw_peer wire = peer->wire;
	struct kfir_conn *old = peer->conn, *conn, *other;
	enum rdmw_link link = RDMW_NONE;
	enum rdmw_verdict verdict;

	if (old)
		link = old->state == KFIR_DIALING ? RDMW_DIALING : RDMW_LINKED;
	verdict = rdmw_decide(&wire, ep->instance, link, theirs);
	if (verdict == RDMW_REFUSE_CROSSED)
		return RDMW_CROSSED;
	if (verdict == RDMW_REFUSE_STALE)
		return RDMW_STALE;
	if (peer->nr_conns >= KFIR_PEER_CONNS_MAX ||
	    kfir_conn_accept(ep, peer, info, theirs, &conn))
		return RDMW_NO_ROOM;
	peer->wire = wire;
	if (verdict == RDMW_TAKE)
		kfir_conn_break(old, ECONNABORTED);
	/*
	 * Those of an instance that is gone: what has come over them is still
	 * received, and executed; nothing else comes.
	 */
	if (verdict == RDMW_REPLACE)
		list_for_each_entry(other, &peer->conns, of_peer)
			if (other != conn && other->state != KFIR_DOWN)
				kfir_conn_break(other, ECONNRESET);
	/* What is in use stays so until it ends: it may have half a message. */
	if (verdict == RDMW_TAKE || verdict == RDMW_ACCEPT)
		peer->conn = conn;
	return 0;
}

static enum rdmw_reason kfir_hear(struct kfir_ep *ep, struct fi_info *info,
				  const u8 *data, size_t len)
{
	struct rdmw_hello hello;
	struct sockaddr_in6 name;
	struct kfir_peer *peer;
	enum rdmw_violation bad = rdmw_hello_parse(data, len, &hello);

	if (bad)
		return bad == RDMW_BAD_VERSION ? RDMW_OTHER_VERSION
					       : RDMW_MALFORMED;
	if (!info->dest_addr || !kfir_name_of(&hello, info->dest_addr, &name))
		return RDMW_WRONG_NAME;
	/* Our own name is nobody else's. */
	if (hello.offer.instance != ep->instance &&
	    !memcmp(&name, &ep->name, sizeof(name)))
		return RDMW_WRONG_NAME;
	if (ep->nr_conns >= KFIR_CONNS_MAX)
		return RDMW_NO_ROOM;
	peer = kfir_peer_get(ep, &name);
	return peer ? kfir_accept(ep, peer, info, &hello.offer) : RDMW_NO_ROOM;
}

static void kfir_take_request(struct kfir_ep *ep, struct fi_info *info,
			      const u8 *data, size_t len)
{
	enum rdmw_reason reason = kfir_hear(ep, info, data, len);
	u8 refusal[RDMW_REFUSE_BYTES];

	if (reason) {
		if (reason == RDMW_MALFORMED || reason == RDMW_WRONG_NAME)
			pr_warn_ratelimited(
				"kfabric_rdm: %pISpc: a request that is none (%d)\n",
				info->dest_addr, reason);
		rdmw_refuse_pack(reason, refusal);
		/* Fails if an endpoint was opened for it, which rejected it. */
		fi_reject(ep->pep, info->handle, refusal, sizeof(refusal));
	}
	fi_freeinfo(info);
}

/* ---- answers ----------------------------------------------------------- */

static void kfir_take_failure(struct kfir_ep *ep)
{
	struct fi_eq_err_entry *e = &ep->event_err;
	enum rdmw_reason reason;
	struct kfir_conn *conn;

	if (fi_eq_readerr(ep->eq, e, 0) <= 0 || e->fid->fclass != FI_CLASS_EP)
		return;
	conn = e->context;
	/* The other one is on its way: no reason to wait longer and longer. */
	if (conn->state == KFIR_DIALING &&
	    !rdmw_refuse_parse(e->err_data, e->err_data_size, &reason) &&
	    reason == RDMW_CROSSED)
		conn->crossed = true;
	kfir_conn_break(conn, e->err);
}

/* One event; false: there is none. */
static bool kfir_read_event(struct kfir_ep *ep)
{
	struct fi_eq_cm_entry *entry = (void *)ep->event_buf;
	struct rdmw_offer theirs;
	struct kfir_conn *conn;
	u32 event;
	ssize_t n = fi_eq_read(ep->eq, &event, entry, sizeof(ep->event_buf), 0);

	if (n == -FI_EAVAIL)
		kfir_take_failure(ep);
	if (n < 0)
		return n == -FI_EAVAIL;
	n -= sizeof(*entry);
	if (event == FI_CONNREQ) {
		kfir_take_request(ep, entry->info, entry->data, n);
		return true;
	}
	conn = entry->fid->context;
	if (event == FI_CONNECTED && conn->state == KFIR_DIALING) {
		if (rdmw_welcome_parse(entry->data, n, &conn->offer, &theirs)) {
			kfir_conn_break(conn, EPROTO);
			return true;
		}
		rdmw_learn(&conn->peer->wire, &theirs);
		rdmw_flow_init(&conn->flow, &conn->offer, &theirs);
	}
	if (event == FI_CONNECTED) {
		kfir_conn_up(conn);
	} else if (!conn->broken) {
		conn->shut = true;
		kfir_conn_break(conn, ECONNRESET);
	}
	return true;
}

/* Some of them, so that who connects without end does not hold up all else. */
void kfir_read_events(struct kfir_ep *ep)
{
	int i;

	/* A request is answered with our name. */
	if (!smp_load_acquire(&ep->listening))
		return;
	for (i = 0; i < KFIR_EVENTS; i++)
		if (!kfir_read_event(ep))
			return;
	kfir_kick(ep);
}

/* At the end: nobody connects any more, and what failed is ended with all else. */
void kfir_drop_events(struct kfir_ep *ep)
{
	struct fi_eq_cm_entry *entry = (void *)ep->event_buf;
	u32 event;
	ssize_t n;

	do {
		n = fi_eq_read(ep->eq, &event, entry, sizeof(ep->event_buf), 0);
		if (n == -FI_EAVAIL)
			fi_eq_readerr(ep->eq, &ep->event_err, 0);
		else if (n >= 0 && event == FI_CONNREQ)
			fi_freeinfo(entry->info);
	} while (n >= 0 || n == -FI_EAVAIL);
}
