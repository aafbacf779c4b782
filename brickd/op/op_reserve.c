// SPDX-License-Identifier: BSD-2-Clause
/*
 * RESERVE and RESERVATION: persistent reservations of a range of blocks.
 *
 * Data moves one-sidedly: whoever has a block mapped for writing writes, whatever is
 * reserved meanwhile. So an action that takes access from anybody goes in this order, of
 * which nothing may be left out and nothing moved: the file says so, durably; the table
 * does, so that no MAP that is not allowed is carried out any more; all sessions end
 * that have, or are about to have, what they may not any more; they have ended, and
 * no byte of theirs lands any more; the answer.
 *
 * The file is written for one RESERVE after another, by turns of the clients, and each is
 * decided when its turn has come: of two that preempt each other one finds that it has no
 * key.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/log.h"
#include "brickd/base/util.h"
#include "brickd/net/conn.h"
#include "brickd/net/net.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/session.h"
#include "brickd/session/sessions.h"

static const char *const action_names[KFB_RESERVE_CLEAR + 1] = {
	[KFB_RESERVE_REGISTER] = "register",
	[KFB_RESERVE_RESERVE] = "reserve",
	[KFB_RESERVE_RELEASE] = "release",
	[KFB_RESERVE_PREEMPT] = "preempt",
	[KFB_RESERVE_PREEMPT_ABORT] = "preempt and abort",
	[KFB_RESERVE_CLEAR] = "clear",
};

static bool has_new_keys(const struct brick_op *op)
{
	return brick_reserve_changes_keys(&op->req.u.reserve);
}

/* ---- whose sessions end ---- */

/* What a request that holds blocks may do with them for its client. */
static uint32_t use_of(const struct brick_op *op)
{
	uint32_t flags = 0;

	switch (op->req.op) {
	case KFB_OP_MAP:
		flags = op->req.u.map.flags;
		break;
	case KFB_OP_UNMAP:
		/* Its handles are not the mapping's any more, and not yet dead. */
		if (op->mapping)
			flags = op->mapping->flags;
		break;
	default:
		if (op->is_committing)
			flags = KFB_MAP_RW;
		break;
	}
	return flags & (KFB_MAP_RO | KFB_MAP_RW);
}

static void note_use(struct brick_op *op, void *arg)
{
	struct brick_session *s = op->owner ? op->owner : op->session;

	(void)arg;
	s->reserve_use |= use_of(op);
}

static uint32_t use_of_mappings(const struct brick_session *s,
				struct brick_span span)
{
	const struct brick_mapping *m;
	uint32_t use = 0;

	TAILQ_FOREACH(m, &s->mappings, session_link)
	{
		size_t at = brick_mapping_from(m, span.first);

		if (at < m->n && m->handles[at].span.first < span.end)
			use |= m->flags;
	}
	/* Late bytes of what was mapped there. */
	if (brick_quarantine_is_of(s, span))
		use |= KFB_MAP_RW;
	return use & (KFB_MAP_RO | KFB_MAP_RW);
}

/* What a client may do with the disk from now on. */
static uint32_t use_allowed(const struct brick_op *op,
			    const struct brick_reserved *now,
			    const struct brick_client *client)
{
	const struct brick_keys *keys = &op->reserve.then->keys;
	enum brick_standing is = brick_keys_standing(keys, client->name), was;

	was = now ? brick_keys_standing(&now->keys, client->name)
		  : BRICK_STANDING_STRANGER;
	/* It loses what it has, also where it may have it again. */
	if (op->req.u.reserve.action == KFB_RESERVE_PREEMPT_ABORT &&
	    is == BRICK_STANDING_STRANGER && was != BRICK_STANDING_STRANGER)
		return 0;
	return (brick_reserve_may(keys->type, is, true) ? KFB_MAP_RW : 0) |
	       (brick_reserve_may(keys->type, is, false) ? KFB_MAP_RO : 0);
}

static void end_access(struct brick_op *op, const struct brick_reserved *now)
{
	struct brick_sessions *all = op->session->all;
	struct brick_span span = op->reserve.then->span;
	struct brick_session *s, *next;

	TAILQ_FOREACH(s, &all->list, link)
	s->reserve_use = 0;
	brick_ops_visit(brick_ops_of(op->session), span, note_use, NULL);
	for (s = TAILQ_FIRST(&all->list); s; s = next) {
		uint32_t may;

		next = TAILQ_NEXT(s, link);
		if (!s->client)
			continue;
		may = use_allowed(op, now, s->client);
		if (may & KFB_MAP_RW ||
		    !((use_of_mappings(s, span) | s->reserve_use) & ~may))
			continue;
		/* The one that asks ends behind the answer, and is not waited for. */
		if (s == op->session) {
			op->reserve.ends_itself = true;
			continue;
		}
		s->reserve_marks |= op->reserve.mark;
		brick_session_evict(s, KFB_EVICTED_RESERVED, 0);
	}
}

