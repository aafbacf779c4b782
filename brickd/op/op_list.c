// SPDX-License-Identifier: BSD-2-Clause
/*
 * LIST: allocated extents from the store, mapped ones from the table, the
 * client's own mappings. A client sees what it is granted.
 */
#include <stdlib.h>
#include <string.h>

#include "brickd/base/util.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"

/* Of a client's mappings so many are looked at before others have their turns. */
#define LOOKED_AT_MAX 256

static uint32_t page_max(const struct brick_op *op)
{
	uint32_t max = op->req.u.list.max_extents;

	return max && max < KFB_LIST_EXTENTS_MAX ? max : KFB_LIST_EXTENTS_MAX;
}

static void add_entry(struct kfb_list_reply *r, struct brick_span span,
		      uint32_t flags, uint64_t mapping_id)
{
	r->extents[r->n_extents++] = (struct kfb_list_extent){
		.va = span.first << KFB_BLOCK_SHIFT,
		.n_blocks = span.end - span.first,
		.mapping_id = mapping_id,
		.flags = flags,
	};
}

/* A source of extents: the next one at or behind a block; false: the end. */
typedef bool (*next_fn)(struct brick_ops *ops, uint64_t from,
			struct brick_span *out, uint32_t *flags,
			uint64_t *counter);

static bool next_allocated(struct brick_ops *ops, uint64_t from,
			   struct brick_span *out, uint32_t *flags,
			   uint64_t *counter)
{
	struct brick_store_extent ext;
	uint64_t cursor = from << KFB_BLOCK_SHIFT;

	if (!brick_store_list(ops->storage->store, &cursor, &ext, 1, counter))
		return false;
	*out = brick_span_of(ext.va, ext.n_blocks);
	*flags = (ext.bad ? KFB_EXTENT_BAD : 0) |
		 (ext.slow ? KFB_EXTENT_SLOW : 0);
	return true;
}

static bool next_mapped(struct brick_ops *ops, uint64_t from,
			struct brick_span *out, uint32_t *flags,
			uint64_t *counter)
{
	return !brick_mappings_union(&ops->sessions->mappings, from, out,
				     flags);
}

/* Fills a page from one grant. Return: false when the page is full. */
static bool list_grant(struct brick_op *op, struct brick_span grant,
		       uint64_t from, next_fn next)
{
	struct kfb_list_reply *r = &op->reply.u.list;
	uint64_t counter = r->change_counter;
	struct brick_span span;
	uint32_t flags;

	if (from < grant.first)
		from = grant.first;
	while (from < grant.end) {
		if (r->n_extents == page_max(op)) {
			r->cursor = from << KFB_BLOCK_SHIFT;
			return false;
		}
		if (!next(brick_ops_of(op->session), from, &span, &flags,
			  &counter))
			break;
		r->change_counter = counter;
		if (span.first >= grant.end)
			break;
		if (span.first < from)
			span.first = from;
		if (span.end > grant.end)
			span.end = grant.end;
		add_entry(r, span, flags, 0);
		from = span.end;
	}
	return true;
}

static void list_by_address(struct brick_op *op, next_fn next)
{
	uint64_t from = op->req.u.list.cursor >> KFB_BLOCK_SHIFT;

	for (uint32_t i = 0; i < op->n_readable; i++) {
		if (op->readable[i].end <= from)
			continue;
		if (!list_grant(op, op->readable[i], from, next))
			return;
	}
}

/* A page of a client's own, or a piece of one; goes on at the reply's cursor. */
struct mine {
	struct brick_op *op;
	uint32_t n_looked_at;
};

/* One extent per mapping, so that an id is enough of a cursor. */
static void add_mapping(struct kfb_list_reply *r, const struct brick_mapping *m)
{
	add_entry(r, brick_mapping_hull(m),
		  KFB_EXTENT_MAPPED |
			  (m->flags & KFB_MAP_RW ? KFB_EXTENT_RW : 0) |
			  (m->flags & KFB_MAP_EXCLUSIVE ? KFB_EXTENT_EXCLUSIVE
							: 0),
		  m->id);
}

