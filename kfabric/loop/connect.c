// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: connection set-up.
 *
 * Context: fi_connect() and the answers only queue work; events come from a
 *	workqueue, as they would with real hardware.
 * Locking: loop_cm_lock. Who takes a request's active endpoint away
 *	(loop_req_take()) is the one who answers it: accept, reject, time-out,
 *	or the close of either side.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "loop.h"

/* Return the endpoint to answer, with its reference; NULL: it was answered. */
static struct loop_ep *loop_req_take(struct loop_req *req)
{
	struct loop_ep *active = req->active;

	lockdep_assert_held(&loop_cm_lock);
	if (active) {
		req->active = NULL;
		active->req = NULL;
		list_del_init(&req->node);
	}
	return active;
}

/* Let the active side know the answer; err 0 is an accept. */
static void loop_answer(struct loop_ep *active, int err, const void *data,
			size_t len)
{
	struct loop_answer *a = &active->answer;

	lockdep_assert_held(&loop_cm_lock);
	a->err = err;
	a->len = min_t(size_t, len, FI_CM_DATA_MAX);
	if (a->len)
		memcpy(a->data, data, a->len);
	queue_work(loop_wq, &active->answer_work);
}

bool loop_req_refuse(struct loop_req *req, int err, const void *data,
		     size_t len)
{
	struct loop_ep *active = loop_req_take(req);

	if (!active)
		return false;
	loop_answer(active, err, data, len);
	kfi_obj_put(&active->post.ep.fid);
	return true;
}

static void loop_answer_work(struct work_struct *work)
{
	struct loop_ep *ep = container_of(work, struct loop_ep, answer_work);
	const struct loop_answer *a = &ep->answer;

	if (a->err)
		kfi_ep_down(&ep->post.ep, a->err, 0, a->data, a->len);
	else
		kfi_ep_connected(&ep->post.ep, a->data, a->len);
	cancel_delayed_work(&ep->cm_timer);
}

static void loop_cm_timed_out(struct work_struct *work)
{
	struct loop_ep *ep = container_of(work, struct loop_ep, cm_timer.work);

	mutex_lock(&loop_cm_lock);
	if (ep->req)
		loop_req_refuse(ep->req, ETIMEDOUT, NULL, 0);
	mutex_unlock(&loop_cm_lock);
}

static void loop_req_release(struct kfid *fid)
{
	struct loop_req *req = container_of(fid, struct loop_req, req.fid);

	mutex_lock(&loop_cm_lock);
	loop_req_refuse(req, ECONNREFUSED, NULL, 0);
	mutex_unlock(&loop_cm_lock);
	kfree(req);
}

const struct fi_ops loop_req_ops = {
	.size = sizeof(struct fi_ops),
	.release = loop_req_release,
};

/* Make a request known to the listener, under its post_lock. */
static int loop_req_send(struct loop_ep *ep, struct loop_pep *p)
{
	struct fi_info *info = kfi_info_to_peer(p->pep.info, &ep->name,
						p->pep.info->src_addrlen);
	struct loop_req *req;
	int ret = -ENOMEM;

	lockdep_assert_held(&p->post_lock);
	if (!info)
		return -ENOMEM;
	req = kzalloc(sizeof(*req), GFP_KERNEL);
	if (!req)
		goto free_info;
	INIT_LIST_HEAD(&req->node);
	ret = kfi_connreq_init(&req->req, &p->pep, &loop_req_ops);
	if (ret)
		goto free_req;
	kfi_obj_get(&ep->post.ep.fid);
	mutex_lock(&loop_cm_lock);
	req->active = ep;
	ep->req = req;
	list_add_tail(&req->node, &p->reqs);
	mutex_unlock(&loop_cm_lock);
	/* A failure has released, and thereby rejected, the request. */
	kfi_connreq_post(&req->req, &p->pep, info, ep->param, ep->param_len);
	return 0;
free_req:
	kfree(req);
free_info:
	fi_freeinfo(info);
	return ret == -EINVAL ? -ECONNREFUSED : ret;
}

