// SPDX-License-Identifier: BSD-2-Clause
/*
 * MAP: one reply for all or nothing of a range, however many threads it takes.
 *
 *	loop		checks, range lock, conflicts
 *	registrar	where the blocks lie
 *	loop, tier	promotion, when some are in the slow tier
 *	store thread	new births, when the last writer was another client
 *	registrar	where they lie now; registrations on fabrics that fence
 *	loop		registrations on stock tcp and the table, some handles at a
 *			time, with turns of others in between; the reply
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/util.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/sessions.h"
#include "brickd/storage/storage_failure.h"

#define HANDLES_FIRST 4
/* Then somebody demotes as fast as it promotes: to be tried again later. */
#define PROMOTIONS_MAX 4

static void undo_handles(struct brick_op *op, struct brick_handle *handles,
			 size_t n)
{
	/* Nobody was told the key of one that does not close. */
	for (size_t i = 0; i < n; i++)
		(void)brick_fabric_dereg(&handles[i].region, op->session->who);
}

/* ---- in the registrar ---- */

static int add_handle(struct brick_op *op, const struct brick_run *run)
{
	uint64_t max = brick_ops_of(op->session)->config->limits.handles;
	struct brick_handle *list;

	/* map_registered() refuses it, too: this bounds what it costs until then. */
	if (op->n_handles >= max)
		return -EDQUOT;
	if (op->n_handles == op->cap_handles) {
		size_t cap =
			op->cap_handles ? op->cap_handles * 2 : HANDLES_FIRST;

		list = reallocarray(op->handles, cap, sizeof(*list));
		if (!list)
			return -ENOMEM;
		op->handles = list;
		op->cap_handles = cap;
	}
	op->handles[op->n_handles++] = (struct brick_handle){
		.span = brick_span_of(run->va, run->n_blocks),
		.offset = run->offset,
		.birth = run->birth,
	};
	return 0;
}

static int add_change(struct brick_op *op, const struct brick_run *run)
{
	struct brick_store_op *list;

	list = reallocarray(op->changes, op->n_changes + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	op->changes = list;
	list[op->n_changes++] = (struct brick_store_op){
		.kind = BRICK_STORE_BIRTH,
		.va = run->va,
		.n_blocks = run->n_blocks,
		.owner = op->session->client->owner,
	};
	return 0;
}

static int find_runs(struct brick_op *op)
{
	const struct brick_ops *ops = brick_ops_of(op->session);
	struct brick_span span = op->range_lock.span;
	uint64_t max = ops->config->limits.map_extent_max_bytes;
	bool write = op->req.u.map.flags & KFB_MAP_RW;
	struct brick_run run;
	int rc = 0;

	if (op->session->features & KFB_FEATURE_THIN &&
	    max > KFB_MAP_EXTENT_THIN_MAX_BYTES)
		max = KFB_MAP_EXTENT_THIN_MAX_BYTES;
	max >>= KFB_BLOCK_SHIFT;
	op->n_handles = 0;
	op->is_slow = false;
	for (uint64_t at = span.first; !rc && at < span.end;
	     at += run.n_blocks) {
		uint64_t left = span.end - at;

		rc = brick_store_lookup(ops->storage->store,
					at << KFB_BLOCK_SHIFT,
					left < max ? left : max, &run);
		if (rc)
			return rc;
		if (run.bad)
			return -EIO;
		op->is_slow |= run.slow;
		rc = add_handle(op, &run);
		if (rc || !write || run.owner == op->session->client->owner)
			continue;
		if (run.owner && brick_ops_keep_blocks(ops))
			return -EAGAIN;
		rc = add_change(op, &run);
	}
	return rc;
}

static int register_handles(struct brick_op *op, struct brick_handle *handles,
			    size_t n)
{
	struct brick_session *s = op->session;
	bool write = op->req.u.map.flags & KFB_MAP_RW;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		struct brick_handle *h = &handles[i];
		uint64_t blocks = h->span.end - h->span.first;

		rc = brick_fabric_reg(
			s->fabric, s->domain,
			brick_ops_of(s)->storage->media->base + h->offset,
			blocks << KFB_BLOCK_SHIFT, write, &h->region);
	}
	return rc;
}

