// SPDX-License-Identifier: BSD-2-Clause
/*
 * UNMAP: whole handles are revoked before the reply goes out. With a key that the device
 * does not revoke its session ends, and the endpoints it is good for.
 *
 * The handles leave their mapping at once, and the table when they are closed; the op's
 * range lock keeps others away from their blocks until then and until, where one drain
 * does not cover the whole medium, what was written through them is flushed.
 */
#include <errno.h>
#include <stdlib.h>

#include "brickd/base/clock.h"
#include "brickd/base/util.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/session.h"
#include "brickd/storage/storage_failure.h"

/* A device that takes longer than this to forget a key is not waited for. */
#define REVOKE_MS 500

static void run_revoke(struct brick_work *work)
{
	struct brick_op *op = brick_container_of(work, struct brick_op, work);
	struct brick_ops *ops = brick_ops_of(op->session);

	op->error = 0;
	for (size_t i = 0; i < op->n_handles; i++) {
		/* Each has its time, which is none that the op has waited before. */
		atomic_store(&ops->key_begun_ms, brick_now_ms());
		atomic_store(&ops->revoked, op);
		if (brick_fabric_dereg(&op->handles[i].region, op->owner->who))
			op->error = -EIO;
	}
	atomic_store(&ops->revoked, NULL);
}

/* ---- they are closed: what is known of them goes, a few at a time ---- */

static void forget_written(struct brick_op *op)
{
	struct brick_handle *handles;
	size_t n;

	handles = brick_op_next_handles(op, &n);
	brick_holdings_flushed(op->owner->holdings, handles, n);
	if (op->at_handle < op->n_handles)
		brick_op_go_on(op, forget_written);
	else
		brick_op_finish(op, op->status);
}

static void unmap_flushed(struct brick_flush *flush)
{
	struct brick_op *op = brick_container_of(flush, struct brick_op, flush);

	brick_op_busy(op);
	brick_failure_look(brick_ops_of(op->session)->storage);
	op->status = flush->error ? KFB_ST_IO : KFB_ST_OK;
	op->at_handle = 0;
	forget_written(op);
}

static void forget_handles(struct brick_op *op)
{
	struct brick_ops *ops = brick_ops_of(op->session);
	struct brick_handle *handles;
	size_t n;

	handles = brick_op_next_handles(op, &n);
	brick_mappings_forget(&ops->sessions->mappings, handles, n);
	brick_tier_rest(ops->tier, handles, n);
	if (op->at_handle < op->n_handles) {
		brick_op_go_on(op, forget_handles);
		return;
	}
	brick_mapping_put(op->mapping);
	op->mapping = NULL;
	op->at_handle = 0;
	if (!op->is_flushing) {
		forget_written(op);
		return;
	}
	op->flush.done = unmap_flushed;
	(void)brick_flush_add_handles(&op->flush, op->handles, op->n_handles);
	brick_flush_submit(ops->storage, &op->session->flushes, &op->flush);
}

static void unmap_closed(struct brick_op *op)
{
	op->at_handle = 0;
	forget_handles(op);
}

/*
 * A key is still good. Its session must not be resumed: it would be good for the new
 * endpoints, too.
 */
static void end_owner(struct brick_op *op)
{
	TAILQ_INSERT_TAIL(&brick_ops_of(op->session)->unrevoked, op,
			  revoke_link);
	brick_session_fence(op->owner, "a key cannot be revoked");
}

/*
 * Those whose keys have no endpoints any more: nothing can use one that does not close
 * now, either.
 */
static void go_on_unrevoked(struct brick_ops *ops)
{
	struct brick_op *op, *next;

	for (op = TAILQ_FIRST(&ops->unrevoked); op; op = next) {
		next = TAILQ_NEXT(op, revoke_link);
		if (op->owner->n_conns)
			continue;
		TAILQ_REMOVE(&ops->unrevoked, op, revoke_link);
		brick_op_submit(op, &ops->sessions->registrar, run_revoke,
				unmap_closed);
	}
}

/*
 * The one that the device is at, and when its time is over. It is not freed before the
 * loop has heard of it.
 */
