// SPDX-License-Identifier: BSD-2-Clause
/* Which request goes to whom, by the connection's state and the op. */
#include "brickd/op/dispatch.h"

#include "brickd/base/clock.h"
#include "brickd/base/stop.h"
#include "brickd/net/conn.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/session.h"
#include "proto/codec/kfb_ops.h"

static const brick_op_fn handlers[KFB_OP_LAST + 1] = {
	[KFB_OP_AUTH] = brick_op_auth,
	[KFB_OP_INFO] = brick_op_info,
	[KFB_OP_ALLOC] = brick_op_alloc,
	[KFB_OP_FREE] = brick_op_free,
	[KFB_OP_MAP] = brick_op_map,
	[KFB_OP_UNMAP] = brick_op_unmap,
	[KFB_OP_LIST] = brick_op_list,
	[KFB_OP_FLUSH] = brick_op_flush,
	[KFB_OP_PING] = brick_op_ping,
	[KFB_OP_FENCE] = brick_op_fence,
	[KFB_OP_CLIENT] = brick_op_client,
	[KFB_OP_RESERVE] = brick_op_reserve,
	[KFB_OP_RESERVATION] = brick_op_reservation,
};

/* A request that was answered before, on this queue. */
static void answer_again(struct brick_op *op)
{
	const struct brick_reply_record *r =
		&op->queue->records[op->req.cookie.slot];

	if (r->status || !kfb_op_is(r->op, KFB_OP_RECOMPUTED)) {
		brick_op_finish(op, r->status);
		return;
	}
	op->mapping_id = r->mapping_id;
	handlers[op->req.op](op);
}

void brick_op_begin(struct brick_op *op, bool again)
{
	struct brick_session *s = op->session;
	struct brick_conn *c = op->queue->conn;
	uint16_t code = op->req.op;
	int rc;

	op->begun_ns = brick_now_ns();
	brick_op_busy(op);
	s->n_ops++;
	brick_ops_of(s)->n++;
	if (code <= KFB_OP_LAST)
		s->counts[code]++;
	s->is_used = s->is_used || s->state == KFB_SESSION_LIVE;
	rc = kfb_conn_admit(c->state, code);
	if (rc)
		brick_op_finish_errno(op, rc);
	else if (brick_ops_of(s)->stop->is_stopping &&
		 kfb_op_is(code, KFB_OP_NOT_STOPPING))
		brick_op_finish(op, KFB_ST_SHUTDOWN);
	else if (again)
		answer_again(op);
	else if (code > KFB_OP_LAST || !handlers[code])
		brick_op_finish(op, KFB_ST_NOT_SUPPORTED);
	else
		handlers[code](op);
}