static void run_undo(struct brick_work *work)
{
	struct brick_op *op = brick_container_of(work, struct brick_op, work);

	undo_handles(op, op->handles, op->n_handles);
}

static void run_find(struct brick_work *work)
{
	struct brick_op *op = brick_container_of(work, struct brick_op, work);

	op->error = find_runs(op);
	if (op->error || op->n_changes || op->is_slow ||
	    !op->session->fabric->mr_fences)
		return;
	op->error = register_handles(op, op->handles, op->n_handles);
	if (op->error)
		undo_handles(op, op->handles, op->n_handles);
}

/* ---- in the loop ---- */

static void fill_page(struct brick_op *op, const struct brick_mapping *m,
		      size_t from)
{
	const struct brick_fences *fences = &op->session->all->fences;
	struct kfb_map_reply *r = &op->reply.u.map;

	r->mapping_id = m->id;
	for (; from < m->n && r->n_handles < KFB_HANDLES_MAX; from++) {
		const struct brick_handle *h = &m->handles[from];

		r->handles[r->n_handles++] = (struct kfb_handle){
			.va = h->span.first << KFB_BLOCK_SHIFT,
			.n_blocks = h->span.end - h->span.first,
			.key = h->region.key,
			.raddr = h->region.raddr,
			.birth = brick_fences_birth(fences, op->session->client,
						    h->birth),
		};
	}
	/* Never 0 here: a first handle is never the next one. */
	r->cursor = from < m->n ? m->handles[from].span.first << KFB_BLOCK_SHIFT
				: 0;
	op->mapping_id = m->id;
	brick_op_finish(op, KFB_ST_OK);
}

/* ---- what has been made so far is undone ---- */

static void map_undone(struct brick_op *op)
{
	brick_op_finish(op, op->status);
}

static void undo_some(struct brick_op *op)
{
	struct brick_handle *handles;
	size_t n;

	handles = brick_op_next_handles(op, &n);
	undo_handles(op, handles, n);
	if (op->at_handle < op->n_handles)
		brick_op_go_on(op, undo_some);
	else
		map_undone(op);
}

static void undo_registrations(struct brick_op *op)
{
	op->at_handle = 0;
	if (op->session->fabric->mr_fences)
		brick_op_submit(op,
				&brick_ops_of(op->session)->sessions->registrar,
				run_undo, map_undone);
	else
		undo_some(op);
}

static void forget_some(struct brick_op *op)
{
	struct brick_mapping *m = op->mapping;

	brick_mappings_shorten(&brick_ops_of(op->session)->sessions->mappings,
			       m);
	if (m->n) {
		brick_op_go_on(op, forget_some);
		return;
	}
	free(m);
	undo_registrations(op);
}

/* ---- the table, a few handles at a time ---- */

/* Nobody else can get in between: the blocks are locked. */
static void note_some(struct brick_op *op)
{
	struct brick_mappings *all =
		&brick_ops_of(op->session)->sessions->mappings;
	struct brick_mapping *m = op->mapping;
	struct brick_session *s = op->session;
	enum kfb_status status = brick_op_recheck(op);
	struct brick_handle *handles;
	size_t n;

	handles = brick_op_next_handles(op, &n);
	if (!status && !s->fabric->mr_fences &&
	    register_handles(op, handles, n))
		status = KFB_ST_NO_MEMORY;
	if (!status && brick_mappings_note(all, m))
		status = KFB_ST_NO_MEMORY;
	if (!status && op->at_handle < op->n_handles) {
		brick_op_go_on(op, note_some);
		return;
	}
	if (!status && brick_mappings_add(all, m))
		status = KFB_ST_NO_MEMORY;
	if (status) {
		op->status = status;
		s->n_handles -= op->n_handles;
		s->n_mappings--;
		m->n = m->n_noted;
		forget_some(op);
		return;
	}
	op->handles = NULL;
	TAILQ_INSERT_TAIL(&s->mappings, m, session_link);
	fill_page(op, m, 0);
}

