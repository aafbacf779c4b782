// SPDX-License-Identifier: BSD-2-Clause
/* Requests: range locks, the ways through workers, the reply and the end. */
#include "brickd/op/op.h"

#include <errno.h>
#include <stdlib.h>

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/log.h"
#include "brickd/base/util.h"
#include "brickd/net/conn.h"
#include "brickd/session/session.h"
#include "proto/codec/kfb_ops.h"

static void send_status(struct brick_queue *q, struct kfb_reply *reply,
			const struct kfb_request *req, enum kfb_status status)
{
	reply->op = req->op;
	reply->status = (uint16_t)status;
	reply->cookie = req->cookie;
	reply->credits = 1;
	if (kfb_credits_give(&q->credits, 1))
		brick_log(LOG_ERR, q->conn->who, "credits do not add up");
	brick_conn_send(q->conn, reply);
}

void brick_op_answer_stale(struct brick_queue *q, const struct kfb_request *req)
{
	struct kfb_reply stale = { 0 };

	brick_count_op(q->session->all->counters, req->op, KFB_ST_STALE,
		       brick_now_ns());
	q->session->n_failed++;
	if (q->session->counters)
		brick_count_client_op(q->session->counters, req->op,
				      KFB_ST_STALE);
	send_status(q, &stale, req, KFB_ST_STALE);
}

