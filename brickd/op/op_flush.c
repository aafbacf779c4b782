// SPDX-License-Identifier: BSD-2-Clause
/* FLUSH: what the client wrote is durable when the reply goes out. */
#include <errno.h>

#include "brickd/base/util.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/storage/storage_failure.h"

static void finish_flush(struct brick_op *op, int error)
{
	brick_failure_look(brick_ops_of(op->session)->storage);
	brick_op_finish(op, error ? KFB_ST_IO : KFB_ST_OK);
}

static void flush_op_done(struct brick_flush *flush)
{
	finish_flush(brick_container_of(flush, struct brick_op, flush),
		     flush->error);
}

/* Everything: on PAGE media one drain, else what the session has mapped. */
static int add_all(struct brick_op *op)
{
	struct brick_session *s = op->session;
	const struct brick_mapping *m;
	int rc;

	if (!brick_flush_is_needed(brick_ops_of(s)->storage))
		return brick_flush_alloc(&op->flush, 0);
	rc = brick_flush_alloc(&op->flush, s->n_handles);
	if (rc)
		return rc;
	TAILQ_FOREACH(m, &s->mappings, session_link)
	brick_flush_add_handles(&op->flush, m->handles, m->n);
	return 0;
}

static enum kfb_status check_ranges(const struct brick_op *op)
{
	const struct kfb_flush *flush = &op->req.u.flush;

	for (uint32_t i = 0; i < flush->n_ranges; i++) {
		const struct kfb_flush_range *r = &flush->ranges[i];
		struct brick_span span;

		if (!r->len || r->va + (r->len - 1) < r->va)
			return KFB_ST_INVALID;
		span.first = r->va >> KFB_BLOCK_SHIFT;
		span.end = ((r->va + (r->len - 1)) >> KFB_BLOCK_SHIFT) + 1;
		if (!brick_grants_allow(&op->session->client->grants, span,
					false))
			return KFB_ST_DENIED;
	}
	return KFB_ST_OK;
}

static int add_ranges(struct brick_op *op)
{
	const struct kfb_flush *flush = &op->req.u.flush;
	int rc = brick_flush_alloc(&op->flush, flush->n_ranges);

	for (uint32_t i = 0; !rc && i < flush->n_ranges; i++)
		brick_flush_add(&op->flush, flush->ranges[i].va,
				flush->ranges[i].len);
	return rc;
}

void brick_op_flush(struct brick_op *op)
{
	const struct kfb_flush *flush = &op->req.u.flush;
	struct brick_ops *ops = brick_ops_of(op->session);
	enum kfb_status status = check_ranges(op);
	int error;

	/* Volatile media: no flush could keep what it promises. */
	if (ops->storage->flush_mode == KFB_FLUSH_NONE)
		status = KFB_ST_NOT_SUPPORTED;
	if (status) {
		brick_op_finish(op, status);
		return;
	}
	if (brick_flush_try_now(ops->storage, flush, op->begun_ns, &error)) {
		finish_flush(op, error);
		return;
	}
	op->flush.done = flush_op_done;
	if (flush->flags & KFB_FLUSH_ALL ? add_all(op) : add_ranges(op)) {
		brick_op_finish(op, KFB_ST_NO_MEMORY);
		return;
	}
	brick_flush_submit(ops->storage, &op->flush);
}