static void make_mapping(struct brick_op *op)
{
	struct brick_mapping *m = calloc(1, sizeof(*m));

	if (!m) {
		op->status = KFB_ST_NO_MEMORY;
		undo_registrations(op);
		return;
	}
	m->session = op->session;
	m->holdings = op->session->holdings;
	m->flags = op->req.u.map.flags;
	m->n = op->n_handles;
	m->handles = op->handles;
	/* At once: others of the session's MAPs are under way. */
	op->session->n_handles += op->n_handles;
	op->session->n_mappings++;
	op->mapping = m;
	op->at_handle = 0;
	note_some(op);
}

static void map_registered(struct brick_op *op)
{
	const struct brick_session *s = op->session;
	const struct brick_limits *limits = &brick_ops_of(s)->config->limits;

	if (op->error) {
		brick_op_finish_errno(op, op->error);
		return;
	}
	op->status = brick_op_recheck(op);
	if (!op->status && op->n_changes)
		op->status = KFB_ST_AGAIN;
	if (!op->status && (s->n_handles + op->n_handles > limits->handles ||
			    s->n_mappings >= limits->mappings))
		op->status = KFB_ST_LIMIT;
	if (op->status)
		undo_registrations(op);
	else
		make_mapping(op);
}

static void map_found(struct brick_op *op);

static void births_committed(struct brick_op *op)
{
	enum kfb_status status;
	int error = 0;

	for (size_t i = 0; !error && i < op->n_changes; i++)
		error = op->changes[i].error;
	op->n_changes = 0;
	brick_failure_look(brick_ops_of(op->session)->storage);
	if (error) {
		brick_op_finish_errno(op, error);
		return;
	}
	status = brick_op_recheck(op);
	if (status) {
		brick_op_finish(op, status);
		return;
	}
	brick_op_submit(op, &brick_ops_of(op->session)->sessions->registrar,
			run_find, map_registered);
}

static bool is_unwanted(const struct brick_tier_job *job)
{
	return brick_op_recheck(brick_container_of(job, const struct brick_op,
						   promotion)) != KFB_ST_OK;
}

static void map_promoted(struct brick_tier_job *job)
{
	struct brick_op *op =
		brick_container_of(job, struct brick_op, promotion);
	enum kfb_status status = brick_op_recheck(op);

	if (status)
		brick_op_finish(op, status);
	else if (job->error)
		brick_op_finish_errno(op, job->error);
	else
		brick_op_submit(op,
				&brick_ops_of(op->session)->sessions->registrar,
				run_find, map_found);
}

/* What has been moved when it gives up stays: the next MAP has less to do. */
static void promote_blocks(struct brick_op *op)
{
	struct brick_ops *ops = brick_ops_of(op->session);
	uint64_t id;

	free(op->changes);
	op->changes = NULL;
	op->n_changes = 0;
	if (op->req.u.map.flags & KFB_MAP_NOWAIT) {
		const struct brick_client *client = op->session->client;
		struct brick_span span = op->range_lock.span;

		brick_op_finish(op, KFB_ST_AGAIN);
		/* It will be tried again: have it ready then. */
		(void)brick_tier_order(ops->tier, client, span, false, true,
				       &id);
		return;
	}
	if (op->n_promotions++ == PROMOTIONS_MAX) {
		brick_op_finish(op, KFB_ST_AGAIN);
		return;
	}
	op->promotion = (struct brick_tier_job){
		.span = op->range_lock.span,
		.session = op->session,
		.whose = op->session->client,
		.is_unwanted = is_unwanted,
		.done = map_promoted,
	};
	brick_tier_promote(ops->tier, &op->promotion);
}

