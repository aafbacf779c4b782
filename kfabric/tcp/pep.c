// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: passive endpoints: listening, and requests.
 *
 *   socket accepted --> handshake: waits for the request --> ktcp_req: waits
 *   for the upper layer's answer --> the endpoint's, or rejected
 *
 * Bounds: KTCP_HANDSHAKES_MAX handshakes, each with a deadline. Then the oldest
 *	one gives its place to the newest: nobody who says at once what there is
 *	to say is kept out by those who do not. As many may be ending; more
 *	connections are closed at once.
 * Context: accept_work, and one work for each handshake, which may wait.
 * Locking: ktcp_cm_lock: who takes a request's socket away (ktcp_req_take()) is
 *	the one who answers it.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "tcp.h"

#define BACKLOG 128

struct handshake {
	struct list_head node; /* ktcp_pep.handshakes */
	bool displaced; /* it is not in that list any more */
	struct ktcp_pep *pep;
	struct socket *sock;
	struct work_struct work;
	struct tcpw_cm_rx cm;
};

/* ---- requests ----------------------------------------------------------- */

struct socket *ktcp_req_take(struct ktcp_req *req)
{
	struct socket *sock = req->sock;

	lockdep_assert_held(&ktcp_cm_lock);
	if (sock) {
		req->sock = NULL;
		list_del_init(&req->node);
	}
	return sock;
}

static void ktcp_req_release(struct kfid *fid)
{
	struct ktcp_req *req = container_of(fid, struct ktcp_req, req.fid);
	struct socket *sock;

	mutex_lock(&ktcp_cm_lock);
	sock = ktcp_req_take(req);
	mutex_unlock(&ktcp_cm_lock);
	if (sock)
		ktcp_cm_reject(sock, NULL, 0);
	kfree(req);
}

const struct fi_ops ktcp_req_ops = {
	.size = sizeof(struct fi_ops),
	.release = ktcp_req_release,
};

static int ktcp_reject(struct fid_pep *pep, struct kfid *handle,
		       const void *param, size_t paramlen)
{
	struct ktcp_req *req = container_of(handle, struct ktcp_req, req.fid);
	struct socket *sock = NULL;

	mutex_lock(&ktcp_cm_lock);
	if (!req->req.used)
		sock = ktcp_req_take(req);
	mutex_unlock(&ktcp_cm_lock);
	if (!sock)
		return -EINVAL;
	ktcp_cm_reject(sock, param, paramlen);
	return 0;
}

/* ---- handshakes --------------------------------------------------------- */

/* The request owns the socket from here on, also if this fails. */
static void ktcp_req_post(struct ktcp_pep *p, struct socket *sock,
			  const struct tcpw_cm_rx *cm)
{
	u32 len;
	const u8 *data = tcpw_cm_rx_data(cm, &len);
	struct ktcp_req *req = kzalloc(sizeof(*req), GFP_KERNEL);
	struct sockaddr_storage peer;
	struct fi_info *info = NULL;
	int peer_len = kernel_getpeername(sock, (struct sockaddr *)&peer);

	if (peer_len >= 0)
		info = kfi_info_to_peer(p->pep.info, &peer, peer_len);
	if (!req || !info)
		goto reject;
	INIT_LIST_HEAD(&req->node);
	req->order = tcpw_order_of_pair(ktcp_our_order, tcpw_cm_rx_order(cm));
	if (kfi_connreq_init(&req->req, &p->pep, &ktcp_req_ops))
		goto reject;
	mutex_lock(&ktcp_cm_lock);
	req->sock = sock;
	list_add_tail(&req->node, &p->reqs);
	mutex_unlock(&ktcp_cm_lock);
	kfi_connreq_post(&req->req, &p->pep, info, data, len);
	return;
reject:
	fi_freeinfo(info);
	kfree(req);
	ktcp_cm_reject(sock, NULL, 0);
}

static void ktcp_handshake_leave(struct handshake *h)
{
	lockdep_assert_held(&ktcp_cm_lock);
	list_del(&h->node);
	h->pep->nr_waiting--;
}

