// SPDX-License-Identifier: BSD-2-Clause
/*
 * FLUSH: what the client wrote is durable when the reply goes out.
 *
 * Of what it names, what the client may have written is looked up, a few handles
 * at a time, and flushed before the next ones are looked up. A handle that is
 * taken out of the table meanwhile stays in the client's holdings until it is
 * flushed; one that comes behind the place that has been reached was mapped after
 * the FLUSH was sent.
 */
#include <errno.h>

#include "brickd/base/util.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/quarantine.h"
#include "brickd/storage/storage_failure.h"

/* Handles that are looked up before the flush worker has its turn. */
#define LOOKED_UP_MAX 32

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

static int keep_wanted(struct brick_op *op)
{
	const struct kfb_flush *req = &op->req.u.flush;
	struct brick_flush wanted = { 0 };

	if (!brick_flush_is_needed(brick_ops_of(op->session)->storage))
		return 0;
	if (brick_flush_reserve(&wanted, KFB_FLUSH_RANGES_MAX))
		return -ENOMEM;
	if (req->flags & KFB_FLUSH_ALL)
		(void)brick_flush_add(&wanted, 0, UINT64_MAX);
	for (uint32_t i = 0; i < req->n_ranges; i++)
		(void)brick_flush_add(&wanted, req->ranges[i].va,
				      req->ranges[i].va +
					      (req->ranges[i].len - 1));
	brick_flush_unite(&wanted);
	op->wanted = wanted.ranges;
	op->n_wanted = wanted.n;
	return 0;
}

/*
 * The next blocks that a client may have written: through mappings that it has,
 * through those whose UNMAP or whose session has not flushed yet, and what may
 * come late where a device does not fence. All else is durable already.
 */
static bool next_written(const struct brick_holdings *holdings, uint64_t block,
			 struct brick_span *out)
{
	bool found = brick_holdings_written(holdings, block, out);
	const struct brick_session *s;
	struct brick_span late;

	TAILQ_FOREACH(s, &holdings->late, late_link)
	{
		if (!brick_quarantine_next(s, block, &late) ||
		    (found && late.first >= out->first))
			continue;
		*out = late;
		found = true;
	}
	return found;
}

static int add_written(struct brick_op *op)
{
	struct brick_flush_range *w = &op->wanted[op->at_wanted], of;
	struct brick_span span;
	uint64_t first, last;

	if (!next_written(op->session->holdings, w->first >> KFB_BLOCK_SHIFT,
			  &span)) {
		op->at_wanted = op->n_wanted;
		return 0;
	}
	of = brick_flush_range_of(span);
	first = w->first > of.first ? w->first : of.first;
	last = w->last < of.last ? w->last : of.last;
	if (last == w->last)
		op->at_wanted++;
	else
		w->first = last + 1;
	return first <= last ? brick_flush_add(&op->flush, first, last) : 0;
}

/*
 * As long as there is something that a session or an instance has left, that may
 * be anywhere.
 */
static int add_next(struct brick_op *op)
{
	const struct brick_storage *storage =
		brick_ops_of(op->session)->storage;
	bool all = storage->has_unflushed ||
		   brick_store_has_inherited(storage->store);
	int rc = 0;

	while (!rc && op->at_wanted < op->n_wanted &&
	       op->flush.n < LOOKED_UP_MAX) {
		const struct brick_flush_range *w = &op->wanted[op->at_wanted];

		if (!all)
			rc = add_written(op);
		else if (!(rc = brick_flush_add(&op->flush, w->first, w->last)))
			op->at_wanted++;
	}
	return rc;
}

static void flush_next(struct brick_op *op);

static void flush_op_done(struct brick_flush *flush)
{
	struct brick_op *op = brick_container_of(flush, struct brick_op, flush);

	brick_op_busy(op);
	brick_failure_look(brick_ops_of(op->session)->storage);
	if (flush->error)
		brick_op_finish(op, KFB_ST_IO);
	else if (op->at_wanted == op->n_wanted)
		brick_op_finish(op, KFB_ST_OK);
	else if (brick_op_is_orphan(op))
		brick_op_finish(op, KFB_ST_SHUTDOWN); /* its end flushes all */
	else
		flush_next(op);
}

static void flush_next(struct brick_op *op)
{
	op->flush.done = flush_op_done;
	if (add_next(op)) {
		brick_flush_drop(&op->flush);
		brick_op_finish(op, KFB_ST_NO_MEMORY);
		return;
	}
	brick_flush_submit(brick_ops_of(op->session)->storage,
			   &op->session->flushes, &op->flush);
}

void brick_op_flush(struct brick_op *op)
{
	const struct kfb_flush *flush = &op->req.u.flush;
	struct brick_ops *ops = brick_ops_of(op->session);
	enum kfb_status status = check_ranges(op);
	uint64_t bytes = 0;
	int error;

	/* Volatile media: no flush could keep what it promises. */
	if (ops->storage->flush_mode == KFB_FLUSH_NONE)
		status = KFB_ST_NOT_SUPPORTED;
	if (status) {
		brick_op_finish(op, status);
		return;
	}
	if (brick_flush_try_now(ops->storage, flush, op->begun_ns, &error)) {
		brick_failure_look(ops->storage);
		for (uint32_t i = 0; i < flush->n_ranges; i++)
			bytes += flush->ranges[i].len;
		if (op->session->counters)
			brick_count_add(&op->session->counters->flushed_bytes,
					bytes);
		brick_op_finish(op, error ? KFB_ST_IO : KFB_ST_OK);
		return;
	}
	if (keep_wanted(op))
		brick_op_finish(op, KFB_ST_NO_MEMORY);
	else
		flush_next(op);
}