static void map_found(struct brick_op *op)
{
	bool goes_on = !op->error && !brick_op_recheck(op);

	if (goes_on && op->is_slow)
		promote_blocks(op);
	else if (goes_on && op->n_changes)
		brick_op_commit(op, births_committed);
	else
		map_registered(op);
}

static void map_locked(struct brick_op *op)
{
	struct brick_session *s = op->session;
	uint32_t flags = op->req.u.map.flags;
	enum kfb_status status = brick_op_recheck(op);
	int rc;

	if (status) {
		brick_op_finish(op, status);
		return;
	}
	if (s->n_mappings >= brick_ops_of(s)->config->limits.mappings) {
		brick_op_finish(op, KFB_ST_LIMIT);
		return;
	}
	rc = brick_mappings_conflict(&brick_ops_of(s)->sessions->mappings,
				     op->range_lock.span,
				     flags & KFB_MAP_SHARED);
	/* Each host of a group is a client: another session is what it was before. */
	if (!rc && *s->client->group && flags & KFB_MAP_RW)
		rc = brick_mappings_outlived(
			&brick_ops_of(s)->sessions->mappings, s, s->holdings,
			op->range_lock.span);
	if (!rc && brick_quarantine_blocks(brick_ops_of(s)->sessions,
					   op->range_lock.span, s))
		rc = -EAGAIN;
	if (rc) {
		brick_op_finish_errno(op, rc);
		return;
	}
	brick_op_submit(op, &brick_ops_of(s)->sessions->registrar, run_find,
			map_found);
}

static bool is_one_of(uint32_t flags, uint32_t a, uint32_t b)
{
	return !(flags & a) != !(flags & b);
}

/* A further page of a mapping, or the first one again for a resent MAP. */
static void resume_mapping(struct brick_op *op, uint64_t id, uint64_t cursor)
{
	struct brick_mapping *m;
	int rc;

	rc = brick_mappings_find(&brick_ops_of(op->session)->sessions->mappings,
				 op->session->holdings, id, &m);
	if (!rc && m->session != op->session)
		rc = -ENOENT;
	if (rc) {
		brick_op_finish_errno(op, rc);
		return;
	}
	fill_page(op, m, brick_mapping_from(m, cursor >> KFB_BLOCK_SHIFT));
}

void brick_op_map(struct brick_op *op)
{
	const struct kfb_map *map = &op->req.u.map;
	enum kfb_status status;
	struct brick_span span;

	if (map->mapping_id || op->mapping_id) {
		resume_mapping(
			op, map->mapping_id ? map->mapping_id : op->mapping_id,
			map->cursor);
		return;
	}
	if (!is_one_of(map->flags, KFB_MAP_RO, KFB_MAP_RW) ||
	    !is_one_of(map->flags, KFB_MAP_SHARED, KFB_MAP_EXCLUSIVE) ||
	    map->flags & ~KFB_MAP_FLAGS || map->cursor) {
		brick_op_finish(op, KFB_ST_INVALID);
		return;
	}
	status = brick_op_check_range(op, &map->range, map->flags & KFB_MAP_RW);
	/*
	 * Births do not tell those of a group apart: who was alone with a block would
	 * come back to it, and write what it held back, though another one has had it
	 * since.
	 */
	if (!status && *op->session->client->group && map->flags & KFB_MAP_RW &&
	    map->flags & KFB_MAP_EXCLUSIVE)
		status = KFB_ST_DENIED;
	if (status) {
		brick_op_finish(op, status);
		return;
	}
	span = brick_span_of(map->range.va, map->range.n_blocks);
	if (map->flags & KFB_MAP_NOWAIT &&
	    brick_range_locks_would_wait(
		    &brick_ops_of(op->session)->range_locks, span)) {
		brick_op_finish(op, KFB_ST_AGAIN);
		return;
	}
	brick_op_lock_range(op, span, map_locked);
}