static struct brick_op *op_at_device(const struct brick_ops *ops,
				     uint64_t *until_ms)
{
	struct brick_op *op = atomic_load(&ops->revoked);

	if (!op || !op->is_revoking)
		return NULL;
	*until_ms = atomic_load(&ops->key_begun_ms) + REVOKE_MS;
	return op;
}

/* It has no time any more. */
static void end_time(struct brick_ops *ops, struct brick_op *op)
{
	ops->n_revoking -= op->is_revoking;
	op->is_revoking = false;
}

void brick_unmaps_due(struct brick_ops *ops)
{
	struct brick_op *op;
	uint64_t until_ms;

	go_on_unrevoked(ops);
	op = op_at_device(ops, &until_ms);
	if (!op || brick_now_ms() < until_ms)
		return;
	end_time(ops, op);
	/* Without its endpoints nothing can use the key. */
	brick_session_disconnect(op->owner, LOG_WARNING,
				 "the device does not let go of a key");
}

uint64_t brick_unmaps_next_ms(const struct brick_ops *ops)
{
	const struct brick_op *op;
	uint64_t until_ms;

	TAILQ_FOREACH(op, &ops->unrevoked, revoke_link)
	if (!op->owner->n_conns)
		return 0;
	if (!ops->n_revoking)
		return KFB_TIME_NEVER;
	/* One whose turn comes now is not over before that. */
	return op_at_device(ops, &until_ms) ? until_ms
					    : brick_now_ms() + REVOKE_MS;
}

static void unmap_revoked(struct brick_op *op)
{
	end_time(brick_ops_of(op->session), op);
	if (op->error)
		end_owner(op);
	else
		unmap_closed(op);
}

/* The mapping may be another session's of the same client. */
static int find_mapping(struct brick_op *op, struct brick_mapping **out)
{
	const struct brick_session *s = op->session;

	return brick_mappings_find(&brick_ops_of(s)->sessions->mappings,
				   s->holdings, op->req.u.unmap.mapping_id,
				   out);
}

static bool wants_all(const struct kfb_unmap *unmap)
{
	return !unmap->range.va && !unmap->range.n_blocks;
}

/* Stock tcp: in the loop; what is under way may land until its endpoints are gone. */
static void revoke_some(struct brick_op *op)
{
	struct brick_session *owner = op->owner;
	struct brick_handle *handles;
	size_t n;

	handles = brick_op_next_handles(op, &n);
	for (size_t i = 0; i < n; i++) {
		if (brick_fabric_dereg(&handles[i].region, owner->who))
			op->error = -EIO;
		if (owner->n_conns &&
		    brick_quarantine_add(owner, handles[i].span))
			brick_session_disconnect(owner, LOG_ERR,
						 "out of memory");
	}
	if (op->at_handle < op->n_handles)
		brick_op_go_on(op, revoke_some);
	else if (op->error)
		end_owner(op);
	else
		unmap_closed(op);
}

static void take_handles(struct brick_op *op, struct brick_mapping *m,
			 size_t first, size_t n)
{
	struct brick_session *owner = m->session;
	struct brick_ops *ops = brick_ops_of(owner);

	op->is_flushing =
		m->flags & KFB_MAP_RW && brick_flush_is_needed(ops->storage);
	/* Nothing may fail once the handles are gone: they have to be flushed. */
	if ((op->is_flushing && brick_flush_reserve(&op->flush, n)) ||
	    brick_mappings_take_handles(&ops->sessions->mappings, m, first, n,
					&op->handles)) {
		brick_flush_drop(&op->flush);
		brick_op_finish(op, KFB_ST_NO_MEMORY);
		return;
	}
	op->n_handles = n;
	op->mapping = m;
	op->owner = owner;
	owner->n_ops++;
	owner->n_handles -= n;
	if (!m->n) {
		TAILQ_REMOVE(&owner->mappings, m, session_link);
		owner->n_mappings--;
	}
	op->error = 0;
	if (!owner->fabric->mr_fences) {
		revoke_some(op);
		return;
	}
	op->is_revoking = true;
	ops->n_revoking++;
	brick_op_submit(op, &ops->sessions->registrar, run_revoke,
			unmap_revoked);
}

static void unmap_locked(struct brick_op *op)
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
		take_handles(op, m, first, n);
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
	brick_op_lock_range(op, span, unmap_locked);
}
