// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_9p: requests under way, and their replies.
 *
 * A call is used from the post of its request until it has been sent and its reply is
 * there, or none will come. A request that nobody waits for any more keeps its call
 * until its reply has come: the tag is not given to another one before.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "k9p.h"

/* A free call becomes the request's. NULL: none is; an error: the connection is over. */
static struct k9p_call *k9p_call_take(struct k9p_conn *conn,
				      struct p9_req_t *req)
{
	/* Tflush has calls of its own: it must not wait for what it ends. */
	bool is_flush = req->tc.id == P9_TFLUSH;
	u32 i = is_flush ? conn->n_places - K9PW_FLUSHES : 0;
	u32 end = is_flush ? conn->n_places : conn->depth;
	struct k9p_call *call, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->error)
		found = ERR_PTR(conn->error);
	for (; !found && i < end; i++) {
		call = k9p_conn_call(conn, i);
		if (!call->req && !call->sent)
			found = call;
	}
	if (!IS_ERR_OR_NULL(found)) {
		/* The transport has one already; the caller keeps its own. */
		p9_req_get(req);
		/* Before anybody finds it: whoever ends it says more. */
		WRITE_ONCE(req->status, REQ_STATUS_SENT);
		found->req = req;
		found->sent = req;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return found;
}

/* Return: what a call's @req or @sent was, whose reference is the caller's, or NULL. */
static struct p9_req_t *k9p_call_clear(struct k9p_conn *conn,
				       struct p9_req_t **place)
{
	struct p9_req_t *req;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	req = *place;
	*place = NULL;
	spin_unlock_irqrestore(&conn->lock, flags);
	return req;
}

static bool k9p_call_is_posted(struct k9p_conn *conn, struct k9p_call *call,
			       int *ret)
{
	const struct p9_fcall *tc = &call->sent->tc;

	*ret = READ_ONCE(conn->error);
	if (*ret)
		return true;
	*ret = k9p_errno(fi_send(conn->ep, tc->sdata, tc->size, NULL,
				 FI_ADDR_UNSPEC, &call->fi));
	return *ret != -FI_EAGAIN;
}

/**
 * k9p_call_start() - send a request
 * @client: of the mount
 * @req: request; of its two references one becomes the transport's if it succeeds
 *
 * Context: process; waits for room.
 * Return: 0: the client will be called back; -ERESTARTSYS the task was killed;
 * -EMSGSIZE; else why the connection is over.
 */
int k9p_call_start(struct p9_client *client, struct p9_req_t *req)
{
	struct k9p_conn *conn = client->trans;
	struct k9p_call *call;
	int ret = 0;

	if (req->tc.size > conn->msize)
		return -EMSGSIZE;
	if (wait_event_killable(conn->room, (call = k9p_call_take(conn, req))))
		return -ERESTARTSYS;
	if (IS_ERR(call))
		return PTR_ERR(call);
	if (wait_event_killable(conn->room,
				k9p_call_is_posted(conn, call, &ret)))
		ret = -ERESTARTSYS;
	if (!ret)
		return 0;
	/*
	 * Nothing was posted. Whoever wanted to start the request puts its two
	 * references; the third is the call's, unless a failure of the connection has
	 * had it. The call is free when it has no @sent any more.
	 */
	if (k9p_call_clear(conn, &call->req))
		p9_req_put(client, req);
	k9p_call_clear(conn, &call->sent);
	wake_up(&conn->room);
	return ret;
}

/* The request that awaits the reply with a tag, with one more reference, or NULL. */
static struct p9_req_t *k9p_call_find(struct k9p_conn *conn, u16 tag)
{
	struct p9_req_t *req, *found = NULL;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&conn->lock, flags);
	for (i = 0; i < conn->n_places && !found; i++) {
		req = k9p_conn_call(conn, i)->req;
		if (req && req->tc.tag == tag) {
			p9_req_get(req);
			found = req;
		}
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return found;
}