static bool ktcp_same_peer(const struct sock *a, const struct sock *b)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (a->sk_family == AF_INET6)
		return ipv6_addr_equal(&a->sk_v6_daddr, &b->sk_v6_daddr);
#endif
	return a->sk_daddr == b->sk_daddr;
}

/* The oldest one goes: of this peer, else of all. */
static void ktcp_handshake_displace(struct ktcp_pep *p, const struct sock *sk)
{
	struct handshake *h, *out;

	lockdep_assert_held(&ktcp_cm_lock);
	out = list_first_entry(&p->handshakes, struct handshake, node);
	list_for_each_entry(h, &p->handshakes, node)
		if (ktcp_same_peer(h->sock->sk, sk)) {
			out = h;
			break;
		}
	ktcp_handshake_leave(out);
	out->displaced = true;
	kernel_sock_shutdown(out->sock, SHUT_RDWR);
}

static void ktcp_handshake_work(struct work_struct *work)
{
	struct handshake *h = container_of(work, struct handshake, work);
	struct ktcp_pep *p = h->pep;
	int ret;

	ret = ktcp_cm_receive(h->sock, &h->cm, false,
			      p->pep.info->ep_attr->cm_timeout_ms);
	/* Nobody shuts the socket down after this. */
	mutex_lock(&ktcp_cm_lock);
	if (h->displaced)
		ret = -ECONNABORTED;
	else
		ktcp_handshake_leave(h);
	mutex_unlock(&ktcp_cm_lock);
	if (ret)
		sock_release(h->sock);
	else
		ktcp_req_post(p, h->sock, &h->cm);
	kfree(h);
	mutex_lock(&ktcp_cm_lock);
	if (!--p->nr_handshakes)
		wake_up_all(&p->idle);
	mutex_unlock(&ktcp_cm_lock);
}

/* A connection too many, or to a listener that is closing, is closed at once. */
static void ktcp_handshake_start(struct ktcp_pep *p, struct socket *sock)
{
	struct handshake *h = kzalloc(sizeof(*h), GFP_KERNEL);
	bool ok;

	if (!h) {
		sock_release(sock);
		return;
	}
	h->pep = p;
	h->sock = sock;
	INIT_WORK(&h->work, ktcp_handshake_work);
	mutex_lock(&ktcp_cm_lock);
	ok = !p->closed && p->nr_handshakes < 2 * KTCP_HANDSHAKES_MAX;
	if (ok) {
		if (p->nr_waiting == KTCP_HANDSHAKES_MAX)
			ktcp_handshake_displace(p, sock->sk);
		p->nr_waiting++;
		p->nr_handshakes++;
		list_add_tail(&h->node, &p->handshakes);
	}
	mutex_unlock(&ktcp_cm_lock);
	if (!ok) {
		kfree(h);
		sock_release(sock);
		return;
	}
	queue_work(ktcp_listen_wq, &h->work);
}

static void ktcp_accept_work(struct work_struct *work)
{
	struct ktcp_pep *p = container_of(work, struct ktcp_pep, accept_work);
	struct socket *sock;
	struct sock *sk;

	while (!ktcp_socket_accept(p->sock, &sock)) {
		/* What arrived before this is found by whoever reads. */
		sk = sock->sk;
		write_lock_bh(&sk->sk_callback_lock);
		sk->sk_user_data = NULL;
		sk->sk_data_ready = p->data_ready;
		write_unlock_bh(&sk->sk_callback_lock);
		ktcp_handshake_start(p, sock);
	}
}

/* ---- the listener ------------------------------------------------------- */

static void ktcp_listener_ready(struct sock *sk)
{
	struct ktcp_pep *p;

	read_lock_bh(&sk->sk_callback_lock);
	p = sk->sk_user_data;
	/* Accepted sockets inherit the callback and the pointer. */
	if (p && sk->sk_state == TCP_LISTEN)
		queue_work(system_unbound_wq, &p->accept_work);
	read_unlock_bh(&sk->sk_callback_lock);
}

