// SPDX-License-Identifier: BSD-2-Clause
/*
 * UNMAP: whole handles are revoked before the reply goes out.
 *
 * The handles leave the table at once; the op's claim keeps others away from
 * their blocks until the registrations are closed and, where one drain does
 * not cover the whole medium, what was written through them is flushed.
 */
#include <errno.h>
#include <stdlib.h>

#include "brickd/op.h"
#include "brickd/quarantine.h"
#include "brickd/server.h"
#include "brickd/util.h"

static void close_handles(struct brick_op *op)
{
	for (size_t i = 0; i < op->n_handles; i++)
		brick_fabric_dereg(&op->handles[i].region);
}

static void run_close(struct brick_work *work)
{
	close_handles(brick_container_of(work, struct brick_op, work));
}

static void flushed(struct brick_flush *flush)
{
	struct brick_op *op = brick_container_of(flush, struct brick_op, flush);

	if (flush->error)
		brick_server_drain_failed(op->session->server);
	brick_op_finish(op, flush->error ? KFB_ST_IO : KFB_ST_OK);
}

static void closed(struct brick_op *op)
{
	struct brick_server *server = op->session->server;

	/* op->error says here that the mapping was for writing. */
	if (!op->error || !brick_flush_is_needed(server)) {
		brick_op_finish(op, KFB_ST_OK);
		return;
	}
	op->flush.done = flushed;
	if (brick_flush_alloc(&op->flush, op->n_handles)) {
		brick_op_finish(op, KFB_ST_NO_MEMORY);
		return;
	}
	brick_flush_add_handles(&op->flush, op->handles, op->n_handles);
	brick_flush_submit(server, &op->flush);
}

/* The mapping may be another session's of the same client. */
static int find_mapping(struct brick_op *op, struct brick_mapping **out)
{
	struct brick_session *s = op->session;
	struct brick_mapping *m;
	int rc;

	rc = brick_mappings_find(&s->server->mappings,
				 op->req.u.unmap.mapping_id, &m);
	if (rc)
		return rc;
	if (m->session->client != s->client ||
	    brick_session_is_ending(m->session))
		return -ENOENT;
	*out = m;
	return 0;
}

static bool wants_all(const struct kfb_unmap *unmap)
{
	return !unmap->range.va && !unmap->range.n_blocks;
}

static int quarantine(struct brick_session *owner, const struct brick_op *op)
{
	for (size_t i = 0; i < op->n_handles; i++)
		if (brick_quarantine_add(owner, op->handles[i].span))
			return -ENOMEM;
	return 0;
}

static void take(struct brick_op *op, struct brick_mapping *m, size_t first,
		 size_t n)
{
	struct brick_session *owner = m->session;
	bool write = m->flags & KFB_MAP_RW;

	op->handles = calloc(n, sizeof(*op->handles));
	if (!op->handles) {
		brick_op_finish(op, KFB_ST_NO_MEMORY);
		return;
	}
	op->n_handles = n;
	op->error = write;
	brick_mappings_take_handles(&owner->server->mappings, m, first, n,
				    op->handles);
	owner->n_handles -= n;
	if (!m->n) {
		TAILQ_REMOVE(&owner->mappings, m, session_link);
		owner->n_mappings--;
		free(m->handles);
		free(m);
	}
	if (owner->fabric->mr_fences) {
		op->owner = owner;
		owner->n_ops++;
		brick_op_submit(op, &owner->server->registrar, run_close,
				closed);
		return;
	}
	close_handles(op);
	if (quarantine(owner, op))
		brick_conn_fail(owner->queues[0]->conn, LOG_ERR,
				"out of memory");
	closed(op);
}

static void claimed(struct brick_op *op)
{
	const struct kfb_unmap *unmap = &op->req.u.unmap;
	struct brick_mapping *m;
	size_t first = 0, n;
	int rc;

	/* It may be gone, or be less, after the wait. */
	rc = find_mapping(op, &m);
	if (!rc && wants_all(unmap))
		n = m->n;
	else if (!rc)
		rc = brick_mapping_cut(m,
				       brick_span_of(unmap->range.va,
						     unmap->range.n_blocks),
				       &first, &n);
	if (rc)
		brick_op_finish_errno(op, rc);
	else
		take(op, m, first, n);
}

void brick_op_unmap(struct brick_op *op)
{
	const struct kfb_unmap *unmap = &op->req.u.unmap;
	struct brick_mapping *m;
	struct brick_span span;
	int rc;

	rc = find_mapping(op, &m);
	if (!rc && !wants_all(unmap))
		rc = kfb_range_check(unmap->range.va, unmap->range.n_blocks);
	if (rc) {
		brick_op_finish_errno(op, rc);
		return;
	}
	span = wants_all(unmap)
		       ? brick_mapping_hull(m)
		       : brick_span_of(unmap->range.va, unmap->range.n_blocks);
	brick_op_claim(op, span, claimed);
}