/* ---- the answer ---- */

static void reserve_next(struct brick_ops *ops);

static bool is_awaited(const struct brick_op *op)
{
	const struct brick_session *s;

	TAILQ_FOREACH(s, &op->session->all->list, link)
	if (s->reserve_marks & op->reserve.mark)
		return true;
	return false;
}

/* What the table says holds; whether all have ended nobody wants to know. */
static void reserve_forgotten(struct brick_op *op)
{
	struct brick_ops *ops = brick_ops_of(op->session);
	struct brick_session *s;

	TAILQ_FOREACH(s, &op->session->all->list, link)
	s->reserve_marks &= ~op->reserve.mark;
	ops->reserve_marks &= ~op->reserve.mark;
	brick_op_finish(op, KFB_ST_SHUTDOWN);
	reserve_next(ops);
}

static void answer_reserve(struct brick_op *op)
{
	bool ends_itself = op->reserve.ends_itself;
	struct brick_session *s = op->session;
	struct brick_ops *ops = brick_ops_of(s);
	struct brick_queue *q = op->queue;

	ops->reserve_marks &= ~op->reserve.mark;
	/* What the session ends with is said on queue 0, behind the answer. */
	if (ends_itself && q->index && q->conn)
		brick_conn_disconnect(q->conn);
	brick_op_finish(op, KFB_ST_OK);
	if (ends_itself)
		brick_session_evict(s, KFB_EVICTED_RESERVED, 0);
	reserve_next(ops);
}

void brick_reserves_ended(struct brick_sessions *all)
{
	struct brick_op_list *awaiting = &all->requests->awaiting;
	struct brick_op *op, *next;

	for (op = TAILQ_FIRST(awaiting); op; op = next) {
		next = TAILQ_NEXT(op, fence_link);
		if (is_awaited(op))
			continue;
		brick_op_awaited(op);
		brick_op_go_on(op, answer_reserve);
	}
}

/* ---- the file and the table ---- */

static uint64_t free_mark(const struct brick_ops *ops)
{
	return ~ops->reserve_marks & (ops->reserve_marks + 1);
}

/* The file says what was asked for, or it cannot be said what it says. */
static void reserve_written(struct brick_op *op)
{
	struct brick_ops *ops = brick_ops_of(op->session);
	struct brick_reservations *all = &ops->reservations;
	struct brick_sessions *sessions = op->session->all;
	struct brick_reserved *then = op->reserve.then;
	struct brick_ratelimit *lines =
		&sessions->net->lines[BRICK_LINES_RESERVES];
	const struct brick_reserved *now;

	if (op->error) {
		brick_log_limited(
			&sessions->net->lines[BRICK_LINES_RESERVE_ERRORS],
			LOG_ERR, op->session->who,
			"nothing is reserved: reservations: %s: %s", all->path,
			strerror(-op->error));
		ops->is_reserving = false;
		brick_op_finish(op, KFB_ST_IO);
		reserve_next(ops);
		return;
	}
	brick_log_limited(lines, LOG_NOTICE, op->session->who,
			  "reservation of 0x%" PRIx64 "+%" PRIu64
			  ": %s: type %u, %" PRIu32 " registrants",
			  then->span.first << KFB_BLOCK_SHIFT,
			  then->span.end - then->span.first,
			  action_names[op->req.u.reserve.action],
			  then->keys.type, then->keys.n);
	op->reserve.mark = free_mark(ops);
	ops->reserve_marks |= op->reserve.mark;
	(void)brick_reservations_find(all, then->span, &now);
	end_access(op, now);
	brick_reservations_set(all, then, has_new_keys(op));
	op->reserve.then = NULL;
	/* Changes that have not begun are never made. */
	brick_ops_recheck(ops);
	brick_op_await(op, &ops->awaiting, reserve_forgotten);
	brick_reserves_ended(sessions);
	/* Not before: those that were forgotten meanwhile have the next one decided. */
	ops->is_reserving = false;
	reserve_next(ops);
}

static void run_file_write(struct brick_work *work)
{
	struct brick_op *op = brick_container_of(work, struct brick_op, work);

	op->error = brick_reservations_write(
		brick_ops_of(op->session)->reservations.path, op->reserve.text);
}

/* Does its session end, or is it about to, with all others of its client? */
static bool is_too_late(const struct brick_op *op)
{
	const struct brick_client *client = op->session->client;

	return brick_op_is_orphan(op) || client->removed ||
	       brick_fences_has(&op->session->all->fences, client->name);
}