static int ktcp_listen(struct fid_pep *pep)
{
	struct ktcp_pep *p = container_of(pep, struct ktcp_pep, pep);
	struct sockaddr *addr = p->pep.info->src_addr;
	int ret;

	ret = ktcp_socket_open(pep->fabric->net, addr->sa_family, &p->sock);
	if (ret)
		return ret;
	sock_set_reuseaddr(p->sock->sk);
	ret = kernel_bind(p->sock, addr, kfi_addr_len(addr));
	if (ret)
		goto release;
	write_lock_bh(&p->sock->sk->sk_callback_lock);
	p->data_ready = p->sock->sk->sk_data_ready;
	p->sock->sk->sk_user_data = p;
	p->sock->sk->sk_data_ready = ktcp_listener_ready;
	write_unlock_bh(&p->sock->sk->sk_callback_lock);
	ret = kernel_listen(p->sock, BACKLOG);
	if (!ret)
		return 0;
release:
	sock_release(p->sock);
	p->sock = NULL;
	return ret;
}

static int ktcp_pep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct ktcp_pep *p = container_of(fid, struct ktcp_pep, pep.fid);
	struct sockaddr_storage name;
	int len;

	if (!p->sock)
		return -FI_EOPBADSTATE;
	len = kernel_getsockname(p->sock, (struct sockaddr *)&name);
	return len < 0 ? len : kfi_copy_addr(&name, addr, addrlen);
}

/* Take a request without an endpoint; the answer waits, so it needs no lock. */
static struct socket *ktcp_req_take_unused(struct ktcp_pep *p)
{
	struct socket *sock = NULL;
	struct ktcp_req *req;

	mutex_lock(&ktcp_cm_lock);
	list_for_each_entry(req, &p->reqs, node) {
		if (req->req.used)
			continue;
		sock = ktcp_req_take(req);
		break;
	}
	mutex_unlock(&ktcp_cm_lock);
	return sock;
}

/* Requests that have an endpoint already are that endpoint's to answer. */
static void ktcp_pep_close(struct kfid *fid)
{
	struct ktcp_pep *p = container_of(fid, struct ktcp_pep, pep.fid);
	struct handshake *h;
	struct socket *sock;
	struct sock *sk;

	mutex_lock(&ktcp_cm_lock);
	p->closed = true;
	list_for_each_entry(h, &p->handshakes, node)
		kernel_sock_shutdown(h->sock, SHUT_RDWR);
	mutex_unlock(&ktcp_cm_lock);
	if (p->sock) {
		sk = p->sock->sk;
		write_lock_bh(&sk->sk_callback_lock);
		sk->sk_user_data = NULL;
		write_unlock_bh(&sk->sk_callback_lock);
		kernel_sock_shutdown(p->sock, SHUT_RDWR);
		cancel_work_sync(&p->accept_work);
	}
	wait_event(p->idle, !READ_ONCE(p->nr_handshakes));
	/* The last one may still be in its wake-up. */
	mutex_lock(&ktcp_cm_lock);
	mutex_unlock(&ktcp_cm_lock);
	while ((sock = ktcp_req_take_unused(p)))
		ktcp_cm_reject(sock, NULL, 0);
}

static void ktcp_pep_release(struct kfid *fid)
{
	struct ktcp_pep *p = container_of(fid, struct ktcp_pep, pep.fid);

	if (p->sock)
		sock_release(p->sock);
	kfree(p);
}

static const struct fi_ops ktcp_pep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ktcp_pep_close,
	.release = ktcp_pep_release,
};

static const struct fi_ops_pep ktcp_pep_ops = {
	.size = sizeof(struct fi_ops_pep),
	.listen = ktcp_listen,
	.reject = ktcp_reject,
	.getname = ktcp_pep_getname,
};

int ktcp_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		    struct fid_pep **pep, void *context)
{
	struct ktcp_pep *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int ret;

	if (!p)
		return -ENOMEM;
	INIT_WORK(&p->accept_work, ktcp_accept_work);
	INIT_LIST_HEAD(&p->handshakes);
	INIT_LIST_HEAD(&p->reqs);
	init_waitqueue_head(&p->idle);
	ret = kfi_pep_init(&p->pep, fabric, info, &ktcp_pep_fid_ops,
			   &ktcp_pep_ops, context);
	if (ret) {
		kfree(p);
		return ret;
	}
	*pep = &p->pep;
	return 0;
}
