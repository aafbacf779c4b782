// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: connection set-up, both sides.
 *
 * Context: fi_connect() only opens the socket; the rest is done by
 *	connect_work, which waits for the peer. Events come from a workqueue.
 * Locking: ktcp_cm_lock for the passive side's request.
 */
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/string.h>

#include "tcp.h"

/* Say the errors of sockets as kfabric says them. */
static int ktcp_connect_error(int err)
{
	switch (err) {
	case -EINPROGRESS:
	case -EAGAIN:
	case -ETIMEDOUT:
		return ETIMEDOUT;
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return EHOSTUNREACH;
	case -ECONNREFUSED:
		return ECONNREFUSED;
	case -ENOMEM:
		return ENOMEM;
	default:
		return ECONNABORTED;
	}
}

/* Tell of the connection, or of its failure, with what the peer has said. */
static void ktcp_connect_done(struct ktcp_ep *ep, int ret, const u8 *data,
			      u32 len)
{
	if (ret) {
		kfi_ep_down(&ep->post.ep, ktcp_connect_error(ret), ret, data,
			    len);
		return;
	}
	ktcp_start(ep);
	if (!kfi_ep_connected(&ep->post.ep, data, len))
		ktcp_receive_kick(ep);
}

static void ktcp_connect_work(struct work_struct *work)
{
	struct ktcp_ep *ep = container_of(work, struct ktcp_ep, connect_work);
	u32 timeout_ms = ep->post.ep.cm_timeout_ms;
	struct tcpw_cm_rx *cm = &ep->cm;
	struct socket *sock = ep->sock;
	const u8 *data = NULL;
	u32 len = 0;
	int ret;

	ret = ktcp_path_keep(ep);
	if (!ret && ep->local.sin6_family)
		ret = kernel_bind(sock, (struct sockaddr *)&ep->local,
				  kfi_addr_len(&ep->local));
	sock->sk->sk_sndtimeo = msecs_to_jiffies(timeout_ms);
	ret = ret
		      ?: kernel_connect(sock, (struct sockaddr *)&ep->remote,
					kfi_addr_len(&ep->remote), 0);
	ret = ret
		      ?: ktcp_cm_send(sock, TCPW_CM_REQUEST, ep->param,
				      ep->param_len, timeout_ms);
	ret = ret ?: ktcp_cm_receive(sock, cm, true, timeout_ms);
	if (!ret && tcpw_cm_rx_type(cm) == TCPW_CM_REJECT)
		ret = -ECONNREFUSED;
	else if (!ret)
		ep->order = tcpw_order_of_pair(ktcp_our_order,
					       tcpw_cm_rx_order(cm));
	if (!ret || ret == -ECONNREFUSED)
		data = cm->need ? tcpw_cm_rx_data(cm, &len) : NULL;
	ktcp_connect_done(ep, ret, data, len);
}

/* The rest waits for the peer. */
static void ktcp_connect_queue(struct ktcp_ep *ep, const void *param,
			       size_t paramlen, struct work_struct *work)
{
	ktcp_socket_tune(ep->sock, ep->post.ep.op_timeout_ms);
	ep->param_len = paramlen;
	if (paramlen)
		memcpy(ep->param, param, paramlen);
	queue_work(ktcp_cm_wq, work);
}

int ktcp_connect(struct fid_ep *fid, const void *addr, const void *param,
		 size_t paramlen)
{
	struct ktcp_ep *ep = to_ktcp_ep(fid);
	const struct sockaddr *sa = addr ?: (void *)&ep->remote;
	int ret;

	if ((sa->sa_family != AF_INET && sa->sa_family != AF_INET6) ||
	    !((const struct sockaddr_in *)sa)->sin_port)
		return -EINVAL;
	if (addr)
		memcpy(&ep->remote, addr, kfi_addr_len(addr));
	ret = ktcp_socket_open(fid->domain->fabric->net, sa->sa_family,
			       &ep->sock);
	if (ret)
		return ret;
	ktcp_connect_queue(ep, param, paramlen, &ep->connect_work);
	return 0;
}

static void ktcp_accepted_work(struct work_struct *work)
{
	struct ktcp_ep *ep = container_of(work, struct ktcp_ep, accepted_work);
	int ret = ktcp_cm_send(ep->sock, TCPW_CM_ACCEPT, ep->param,
			       ep->param_len, ep->post.ep.cm_timeout_ms);

	ktcp_connect_done(ep, ret, NULL, 0);
}

/* Take the socket of the request, once. */
static struct socket *ktcp_take_socket(struct ktcp_ep *ep,
				       struct ktcp_req **req)
{
	struct socket *sock = NULL;

	mutex_lock(&ktcp_cm_lock);
	*req = ep->req;
	ep->req = NULL;
	if (*req) {
		ep->order = (*req)->order;
		sock = ktcp_req_take(*req);
	}
	mutex_unlock(&ktcp_cm_lock);
	return sock;
}

int ktcp_accept(struct fid_ep *fid, const void *param, size_t paramlen)
{
	struct ktcp_ep *ep = to_ktcp_ep(fid);
	struct ktcp_req *req;

	ep->sock = ktcp_take_socket(ep, &req);
	if (!req)
		return -EINVAL;
	kfi_obj_put(&req->req.fid);
	if (!ep->sock)
		return -ECONNABORTED;
	ktcp_connect_queue(ep, param, paramlen, &ep->accepted_work);
	return 0;
}

void ktcp_connect_init(struct ktcp_ep *ep)
{
	INIT_WORK(&ep->connect_work, ktcp_connect_work);
	INIT_WORK(&ep->accepted_work, ktcp_accepted_work);
}

/* After this nobody sets the endpoint up any more. */
void ktcp_connect_stop(struct ktcp_ep *ep)
{
	struct ktcp_req *req;
	struct socket *sock = ktcp_take_socket(ep, &req);

	if (sock)
		ktcp_cm_reject(sock, NULL, 0);
	if (req)
		kfi_obj_put(&req->req.fid);
	if (!ep->sock)
		return;
	/* Neither work waits any more. */
	kernel_sock_shutdown(ep->sock, SHUT_RDWR);
	cancel_work_sync(&ep->connect_work);
	cancel_work_sync(&ep->accepted_work);
}