static bool gives_key_back(const struct kfb_reserve *want)
{
	return want->action == KFB_RESERVE_REGISTER && !want->new_key;
}

static enum kfb_status decide_action(struct brick_op *op)
{
	const struct kfb_reserve *want = &op->req.u.reserve;
	const struct brick_reservations *all =
		&brick_ops_of(op->session)->reservations;
	enum kfb_status status;

	if (is_too_late(op))
		return KFB_ST_SHUTDOWN;
	status = brick_op_check_range(op, &want->range, true);
	if (!status)
		status = brick_reservations_change(all,
						   op->session->client->name,
						   want, &op->reserve.then);
	/* The disk may be longer than the range; who gives its key back takes nothing. */
	if (!status && !gives_key_back(want) &&
	    !brick_grants_allow(&op->session->client->grants,
				op->reserve.then->span, true))
		status = KFB_ST_DENIED;
	if (!status &&
	    brick_reservations_text(all, op->reserve.then, has_new_keys(op),
				    &op->reserve.text))
		status = KFB_ST_NO_MEMORY;
	return status;
}

void brick_reserves_init(struct brick_reserves *reserves)
{
	for (uint32_t i = 0; i < BRICK_CLIENTS_MAX; i++)
		TAILQ_INIT(&reserves->of[i]);
}

/* Of the client that has waited longest for one of its to be written. */
static struct brick_op *next_in_turn(const struct brick_reserves *reserves)
{
	struct brick_op *next = NULL;
	uint64_t turn = 0;

	for (uint32_t i = 0; i < BRICK_CLIENTS_MAX; i++) {
		struct brick_op *op = TAILQ_FIRST(&reserves->of[i]);

		if (!op || (next && reserves->turn[i] >= turn))
			continue;
		next = op;
		turn = reserves->turn[i];
	}
	return next;
}

static void begin_turn(struct brick_reserves *reserves,
		       const struct brick_client *client)
{
	reserves->turn[client->number] = ++reserves->last_turn;
}

/* Each that awaits the end of sessions has a mark of its own. */
static void reserve_next(struct brick_ops *ops)
{
	struct brick_op *op;

	while (!ops->is_reserving && free_mark(ops) &&
	       (op = next_in_turn(&ops->reserving))) {
		enum kfb_status status = decide_action(op);

		brick_op_awaited(op);
		ops->is_reserving = !status;
		if (status) {
			brick_op_finish(op, status);
			continue;
		}
		begin_turn(&ops->reserving, op->session->client);
		brick_op_submit(op, &ops->reservations.writer, run_file_write,
				reserve_written);
	}
}

/* Neither op is for those who cannot be told apart. */
static enum kfb_status check_asker(const struct brick_op *op)
{
	if (!brick_ops_of(op->session)->reservations.path)
		return KFB_ST_NOT_SUPPORTED;
	return *op->session->client->name ? KFB_ST_OK : KFB_ST_DENIED;
}

void brick_op_reserve(struct brick_op *op)
{
	struct brick_ops *ops = brick_ops_of(op->session);
	enum kfb_status status = check_asker(op);

	if (status) {
		brick_op_finish(op, status);
		return;
	}
	brick_op_await(op, &ops->reserving.of[op->session->client->number],
		       reserve_forgotten);
	reserve_next(ops);
}

/* ---- RESERVATION ---- */

void brick_op_reservation(struct brick_op *op)
{
	const struct kfb_range *range = &op->req.u.range;
	const struct brick_reservations *all =
		&brick_ops_of(op->session)->reservations;
	struct kfb_reservation *r = &op->reply.u.reservation;
	enum kfb_status status = check_asker(op);
	const struct brick_reserved *disk;

	if (!status)
		status = brick_op_check_range(op, range, false);
	if (!status &&
	    brick_reservations_find(
		    all, brick_span_of(range->va, range->n_blocks), &disk))
		status = KFB_ST_EXISTS;
	if (status) {
		brick_op_finish(op, status);
		return;
	}
	memset(r, 0, sizeof(*r));
	r->generation = all->generation;
	if (disk) {
		r->type = disk->keys.type;
		r->n_blocks = disk->span.end - disk->span.first;
		r->n_registrants = disk->keys.n;
	}
	for (uint32_t i = 0; disk && i < disk->keys.n; i++) {
		const struct brick_registrant *one = &disk->keys.list[i];
		struct kfb_registrant *to = &r->registrants[i];

		to->key = one->key;
		to->name_len = (uint8_t)strlen(one->name);
		memcpy(to->name, one->name, to->name_len);
		if (one->is_holder || brick_reserve_is_of_all(r->type))
			to->flags = KFB_REGISTRANT_HOLDER;
	}
	brick_op_finish(op, KFB_ST_OK);
}