void brick_op_finish(struct brick_op *op, enum kfb_status status)
{
	struct brick_session *s = op->session, *owner = op->owner;
	struct brick_queue *q = op->queue;

	brick_count_op(brick_ops_of(s)->counters, op->req.op, status,
		       op->begun_ns);
	s->n_failed += status != KFB_ST_OK;
	if (s->counters)
		brick_count_client_op(s->counters, op->req.op, status);
	if (!kfb_op_is(op->req.op, KFB_OP_OPENS)) {
		q->records[op->req.cookie.slot] = (struct brick_reply_record){
			.op = op->req.op,
			.status = (uint16_t)status,
			.mapping_id = op->mapping_id,
		};
		(void)kfb_slots_end(&q->slots, op->req.op, &op->req.cookie);
	}
	if (q->conn && op->generation == q->generation)
		send_status(q, &op->reply, &op->req, status);
	if (op->has_range_lock)
		brick_range_locks_drop(&brick_ops_of(s)->range_locks,
				       &op->range_lock);
	free(op->changes);
	free(op->readable);
	free(op->wanted);
	free(op->handles);
	free(op->fences);
	free(op->reserve.then);
	free(op->reserve.text);
	free(op);
	brick_ops_of(s)->n--;
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

/* Without authentication nobody is told apart: there is no share of the whole. */
static uint32_t *pending_of_client(const struct brick_session *s)
{
	return s->client == &s->all->anonymous
		       ? NULL
		       : &brick_ops_of(s)->n_pending_of[s->client->number];
}

/* Too many wait already, of this session, of its client or in all. */
static bool is_crowded(const struct brick_session *s)
{
	const struct brick_limits *limits = &brick_ops_of(s)->config->limits;
	const uint32_t *of_client = pending_of_client(s);

	return s->n_pending >= limits->pending ||
	       (of_client && *of_client >= limits->pending_per_client) ||
	       brick_ops_of(s)->n_pending >= limits->pending_total;
}

static void change_pending(struct brick_session *s, int by)
{
	uint32_t *of_client = pending_of_client(s);

	s->n_pending += by;
	if (of_client)
		*of_client += by;
	brick_ops_of(s)->n_pending += by;
}

static void worker_done(struct brick_work *work)
{
	struct brick_op *op = brick_container_of(work, struct brick_op, work);

	brick_op_busy(op);
	op->resume(op);
}

/* Hundreds may have waited for the same: they go on in their clients' turns. */
static void range_lock_granted(struct brick_range_lock *range_lock)
{
	struct brick_op *op =
		brick_container_of(range_lock, struct brick_op, range_lock);

	TAILQ_REMOVE(&op->session->waiting, op, waiting_link);
	change_pending(op->session, -1);
	op->work.done = worker_done;
	op->work.flow = op->session->flow;
	brick_work_go_on(brick_ops_of(op->session)->flows, &op->work);
}

void brick_op_lock_range(struct brick_op *op, struct brick_span span,
			 brick_op_fn next)
{
	struct brick_session *s = op->session;
	struct brick_range_locks *locks = &brick_ops_of(s)->range_locks;

	if (brick_range_locks_would_wait(locks, span) &&
	    (is_crowded(s) || brick_range_locks_is_crowded(locks, span))) {
		brick_op_finish(op, KFB_ST_AGAIN);
		return;
	}
	op->has_range_lock = true;
	op->range_lock.span = span;
	op->range_lock.granted = range_lock_granted;
	op->resume = next;
	if (brick_range_locks_take(locks, &op->range_lock)) {
		next(op);
	} else {
		TAILQ_INSERT_TAIL(&s->waiting, op, waiting_link);
		change_pending(s, 1);
	}
}

void brick_op_go_on(struct brick_op *op, brick_op_fn resume)
{
	op->work.done = worker_done;
	op->work.flow = op->session->flow;
	op->resume = resume;
	brick_work_go_on_behind(brick_ops_of(op->session)->flows, &op->work);
}

struct brick_handle *brick_op_next_handles(struct brick_op *op, size_t *n)
{
	struct brick_handle *first = op->handles + op->at_handle;
	size_t left = op->n_handles - op->at_handle;

	*n = left < BRICK_MAPPING_STEP ? left : BRICK_MAPPING_STEP;
	op->at_handle += *n;
	return first;
}

void brick_op_submit(struct brick_op *op, struct brick_worker *worker,
		     void (*run)(struct brick_work *work), brick_op_fn resume)
{
	op->work.whose = op->session->client;
	op->work.flow = op->session->flow;
	op->work.run = run;
	op->work.done = worker_done;
	op->resume = resume;
	brick_worker_submit(worker, &op->work);
}

void brick_op_await(struct brick_op *op, struct brick_op_list *list,
		    brick_op_fn forgotten)
{
	struct brick_session *s = op->session;

	op->awaited_in = list;
	op->resume = forgotten;
	TAILQ_INSERT_TAIL(list, op, fence_link);
	TAILQ_INSERT_TAIL(&s->waiting, op, waiting_link);
	brick_session_progress(s);
}

void brick_op_awaited(struct brick_op *op)
{
	TAILQ_REMOVE(op->awaited_in, op, fence_link);
	TAILQ_REMOVE(&op->session->waiting, op, waiting_link);
	op->awaited_in = NULL;
}

static void commit_done(struct brick_work *work)
{
	struct brick_op *op =
		brick_container_of(work, struct brick_op, commit.work);

	op->is_committing = false;
	brick_op_busy(op);
	op->resume(op);
}

void brick_op_commit(struct brick_op *op, brick_op_fn resume)
{
	op->commit.whose = op->session->client;
	op->commit.work.flow = op->session->flow;
	if (op->session->counters)
		op->commit.zeroed_blocks =
			&op->session->counters->zeroed_blocks;
	op->commit.n = op->n_changes;
	op->commit.list = op->changes;
	op->commit.work.done = commit_done;
	op->is_committing = true;
	op->resume = resume;
	brick_changes_submit(brick_ops_of(op->session)->storage, &op->commit);
}

bool brick_ops_cancel(struct brick_session *s)
{
	struct brick_op *op = TAILQ_FIRST(&s->waiting);

	if (!op)
		return false;
	if (op->awaited_in) {
		brick_op_awaited(op);
		op->resume(op);
		return true;
	}
	TAILQ_REMOVE(&s->waiting, op, waiting_link);
	change_pending(s, -1);
	brick_op_finish(op, KFB_ST_SHUTDOWN);
	return true;
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

enum kfb_status brick_op_recheck(const struct brick_op *op)
{
	const struct kfb_request *req = &op->req;
	bool is_map = req->op == KFB_OP_MAP;
	const struct kfb_range *range =
		is_map ? &req->u.map.range : &req->u.range;
	bool write = !is_map || req->u.map.flags & KFB_MAP_RW;
	enum kfb_status status;

	if (brick_op_is_orphan(op))
		return KFB_ST_SHUTDOWN;
	status = brick_op_check_range(op, range, write);
	if (!status &&
	    !brick_reservations_allow(&brick_ops_of(op->session)->reservations,
				      brick_span_of(range->va, range->n_blocks),
				      op->session->client->name, write))
		status = KFB_ST_CONFLICT;
	return status;
}

void brick_ops_visit(struct brick_ops *ops, struct brick_span span,
		     void (*visit)(struct brick_op *op, void *arg), void *arg)
{
	struct brick_range_lock *range_lock;

	TAILQ_FOREACH(range_lock, &ops->range_locks.list, link)
	{
		/* Other locks are the tier's. */
		if (range_lock->granted == range_lock_granted &&
		    range_lock->held &&
		    brick_spans_overlap(range_lock->span, span))
			visit(brick_container_of(range_lock, struct brick_op,
						 range_lock),
			      arg);
	}
}

void brick_ops_recheck(struct brick_ops *ops)
{
	struct brick_range_lock *range_lock;

	TAILQ_FOREACH(range_lock, &ops->range_locks.list, link)
	{
		struct brick_op *op = brick_container_of(
			range_lock, struct brick_op, range_lock);

		/* Other locks are the tier's, or are looked at when they are held. */
		if (range_lock->granted == range_lock_granted &&
		    op->is_committing && brick_op_recheck(op))
			brick_changes_cancel(&op->commit);
	}
}