/* Those of a session that ends are there until they are forgotten, one by one. */
static bool add_mine(const struct brick_interval *found, void *arg)
{
	const struct brick_mapping *m = found->owner;
	struct mine *mine = arg;
	struct kfb_list_reply *r = &mine->op->reply.u.list;

	if (r->n_extents == page_max(mine->op) ||
	    mine->n_looked_at++ == LOOKED_AT_MAX) {
		r->cursor = m->id;
		return false;
	}
	if (!brick_session_is_ending(m->session))
		add_mapping(r, m);
	return true;
}

/*
 * Since the piece before some have gone, or have become less. What is new has a larger
 * id than all that has been looked at: the page is what there is now.
 */
static void look_again(struct brick_op *op)
{
	const struct brick_session *s = op->session;
	struct kfb_list_reply *r = &op->reply.u.list;
	uint32_t n = r->n_extents;
	struct brick_mapping *m;

	r->n_extents = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!brick_mappings_find(&brick_ops_of(s)->sessions->mappings,
					 s->holdings, r->extents[i].mapping_id,
					 &m))
			add_mapping(r, m);
}

static void list_mine(struct brick_op *op)
{
	struct kfb_list_reply *r = &op->reply.u.list;
	struct mine mine = { .op = op };
	uint64_t from = r->cursor;

	if (brick_op_is_orphan(op)) {
		brick_op_finish(op, KFB_ST_SHUTDOWN);
		return;
	}
	look_again(op);
	r->cursor = 0;
	brick_holdings_list(op->session->holdings, from, add_mine, &mine);
	if (r->cursor && r->n_extents < page_max(op))
		brick_op_go_on(op, list_mine);
	else
		brick_op_finish(op, KFB_ST_OK);
}

static void run_list(struct brick_work *work)
{
	list_by_address(brick_container_of(work, struct brick_op, work),
			next_allocated);
}

static void list_done(struct brick_op *op)
{
	brick_op_finish(op, KFB_ST_OK);
}

static void note_change_counter(struct brick_op *op)
{
	struct brick_store_stats stats;

	brick_store_stats(brick_ops_of(op->session)->storage->store, &stats);
	op->reply.u.list.change_counter = stats.change_counter;
}

void brick_op_list(struct brick_op *op)
{
	const struct brick_grants *g = &op->session->client->grants;
	const struct kfb_list *list = &op->req.u.list;
	struct brick_ops *ops = brick_ops_of(op->session);

	if (list->what != KFB_LIST_MINE) {
		if (list->cursor & (KFB_BLOCK_BYTES - 1)) {
			brick_op_finish(op, KFB_ST_INVALID);
			return;
		}
		/* Grants may change while a worker is at it. */
		op->readable = calloc(g->n_ro + 1UL, sizeof(*op->readable));
		if (!op->readable) {
			brick_op_finish(op, KFB_ST_NO_MEMORY);
			return;
		}
		op->n_readable = g->n_ro;
		memcpy(op->readable, g->ro, g->n_ro * sizeof(*op->readable));
	}
	if (list->what == KFB_LIST_MAPPED) {
		op->work.whose = op->session->client;
		brick_turns_add(&ops->lists, &op->work);
		return;
	}
	note_change_counter(op);
	if (list->what == KFB_LIST_ALLOCATED) {
		brick_op_submit(op, &ops->sessions->registrar, run_list,
				list_done);
		return;
	}
	op->reply.u.list.cursor = list->cursor;
	list_mine(op);
}

bool brick_lists_before_wait(struct brick_ops *ops)
{
	struct brick_work *work = brick_turns_take(&ops->lists);
	struct brick_op *op;

	if (!work)
		return false;
	op = brick_container_of(work, struct brick_op, work);
	if (brick_op_is_orphan(op)) {
		brick_op_finish(op, KFB_ST_SHUTDOWN);
	} else {
		note_change_counter(op);
		list_by_address(op, next_mapped);
		brick_op_finish(op, KFB_ST_OK);
	}
	return !STAILQ_EMPTY(&ops->lists);
}