/* The request awaits no reply any more. @return: it did; the reference is the caller's. */
static bool k9p_call_release(struct k9p_conn *conn, const struct p9_req_t *req)
{
	struct k9p_call *call;
	unsigned long flags;
	bool found = false;
	u32 i;

	spin_lock_irqsave(&conn->lock, flags);
	for (i = 0; i < conn->n_places && !found; i++) {
		call = k9p_conn_call(conn, i);
		found = call->req == req;
		if (found)
			call->req = NULL;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	wake_up(&conn->room);
	return found;
}

/**
 * k9p_call_cancelled() - no reply to a request will come
 * @client: of the mount
 * @req: request that a Tflush, which was answered, has taken back
 *
 * Context: process.
 * Return: 0.
 */
int k9p_call_cancelled(struct p9_client *client, struct p9_req_t *req)
{
	if (k9p_call_release(client->trans, req))
		p9_req_put(client, req);
	return 0;
}

/**
 * k9p_call_end_all() - the connection is over
 * @conn: connection
 * @error: why, negative, for programs; the first one stays
 *
 * Whoever waits for a reply, or for room, is told.
 *
 * Context: any.
 */
void k9p_call_end_all(struct k9p_conn *conn, int error)
{
	struct p9_req_t *req;
	unsigned long flags;
	bool is_first;
	u32 i;

	spin_lock_irqsave(&conn->lock, flags);
	is_first = !conn->error;
	if (is_first)
		WRITE_ONCE(conn->error, error);
	spin_unlock_irqrestore(&conn->lock, flags);
	if (!is_first)
		return;
	conn->client->status = Disconnected;
	for (i = 0; conn->calls && i < conn->n_places; i++) {
		req = k9p_call_clear(conn, &k9p_conn_call(conn, i)->req);
		if (!req)
			continue;
		req->t_err = error;
		p9_client_cb(conn->client, req, REQ_STATUS_ERROR);
	}
	wake_up_all(&conn->room);
	complete_all(&conn->connected);
	k9p_conn_kick(conn);
}

/*
 * The receive is there again before the call is free: there are as many of the one as of
 * the other. A connection that ends meanwhile may answer first: the bytes go to a request
 * that nobody reads.
 */
static int k9p_call_reply(struct k9p_conn *conn, struct k9p_recv *recv,
			  size_t len)
{
	struct p9_req_t *req;
	int ret;

	if (len < K9PW_HEADER_BYTES ||
	    k9pw_get32(recv->data + K9PW_SIZE_AT) != len)
		return -EPROTO;
	req = k9p_call_find(conn, k9pw_get16(recv->data + K9PW_TAG_AT));
	if (!req)
		return -EPROTO;
	ret = len > req->rc.capacity ? -EMSGSIZE : 0;
	if (!ret) {
		memcpy(req->rc.sdata, recv->data, len);
		req->rc.size = len;
		ret = k9p_errno(k9p_conn_post_recv(conn, recv));
	}
	if (!ret && k9p_call_release(conn, req))
		p9_client_cb(conn->client, req, REQ_STATUS_RCVD);
	p9_req_put(conn->client, req);
	return ret;
}

/**
 * k9p_call_completed() - what the fabric says of an operation
 * @cq: the connection's queue
 * @entry: the operation
 * @context: the connection
 *
 * Context: upcall.
 */
void k9p_call_completed(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
			void *context)
{
	struct k9p_conn *conn = context;
	int error = k9p_errno(-entry->err);
	struct k9p_call *call;

	if (entry->flags & FI_SEND) {
		call = container_of(entry->op_context, struct k9p_call, fi);
		p9_req_put(conn->client, k9p_call_clear(conn, &call->sent));
		wake_up(&conn->room);
	} else if (!error) {
		error = k9p_call_reply(conn,
				       container_of(entry->op_context,
						    struct k9p_recv, fi),
				       entry->len);
	}
	if (error == -EPROTO || error == -EMSGSIZE)
		pr_err_ratelimited(
			"kfabric_9p: %s: a reply that belongs to no request, or is too long for it: the connection ends\n",
			conn->options.node);
	if (error)
		k9p_call_end_all(conn, error);
}
