// SPDX-License-Identifier: BSD-2-Clause
/* Messages become requests: credits, cookies. */
#include "brickd/op/message.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "brickd/net/conn.h"
#include "brickd/op/dispatch.h"
#include "brickd/op/op.h"
#include "brickd/session/event.h"
#include "brickd/session/session.h"
#include "brickd/session/usage.h"
#include "proto/codec/kfb_ops.h"

/*
 * The body of a reply is larger than all else of an op. Where a reply has none
 * there is no memory for it.
 */
_Static_assert(offsetof(struct brick_op, reply) + sizeof(struct kfb_reply) ==
		       sizeof(struct brick_op),
	       "the reply must be the last member");

static void begin_op(struct brick_queue *q, const struct kfb_request *req,
		     bool again)
{
	uint16_t slot = req->cookie.slot;
	struct brick_op *op;

	op = calloc(1, kfb_op_has_reply_body(req->op)
			       ? sizeof(struct brick_op)
			       : offsetof(struct brick_op, reply.u));
	if (!op) {
		brick_conn_fail(q->conn, LOG_ERR, "out of memory");
		return;
	}
	op->session = q->session;
	op->queue = q;
	op->generation = q->generation;
	op->req = *req;
	if (!again) {
		(void)kfb_slots_begin(&q->slots, req->op, &req->cookie);
	} else {
		/* The slot's last request once more: as if it were running. */
		q->slots.slot[slot].busy = 1;
		q->slots.n_busy++;
	}
	if (!kfb_op_is(req->op, KFB_OP_OPENS))
		q->records[slot].running = op;
	brick_op_begin(op, again);
}

static const char *classify_request(struct brick_queue *q,
				    const struct kfb_request *req)
{
	static const char other[] = "a cookie came back with another request";
	struct brick_op *running;

	switch (kfb_slots_classify(&q->slots, req->op, &req->cookie)) {
	case KFB_COOKIE_NEW:
		begin_op(q, req, false);
		return NULL;
	case KFB_COOKIE_RESEND:
		if (q->records[req->cookie.slot].op != req->op)
			return other;
		begin_op(q, req, true);
		return NULL;
	case KFB_COOKIE_STALE:
		brick_op_answer_stale(q, req);
		return NULL;
	case KFB_COOKIE_RUNNING:
		running = q->records[req->cookie.slot].running;
		if (running->generation == q->generation)
			return "a request came twice while it runs";
		if (running->req.op != req->op)
			return other;
		running->generation = q->generation;
		return NULL;
	case KFB_COOKIE_MALFORMED:
		break;
	}
	return "a cookie that no client sends";
}

void brick_op_receive(struct brick_conn *c, const void *buf, uint32_t len)
{
	struct brick_queue *q = c->queue;
	struct kfb_request req;
	const char *why;
	int rc;

	rc = kfb_decode_request(buf, len, &req);
	if (rc && rc != -EOPNOTSUPP) {
		brick_conn_fail(q->conn, LOG_NOTICE,
				rc == -EMSGSIZE ? "message too long"
						: "malformed message");
		return;
	}
	/* What the request brings: its credit, and credits for EVENTs. */
	if (kfb_credits_take(&q->credits, req.op)) {
		why = "more requests than credits";
	} else if (q->conn->event_credits + req.credits >
		   KFB_EVENTS_UNACKED_MAX) {
		why = "more receives returned than EVENTs sent";
	} else {
		q->conn->event_credits += req.credits;
		brick_session_renew(q->session);
		brick_usage_noted(q->session);
		brick_events_noted(q->session, &req);
		why = classify_request(q, &req);
	}
	if (why)
		brick_conn_fail(q->conn, LOG_NOTICE, why);
}
