// SPDX-License-Identifier: BSD-2-Clause
/* ALLOC and FREE: checks in the loop, changes in the store thread. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "brickd/net/net.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/quarantine.h"
#include "brickd/storage/cleaner.h"
#include "brickd/storage/storage_failure.h"

static void alloc_committed(struct brick_op *op)
{
	const struct brick_store_op *c = &op->changes[0];
	const struct brick_session *s = op->session;
	struct brick_ops *ops = brick_ops_of(s);
	int error = c->error;

	if (error == -EDQUOT) {
		brick_log_limited(&s->all->net->lines[BRICK_LINES_QUOTAS],
				  LOG_WARNING, s->who,
				  "client %s has reached its quota: %" PRIu64
				  " of %" PRIu64 " blocks are in use, %" PRIu64
				  " were asked for",
				  s->client->name,
				  brick_store_owned(ops->storage->store,
						    c->owner),
				  c->quota_blocks, c->n_blocks);
		/*
		 * To the client a quota is the end of the space, as it is to
		 * older ones.
		 */
		error = -ENOSPC;
	}
	/* That it is kept for another one ends by itself. */
	if (error == -EBUSY)
		error = -EAGAIN;
	brick_failure_look(ops->storage);
	brick_quarantine_settle(ops->sessions, c->quarantine, !error);
	if (!error && op->req.op == KFB_OP_FREE) {
		brick_quarantine_forget(ops->sessions, op->range_lock.span);
		brick_cleaner_kick(ops->storage);
	}
	brick_op_finish_errno(op, error);
	brick_tier_run(ops->tier);
}

static void alloc_locked(struct brick_op *op)
{
	struct brick_ops *ops = brick_ops_of(op->session);
	struct brick_store_op *c;
	bool freeing = op->req.op == KFB_OP_FREE;
	enum kfb_status status = brick_op_recheck(op);
	int rc = 0;

	if (status) {
		brick_op_finish(op, status);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		brick_op_finish(op, KFB_ST_NO_MEMORY);
		return;
	}
	op->changes = c;
	op->n_changes = 1;
	c->kind = freeing ? BRICK_STORE_FREE : BRICK_STORE_ALLOC;
	c->va = op->req.u.range.va;
	c->n_blocks = op->req.u.range.n_blocks;
	c->owner = op->session->client->owner;
	c->has_quota = op->session->client->has_quota;
	c->quota_blocks = op->session->client->quota_blocks;
	c->is_kept = freeing && brick_ops_keep_blocks(ops);
	if (freeing)
		rc = brick_mappings_conflict(&ops->sessions->mappings,
					     op->range_lock.span, false);
	if (freeing && !rc)
		rc = brick_quarantine_token(ops->sessions, op->range_lock.span,
					    &c->quarantine);
	if (rc) {
		brick_op_finish_errno(op, rc);
		return;
	}
	brick_op_commit(op, alloc_committed);
}

static void begin_change(struct brick_op *op)
{
	const struct kfb_range *range = &op->req.u.range;
	const struct brick_limits *limits =
		&brick_ops_of(op->session)->config->limits;
	enum kfb_status status = brick_op_check_range(op, range, true);

	if (!status && range->n_blocks > limits->alloc_max_blocks)
		status = KFB_ST_LIMIT;
	if (status) {
		brick_op_finish(op, status);
		return;
	}
	brick_op_lock_range(op, brick_span_of(range->va, range->n_blocks),
			    alloc_locked);
}

void brick_op_alloc(struct brick_op *op)
{
	begin_change(op);
}

void brick_op_free(struct brick_op *op)
{
	begin_change(op);
}