static void loop_connect_work(struct work_struct *work)
{
	struct loop_ep *ep = container_of(work, struct loop_ep, connect_work);
	struct loop_pep *p;
	int ret = -ECONNREFUSED;

	mutex_lock(&loop_cm_lock);
	p = loop_pep_find(loop_port_of(&ep->peer_name));
	if (p)
		kfi_obj_get(&p->pep.fid);
	mutex_unlock(&loop_cm_lock);
	if (p) {
		mutex_lock(&p->post_lock);
		if (!p->closed)
			ret = loop_req_send(ep, p);
		mutex_unlock(&p->post_lock);
		kfi_obj_put(&p->pep.fid);
	}
	if (!ret)
		return;
	mutex_lock(&loop_cm_lock);
	loop_answer(ep, -ret, NULL, 0);
	mutex_unlock(&loop_cm_lock);
}

int loop_connect(struct fid_ep *fid, const void *addr, const void *param,
		 size_t paramlen)
{
	struct loop_ep *ep = to_loop_ep(fid);
	const struct sockaddr *sa = addr ?: (void *)&ep->peer_name;

	if ((sa->sa_family != AF_INET && sa->sa_family != AF_INET6) ||
	    !loop_port_of(sa))
		return -EINVAL;
	if (addr)
		memcpy(&ep->peer_name, addr, kfi_addr_len(addr));
	mutex_lock(&loop_cm_lock);
	if (!loop_port_of(&ep->name)) {
		ep->name.sin6_family = sa->sa_family;
		loop_set_port(&ep->name, loop_next_port());
	}
	ep->param_len = paramlen;
	if (paramlen)
		memcpy(ep->param, param, paramlen);
	mutex_unlock(&loop_cm_lock);
	queue_work(loop_wq, &ep->connect_work);
	queue_delayed_work(loop_wq, &ep->cm_timer,
			   msecs_to_jiffies(fid->cm_timeout_ms));
	return 0;
}

/* Each side points to the other and may post from now on. */
static void loop_pair_with(struct loop_ep *ep, struct loop_ep *peer)
{
	unsigned long irq;

	kfi_obj_get(&peer->post.ep.fid);
	spin_lock_irqsave(&ep->post.lock, irq);
	ep->peer = peer;
	ep->post.up = true;
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

int loop_accept(struct fid_ep *fid, const void *param, size_t paramlen)
{
	struct loop_ep *ep = to_loop_ep(fid);
	struct loop_ep *active = NULL;
	struct loop_req *req;

	mutex_lock(&loop_cm_lock);
	req = ep->req;
	ep->req = NULL;
	if (req)
		active = loop_req_take(req);
	if (active) {
		loop_pair_with(ep, active);
		loop_pair_with(active, ep);
		loop_answer(ep, 0, NULL, 0);
		loop_answer(active, 0, param, paramlen);
	}
	mutex_unlock(&loop_cm_lock);
	if (active)
		kfi_obj_put(&active->post.ep.fid);
	if (req)
		kfi_obj_put(&req->req.fid);
	if (!req)
		return -EINVAL;
	return active ? 0 : -ECONNABORTED;
}

void loop_connect_init(struct loop_ep *ep)
{
	INIT_WORK(&ep->connect_work, loop_connect_work);
	INIT_WORK(&ep->answer_work, loop_answer_work);
	INIT_DELAYED_WORK(&ep->cm_timer, loop_cm_timed_out);
}

/* After this nobody sets the endpoint up any more. */
void loop_connect_stop(struct loop_ep *ep)
{
	struct loop_ep *active = NULL;
	struct loop_req *passive = NULL;

	cancel_work_sync(&ep->connect_work);
	mutex_lock(&loop_cm_lock);
	if (ep->req && ep->req->active == ep) {
		active = loop_req_take(ep->req);
	} else if (ep->req) {
		/* The passive side lets go of it, which rejects it. */
		passive = ep->req;
		ep->req = NULL;
		loop_req_refuse(passive, ECONNREFUSED, NULL, 0);
	}
	mutex_unlock(&loop_cm_lock);
	if (passive)
		kfi_obj_put(&passive->req.fid);
	cancel_delayed_work_sync(&ep->cm_timer);
	cancel_work_sync(&ep->answer_work);
	if (active)
		kfi_obj_put(&active->post.ep.fid);
}
