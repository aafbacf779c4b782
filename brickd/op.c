// SPDX-License-Identifier: BSD-2-Clause
/* Requests: dispatch by cookie, state and op; claims; replies. */
#include "brickd/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/server.h"
#include "brickd/util.h"

static const brick_op_fn handlers[KFB_OP_LAST + 1] = {
	[KFB_OP_AUTH] = brick_op_auth,	 [KFB_OP_INFO] = brick_op_info,
	[KFB_OP_ALLOC] = brick_op_alloc, [KFB_OP_FREE] = brick_op_free,
	[KFB_OP_MAP] = brick_op_map,	 [KFB_OP_UNMAP] = brick_op_unmap,
	[KFB_OP_LIST] = brick_op_list,	 [KFB_OP_FLUSH] = brick_op_flush,
	[KFB_OP_PING] = brick_op_ping,
};

static void send_status(struct brick_session *s, struct kfb_reply *reply,
			const struct kfb_request *req, enum kfb_status status)
{
	reply->op = req->op;
	reply->status = (uint16_t)status;
	reply->cookie = req->cookie;
	reply->credits = 1;
	if (kfb_credits_give(&s->credits, 1))
		brick_log(LOG_ERR, s->conn->who, "credits do not add up");
	brick_conn_send(s->conn, reply);
}

static void record(struct brick_op *op, enum kfb_status status)
{
	struct brick_session *s = op->session;

	if (op->req.op == KFB_OP_AUTH)
		return;
	s->records[op->req.cookie.slot] = (struct brick_record){
		.op = op->req.op,
		.status = (uint16_t)status,
		.mapping_id = op->mapping_id,
	};
	(void)kfb_slots_end(&s->slots, op->req.op, &op->req.cookie);
}

void brick_op_finish(struct brick_op *op, enum kfb_status status)
{
	struct brick_session *s = op->session, *owner = op->owner;

	if (s->conn) {
		record(op, status);
		send_status(s, &op->reply, &op->req, status);
	}
	if (op->has_claim)
		brick_claims_drop(&s->server->claims, &op->claim);
	free(op->changes);
	free(op->handles);
	free(op);
	s->n_ops--;
	brick_session_progress(s);
	if (owner) {
		owner->n_ops--;
		brick_session_progress(owner);
	}
}

void brick_op_finish_errno(struct brick_op *op, int error)
{
	brick_op_finish(op, kfb_status_from_errno(error));
}

static void claim_granted(struct brick_claim *claim)
{
	struct brick_op *op = brick_container_of(claim, struct brick_op, claim);

	op->resume(op);
}

void brick_op_claim(struct brick_op *op, struct brick_span span,
		    brick_op_fn next)
{
	op->has_claim = true;
	op->claim.span = span;
	op->claim.granted = claim_granted;
	op->resume = next;
	if (brick_claims_take(&op->session->server->claims, &op->claim))
		next(op);
}

static void worker_done(struct brick_work *work)
{
	struct brick_op *op = brick_container_of(work, struct brick_op, work);

	op->resume(op);
}

void brick_op_submit(struct brick_op *op, struct brick_worker *worker,
		     void (*run)(struct brick_work *work), brick_op_fn resume)
{
	op->work.run = run;
	op->work.done = worker_done;
	op->resume = resume;
	brick_worker_submit(worker, &op->work);
}

static struct brick_op *waiting_op(struct brick_session *s)
{
	struct brick_claim *claim;

	TAILQ_FOREACH(claim, &s->server->claims.list, link)
	{
		struct brick_op *op =
			brick_container_of(claim, struct brick_op, claim);

		if (!claim->held && op->session == s)
			return op;
	}
	return NULL;
}

void brick_ops_cancel(struct brick_session *s)
{
	struct brick_op *op;

	while ((op = waiting_op(s))) {
		brick_claims_drop(&s->server->claims, &op->claim);
		op->has_claim = false;
		brick_op_finish(op, KFB_ST_SHUTDOWN);
	}
}

enum kfb_status brick_op_check_range(const struct brick_op *op,
				     const struct kfb_range *range, bool write)
{
	const struct brick_client *client = op->session->client;

	if (kfb_range_check(range->va, range->n_blocks))
		return KFB_ST_INVALID;
	if (!brick_grants_allow(&client->grants,
				brick_span_of(range->va, range->n_blocks),
				write))
		return KFB_ST_DENIED;
	return KFB_ST_OK;
}

