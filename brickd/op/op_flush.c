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

/* Adds what is wanted of some blocks. */
static int add_span(struct brick_flush *flush, const struct brick_flush *wanted,
		    struct brick_span span)
{
	const struct brick_flush_range of = brick_flush_range_of(span);

	for (size_t i = 0; i < wanted->n; i++) {
		const struct brick_flush_range *w = &wanted->ranges[i];
		uint64_t from = w->first > of.first ? w->first : of.first;
		uint64_t to = w->last < of.last ? w->last : of.last;

		if (from <= to && brick_flush_add(flush, from, to))
			return -ENOMEM;
	}
	return 0;
}

static int add_handles(struct brick_flush *flush,
		       const struct brick_flush *wanted,
		       const struct brick_handle *handles, size_t n)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++)
		rc = add_span(flush, wanted, handles[i].span);
	return rc;
}

/*
 * Adds what a session may have written of what is wanted: through mappings that
 * it has, through those whose UNMAP has not flushed yet, and what may come late
 * where a device does not fence.
 */
static int add_written(struct brick_flush *flush,
		       const struct brick_flush *wanted,
		       const struct brick_session *s)
{
	const struct brick_mapping *m;
	const struct brick_op *unmap;
	int rc = 0;

	TAILQ_FOREACH(m, &s->mappings, session_link)
	if (!rc && m->flags & KFB_MAP_RW)
		rc = add_handles(flush, wanted, m->handles, m->n);
	TAILQ_FOREACH(unmap, &s->unmapping, unmap_link)
	if (!rc)
		rc = add_handles(flush, wanted, unmap->handles,
				 unmap->n_handles);
	for (uint32_t i = 0; !rc && i < s->quarantine.n; i++)
		rc = add_span(flush, wanted, s->quarantine.spans[i]);
	return rc;
}

/*
 * What else its client has written is durable already. A session before this one
 * counts as well as this one, which takes up what it had not flushed. As long as
 * there is something that a session or an instance has left, that may be anywhere.
 */
static int add_ranges(struct brick_op *op)
{
	const struct kfb_flush *req = &op->req.u.flush;
	struct brick_session *s = op->session, *other;
	struct brick_storage *storage = brick_ops_of(s)->storage;
	struct brick_flush_range ranges[KFB_FLUSH_RANGES_MAX];
	struct brick_flush wanted = { .ranges = ranges,
				      .cap = KFB_FLUSH_RANGES_MAX };
	int rc = 0;

	if (!brick_flush_is_needed(storage))
		return 0;
	if (req->flags & KFB_FLUSH_ALL)
		(void)brick_flush_add(&wanted, 0, UINT64_MAX);
	for (uint32_t i = 0; i < req->n_ranges; i++)
		(void)brick_flush_add(&wanted, req->ranges[i].va,
				      req->ranges[i].va +
					      (req->ranges[i].len - 1));
	brick_flush_unite(&wanted);
	if (storage->has_unflushed ||
	    brick_store_has_inherited(storage->store)) {
		for (size_t i = 0; !rc && i < wanted.n; i++)
			rc = brick_flush_add(&op->flush, ranges[i].first,
					     ranges[i].last);
	} else {
		TAILQ_FOREACH(other, &s->all->list, link)
		if (!rc && other->client == s->client)
			rc = add_written(&op->flush, &wanted, other);
	}
	if (rc)
		brick_flush_drop(&op->flush);
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
	if (add_ranges(op)) {
		brick_op_finish(op, KFB_ST_NO_MEMORY);
		return;
	}
	brick_flush_submit(ops->storage, &op->session->flushes, &op->flush);
}
