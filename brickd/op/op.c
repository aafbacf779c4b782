// SPDX-License-Identifier: BSD-2-Clause
/* Requests: dispatch by state and op; claims; the end of a request. */
#include "brickd/op/op.h"

#include <errno.h>
#include <stdlib.h>

#include "brickd/base/clock.h"
#include "brickd/op/receive.h"
#include "brickd/server.h"
#include "brickd/base/util.h"

static const brick_op_fn handlers[KFB_OP_LAST + 1] = {
	[KFB_OP_AUTH] = brick_op_auth,	 [KFB_OP_INFO] = brick_op_info,
	[KFB_OP_ALLOC] = brick_op_alloc, [KFB_OP_FREE] = brick_op_free,
	[KFB_OP_MAP] = brick_op_map,	 [KFB_OP_UNMAP] = brick_op_unmap,
	[KFB_OP_LIST] = brick_op_list,	 [KFB_OP_FLUSH] = brick_op_flush,
	[KFB_OP_PING] = brick_op_ping,
};

void brick_op_finish(struct brick_op *op, enum kfb_status status)
{
	struct brick_session *s = op->session, *owner = op->owner;

	brick_count_op(&brick_server_of(s)->counters, op->req.op, status,
		       op->begun_ns);
	s->n_failed += status != KFB_ST_OK;
	brick_op_answer(op, status);
	if (op->has_claim)
		brick_claims_drop(&brick_server_of(s)->claims, &op->claim);
	free(op->changes);
	free(op->readable);
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

/* Too many wait already, of this session or in all. */
static bool is_crowded(const struct brick_session *s)
{
	const struct brick_limits *limits = &brick_server_of(s)->config->limits;

	return s->n_pending >= limits->pending ||
	       brick_server_of(s)->n_pending >= limits->pending_total;
}

static void pending(struct brick_session *s, int by)
{
	s->n_pending += by;
	brick_server_of(s)->n_pending += by;
}

static void claim_granted(struct brick_claim *claim)
{
	struct brick_op *op = brick_container_of(claim, struct brick_op, claim);

	pending(op->session, -1);
	op->resume(op);
}

void brick_op_claim(struct brick_op *op, struct brick_span span,
		    brick_op_fn next)
{
	struct brick_session *s = op->session;

	if (is_crowded(s) &&
	    brick_claims_would_wait(&brick_server_of(s)->claims, span)) {
		brick_op_finish(op, KFB_ST_AGAIN);
		return;
	}
	op->has_claim = true;
	op->claim.span = span;
	op->claim.granted = claim_granted;
	op->resume = next;
	if (brick_claims_take(&brick_server_of(s)->claims, &op->claim))
		next(op);
	else
		pending(s, 1);
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

static void commit_done(struct brick_work *work)
{
	struct brick_op *op =
		brick_container_of(work, struct brick_op, commit.work);

	op->is_committing = false;
	op->resume(op);
}

void brick_op_commit(struct brick_op *op, brick_op_fn resume)
{
	op->commit.n = op->n_changes;
	op->commit.list = op->changes;
	op->commit.work.done = commit_done;
	op->is_committing = true;
	op->resume = resume;
	brick_changes_submit(&brick_server_of(op->session)->storage,
			     &op->commit);
}

static struct brick_op *waiting_op(struct brick_session *s)
{
	struct brick_claim *claim;

	TAILQ_FOREACH(claim, &brick_server_of(s)->claims.list, link)
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
		brick_claims_drop(&brick_server_of(s)->claims, &op->claim);
		op->has_claim = false;
		pending(s, -1);
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

static bool needs_write(const struct kfb_request *req)
{
	return req->op != KFB_OP_MAP || req->u.map.flags & KFB_MAP_RW;
}

enum kfb_status brick_op_recheck(const struct brick_op *op)
{
	const struct kfb_request *req = &op->req;
	const struct kfb_range *range =
		req->op == KFB_OP_MAP ? &req->u.map.range : &req->u.range;

	if (brick_op_is_orphan(op))
		return KFB_ST_SHUTDOWN;
	return brick_op_check_range(op, range, needs_write(req));
}

void brick_ops_recheck(struct brick_server *server)
{
	struct brick_claim *claim;

	TAILQ_FOREACH(claim, &server->claims.list, link)
	{
		struct brick_op *op =
			brick_container_of(claim, struct brick_op, claim);

		/* Else it is the tier's, or looks for itself when it is held. */
		if (claim->granted == claim_granted && op->is_committing &&
		    brick_op_recheck(op))
			brick_changes_cancel(&op->commit);
	}
}

/* A request that was answered before, on this queue. */
static void answer_again(struct brick_op *op)
{
	const struct brick_reply_record *r =
		&op->queue->records[op->req.cookie.slot];

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

static void count(struct brick_session *s, uint16_t code)
{
	if (code <= KFB_OP_LAST)
		s->counts[code]++;
	s->is_used = s->is_used || s->state == KFB_SESSION_LIVE;
}

void brick_op_begin(struct brick_op *op, bool again)
{
	struct brick_session *s = op->session;
	struct brick_conn *c = op->queue->conn;
	uint16_t code = op->req.op;
	int rc;

	op->begun_ns = brick_now_ns();
	s->n_ops++;
	count(s, code);
	rc = kfb_conn_admit(c->state, code);
	if (rc)
		brick_op_finish_errno(op, rc);
	else if (brick_server_of(s)->stop.is_stopping &&
		 is_refused_when_stopping(code))
		brick_op_finish(op, KFB_ST_SHUTDOWN);
	else if (again)
		answer_again(op);
	else if (code > KFB_OP_LAST || !handlers[code])
		brick_op_finish(op, KFB_ST_NOT_SUPPORTED);
	else
		handlers[code](op);
}