/* A request that was answered before, on this session. */
static void answer_again(struct brick_op *op)
{
	const struct brick_record *r =
		&op->session->records[op->req.cookie.slot];

	if (r->op != op->req.op) {
		brick_conn_fail(op->session->conn, LOG_NOTICE,
				"a cookie came back with another request");
		brick_op_finish(op, KFB_ST_INVALID);
		return;
	}
	if (r->status || !kfb_op_recomputed(r->op)) {
		brick_op_finish(op, r->status);
		return;
	}
	op->mapping_id = r->mapping_id;
	handlers[op->req.op](op);
}

static bool is_refused_when_stopping(uint16_t op)
{
	return op == KFB_OP_AUTH || op == KFB_OP_ALLOC || op == KFB_OP_FREE ||
	       op == KFB_OP_MAP;
}

static void begin(struct brick_op *op, bool again)
{
	struct brick_session *s = op->session;
	uint16_t code = op->req.op;
	int rc;

	if (s->conn->state == KFB_CONN_AUTH && code != KFB_OP_AUTH &&
	    s->server->config->auth == BRICK_AUTH_NONE)
		brick_session_admit(s, &s->server->anonymous);
	rc = kfb_conn_admit(s->conn->state, code);
	if (rc)
		brick_op_finish_errno(op, rc);
	else if (s->server->stopping && is_refused_when_stopping(code))
		brick_op_finish(op, KFB_ST_SHUTDOWN);
	else if (again)
		answer_again(op);
	else if (code > KFB_OP_LAST || !handlers[code])
		brick_op_finish(op, KFB_ST_NOT_SUPPORTED);
	else
		handlers[code](op);
}

/* Takes the credit and looks at the cookie; NULL: the connection ends. */
static const char *admit_cookie(struct brick_session *s,
				const struct kfb_request *req, bool *again,
				bool *stale)
{
	struct brick_conn *c = s->conn;

	if (kfb_credits_take(&s->credits, req->op))
		return "more requests than credits";
	if (c->event_credits + req->credits > KFB_EVENTS_UNACKED_MAX)
		return "more receives returned than EVENTs sent";
	c->event_credits += req->credits;
	switch (kfb_slots_classify(&s->slots, req->op, &req->cookie)) {
	case KFB_COOKIE_NEW:
		return NULL;
	case KFB_COOKIE_RESEND:
		*again = true;
		return NULL;
	case KFB_COOKIE_STALE:
		*stale = true;
		return NULL;
	case KFB_COOKIE_RUNNING:
		return "a request came twice while it runs";
	case KFB_COOKIE_MALFORMED:
		break;
	}
	return "a cookie that no client sends";
}

static void begin_slot(struct brick_session *s, const struct kfb_request *req,
		       bool again)
{
	if (again && req->op != KFB_OP_AUTH) {
		/* The slot's last request once more: as if it were running. */
		s->slots.slot[req->cookie.slot].busy = 1;
		s->slots.n_busy++;
		return;
	}
	(void)kfb_slots_begin(&s->slots, req->op, &req->cookie);
}

void brick_session_message(struct brick_session *s, const void *buf,
			   uint32_t len)
{
	bool again = false, stale = false;
	const char *why;
	struct brick_op *op;
	int rc;

	brick_session_connected(s);
	op = calloc(1, sizeof(*op));
	if (!op) {
		brick_conn_fail(s->conn, LOG_ERR, "out of memory");
		return;
	}
	op->session = s;
	rc = kfb_decode_request(buf, len, &op->req);
	if (rc && rc != -EOPNOTSUPP) {
		brick_conn_fail(s->conn, LOG_NOTICE,
				rc == -EMSGSIZE ? "message too long"
						: "malformed message");
		free(op);
		return;
	}
	why = admit_cookie(s, &op->req, &again, &stale);
	if (why) {
		brick_conn_fail(s->conn, LOG_NOTICE, why);
		free(op);
		return;
	}
	if (stale) {
		send_status(s, &op->reply, &op->req, KFB_ST_STALE);
		free(op);
		return;
	}
	begin_slot(s, &op->req, again);
	s->n_ops++;
	begin(op, again);
}
